//! The report of a run.

use emab_sim::results::{LearnerResult, RunResult};

use super::{
    RunContent, count, curves, distribution, limit, problem, regret_places, repeat, soundness,
};
use crate::document::Block;
use crate::run_table::{confidence, lower_bound_series, regret_rows};
use crate::text_table::number;

pub(super) fn blocks(run: &RunContent, command: &str) -> Vec<Block> {
    let result = &run.result;
    let mut blocks = vec![Block::Text(lead(result))];
    blocks.extend(distribution::warnings(result));
    if let Some(background) = &run.background {
        blocks.extend(soundness::warning(background));
    }
    blocks.push(Block::Heading("Regret".into()));
    let (header, rows) = regret_rows(result);
    blocks.push(Block::table(header, rows));
    blocks.push(Block::Text(CAUSES.into()));
    let labelled = result.learners.iter();
    let labelled = labelled.map(|learner| (learner.label.clone(), learner, result.runs));
    let title = format!("{}: {}", result.problem, count(result.runs, "run"));
    let lower = run
        .background
        .as_ref()
        .and_then(|background| background.lower.as_ref());
    let bound = lower.and_then(lower_bound_series);
    blocks.extend(curves::means(&title, &labelled.collect::<Vec<_>>(), bound));
    blocks.extend(distribution::blocks(result));
    blocks.extend(regret_places::blocks(run));
    if let Some(background) = &run.background {
        blocks.extend(soundness::blocks(background));
        blocks.extend(soundness::bounds(background));
        blocks.extend(limit::blocks(background, result));
        blocks.extend(problem::blocks(&background.problem, Some(&result.values)));
    }
    blocks.extend(learners(&result.learners));
    blocks.extend(repeat(command, facts(result), Vec::new()));
    blocks
}

const CAUSES: &str = "The columns after the regret divide it by cause. Early stop: the learner stops where the benchmark continues. Late \
    stop: it continues where the benchmark stops. Wrong action: both continue, with different actions. Numbers after ± are half-widths of \
    95 % intervals over the runs.";

fn lead(result: &RunResult) -> String {
    let values = &result.values;
    let value = match values.benchmark_stderr {
        0.0 => number(values.benchmark_value),
        stderr => confidence(values.benchmark_value, stderr, u64::MAX),
    };
    let optimum = match (values.gap(), values.optimal_value) {
        (Some(gap), Some(optimal)) if gap > 0.0 => format!(
            "; the optimal policy earns {}, so that regret may be negative",
            number(optimal)
        ),
        _ => String::new(),
    };
    let conditions = match result.conditions.is_none() {
        true => String::new(),
        false => format!(" Conditions: {}.", result.conditions),
    };
    let paired = match values.estimator.as_str() {
        "paired" => {
            " Regret is estimated: the benchmark is played beside the learner on the same draws."
        }
        _ => "",
    };
    format!(
        "{} of {} for each of {}, seed {}. Regret is the cumulative loss against the benchmark, which earns {value} an \
         episode{optimum}.{conditions}{paired}",
        count(result.runs, "run"),
        count(result.episodes, "episode"),
        count(result.learners.len() as u64, "learner"),
        result.seed
    )
}

/// All parameters of the learners.
fn learners(learners: &[LearnerResult]) -> Vec<Block> {
    let row = |learner: &LearnerResult| {
        let parameters = learner.parameters.iter();
        let parameters: Vec<String> = parameters
            .map(|(name, value)| format!("`{name}={value}`"))
            .collect();
        vec![
            learner.label.clone(),
            learner.learner.clone(),
            parameters.join(" "),
        ]
    };
    let rows = learners.iter().map(row).collect();
    vec![
        Block::Heading("Learners".into()),
        Block::table(vec!["label", "learner", "all parameters"], rows),
    ]
}

fn facts(result: &RunResult) -> Vec<(&'static str, String)> {
    let steps: u64 = result.learners.iter().map(|learner| learner.steps).sum();
    let seconds: f64 = result.learners.iter().map(|learner| learner.seconds).sum();
    let mut facts = vec![
        ("version", format!("emab {}", result.version)),
        ("problem hash", format!("`{}`", result.problem_hash)),
        ("seed", result.seed.to_string()),
        ("runs", number(result.runs as f64)),
        ("episodes of a run", number(result.episodes as f64)),
    ];
    if !result.conditions.is_none() {
        facts.push(("conditions", format!("`{}`", result.conditions)));
    }
    facts.push((
        "work",
        format!("{} in {} s", count(steps, "step"), number(seconds)),
    ));
    facts
}
