//! What threads are given to do, and what they hand back.

use std::sync::atomic::AtomicU64;

use emab::ConditionedEnvironment;
use emab::learners::LearnerConfig;

use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::tally::Tally;
use crate::experiment::Experiment;
use crate::experiment::runs::RunSet;

/// All runs of one learner, as every thread needs to know them.
pub(crate) struct Job<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) config: &'a LearnerConfig,
    /// The problem under its circumstances, solved.
    pub(crate) world: &'a ConditionedEnvironment,
    pub(crate) done_before: RunSet,
    /// Whether choices are counted by place.
    pub(crate) by_place: bool,
    pub(crate) played: &'a AtomicU64,
}

/// What a block of runs amounts to.
pub(crate) struct Done {
    pub(crate) done: RunSet,
    pub(crate) tally: Tally,
    pub(crate) places: RunChoiceCounts,
    /// Each run with its regret at the last checkpoint.
    pub(crate) finals: Vec<(u64, f64)>,
}

impl Done {
    /// Nothing, at so many checkpoints.
    pub(crate) fn new(checkpoints: usize) -> Done {
        Done {
            done: RunSet::default(),
            tally: Tally::new(checkpoints),
            places: RunChoiceCounts::default(),
            finals: Vec::new(),
        }
    }
}
