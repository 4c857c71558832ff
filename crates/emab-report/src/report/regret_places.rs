//! Where regret is paid: the pairs of step and state with the most regret, and maps.

use emab_sim::results::StateRegret;

use super::{Figure, RunContent, percent};
use crate::document::Block;
use crate::plot::{PlotOptions, draw_regret_map};
use crate::text_table::number;

/// Pairs of a learner in the table; its map and the numbers behind it have all.
const SHOWN: usize = 5;

pub(super) fn blocks(run: &RunContent) -> Vec<Block> {
    let mut blocks = vec![Block::Heading("Where regret is paid".into())];
    if run.places.is_empty() {
        let text = "Regret by step and state is not recorded in this folder: too many pairs can be reached, the model drifts, or the \
                    result was saved from Python.";
        blocks.push(Block::Text(text.into()));
        return blocks;
    }
    let paid = |pairs: &[StateRegret]| pairs.iter().any(|pair| pair.regret != 0.0);
    let (paying, free): (Vec<_>, Vec<_>) = run.places.iter().partition(|(_, pairs)| paid(pairs));
    if !free.is_empty() {
        let labels: Vec<String> = free.iter().map(|(label, _)| format!("`{label}`")).collect();
        blocks.push(Block::Text(format!(
            "Without regret: {}.",
            labels.join(", ")
        )));
    }
    if paying.is_empty() {
        return blocks;
    }
    blocks.push(Block::Text(format!(
        "The {SHOWN} pairs of step and state that add the most to each learner's regret, by their mean over the runs."
    )));
    let rows = paying.iter().flat_map(|(label, pairs)| most(label, pairs));
    blocks.push(Block::table(
        vec![
            "learner",
            "step",
            "state",
            "regret",
            "share",
            "visits",
            "benchmark",
            "learned",
            "agree",
        ],
        rows.collect(),
    ));
    for (i, (label, pairs)) in paying.into_iter().enumerate() {
        let map = map(run, label, pairs);
        match i {
            0 => blocks.extend(map),
            _ => blocks.push(Block::Details {
                summary: format!("Map of {label}"),
                blocks: map,
            }),
        }
    }
    blocks
}

/// The pairs with the most regret, as rows.
fn most(label: &str, pairs: &[StateRegret]) -> Vec<Vec<String>> {
    let mut sorted: Vec<&StateRegret> = pairs.iter().filter(|pair| pair.regret != 0.0).collect();
    sorted.sort_by(|a, b| b.regret.abs().total_cmp(&a.regret.abs()));
    let all: f64 = pairs.iter().map(|pair| pair.regret.abs()).sum();
    let row = |pair: &&StateRegret| {
        let share = percent(pair.regret.abs() / all);
        let mut row = vec![label.to_owned()];
        row.extend(cells(pair));
        row.insert(4, share);
        row
    };
    sorted.iter().take(SHOWN).map(row).collect()
}

fn cells(pair: &StateRegret) -> Vec<String> {
    let agree = pair.learned.as_ref().map(|_| percent(pair.agree));
    vec![
        pair.t.to_string(),
        pair.state.clone(),
        number(pair.regret),
        number(pair.visits),
        pair.benchmark.clone(),
        pair.learned.clone().unwrap_or_default(),
        agree.unwrap_or_default(),
    ]
}

fn map(run: &RunContent, label: &str, pairs: &[StateRegret]) -> Vec<Block> {
    let result = &run.result;
    let options = PlotOptions {
        title: format!("{}: {label} ({} runs)", result.problem, result.runs),
        ..PlotOptions::default()
    };
    Figure {
        picture: options.for_page(|options| draw_regret_map(pairs, options)),
        caption: format!(
            "Visits, regret and final choices of {label} by step and state, averaged over the runs. `agree` is the share of visiting runs \
             whose last choice is the benchmark's."
        ),
        header: vec![
            "step", "state", "regret", "visits", "benchmark", "learned", "agree",
        ],
        rows: pairs.iter().map(cells).collect(),
    }
    .blocks()
}
