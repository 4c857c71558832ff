//! The distribution of the regret over the runs: quantiles, stuck runs and two groups of runs.

use emab_sim::results::{LearnerResult, RunResult};

use super::percent;
use crate::document::Block;
use crate::run_table::confidence;
use crate::text_table::number;

const STUCK: &str = "A run is stuck if it visits some pair of step and state, which the benchmark visits too, at least 100 times in its last \
    half, and none of its choices there is as good as the benchmark's. A mean hides stuck runs; the upper quantiles show them.";

/// A warning for each learner whose runs fall into two groups.
pub(super) fn warnings(result: &RunResult) -> Vec<Block> {
    let warning = |learner: &LearnerResult| {
        let groups = learner.groups?;
        Some(Block::Warning(format!(
            "`{}`: two groups of runs: the interval is unreliable. {} of the runs have a mean regret of {}, the others of {}.",
            learner.label,
            percent(groups.upper_share),
            number(groups.upper),
            number(groups.lower)
        )))
    };
    result.learners.iter().filter_map(warning).collect()
}

pub(super) fn blocks(result: &RunResult) -> Vec<Block> {
    let last = |learner: &LearnerResult| learner.curve.last().copied();
    let heading = Block::Heading("Distribution over the runs".into());
    let recorded = |learner: &LearnerResult| last(learner)?.quantiles;
    if !result.learners.iter().any(|l| recorded(l).is_some()) {
        let text =
            "Quantiles are not recorded in this result: an earlier version of emab wrote it.";
        return vec![heading, Block::Text(text.into())];
    }
    let row = |learner: &LearnerResult| {
        let last = last(learner)?;
        let quantiles = last
            .quantiles
            .map(|q| [q.q05, q.q25, q.q50, q.q75, q.q95].map(number));
        let mut row = vec![
            learner.label.clone(),
            confidence(last.regret, last.stderr, result.runs),
        ];
        row.extend(quantiles.unwrap_or_default());
        row.push(learner.stuck.map_or(String::new(), percent));
        row.push(match learner.groups {
            Some(_) => "two groups of runs: the interval is unreliable".into(),
            None => String::new(),
        });
        Some(row)
    };
    let mut rows: Vec<Vec<String>> = result.learners.iter().filter_map(row).collect();
    let mut header = vec![
        "learner",
        "mean regret (95 %)",
        "5 %",
        "25 %",
        "median",
        "75 %",
        "95 %",
        "stuck runs",
        "note",
    ];
    // Columns without an entry are left out.
    for i in (0..header.len()).rev() {
        if rows.iter().all(|row| row[i].is_empty()) {
            header.remove(i);
            rows.iter_mut().for_each(|row| drop(row.remove(i)));
        }
    }
    let stuck = header.contains(&"stuck runs");
    let mut blocks = vec![
        heading,
        Block::Text("Quantiles of the regret after the last episode.".into()),
        Block::table(header, rows),
    ];
    if stuck {
        blocks.push(Block::Text(STUCK.into()));
    }
    blocks
}
