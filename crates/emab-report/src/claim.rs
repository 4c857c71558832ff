//! Claims and what measuring them showed.

use serde::Serialize;

use crate::document::{CLAIMS, claim_cells};
use crate::table::table;

/// What a measurement says of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Holds,
    /// It holds if it is read as the measurement says.
    HoldsInPart,
    /// It does not hold.
    Fails,
    /// Too few runs or episodes to tell.
    Undecided,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
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
        // Three standard errors: one claim in 700 is judged wrongly by chance, either way.
        match b.0 - a.0 {
            ahead if ahead > 3.0 * error => Verdict::Holds,
            ahead if ahead < -3.0 * error => Verdict::Fails,
            _ => Verdict::Undecided,
        }
    }

    /// All of several: the worst of them.
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

/// One thing the paper says, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Whether it is a claim or a repair of ours, beyond the paper.
    pub ours: bool,
    /// Where the paper says it.
    pub place: String,
    /// What it says, in our words.
    pub says: String,
    /// How it was tested.
    pub how: String,
    /// What was measured.
    pub measured: String,
    /// Whether it holds.
    pub verdict: Verdict,
}

/// Claims as a table for a terminal.
pub fn claims_table(claims: &[Claim], width: usize) -> String {
    let rows: Vec<Vec<String>> = claims.iter().map(|c| claim_cells(c).to_vec()).collect();
    table(&CLAIMS, &rows, width)
}
