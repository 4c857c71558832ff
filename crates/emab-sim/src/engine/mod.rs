//! The loops that play episodes.
//!
//! [`reference`] plays one run after another with [`emab::ConditionedEnvironment::play`]. [`paired_runs`] is the fast
//! engine: flat [`tables`], two runs side by side, learners as [`players`], and inner loops compiled for each
//! instruction set ([`simd`]). Tests compare it with the reference bit by bit (`equivalence_tests`). [`gpu`]
//! plays many runs at once on a card; its tests compare it with the fast engine.

pub(crate) mod choice_counts;
#[cfg(test)]
mod equivalence_tests;
pub(crate) mod gpu;
pub(crate) mod learner_runs;
pub(crate) mod paired_runs;
pub(crate) mod players;
pub(crate) mod pool;
pub(crate) mod reference;
pub(crate) mod schedule;
pub(crate) mod simd;
pub(crate) mod stuck;
pub(crate) mod tables;
pub(crate) mod tally;

use simd::Level;

/// The loop that plays the episodes.
#[derive(Clone, Copy)]
pub(crate) enum Loop {
    /// Many runs at once on the card of the device, where it supports the learner; otherwise two runs side by side.
    Card(Level),
    /// Two runs side by side, with the instructions of a level.
    PairedRuns(Level),
    /// One run after another, step by step.
    Reference,
}
