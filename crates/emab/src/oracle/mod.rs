//! Solutions of a problem from its model: values, policies and the exact regret of every choice.
//!
//! Results are computed and cached for requested pairs only, so that the cost of a problem with a million states depends
//! on the reachable ones.

mod benchmark;
mod fixed_sequence;
mod gaps;
mod iteration;
mod largest_regret;
mod optimal;
mod pairs;
mod solution;
mod solved_mdp;
mod variation;

pub use benchmark::Benchmark;
pub use fixed_sequence::{FixedSequence, best_fixed, best_repeated};
pub use gaps::{Gaps, Triplet};
pub use iteration::Iteration;
pub use largest_regret::LargestRegret;
pub use optimal::Optimal;
pub use pairs::{OracleError, Pair, Pairs};
pub use solution::{PolicyRow, Solution};
pub use solved_mdp::SolvedMdp;
pub use variation::Variation;

use crate::spec::Action;

/// Whether `a` exceeds `b` by more than rounding, both being sums of terms of this size. `stop` wins ties, and `0.1 + 0.2`
/// against `0.3` must be a tie.
pub(crate) fn exceeds(a: f64, b: f64, size: f64) -> bool {
    a - b > 1e-12 * size.max(a.abs()).max(b.abs())
}

/// The better of `stop` and the continuation actions, each with its value and the size of the terms it was summed
/// from: `stop` wins ties, then the lowest index does.
pub(crate) fn best_action(stop: f64, go: impl Iterator<Item = (usize, f64, f64)>) -> (Action, f64) {
    let mut best = (Action::Stop, stop, stop.abs());
    for (a, value, size) in go {
        if exceeds(value, best.1, size.max(best.2)) {
            best = (Action::Continue(a), value, size);
        }
    }
    (best.0, best.1)
}
