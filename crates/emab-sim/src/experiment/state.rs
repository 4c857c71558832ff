//! The state of an experiment: everything needed to resume it, or to merge its shards.

use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::engine::stuck;
use crate::engine::tally::Tally;
use crate::error::SimError;
use crate::results::RunRecord;
use crate::run_set::RunSet;
use crate::shard::Shard;

/// The runs done so far, and their sums.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// One per learner.
    pub learners: Vec<LearnerState>,
}

/// The state of one learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerState {
    /// The finished runs.
    pub done: RunSet,
    /// Their sums.
    pub tally: Tally,
    /// The time they took.
    pub seconds: f64,
    /// The recorded runs, in order, unless they went to a [`RunSink`](super::RunSink).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RunRecord>,
}

impl Experiment {
    /// The state before the first run.
    pub fn state(&self) -> State {
        let learner = LearnerState {
            done: RunSet::default(),
            tally: Tally::new(self.checkpoints.len(), stuck::is_known(&self.environment)),
            seconds: 0.0,
            records: Vec::new(),
        };
        State {
            learners: vec![learner; self.learners.len()],
        }
    }

    /// Whether a state, possibly read from a file, fits this experiment.
    pub(super) fn check(&self, state: &State) -> Result<(), SimError> {
        let foreign = |what| Err(SimError::Foreign(what));
        if state.learners.len() != self.learners.len() {
            return foreign("it has another number of learners");
        }
        for learner in &state.learners {
            if !learner.tally.is_whole(self.checkpoints.len()) {
                return foreign("its sums are not those of these checkpoints");
            }
            if learner.done.last().is_some_and(|run| run >= self.runs) {
                return foreign("it has more runs");
            }
            if !learner.done.is_within(&self.share()) {
                return foreign("it has runs of another shard");
            }
            if learner.tally.runs() != learner.done.len() {
                return foreign("its sums and its list of runs disagree");
            }
        }
        Ok(())
    }

    /// Adds the state of another shard; fails if both have a run or if they belong to different experiments.
    pub fn merge(&self, state: &mut State, other: &State) -> Result<(), SimError> {
        let whole = Experiment {
            shard: Shard::WHOLE,
            ..self.clone()
        };
        whole.check(state)?;
        whole.check(other)?;
        for (mine, theirs) in state.learners.iter_mut().zip(&other.learners) {
            let both = mine.done.len() + theirs.done.len();
            let mut done = mine.done.clone();
            done.merge(&theirs.done);
            if done.len() != both {
                return Err(SimError::Foreign("a run is in both of them"));
            }
            mine.tally
                .merge_all(&theirs.tally)
                .ok_or(SimError::Foreign(
                    "only one of them counts choices by state",
                ))?;
            mine.done = done;
            mine.seconds += theirs.seconds;
            mine.records.extend_from_slice(&theirs.records);
            mine.records.sort_unstable_by_key(|record| record.run);
        }
        Ok(())
    }

    /// Whether a state has all runs.
    pub fn is_complete(&self, state: &State) -> bool {
        let all = |learner: &LearnerState| learner.done.len() == self.runs;
        state.learners.iter().all(all)
    }
}
