//! Outcomes that have not reached the learner yet: delayed, or lost. The learner is told of a loss when the outcome would have
//! been due.

use std::collections::BTreeMap;

use super::open_episode::OpenEpisode;
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
    pending: BTreeMap<(u64, u64), Outcome>,
    /// Allocations for reuse.
    spare: Vec<Episode>,
}

/// What arrives.
#[derive(Clone, Debug)]
enum Outcome {
    Known(Episode),
    /// The report that it is lost.
    Lost,
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
        while let Some((_, outcome)) = self.pending.pop_first() {
            if let Outcome::Known(episode) = outcome {
                self.spare.push(episode);
            }
        }
    }

    /// Whether every outcome arrives before the next episode.
    pub(crate) fn is_immediate(&self) -> bool {
        self.delay.is_none() && self.lost == 0.0
    }

    /// Schedules the outcome of an episode that has just ended; not if it is due after the `last` episode. `begun` is the number
    /// of episodes that have begun, `announced` whether its choices were announced.
    pub(super) fn send(
        &mut self,
        (begun, last): (u64, u64),
        episode: &OpenEpisode,
        announced: bool,
    ) {
        let number = episode.number;
        let lost = self.lost > 0.0 && self.stream.uniform() < self.lost;
        if lost && !announced {
            return;
        }
        // A loss is reported after the expected delay, and draws nothing.
        let due = match lost {
            true => self.delay.expected_due(begun),
            false => self.delay.due(begun, &mut self.stream),
        };
        if due > last {
            return;
        }
        if lost {
            self.pending.insert((due, number), Outcome::Lost);
            return;
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        episode.reveal(&mut copy);
        self.pending.insert((due, number), Outcome::Known(copy));
    }

    /// Passes the outcomes that are due before episode `n` to the learner.
    pub(crate) fn deliver<L: Learner + ?Sized>(&mut self, n: u64, learner: &mut L) {
        while let Some(first) = self.pending.first_entry() {
            let (due, number) = *first.key();
            if due > n {
                break;
            }
            let outcome = first.remove();
            learner.settle(number);
            if let Outcome::Known(episode) = outcome {
                learner.learn(&episode);
                self.spare.push(episode);
            }
        }
    }
}
