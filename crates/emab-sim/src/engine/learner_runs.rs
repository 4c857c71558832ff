//! The runs of one learner: what worker threads are given, and what they return.

use std::sync::atomic::AtomicU64;

use emab::ConditionedEnvironment;
use emab::learners::LearnerConfig;

use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::tally::Tally;
use crate::run_set::RunSet;

/// All runs of one learner, shared by the worker threads.
pub(crate) struct LearnerRuns<'a> {
    pub(crate) config: &'a LearnerConfig,
    /// The problem under its scenario, solved.
    pub(crate) environment: &'a ConditionedEnvironment,
    pub(crate) episodes: u64,
    pub(crate) seed: u64,
    pub(crate) checkpoints: &'a [u64],
    pub(crate) done_before: RunSet,
    /// Whether choices are counted by step-state pair.
    pub(crate) count_choices: bool,
    /// Episodes played by all threads.
    pub(crate) played: &'a AtomicU64,
}

/// The result of a block of runs.
pub(crate) struct RunBlock {
    pub(crate) done: RunSet,
    pub(crate) tally: Tally,
    pub(crate) choices: RunChoiceCounts,
    /// Each run with its regret at the last checkpoint.
    pub(crate) finals: Vec<(u64, f64)>,
}

impl RunBlock {
    /// A block of no runs, for this many checkpoints.
    pub(crate) fn new(checkpoints: usize) -> RunBlock {
        RunBlock {
            done: RunSet::default(),
            tally: Tally::new(checkpoints),
            choices: RunChoiceCounts::default(),
            finals: Vec::new(),
        }
    }
}
