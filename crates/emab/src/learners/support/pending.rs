//! Choices in flight: announced, with an outcome that is not known yet.

use std::collections::BTreeMap;

use crate::spec::Action;

/// The pending choices, by episode: `(t, x, action)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingChoices {
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
    /// Adds a choice. A second choice for the same step replaces the first: another action was taken.
    pub(crate) fn announce(
        &mut self,
        episode: u64,
        (t, x, action): (usize, usize, Action),
        mut change: impl FnMut(PendingChange),
    ) {
        let spare = &mut self.spare;
        let new = || spare.pop().unwrap_or_default();
        let choices = self.episodes.entry(episode).or_insert_with(new);
        // Steps usually come in order.
        let is_next = choices.last().is_none_or(|last| last.0 < t);
        let mut earlier = choices.iter_mut().filter(|_| !is_next);
        match earlier.find(|choice| choice.0 == t) {
            Some(same) => {
                let (t, x, action) = std::mem::replace(same, (t, x, action));
                let more = false;
                change(PendingChange { t, x, action, more });
            }
            None => choices.push((t, x, action)),
        }
        let more = true;
        change(PendingChange { t, x, action, more });
    }

    /// Removes the choices of an episode.
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

    #[test]
    fn choices_count_until_they_are_settled() {
        let mut pending = PendingChoices::default();
        let mut counts: BTreeMap<(usize, usize, String), i64> = BTreeMap::new();
        let mut apply = |change: PendingChange| {
            let key = (change.t, change.x, format!("{:?}", change.action));
            *counts.entry(key).or_default() += if change.more { 1 } else { -1 };
        };
        pending.announce(1, (1, 0, Action::Continue(0)), &mut apply);
        pending.announce(1, (2, 3, Action::Stop), &mut apply);
        // Another action was taken at step 1.
        pending.announce(1, (1, 0, Action::Stop), &mut apply);
        pending.announce(2, (1, 0, Action::Stop), &mut apply);
        pending.settle(1, &mut apply);
        pending.settle(7, &mut apply);
        let left: Vec<_> = counts.iter().filter(|(_, count)| **count != 0).collect();
        assert_eq!(left, [(&(1, 0, "Stop".to_owned()), &1)]);
    }
}
