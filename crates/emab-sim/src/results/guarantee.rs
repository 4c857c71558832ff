//! Guarantees that hold up to a small probability, and how often they were violated.

use serde::Serialize;

use emab::stats::clopper_pearson;

/// The confidence of a verdict.
const CONFIDENCE: f64 = 0.95;

/// The verdict on a guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuaranteeVerdict {
    /// The interval lies below the guaranteed probability.
    #[serde(rename = "kept")]
    Holds,
    /// The interval lies above the guaranteed probability.
    #[serde(rename = "broken")]
    Violated,
    /// The interval contains the guaranteed probability; more runs are needed.
    NotDecidable,
}

impl GuaranteeVerdict {
    /// As text.
    pub fn words(self) -> &'static str {
        match self {
            GuaranteeVerdict::Holds => "holds",
            GuaranteeVerdict::Violated => "violated",
            GuaranteeVerdict::NotDecidable => "not decidable",
        }
    }
}

/// One guarantee over many independent runs.
///
/// ```
/// use emab_sim::results::{Guarantee, GuaranteeVerdict};
/// let verdict = |violated, runs| Guarantee::new("Lemma 1", "", 0.01, violated, runs).verdict;
/// assert_eq!(verdict(0, 1000), GuaranteeVerdict::Holds);
/// assert_eq!(verdict(0, 100), GuaranteeVerdict::NotDecidable);
/// assert_eq!(verdict(50, 100), GuaranteeVerdict::Violated);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Guarantee {
    /// The lemma or theorem.
    pub statement: String,
    /// The guarantee in one line.
    pub says: String,
    /// The probability with which it may be violated.
    #[serde(rename = "promised")]
    pub delta: f64,
    /// The runs that violate it.
    #[serde(rename = "broken")]
    pub violated: u64,
    /// All runs.
    pub runs: u64,
    /// The share of runs that violate it.
    pub share: f64,
    /// The 95 % interval of Clopper and Pearson for that share.
    pub interval: (f64, f64),
    /// The verdict.
    pub verdict: GuaranteeVerdict,
}

impl Guarantee {
    /// A guarantee with this number of violating runs.
    pub fn new(
        statement: impl Into<String>,
        says: impl Into<String>,
        delta: f64,
        violated: u64,
        runs: u64,
    ) -> Guarantee {
        let interval = clopper_pearson(violated, runs, CONFIDENCE);
        Guarantee {
            statement: statement.into(),
            says: says.into(),
            delta,
            violated,
            runs,
            // Without runs none violates it.
            share: violated as f64 / runs.max(1) as f64,
            interval,
            verdict: match interval {
                (_, high) if high <= delta => GuaranteeVerdict::Holds,
                (low, _) if low > delta => GuaranteeVerdict::Violated,
                _ => GuaranteeVerdict::NotDecidable,
            },
        }
    }

    /// The fewest runs that can show that a guarantee holds, if none of them violates it.
    pub fn runs_needed(delta: f64) -> f64 {
        libm::ceil(libm::log((1.0 - CONFIDENCE) / 2.0) / libm::log1p(-delta))
    }
}
