//! Regret bounds: Theorems 1 and 2, Corollary 2, and the trivial bound.

use super::{Bound, lemma2};
use crate::oracle::{Gaps, Triplet};
use crate::spec::Action;
use crate::width::{Coefficients, log_ratio};

/// What the regret bounds are evaluated with.
#[derive(Clone, Copy, Debug)]
pub struct Premises<'a> {
    /// The gaps of the problem.
    pub gaps: &'a Gaps,
    /// The coefficients of the learner's widths.
    pub coefficients: Coefficients,
}

impl Premises<'_> {
    /// Lemma 2 for a triplet, at this `delta`.
    pub fn counts(&self, triplet: &Triplet, delta: f64) -> Bound {
        let w = match triplet.action {
            Action::Continue(_) => self.coefficients.action,
            Action::Stop => self.coefficients.stop,
        };
        lemma2(triplet.delta, w, log_ratio(self.gaps.k, delta))
    }

    /// Counts times costs. The expected cost of a choice is `V - Q`, which the tight reading uses instead of `Omega`.
    fn sum(&self, delta: f64, cost: impl Fn(&Triplet) -> f64) -> Bound {
        self.gaps
            .suboptimal()
            .map(|triplet| {
                let (cost, counts) = (cost(triplet), self.counts(triplet, delta));
                Bound {
                    printed: cost * counts.printed,
                    derived: cost * counts.derived,
                    tight: triplet.regret.max(0.0) * counts.tight,
                }
            })
            .sum()
    }
}

/// Theorem 1: with probability at least `1 - delta`, the regret after any number of episodes is at most this.
pub fn theorem1(premises: &Premises<'_>, delta: f64) -> Bound {
    premises.sum(delta, |triplet| triplet.omega)
}

/// Theorem 2: with `delta = 1 / n`, the expected regret after `n` episodes is at most this.
pub fn theorem2(premises: &Premises<'_>, episodes: u64) -> Bound {
    let delta = 1.0 / episodes as f64;
    let omega_max = premises.gaps.omega_max;
    theorem1(premises, delta).map(|bound| omega_max + bound)
}

/// Corollary 2: the same where Assumption 2 holds, in terms of the gaps alone.
pub fn corollary2(premises: &Premises<'_>, episodes: u64) -> Bound {
    let delta = 1.0 / episodes as f64;
    let omega_max = premises.gaps.omega_max;
    let steps = premises.gaps.horizon as f64;
    premises
        .sum(delta, |triplet| steps * triplet.delta)
        .map(|bound| omega_max + bound)
}

/// The trivial bound: no episode has more than `Omega_max` of expected regret.
pub fn trivial(gaps: &Gaps, episodes: u64) -> f64 {
    episodes as f64 * gaps.omega_max
}

/// The first number of episodes after which a bound is below the `most` that any learner can lose; none if it never is.
///
/// `most` must grow linearly, and `bound` not faster than a logarithm, so that there is one crossing.
pub fn informative_from(bound: impl Fn(u64) -> f64, most: impl Fn(u64) -> f64) -> Option<u64> {
    let says_more = |n: u64| bound(n) < most(n);
    let mut high = 1;
    while !says_more(high) {
        if high >= 1 << 62 {
            return None;
        }
        high *= 2;
    }
    let mut low = high / 2; // not informative, or 0
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if says_more(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(high)
}
