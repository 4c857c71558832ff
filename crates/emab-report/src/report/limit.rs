//! How far the learners of a run are from the limit of learning.

use emab::theory::Target;
use emab_sim::background::RunBackground;
use emab_sim::results::{LearnerResult, RunResult};

use crate::bounds::{lower_notes, lower_rows};
use crate::document::Block;
use crate::run_table::confidence;

pub(super) fn blocks(background: &RunBackground, result: &RunResult) -> Vec<Block> {
    let Some(curve) = &background.lower else {
        return Vec::new();
    };
    let lower = &curve.lower;
    let (header, rows) = lower_rows(lower, result.episodes);
    let against = match lower.target {
        Target::Benchmark => "the benchmark",
        Target::Optimal => "the optimal policy (the benchmark is not optimal here)",
    };
    let mut blocks = vec![
        Block::Heading("The limit of learning".into()),
        Block::Text(format!(
            "A lower bound on the regret of every learner against {against}, whatever it does, and the regret of these learners as a multiple of it."
        )),
        Block::table(header, rows),
    ];
    if let Some(at_n) = lower.at_n.filter(|at_n| *at_n > 0.0) {
        let row = |learner: &LearnerResult| {
            let last = learner.curve.last()?;
            let regret = match lower.target {
                Target::Benchmark => last.regret,
                Target::Optimal => last.regret_optimal?,
            };
            let times = confidence(regret / at_n, last.stderr / at_n, result.runs);
            let regret = confidence(regret, last.stderr, result.runs);
            Some(vec![learner.label.clone(), regret, times])
        };
        let rows = result.learners.iter().filter_map(row).collect();
        blocks.push(Block::table(
            vec!["learner", "regret (95 %)", "times the limit"],
            rows,
        ));
    }
    blocks.push(Block::List(lower_notes(lower, result.episodes)));
    blocks
}
