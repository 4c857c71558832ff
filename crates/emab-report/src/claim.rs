//! Claims and their verdicts.

use serde::{Deserialize, Serialize};

use crate::document::claim_rows;
use crate::text_table::table;

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, in a test that could have failed.
    Holds,
    /// It holds in the reading that the measurement describes.
    HoldsInPart,
    /// Nothing speaks against it, but the test has little power.
    Consistent,
    /// Nothing can speak against it: no learner could violate it in this test.
    Vacuous,
    /// It does not hold.
    Fails,
    /// Too few runs or episodes to decide.
    Undecided,
}

impl Verdict {
    /// As text.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::Consistent => "consistent",
            Verdict::Vacuous => "vacuous",
            Verdict::Fails => "does not hold",
            Verdict::Undecided => "undecided",
        }
    }

    /// The verdict on "`a` is less than `b`", given both with their standard errors.
    ///
    /// ```
    /// use emab_report::Verdict;
    /// assert_eq!(Verdict::less((1.0, 0.1), (2.0, 0.1)), Verdict::Holds);
    /// assert_eq!(Verdict::less((2.0, 0.1), (1.0, 0.1)), Verdict::Fails);
    /// assert_eq!(Verdict::less((1.0, 1.0), (1.5, 1.0)), Verdict::Undecided);
    /// ```
    pub fn less(a: (f64, f64), b: (f64, f64)) -> Verdict {
        let error = a.1.hypot(b.1);
        // Three standard errors: about one claim in 700 is misjudged, in either direction.
        match b.0 - a.0 {
            ahead if ahead > 3.0 * error => Verdict::Holds,
            ahead if ahead < -3.0 * error => Verdict::Fails,
            _ => Verdict::Undecided,
        }
    }

    /// This verdict, if the control fails the same test; otherwise a claim that holds is only consistent with it.
    ///
    /// ```
    /// use emab_report::Verdict;
    /// assert_eq!(Verdict::Holds.with_control(Verdict::Fails), Verdict::Holds);
    /// assert_eq!(Verdict::Holds.with_control(Verdict::Undecided), Verdict::Consistent);
    /// assert_eq!(Verdict::Fails.with_control(Verdict::Holds), Verdict::Fails);
    /// ```
    pub fn with_control(self, control: Verdict) -> Verdict {
        match (self, control) {
            (Verdict::Holds, Verdict::Fails) => Verdict::Holds,
            (Verdict::Holds, _) => Verdict::Consistent,
            (other, _) => other,
        }
    }

    /// The verdict on several parts of a claim together: the worst of those that are not vacuous.
    ///
    /// ```
    /// use emab_report::Verdict::{Fails, Holds, Consistent, Vacuous, self};
    /// assert_eq!(Verdict::all([Holds, Vacuous]), Holds);
    /// assert_eq!(Verdict::all([Holds, Consistent]), Consistent);
    /// assert_eq!(Verdict::all([Vacuous, Vacuous]), Vacuous);
    /// assert_eq!(Verdict::all([Holds, Fails]), Fails);
    /// ```
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Vacuous => 0,
            Verdict::Holds => 1,
            Verdict::HoldsInPart => 2,
            Verdict::Consistent => 3,
            Verdict::Undecided => 4,
            Verdict::Fails => 5,
        };
        verdicts
            .into_iter()
            .max_by_key(rank)
            .unwrap_or(Verdict::Undecided)
    }
}

/// A claim with its measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// Whether it is an addition or a repair beyond the paper.
    pub ours: bool,
    /// Place in the paper.
    pub place: String,
    /// The claim, paraphrased.
    pub says: String,
    /// Test method.
    pub how: String,
    /// Measurement.
    pub measured: String,
    /// Verdict.
    pub verdict: Verdict,
}

/// Claims as a table for a terminal.
pub fn claims_table(claims: &[Claim], width: usize) -> String {
    let (header, rows) = claim_rows(claims);
    table(&header, &rows, width)
}
