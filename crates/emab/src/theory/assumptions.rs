//! The assumptions of the theorems, and where a problem violates them.

use crate::oracle::{Gaps, Triplet};
use crate::spec::Action;

/// Assumption 1: where `stop` is among the best actions it is the only one. Returns the continuation actions that
/// violate it.
///
/// A tie of `stop` costs no regret: the benchmark earns at least as much after the tied action as by stopping (its
/// value is never below the reward of stopping). But the
/// learner's choices need not converge to those of the benchmark.
pub fn assumption1(gaps: &Gaps) -> Vec<Triplet> {
    let violates = |triplet: &&Triplet| {
        triplet.stop_is_best && triplet.delta == 0.0 && triplet.action != Action::Stop
    };
    gaps.triplets.iter().filter(violates).copied().collect()
}

/// Assumption 2: a deviation costs at most `(l_max - t)` times its gap. Returns the triplets that violate it.
pub fn assumption2(gaps: &Gaps) -> Vec<Triplet> {
    let violates = |triplet: &&Triplet| {
        let steps = (gaps.horizon - triplet.t) as f64;
        // At the last but one step both sides are the same number, computed differently.
        let rounding =
            1e-12 * (1.0 + steps) * (triplet.gain.abs() + triplet.omega.abs() + triplet.delta);
        triplet.omega > steps * triplet.delta + rounding
    };
    gaps.suboptimal().filter(violates).copied().collect()
}

/// Choices that no theorem counts and that have regret: best one step ahead, but not in what follows.
///
/// Continuation actions may tie in their gain and differ in what follows. Assumption 1 allows that, Theorem 1 counts
/// neither as a deviation, and a learner of gains cannot distinguish them. The other source is a `stop_bias` so large that it
/// makes another action the best. Either may cost its `regret` in every episode: where this list is not empty the theorems
/// do not cover the problem.
pub fn uncovered(gaps: &Gaps) -> Vec<Triplet> {
    let costs = |triplet: &&Triplet| {
        let size = triplet.gain.abs() + triplet.omega.abs();
        triplet.delta == 0.0 && triplet.regret > 1e-12 * size
    };
    gaps.triplets.iter().filter(costs).copied().collect()
}
