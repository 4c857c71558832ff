//! True values of every triplet (step, state, action), in a table.

use emab::oracle::{Gaps, Optimal, Pair};
use emab::theory::{Bound, Premises, theorem1};
use emab::{Action, Environment, Spec};

/// True values by pair and action, `stop` last.
pub(super) struct TripletTable {
    pub(super) columns: usize,
    pub(super) triplets: Vec<TripletValues>,
    pub(super) theorem1: Option<Bound>,
    /// Whether the learner estimates values, and not gains.
    pub(super) values: bool,
    /// By pair: the actions that may lead to it, whose pooled estimates change with its observations. Empty for FeedBAL,
    /// which does not pool.
    pub(super) led_by: Vec<Vec<(Pair, usize)>>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct TripletValues {
    /// What the learner estimates: the gain, or the value under the optimal policy.
    pub(super) estimated: f64,
    pub(super) delta: f64,
    /// None for the best actions, which have no limit.
    pub(super) counts: Option<Bound>,
}

impl TripletTable {
    pub(super) fn new(
        environment: &Environment,
        gaps: &Gaps,
        premises: Option<&Premises<'_>>,
        delta: f64,
        optimal: Option<&Optimal>,
    ) -> TripletTable {
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let mut triplets = vec![TripletValues::default(); pairs.len() * columns];
        for triplet in &gaps.triplets {
            let Some(pair) = pairs.find(triplet.t, triplet.x) else {
                continue;
            };
            let column = column(triplet.action, columns);
            let estimated = match (optimal, triplet.action) {
                (Some(optimal), Action::Continue(a)) => {
                    pairs.action_value(pair, a, |next: Pair| optimal.value(next))
                }
                _ => triplet.gain,
            };
            triplets[pair.index() * columns + column] = TripletValues {
                estimated,
                delta: triplet.delta,
                counts: premises
                    .filter(|_| triplet.delta > 0.0)
                    .map(|premises| premises.counts(triplet, delta)),
            };
        }
        let mut led_by = vec![Vec::new(); pairs.len()];
        for pair in pairs.iter().filter(|_| premises.is_none()) {
            for a in pairs.allowed(pair) {
                for (next, _) in pairs.follow(pair, a) {
                    let from = &mut led_by[next.index()];
                    // Pairs and actions come in order, so a duplicate is the last entry.
                    if from.last() != Some(&(pair, a)) {
                        from.push((pair, a));
                    }
                }
            }
        }
        TripletTable {
            columns,
            triplets,
            values: optimal.is_some(),
            theorem1: premises.map(|premises| theorem1(premises, delta)),
            led_by,
        }
    }

    pub(super) fn triplet_at(
        &self,
        environment: &Environment,
        spec: &Spec,
        triplet: usize,
    ) -> (usize, usize, Action) {
        let row = triplet / self.columns;
        let action = match triplet % self.columns {
            column if column < spec.actions().len() => Action::Continue(column),
            _ => Action::Stop,
        };
        let pairs = environment.pairs();
        let pair = pairs.iter().nth(row).unwrap_or_default();
        (pairs.step(pair), pairs.state(pair), action)
    }
}

pub(super) fn column(action: Action, columns: usize) -> usize {
    match action {
        Action::Continue(a) => a,
        Action::Stop => columns - 1,
    }
}
