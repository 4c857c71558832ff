//! The statements of Section 4, one pure function each, evaluated on a problem of one's own.
//!
//! They hold for every width of the form `sqrt((1 + N) / N^2 * w * log(K sqrt(1 + N) / delta))`; the paper's `w` is
//! `4 sigma^2`. Sums run over the pairs that can be reached. A [`Bound`] has three readings: as printed, as the paper's
//! own proof derives it, and tight: the proof's last inequality solved instead of relaxed, and every choice charged
//! with what it costs in expectation (`V - Q`) instead of the worst that could follow.
//!
//! Regret in these bounds is the sum of `V - Q` along the learner's path, the conditional expectation of Equation 1.
//! Equation 1 itself subtracts two realised paths and is bounded for no learner, not even for the benchmark.
//!
//! `docs/theory.md` has the proofs.

mod assumptions;
mod counts;
mod evaluation;
mod regret;

pub use assumptions::{assumption1, assumption2, uncovered};
pub use counts::{corollary1, lemma1, lemma2};
pub use evaluation::{Assumption, Bounds, Informative, Onset, TripletAt, TripletBound};
pub use regret::{Premises, corollary2, informative_from, theorem1, theorem2, trivial};

use serde::Serialize;

/// One statement in its three readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Bound {
    /// As the paper prints it.
    pub printed: f64,
    /// As the paper's own proof gives it.
    pub derived: f64,
    /// The least that the argument gives: inequalities solved, not relaxed, and `V - Q` in place of `Omega`.
    pub tight: f64,
}

impl Bound {
    fn map(self, change: impl Fn(f64) -> f64) -> Bound {
        Bound {
            printed: change(self.printed),
            derived: change(self.derived),
            tight: change(self.tight),
        }
    }
}

impl std::ops::Add for Bound {
    type Output = Bound;

    fn add(self, other: Bound) -> Bound {
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
