//! Choices in flight: announced, with an outcome that is not known yet.

use std::collections::BTreeMap;

use crate::spec::Action;

/// The pending choices of the most recent episodes in flight.
///
/// An outcome that never comes and is never reported as lost must not count for ever. So at most `most` episodes count; the
/// oldest beyond them do not.
#[derive(Clone, Debug)]
pub(crate) struct PendingChoices {
    most: usize,
    /// By episode: its choices `(t, x, action)`, in the order of their steps.
    episodes: BTreeMap<u64, Vec<(usize, usize, Action)>>,
    /// Allocations for reuse.
    spare: Vec<Vec<(usize, usize, Action)>>,
}

/// A change of the number of pending choices of an action in a pair: one more or one less.
pub(crate) struct PendingChange {
    pub(crate) t: usize,
    pub(crate) x: usize,
    pub(crate) action: Action,
    pub(crate) more: bool,
}

impl PendingChoices {
    /// Without choices; at most this many episodes count.
    pub(crate) fn new(most: usize) -> PendingChoices {
        PendingChoices {
            most,
            episodes: BTreeMap::new(),
            spare: Vec::new(),
        }
    }

    /// Adds a choice. A second choice for the same step replaces the first: another action was taken.
    pub(crate) fn announce(
        &mut self,
        episode: u64,
        (t, x, action): (usize, usize, Action),
        mut change: impl FnMut(PendingChange),
    ) {
        let oldest = self.episodes.first_key_value().map(|(&oldest, _)| oldest);
        if self.episodes.len() >= self.most && !self.episodes.contains_key(&episode) {
            match oldest {
                // An episode that is older than all that count does not count again.
                Some(oldest) if episode > oldest => self.settle(oldest, &mut change),
                _ => return,
            }
        }
        let spare = &mut self.spare;
        let choices = self
            .episodes
            .entry(episode)
            .or_insert_with(|| spare.pop().unwrap_or_default());
        if let Some(same) = choices.iter_mut().find(|choice| choice.0 == t) {
            let (t, x, action) = std::mem::replace(same, (t, x, action));
            let more = false;
            change(PendingChange { t, x, action, more });
        } else {
            choices.push((t, x, action));
        }
        let more = true;
        change(PendingChange { t, x, action, more });
    }

    /// Removes the choices of an episode, if it counts.
    pub(crate) fn settle(&mut self, episode: u64, mut change: impl FnMut(PendingChange)) {
        let Some(mut choices) = self.episodes.remove(&episode) else {
            return;
        };
        for (t, x, action) in choices.drain(..) {
            let more = false;
            change(PendingChange { t, x, action, more });
        }
        self.spare.push(choices);
    }

    pub(crate) fn clear(&mut self) {
        self.episodes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Announces or settles, and applies the changes to a count by step, state and action.
    #[derive(Default)]
    struct Counts(BTreeMap<(usize, usize, String), i64>);

    impl Counts {
        fn apply(&mut self, change: PendingChange) {
            let key = (change.t, change.x, format!("{:?}", change.action));
            *self.0.entry(key).or_default() += if change.more { 1 } else { -1 };
        }

        fn total(&self) -> i64 {
            assert!(self.0.values().all(|&count| count >= 0));
            self.0.values().sum()
        }
    }

    #[test]
    fn choices_count_until_they_are_settled() {
        let (mut pending, mut counts) = (PendingChoices::new(2), Counts::default());
        let mut announce = |pending: &mut PendingChoices, episode, choice| {
            pending.announce(episode, choice, |change| counts.apply(change));
            counts.total()
        };
        assert_eq!(announce(&mut pending, 1, (1, 0, Action::Continue(0))), 1);
        assert_eq!(announce(&mut pending, 1, (2, 3, Action::Stop)), 2);
        // Another action was taken at step 1.
        assert_eq!(announce(&mut pending, 1, (1, 0, Action::Stop)), 2);
        assert_eq!(announce(&mut pending, 2, (1, 0, Action::Stop)), 3);
        // A third episode replaces the oldest, which does not count again.
        assert_eq!(announce(&mut pending, 3, (1, 0, Action::Stop)), 2);
        assert_eq!(announce(&mut pending, 1, (3, 0, Action::Stop)), 2);
        pending.settle(1, |change| counts.apply(change));
        assert_eq!(counts.total(), 2);
        pending.settle(2, |change| counts.apply(change));
        pending.settle(3, |change| counts.apply(change));
        assert_eq!(counts.total(), 0);
    }
}
