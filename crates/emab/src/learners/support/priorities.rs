//! Prioritised sweeping (Moore, Atkeson 1993): which pairs to update next, after the value of a pair has changed.

use std::collections::BinaryHeap;

use super::visited::VisitedPairs;

/// Pairs whose value may change, by how much.
#[derive(Clone, Debug)]
pub(crate) struct Priorities {
    /// The maximum number of updates after an episode.
    updates: usize,
    /// Smaller changes are not passed on.
    least: f64,
    queue: BinaryHeap<Entry>,
    /// By slot.
    pairs: Vec<Pair>,
    /// The slots of the listed pairs, in the order in which learned episodes visited them. Slots themselves depend on what was
    /// asked, and must not decide between equal priorities.
    ranked: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Pair {
    /// The value when it was last passed on.
    passed_on: f64,
    /// Its priority in the queue; 0 without.
    priority: f64,
    /// The pairs that lead here, with the action.
    before: Vec<(u32, u32)>,
    /// Its place in the list of ranks, once its successors list it.
    rank: Option<u32>,
}

/// A priority, not negative, by its bits; then the rank of the pair.
type Entry = (u64, u32);

impl Priorities {
    pub(crate) fn new(updates: usize, least: f64) -> Priorities {
        Priorities {
            updates,
            least,
            queue: BinaryHeap::new(),
            pairs: Vec::new(),
            ranked: Vec::new(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.pairs.clear();
        self.ranked.clear();
    }

    /// The maximum number of updates after an episode.
    pub(crate) fn updates(&self) -> usize {
        self.updates
    }

    /// The pair with the largest priority, which leaves the queue.
    pub(crate) fn pop(&mut self) -> Option<usize> {
        while let Some((bits, rank)) = self.queue.pop() {
            let slot = self.ranked[rank as usize];
            // An entry is out of date once its pair was updated, or has another entry.
            let pair = &mut self.pairs[slot as usize];
            if pair.priority.to_bits() == bits {
                pair.priority = 0.0;
                return Some(slot as usize);
            }
        }
        None
    }

    /// Adds a pair at step `t` to the lists of its successors; needed once an action was taken in it.
    pub(crate) fn list(&mut self, tables: &VisitedPairs, slot: usize, t: usize) {
        self.pairs.resize_with(tables.rows.len(), Pair::default);
        if self.pairs[slot].rank.is_some() {
            return;
        }
        self.pairs[slot].rank = Some(self.ranked.len() as u32);
        self.ranked.push(slot as u32);
        for (a, edge) in tables.edges(slot, t).iter().enumerate() {
            for transition in tables.transitions(edge) {
                let next = &mut self.pairs[transition.next as usize];
                next.before.push((slot as u32, a as u32));
            }
        }
    }

    /// A pair was updated: the pairs that lead to it enter the queue, each with the change of its own value that follows.
    pub(crate) fn updated(&mut self, tables: &VisitedPairs, slot: usize) {
        let pair = &mut self.pairs[slot];
        pair.priority = 0.0;
        let value = tables.rows[slot].value;
        let change = (value - pair.passed_on).abs();
        if change <= self.least {
            return;
        }
        pair.passed_on = value;
        for i in 0..self.pairs[slot].before.len() {
            let (from, a) = self.pairs[slot].before[i];
            let before = &mut self.pairs[from as usize];
            let priority = change * tables.share(from, a, slot);
            if let Some(rank) = before.rank
                && priority > self.least
                && priority > before.priority
            {
                before.priority = priority;
                self.queue.push((priority.to_bits(), rank));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::episode::Episode;
    use crate::learners::support::unknown_costs::UnknownCostRule;
    use crate::spec::Spec;

    #[test]
    fn the_largest_change_comes_first() {
        // Feedback 0 and 1 lead to the states 0 and 1, feedback 2 to state 0.
        let spec = Spec::numbered(3, 2, 1, 3).unwrap();
        let spec = spec.transition(|_t, _x, _a, f| (f % 2) as f64);
        let mut tables =
            VisitedPairs::new("test", &Arc::new(spec), UnknownCostRule::Impute).unwrap();
        let mut priorities = Priorities::new(1, 1e-3);
        let mut learn = |states: [usize; 3]| {
            let mut episode = Episode::default();
            episode.begin(states[0]);
            episode.advance(0, states[1], states[1]);
            episode.advance(0, states[2], states[2]);
            episode.costs.extend([0.0, 0.0]);
            episode.rewards.extend([0.0, 0.0, 0.0]);
            tables.learn(&episode);
        };
        // To state 0 at step 3: once of two from state 0, always from state 1.
        learn([0, 0, 0]);
        learn([0, 0, 1]);
        learn([0, 1, 0]);
        let slot = |tables: &mut VisitedPairs, t, x| tables.expanded(t, x);
        let last = slot(&mut tables, 3, 0);
        let (even, sure) = (slot(&mut tables, 2, 0), slot(&mut tables, 2, 1));
        for (slot, t) in [(even, 2), (sure, 2), (last, 3)] {
            priorities.list(&tables, slot, t);
        }
        tables.rows[last].value = 1.0;
        priorities.updated(&tables, last);
        assert_eq!(priorities.pairs[even].priority, 0.5);
        assert_eq!(priorities.pairs[sure].priority, 1.0);
        assert_eq!(priorities.pop(), Some(sure));
        // A smaller change of the same pair does not replace a larger one, and no change adds nothing.
        tables.rows[last].value = 1.1;
        priorities.updated(&tables, last);
        assert_eq!(priorities.pairs[even].priority, 0.5);
        priorities.updated(&tables, even);
        assert_eq!(priorities.pop(), Some(sure));
        priorities.updated(&tables, sure);
        assert_eq!(priorities.pop(), None);
    }
}
