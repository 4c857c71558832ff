//! A promise that may be broken with some small probability, and how often it was.

use serde::Serialize;

use emab::stats::clopper_pearson;

/// How sure a verdict is.
const CONFIDENCE: f64 = 0.95;

/// What the runs say of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuaranteeVerdict {
    /// The interval lies within what was promised.
    GuaranteeVerdict,
    /// The interval lies beyond what was promised.
    Broken,
    /// The interval has both in it: more runs would tell.
    NotDecidable,
}

impl GuaranteeVerdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            GuaranteeVerdict::GuaranteeVerdict => "kept",
            GuaranteeVerdict::Broken => "broken",
            GuaranteeVerdict::NotDecidable => "not decidable with so few runs",
        }
    }
}

/// One promise over many independent runs.
///
/// ```
/// use emab::{Kept, Promise};
/// let verdict = |broken, runs| Promise::new("Lemma 1", "", 0.01, broken, runs).verdict;
/// assert_eq!(verdict(0, 1000), Kept::Kept);
/// assert_eq!(verdict(0, 100), Kept::NotDecidable);
/// assert_eq!(verdict(50, 100), Kept::Broken);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guarantee {
    /// Where it stands.
    pub statement: String,
    /// What it says, in a line.
    pub says: String,
    /// The probability with which it may be broken.
    pub promised: f64,
    /// The runs in which it was.
    pub broken: u64,
    /// All runs.
    pub runs: u64,
    /// The share of them in which it was broken.
    pub share: f64,
    /// The ends of the interval of Clopper and Pearson for it, at 95 %.
    pub interval: (f64, f64),
    /// What that says.
    pub verdict: GuaranteeVerdict,
}

impl Guarantee {
    /// A promise that was broken in so many runs.
    pub fn new(
        statement: impl Into<String>,
        says: impl Into<String>,
        promised: f64,
        broken: u64,
        runs: u64,
    ) -> Guarantee {
        let interval = clopper_pearson(broken, runs, CONFIDENCE);
        Guarantee {
            statement: statement.into(),
            says: says.into(),
            promised,
            broken,
            runs,
            share: if runs == 0 {
                0.0
            } else {
                broken as f64 / runs as f64
            },
            interval,
            verdict: if interval.1 <= promised {
                GuaranteeVerdict::GuaranteeVerdict
            } else if interval.0 > promised {
                GuaranteeVerdict::Broken
            } else {
                GuaranteeVerdict::NotDecidable
            },
        }
    }

    /// The fewest runs that could show such a promise to be kept: those in which it is never broken.
    pub fn runs_needed(promised: f64) -> f64 {
        libm::ceil(libm::log((1.0 - CONFIDENCE) / 2.0) / libm::log1p(-promised))
    }
}
