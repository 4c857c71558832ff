//! The statements of Section 4, one pure function each, evaluated on a problem.
//!
//! They hold for every width of the form `sqrt((1 + N) / N^2 * w * log(K sqrt(1 + N) / delta))`; the paper's `w` is
//! `4 sigma^2`. Sums run over the pairs that can be reached. A [`Bound`] has three readings: as printed, as the paper's
//! proof derives it, and tight: the last inequality of the proof solved instead of relaxed, and the expected cost `V - Q`
//! of every choice instead of the worst case.
//!
//! Regret in these bounds is the sum of `V - Q` along the learner's path, the conditional expectation of Equation 1.
//! Equation 1 itself subtracts two realised paths and has no such bound for any learner, the benchmark included.
//!
//! `docs/theory.md` has the proofs.
//!
//! ```
//! use std::sync::Arc;
//! use emab::oracle::Gaps;
//! use emab::theory::{Premises, assumption1, assumption2, corollary2, informative_from, theorem1, theorem2, trivial, uncovered};
//! use emab::{Model, Problem, Sigma2, Spec};
//! use emab::width::WidthKind;
//!
//! // Two steps: continuing shows a fair coin worth 1, stopping at once pays 0.45.
//! let spec = Spec::numbered(2, 2, 1, 2).unwrap()
//!     .transition(|_t, _x, _a, f| f as f64);
//! let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| if t == 1 { 0.45 } else { x as f64 });
//! let gaps = Gaps::new(Arc::new(Problem::new("coin", spec, model)), 0.0).unwrap();
//! assert!(assumption1(&gaps).is_empty() && assumption2(&gaps).is_empty() && uncovered(&gaps).is_empty());
//!
//! let sigma2 = Sigma2::new(0.0025).unwrap();
//! let premises = Premises { gaps: &gaps, coefficients: WidthKind::Paper.coefficients(sigma2, sigma2) };
//! let bound = theorem1(&premises, 0.01);
//! assert!(bound.printed < 8.0 && bound.derived > 13.0 && bound.tight < bound.printed);
//! // Stopping is the only mistake and costs its gap, so that Corollary 2 is l_max times the sum of Theorem 2.
//! let (two, corollary) = (theorem2(&premises, 1000).derived, corollary2(&premises, 1000).derived);
//! assert!((corollary - 0.05 - 2.0 * (two - 0.05)).abs() < 1e-9);
//! let first = informative_from(|_n| bound.derived, |n| trivial(&gaps, n)).unwrap();
//! assert!(trivial(&gaps, first) > bound.derived && trivial(&gaps, first - 1) <= bound.derived);
//! ```

mod assumptions;
mod counts;
mod evaluation;
mod lower;
mod regret;

pub use assumptions::{assumption1, assumption2, uncovered};
pub use counts::{corollary1, lemma2};
pub use evaluation::{Assumption, Bounds, Informative, TripletAt, TripletBound};
pub use lower::{LimitingTriplet, Lower, LowerBound, LowerTriplet, Target, least_choices};
pub use regret::{Premises, corollary2, informative_from, theorem1, theorem2, trivial};

use serde::Serialize;

/// One statement in its three readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bound<T = f64> {
    /// As the paper prints it.
    pub printed: T,
    /// As the paper's proof derives it.
    pub derived: T,
    /// The tightest bound of the argument: inequalities solved, not relaxed, and `V - Q` in place of `Omega`.
    pub tight: T,
}

/// The first number of episodes after which each reading is below the trivial bound.
pub type Onset = Bound<Option<u64>>;

impl<T> Bound<T> {
    /// Changes each reading.
    pub fn map<U>(self, change: impl Fn(T) -> U) -> Bound<U> {
        Bound {
            printed: change(self.printed),
            derived: change(self.derived),
            tight: change(self.tight),
        }
    }
}

impl<T: std::ops::Add<Output = T>> std::ops::Add for Bound<T> {
    type Output = Bound<T>;

    fn add(self, other: Bound<T>) -> Bound<T> {
        Bound {
            printed: self.printed + other.printed,
            derived: self.derived + other.derived,
            tight: self.tight + other.tight,
        }
    }
}

impl std::iter::Sum for Bound {
    fn sum<I: Iterator<Item = Bound>>(bounds: I) -> Bound {
        bounds.fold(Bound::default(), |sum, bound| sum + bound)
    }
}
