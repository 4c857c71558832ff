//! The best sequence of actions that ignores feedback.
//!
//! A fixed sequence plays its continuation actions one after another and then stops. Where its next action is not
//! allowed, it stops. It does not depend on the state that an episode begins in.
//!
//! Section 2 of the paper lists, in its example, only sequences that repeat one action; [`best_repeated`] is the best
//! of those, [`best_fixed`] the best of all.

use std::collections::BTreeMap;

use super::exceeds;
use super::optimal::Optimal;
use super::pairs::{OracleError, Pair, Pairs};
use crate::spec::Spec;

/// A sequence of continuation actions, followed by `stop`, and its expected gain.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedSequence {
    /// Its expected gain.
    pub value: f64,
    /// Its continuation actions.
    pub actions: Vec<usize>,
}

impl FixedSequence {
    /// The names of its actions, `stop` at the end.
    pub fn names(&self, spec: &Spec) -> Vec<String> {
        let actions = self.actions.iter();
        let actions = actions.map(|&a| spec.actions().name(a).into_owned());
        actions.chain(["stop".into()]).collect()
    }
}

/// The distribution over pairs after a prefix of a sequence.
#[derive(Clone)]
struct PairDistribution {
    /// Expected gain so far: rewards of ended episodes less costs.
    earned: f64,
    at: BTreeMap<Pair, f64>,
}

impl PairDistribution {
    fn start(pairs: &Pairs) -> PairDistribution {
        PairDistribution {
            earned: 0.0,
            at: pairs.starts().collect(),
        }
    }

    fn stop(&self, pairs: &Pairs) -> f64 {
        let here = self.at.iter().map(|(&pair, p)| p * pairs.reward(pair));
        self.earned + here.sum::<f64>()
    }

    /// After one more action; none if it is allowed nowhere.
    fn after(&self, pairs: &Pairs, a: usize) -> Option<PairDistribution> {
        let mut next = PairDistribution {
            earned: self.earned,
            at: BTreeMap::new(),
        };
        for (&pair, &p) in &self.at {
            if pairs.allows(pair, a) {
                next.earned -= p * pairs.cost(pair, a);
                for (to, q, dropout) in pairs.follow_or_drop_out(pair, a) {
                    next.earned += p * q * dropout * pairs.reward(to);
                    *next.at.entry(to).or_insert(0.0) += p * q * (1.0 - dropout);
                }
            } else {
                next.earned += p * pairs.reward(pair);
            }
        }
        (!next.at.is_empty()).then_some(next)
    }
}

/// The best of all fixed sequences, the first in lexicographic order among equals.
///
/// Branch and bound: no continuation of a prefix has more value than the optimal policy from there. None where the search
/// exceeds `limit` outcomes. The pairs must be those `optimal` was computed on.
pub fn best_fixed(pairs: &Pairs, optimal: &Optimal, limit: usize) -> Option<FixedSequence> {
    let spec = pairs.problem().spec();
    let (actions, feedbacks) = (spec.actions().len(), spec.feedbacks().len());
    let start = PairDistribution::start(pairs);
    let mut best = FixedSequence {
        value: start.stop(pairs),
        actions: Vec::new(),
    };
    let mut prefix = Vec::new();
    // The length of the best sequence while it is a prefix of `prefix`; copied when the search leaves it.
    let mut best_length = None;
    // One level per step: the distribution after the prefix, and the next action to try.
    let mut levels = vec![(start, 0)];
    let mut work = 0;
    while let Some((spread, tried)) = levels.last_mut() {
        if *tried == actions {
            if best_length == Some(prefix.len()) {
                best.actions.clone_from(&prefix);
                best_length = None;
            }
            levels.pop();
            prefix.pop();
            continue;
        }
        let a = *tried;
        *tried += 1;
        work += spread.at.len() * feedbacks;
        if work > limit {
            return None;
        }
        let Some(next) = spread.after(pairs, a) else {
            continue;
        };
        let at_most = next.at.iter().map(|(&pair, p)| p * optimal.value(pair));
        if !exceeds(
            next.earned + at_most.sum::<f64>(),
            best.value,
            next.earned.abs(),
        ) {
            continue;
        }
        prefix.push(a);
        let value = next.stop(pairs);
        if exceeds(value, best.value, next.earned.abs()) {
            best.value = value;
            best_length = Some(prefix.len());
        }
        levels.push((next, 0));
    }
    Some(best)
}

/// The best sequence that repeats one action, the shortest among equals.
pub fn best_repeated(pairs: &mut Pairs) -> Result<FixedSequence, OracleError> {
    pairs.expand_all(Optimal::LIMIT, "the best repeated action")?;
    let start = PairDistribution::start(pairs);
    let mut best = (start.stop(pairs), 0, 0);
    for a in 0..pairs.problem().spec().actions().len() {
        let mut spread = start.clone();
        let mut length = 0;
        while let Some(next) = spread.after(pairs, a) {
            spread = next;
            length += 1;
            let value = spread.stop(pairs);
            if exceeds(value, best.0, spread.earned.abs()) {
                best = (value, a, length);
            }
        }
    }
    let (value, a, length) = best;
    Ok(FixedSequence {
        value,
        actions: vec![a; length],
    })
}
