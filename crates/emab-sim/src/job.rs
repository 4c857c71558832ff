//! What threads are given to do, and what they hand back.

use std::sync::atomic::AtomicU64;

use emab::World;
use emab::learners::LearnerConfig;

use crate::experiment::Experiment;
use crate::places::PlaceCounts;
use crate::runs::RunSet;
use crate::tally::Tally;

/// All runs of one learner, as every thread needs to know them.
pub(crate) struct Job<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) config: &'a LearnerConfig,
    /// The problem under its circumstances, solved.
    pub(crate) world: &'a World,
    pub(crate) done_before: RunSet,
    /// Whether choices are counted by place.
    pub(crate) by_place: bool,
    pub(crate) played: &'a AtomicU64,
}

/// What a block of runs amounts to.
pub(crate) struct Done {
    pub(crate) done: RunSet,
    pub(crate) tally: Tally,
    pub(crate) places: PlaceCounts,
    /// Each run with its regret at the last checkpoint.
    pub(crate) finals: Vec<(u64, f64)>,
}

impl Done {
    /// Nothing, at so many checkpoints.
    pub(crate) fn new(checkpoints: usize) -> Done {
        Done {
            done: RunSet::default(),
            tally: Tally::new(checkpoints),
            places: PlaceCounts::default(),
            finals: Vec::new(),
        }
    }
}
