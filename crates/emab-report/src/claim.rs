//! Claims and their verdicts.

use serde::{Deserialize, Serialize};

use crate::document::claim_rows;
use crate::text_table::table;

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds in the reading that the measurement describes.
    HoldsInPart,
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

    /// The worst of several verdicts.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Holds => 0,
            Verdict::HoldsInPart => 1,
            Verdict::Undecided => 2,
            Verdict::Fails => 3,
        };
        verdicts
            .into_iter()
            .max_by_key(rank)
            .unwrap_or(Verdict::Holds)
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
