//! The distribution of the regret over the runs: quantiles, stuck runs and two groups of runs.

use emab_sim::results::RunResult;

use super::curves;
use crate::document::Block;
use crate::runs_table::{distribution_rows, group_notes};

const STUCK: &str = "A run is stuck if it visits some pair of step and state, which the benchmark visits too, at least 100 times in its last \
    half, and none of its choices there is as good as the benchmark's. A mean hides stuck runs; the upper quantiles show them.";

/// A warning for each learner whose runs form two groups.
pub(super) fn warnings(result: &RunResult) -> impl Iterator<Item = Block> {
    let notes = group_notes(result).into_iter();
    notes.map(|note| Block::Warning(format!("{note}.")))
}

pub(super) fn blocks(result: &RunResult) -> Vec<Block> {
    let heading = Block::Heading("Distribution over the runs".into());
    let Some((header, rows)) = distribution_rows(result) else {
        let text = "Quantiles and stuck runs are not recorded in this result: it has one run, or an earlier version of emab wrote it.";
        return vec![heading, Block::Text(text.into())];
    };
    let mut blocks = vec![
        heading,
        Block::Text("Quantiles of the regret after the last episode.".into()),
        Block::table(header, rows),
        Block::Text(STUCK.into()),
    ];
    blocks.extend(curves::quantiles(result));
    blocks
}
