//! Tables of the visited pairs and their successors: memory and time depend on these, not on the pairs of the specification.

use std::collections::HashMap;
use std::sync::Arc;

use crate::episode::Episode;
use crate::learners::LearnerError;
use crate::learners::support::pending::PendingChange;
use crate::learners::support::unknown_costs::{CostNumbers, UnknownCostRule, UnknownCosts};
use crate::slots::Slots;
use crate::spec::{Action, Spec};

/// Counts and sums of visited pairs, in the order of first visits.
#[derive(Clone, Debug)]
pub(crate) struct VisitedPairs {
    spec: Arc<Spec>,
    actions: usize,
    slots: Slots,
    pub(crate) rows: Vec<Row>,
    /// The edges of the expanded pairs, one per action, also where it is not allowed.
    edges: Vec<Edge>,
    transitions: Vec<Transition>,
    rule: UnknownCostRule,
    /// By the first transition of an edge: its observations where a cost is unknown, unless they are dropped. The edge and its
    /// transitions have what estimates use of them.
    unknown: HashMap<u32, UnknownCosts>,
    /// The rewards of all pairs together.
    pub(crate) rewards: Tally,
    /// The costs of all actions together, and their squares.
    pub(crate) costs: Tally,
    pub(crate) cost_squares: f64,
    /// The slots of the episode that was learned last, by step.
    pub(crate) path: Vec<u32>,
    /// The edge that was chosen last, and its step: the next pair to be asked for is likely among its successors.
    chosen: (usize, u32),
}

/// A count and a sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    pub(crate) count: f64,
    pub(crate) sum: f64,
}

impl Tally {
    #[inline]
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
    }

    /// The mean; 0 without observations.
    #[inline]
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0.0 {
            return 0.0;
        }
        self.sum / self.count
    }
}

/// A pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// Known terminal rewards.
    pub(crate) reward: Tally,
    /// Visits with a known reward, cost or feedback, and choices in it whose outcome is pending.
    pub(crate) visits: f64,
    pub(crate) pending: f64,
    /// The estimate of its value.
    pub(crate) value: f64,
    /// One over the number of rewards; 0 without.
    pub(crate) inverse: f64,
    /// Its first edge, or [`UNEXPANDED`].
    first: u32,
    /// One more than the last edge that it was added to as a successor.
    added_to: u32,
}

const UNEXPANDED: u32 = u32::MAX;
/// No choice yet: no step follows `usize::MAX`.
const NOTHING_CHOSEN: (usize, u32) = (usize::MAX, 0);

/// An action in a pair.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Edge {
    /// Feedback, each with its cost; the mean of later costs stands for one that is unknown.
    pub(crate) cost: Tally,
    /// One over their number, and over one more; 0 without.
    pub(crate) inverse: f64,
    pub(crate) inverse_of_next: f64,
    /// One over the number of successors.
    pub(crate) uniform: f64,
    /// Choices whose outcome is pending.
    pub(crate) pending: f64,
    first: u32,
    /// The number of distinct pairs that may follow; 0 where the action is not allowed.
    pub(crate) successors: u32,
}

/// A pair that may follow an action, and how often it did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transition {
    pub(crate) next: u32,
    /// The state of that pair.
    state: u32,
    pub(crate) count: f64,
}

impl VisitedPairs {
    /// The maximum number of outcomes (action, feedback) of a pair: all of them are looked at when it is first visited.
    const LIMIT: usize = 10_000;

    /// Tables without pairs; fails above the limit.
    pub(crate) fn new(
        learner: &'static str,
        spec: &Arc<Spec>,
        rule: UnknownCostRule,
    ) -> Result<VisitedPairs, LearnerError> {
        let outcomes = spec.actions().len().saturating_mul(spec.feedbacks().len());
        if outcomes > Self::LIMIT {
            let why = format!(
                "it keeps a table of what may follow every pair that it visits, and a pair has {outcomes} outcomes (action, \
                 feedback), more than {}; fewer actions or feedbacks help",
                Self::LIMIT
            );
            return Err(LearnerError::DoesNotApply(learner, why));
        }
        Ok(VisitedPairs {
            actions: spec.actions().len(),
            slots: Slots::new(spec.horizon(), spec.states().len()),
            spec: spec.clone(),
            rows: Vec::new(),
            edges: Vec::new(),
            transitions: Vec::new(),
            rule,
            unknown: HashMap::new(),
            rewards: Tally::default(),
            costs: Tally::default(),
            cost_squares: 0.0,
            path: Vec::new(),
            chosen: NOTHING_CHOSEN,
        })
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.rows.clear();
        self.edges.clear();
        self.transitions.clear();
        self.unknown.clear();
        self.path.clear();
        self.chosen = NOTHING_CHOSEN;
        (self.rewards, self.costs) = Default::default();
        self.cost_squares = 0.0;
    }

    /// The slot of a pair, with its successors; a pair at the horizon has none.
    #[inline(always)]
    pub(crate) fn expanded(&mut self, t: usize, x: usize) -> usize {
        let slot = self.slot(t, x);
        if self.rows[slot].first == UNEXPANDED {
            self.expand(slot, t, x);
        }
        slot
    }

    /// The same where it is likely that the pair follows the last choice: this needs no look-up by hash.
    #[inline(always)]
    pub(crate) fn expanded_after_choice(&mut self, t: usize, x: usize) -> usize {
        let (step, edge) = self.chosen;
        if step == t - 1
            && let Some(i) = self.find_successor(edge as usize, x)
        {
            let slot = self.transitions[i].next as usize;
            if self.rows[slot].first == UNEXPANDED {
                self.expand(slot, t, x);
            }
            return slot;
        }
        self.expanded(t, x)
    }

    /// Remembers that an action was chosen in a pair at step `t`.
    #[inline]
    pub(crate) fn choose(&mut self, t: usize, slot: usize, a: usize) {
        self.chosen = (t, self.rows[slot].first + a as u32);
    }

    /// The transition of an edge to a pair with this state.
    #[inline]
    fn find_successor(&self, edge: usize, x: usize) -> Option<usize> {
        let edge = self.edges.get(edge)?;
        let first = edge.first as usize;
        let successors = &self.transitions[first..first + edge.successors as usize];
        let found = successors.iter().position(|it| it.state as usize == x);
        found.map(|i| first + i)
    }

    #[inline]
    fn slot(&mut self, t: usize, x: usize) -> usize {
        let (slot, new) = self.slots.of(t, x);
        if new {
            self.rows.push(Row {
                reward: Tally::default(),
                visits: 0.0,
                pending: 0.0,
                value: 0.0,
                inverse: 0.0,
                first: UNEXPANDED,
                added_to: 0,
            });
        }
        slot
    }

    #[cold]
    fn expand(&mut self, slot: usize, t: usize, x: usize) {
        self.rows[slot].first = self.edges.len() as u32;
        if t >= self.spec.horizon() {
            return;
        }
        for a in 0..self.actions {
            let first = self.transitions.len();
            if self.spec.is_allowed(t, x, a) {
                for f in 0..self.spec.feedbacks().len() {
                    // A feedback that leads nowhere is an error of the specification and never occurs.
                    let Ok(next) = self.spec.next(t, x, a, f) else {
                        continue;
                    };
                    let (state, next) = (next as u32, self.slot(t + 1, next) as u32);
                    let (row, edge) = (&mut self.rows[next as usize], self.edges.len() as u32 + 1);
                    if row.added_to != edge {
                        row.added_to = edge;
                        self.transitions.push(Transition {
                            next,
                            state,
                            count: 0.0,
                        });
                    }
                }
            }
            let successors = self.transitions.len() - first;
            self.edges.push(Edge {
                first: first as u32,
                successors: successors as u32,
                uniform: 1.0 / successors.max(1) as f64,
                ..Edge::default()
            });
        }
    }

    /// Whether the pair was visited, or asked for.
    pub(crate) fn is_expanded(&self, slot: usize) -> bool {
        self.rows[slot].first != UNEXPANDED
    }

    /// The edges of an expanded pair at step `t`, by action; none at the horizon.
    #[inline]
    pub(crate) fn edges(&self, slot: usize, t: usize) -> &[Edge] {
        let first = self.rows[slot].first as usize;
        let count = if t < self.spec.horizon() {
            self.actions
        } else {
            0
        };
        &self.edges[first..first + count]
    }

    /// The pairs that may follow an edge.
    #[inline]
    pub(crate) fn transitions(&self, edge: &Edge) -> &[Transition] {
        &self.transitions[edge.first as usize..(edge.first + edge.successors) as usize]
    }

    /// Adds the known values of an episode.
    #[inline]
    pub(crate) fn learn(&mut self, episode: &Episode) {
        self.path.clear();
        for (i, &x) in episode.states.iter().enumerate() {
            let slot = match i {
                0 => self.expanded(1, x),
                _ => self.follow(episode, i, x),
            };
            self.path.push(slot as u32);
            let row = &mut self.rows[slot];
            let (reward, cost) = (episode.known_reward(i + 1), episode.known_cost(i + 1));
            let counts = || self.rule == UnknownCostRule::Impute && i < episode.actions.len();
            if reward.is_some() || cost.is_some() || counts() {
                row.visits += 1.0;
            }
            if let Some(reward) = reward {
                row.reward.add(reward);
                row.inverse = 1.0 / row.reward.count;
                row.value = row.reward.sum * row.inverse;
                self.rewards.add(reward);
            }
        }
    }

    /// Adds the action of step `i`, after which the episode has state `x`, and returns the slot that it led to.
    #[inline(always)]
    fn follow(&mut self, episode: &Episode, i: usize, x: usize) -> usize {
        let first = self.rows[self.path[i - 1] as usize].first as usize;
        let edge = episode.actions.get(i - 1).map(|a| first + a);
        let Some((edge, transition)) =
            edge.and_then(|edge| Some((edge, self.find_successor(edge, x)?)))
        else {
            // Impossible by the specification: not so in a valid episode.
            return self.expanded(i + 1, x);
        };
        let cost = episode.known_cost(i);
        match cost {
            Some(cost) => {
                self.costs.add(cost);
                self.cost_squares += cost * cost;
                // A look-up only where some cost is unknown.
                if !self.unknown.is_empty() && self.unknown(&self.edges[edge]).is_some() {
                    self.add_beside_unknown(edge, transition, Some(cost));
                } else {
                    let edge = &mut self.edges[edge];
                    edge.cost.add(cost);
                    edge.inverse = 1.0 / edge.cost.count;
                    edge.inverse_of_next = 1.0 / (edge.cost.count + 1.0);
                    self.transitions[transition].count += 1.0;
                }
            }
            None if self.rule == UnknownCostRule::Impute => {
                self.add_beside_unknown(edge, transition, None);
            }
            None => {}
        }
        let slot = self.transitions[transition].next as usize;
        if self.rows[slot].first == UNEXPANDED {
            self.expand(slot, i + 1, x);
        }
        slot
    }

    /// Adds the feedback of an edge with an unknown cost, this one or an earlier one.
    #[cold]
    fn add_beside_unknown(&mut self, edge: usize, transition: usize, cost: Option<f64>) {
        let edge = &mut self.edges[edge];
        let first = edge.first as usize;
        let transitions = &mut self.transitions[first..first + edge.successors as usize];
        let unknown = self.unknown.entry(edge.first).or_insert_with(|| {
            UnknownCosts::after(transitions.iter().map(|it| it.count as u64), edge.cost.sum)
        });
        unknown.add(transition - first, cost);
        for (transition, used) in transitions.iter_mut().zip(unknown.feedback()) {
            transition.count = used as f64;
        }
        let (count, sum) = unknown.cost();
        edge.cost = Tally {
            count: count as f64,
            sum,
        };
        if count > 0 {
            edge.inverse = 1.0 / edge.cost.count;
            edge.inverse_of_next = 1.0 / (edge.cost.count + 1.0);
        }
    }

    /// The numbers of observations of an edge with unknown costs.
    pub(crate) fn unknown(&self, edge: &Edge) -> Option<CostNumbers> {
        let unknown = self.unknown.get(&edge.first);
        unknown.map(UnknownCosts::numbers)
    }

    /// The share of an action in a pair that led to another pair; 0 where it was never taken.
    pub(crate) fn share(&self, slot: u32, a: u32, next: usize) -> f64 {
        let edge = &self.edges[(self.rows[slot as usize].first + a) as usize];
        let followed = self.transitions(edge).iter();
        let counts = followed.filter(|it| it.next as usize == next);
        edge.inverse * counts.map(|it| it.count).sum::<f64>()
    }

    /// Counts a choice in flight, or one less.
    pub(crate) fn count_pending(&mut self, change: &PendingChange) {
        let slot = self.expanded(change.t, change.x);
        let by = if change.more { 1.0 } else { -1.0 };
        self.rows[slot].pending += by;
        if let Action::Continue(a) = change.action
            && change.t < self.spec.horizon()
            && a < self.actions
        {
            self.edges[self.rows[slot].first as usize + a].pending += by;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two feedbacks of action 0 lead to one state; action 1 is allowed in state 0 only.
    fn tables() -> VisitedPairs {
        let spec = Spec::numbered(3, 2, 2, 3).unwrap();
        let spec = spec
            .transition(|_t, _x, _a, f| (f / 2) as f64)
            .allowed(|_t, x, a, _f| f64::from(u8::from(a == 0 || x == 0)));
        VisitedPairs::new("test", &Arc::new(spec), UnknownCostRule::Impute).unwrap()
    }

    #[test]
    fn successors_are_listed_once() {
        let mut tables = tables();
        let start = tables.expanded(1, 0);
        assert_eq!(tables.edges(start, 1).len(), 2);
        for edge in tables.edges(start, 1) {
            assert_eq!((edge.successors, edge.uniform), (2, 0.5));
        }
        let other = tables.expanded(2, 1);
        assert_eq!(tables.edges(other, 2)[1].successors, 0);
        let last = tables.expanded(3, 0);
        assert!(tables.edges(last, 3).is_empty());
    }

    #[test]
    fn known_values_are_counted() {
        let mut tables = tables();
        let mut episode = Episode::default();
        episode.begin(0);
        episode.advance(0, 1, 0);
        episode.advance(0, 2, 1);
        episode.costs.extend([0.5, f64::NAN]);
        episode.rewards.extend([1.0, f64::NAN, 3.0]);
        tables.learn(&episode);
        tables.learn(&episode);
        let start = tables.expanded(1, 0);
        let edge = tables.edges(start, 1)[0];
        assert_eq!((edge.cost.count, edge.cost.sum), (2.0, 1.0));
        let counts = tables.transitions(&edge).iter().map(|it| it.count);
        assert_eq!(counts.collect::<Vec<_>>(), [2.0, 0.0]);
        // Neither the reward nor the cost of the second step is known, and its feedback waits for a cost.
        let second = tables.expanded(2, 0);
        assert_eq!(tables.rows[second].visits, 2.0);
        let counts = |tables: &VisitedPairs| {
            let edge = tables.edges(second, 2)[0];
            let counts = tables.transitions(&edge).iter().map(|it| it.count);
            (edge.cost, counts.collect::<Vec<_>>())
        };
        assert_eq!(counts(&tables), (Tally::default(), vec![0.0, 0.0]));
        episode.costs[1] = 4.0;
        tables.learn(&episode);
        let cost = Tally {
            count: 3.0,
            sum: 12.0,
        };
        assert_eq!(counts(&tables), (cost, vec![0.0, 3.0]));
        tables.clear();
        episode.costs[1] = f64::NAN;
        tables.learn(&episode);
        tables.learn(&episode);
        let third = tables.expanded(3, 1);
        assert_eq!(
            (tables.rows[third].value, tables.rows[third].visits),
            (3.0, 2.0)
        );
        assert_eq!((tables.rewards.count, tables.costs.count), (4.0, 2.0));
    }

    #[test]
    fn too_many_outcomes_are_rejected() {
        let spec = Arc::new(Spec::numbered(2, 1, 101, 100).unwrap());
        let error = VisitedPairs::new("test", &spec, UnknownCostRule::Impute);
        let error = error.err().unwrap();
        assert!(error.does_not_apply());
        assert!(error.to_string().contains("10100 outcomes"), "{error}");
    }
}
