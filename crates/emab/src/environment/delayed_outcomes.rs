//! Outcomes on their way to the learner: some come late, some never.

use std::collections::BTreeMap;

use crate::conditions::{Conditions, Delay};
use crate::episode::Episode;
use crate::learner::Learner;
use crate::rng::{Role, Stream};

/// The outcomes that are out.
#[derive(Clone, Debug)]
pub(crate) struct DelayedOutcomes {
    delay: Delay,
    lost: f64,
    stream: Stream,
    /// By the episode before which it is due, then by its own number: those that are due together come in order.
    out: BTreeMap<(u64, u64), Episode>,
    /// Emptied, to be filled again.
    spare: Vec<Episode>,
}

impl DelayedOutcomes {
    pub(crate) fn new(conditions: &Conditions) -> DelayedOutcomes {
        DelayedOutcomes {
            delay: conditions.delay,
            lost: conditions.lost.get(),
            stream: Stream::new(0, 0, Role::Delay),
            out: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// A new run: nothing is out.
    pub(crate) fn restart(&mut self, seed: u64, run: u64) {
        self.stream = Stream::new(seed, run, Role::Delay);
        while let Some((_, episode)) = self.out.pop_first() {
            self.spare.push(episode);
        }
    }

    /// Whether every outcome arrives, and at once.
    pub(crate) fn is_immediate(&self) -> bool {
        self.delay.is_none() && self.lost == 0.0
    }

    /// The outcome of episode `n` sets out; none of those that would arrive after the `last` episode are kept.
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
        self.out.insert((due, n), copy);
    }

    /// Before episode `n` begins: what is due is learned.
    pub(crate) fn deliver<L: Learner + ?Sized>(&mut self, n: u64, learner: &mut L) {
        while let Some(first) = self.out.first_entry() {
            if first.key().0 > n {
                break;
            }
            let episode = first.remove();
            learner.learn(&episode);
            self.spare.push(episode);
        }
    }
}
