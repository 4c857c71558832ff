//! Draws which costs and rewards of an episode stay unknown to the learner.

use crate::conditions::{Conditions, Missing};
use crate::rng::{Role, Stream};

/// Probabilities of unknown values by feedback, with their stream.
#[derive(Clone, Debug)]
pub(super) struct MissingValues {
    costs: Missing,
    rewards: Missing,
    stream: Stream,
}

/// Whether the cost of a step and the reward after it are unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hidden {
    pub(super) cost: bool,
    pub(super) reward: bool,
}

impl MissingValues {
    /// Those of the conditions; none where every value is known.
    pub(super) fn new(conditions: &Conditions) -> Option<MissingValues> {
        let (costs, rewards) = (&conditions.missing_costs, &conditions.missing_rewards);
        if costs.is_none() && rewards.is_none() {
            return None;
        }
        Some(MissingValues {
            costs: costs.clone(),
            rewards: rewards.clone(),
            stream: Stream::new(0, 0, Role::Missing),
        })
    }

    pub(super) fn restart(&mut self, seed: u64, run: u64) {
        self.stream = Stream::new(seed, run, Role::Missing);
    }

    /// What is unknown after a feedback; two draws, whatever the probabilities are.
    pub(super) fn draw(&mut self, feedback: usize) -> Hidden {
        let (cost, reward) = (self.stream.uniform(), self.stream.uniform());
        Hidden {
            cost: cost < self.costs.after(feedback),
            reward: reward < self.rewards.after(feedback),
        }
    }
}
