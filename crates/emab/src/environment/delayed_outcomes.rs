//! Outcomes that have not reached the learner yet: delayed, or lost.

use std::collections::BTreeMap;

use crate::conditions::{Conditions, Delay};
use crate::episode::Episode;
use crate::learner::Learner;
use crate::rng::{Role, Stream};

/// The pending outcomes.
#[derive(Clone, Debug)]
pub(crate) struct DelayedOutcomes {
    delay: Delay,
    lost: f64,
    stream: Stream,
    /// By the episode before which it is due, then by its own number, which is the order of delivery.
    pending: BTreeMap<(u64, u64), Episode>,
    /// Allocations for reuse.
    spare: Vec<Episode>,
}

impl DelayedOutcomes {
    pub(crate) fn new(conditions: &Conditions) -> DelayedOutcomes {
        DelayedOutcomes {
            delay: conditions.delay,
            lost: conditions.lost.get(),
            stream: Stream::new(0, 0, Role::Delay),
            pending: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// A new run without pending outcomes.
    pub(crate) fn restart(&mut self, seed: u64, run: u64) {
        self.stream = Stream::new(seed, run, Role::Delay);
        while let Some((_, episode)) = self.pending.pop_first() {
            self.spare.push(episode);
        }
    }

    /// Whether every outcome arrives before the next episode.
    pub(crate) fn is_immediate(&self) -> bool {
        self.delay.is_none() && self.lost == 0.0
    }

    /// Schedules the outcome of episode `n`, unless it is lost or due after the `last` episode.
    pub(crate) fn send(&mut self, n: u64, last: u64, episode: &Episode, left: bool) {
        if self.lost > 0.0 && self.stream.uniform() < self.lost {
            return;
        }
        let due = self.delay.due(n, &mut self.stream);
        if due > last {
            return;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clone_from(episode);
        if left {
            copy.rewards.clear();
        }
        self.pending.insert((due, n), copy);
    }

    /// Passes the outcomes that are due before episode `n` to the learner.
    pub(crate) fn deliver<L: Learner + ?Sized>(&mut self, n: u64, learner: &mut L) {
        while let Some(first) = self.pending.first_entry() {
            if first.key().0 > n {
                break;
            }
            let episode = first.remove();
            learner.learn(&episode);
            self.spare.push(episode);
        }
    }
}
