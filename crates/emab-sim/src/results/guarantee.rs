//! Guarantees that hold up to a small probability, how often they were violated, and whether the test could have shown it.

use serde::Serialize;

use emab::stats::clopper_pearson;

/// The confidence of a verdict.
const CONFIDENCE: f64 = 0.95;

/// The verdict on a guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum GuaranteeVerdict {
    /// The interval lies at or below the guaranteed probability, and the control violates the guarantee in the same test.
    #[serde(rename = "kept")]
    Holds,
    /// Not violated, but the test has little power: too few runs, or the control does not violate it either.
    Consistent,
    /// No learner can violate it on this problem in this many episodes.
    Vacuous,
    /// The interval lies above the guaranteed probability.
    #[serde(rename = "broken")]
    Violated,
    /// Some runs violate it, and the interval contains the guaranteed probability; more runs are needed.
    NotDecidable,
}

impl GuaranteeVerdict {
    /// As text.
    pub fn words(self) -> &'static str {
        match self {
            GuaranteeVerdict::Holds => "holds",
            GuaranteeVerdict::Consistent => "consistent",
            GuaranteeVerdict::Vacuous => "vacuous",
            GuaranteeVerdict::Violated => "violated",
            GuaranteeVerdict::NotDecidable => "not decidable",
        }
    }
}

/// Runs, and how many of them violate a guarantee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ViolationCount {
    /// The runs that violate it.
    #[serde(rename = "broken")]
    pub violated: u64,
    /// All runs.
    pub runs: u64,
}

impl ViolationCount {
    /// The share of runs that violate it; 0 without runs.
    pub fn share(self) -> f64 {
        self.violated as f64 / self.runs.max(1) as f64
    }

    /// The 95 % interval of Clopper and Pearson for that share.
    pub fn interval(self) -> (f64, f64) {
        clopper_pearson(self.violated, self.runs, CONFIDENCE)
    }
}

/// What a test of a guarantee is able to show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Power {
    /// Whether no learner can violate the guarantee in this test.
    pub vacuous: bool,
    /// Runs of the control, which is known to be wrong: it must violate the guarantee if the test is able to fail.
    pub control: ViolationCount,
}

/// One guarantee over many independent runs.
///
/// ```
/// use emab_sim::results::{Guarantee, GuaranteeVerdict, Power, ViolationCount};
/// let control = |violated| Power { control: ViolationCount { violated, runs: 100 }, ..Power::default() };
/// let verdict = |violated, runs, power| {
///     let counted = ViolationCount { violated, runs };
///     Guarantee::new("Lemma 1", "", 0.01, counted, power).verdict
/// };
/// assert_eq!(verdict(0, 1000, control(100)), GuaranteeVerdict::Holds);
/// assert_eq!(verdict(0, 1000, control(0)), GuaranteeVerdict::Consistent); // the control passes the test too
/// assert_eq!(verdict(0, 100, control(100)), GuaranteeVerdict::Consistent); // too few runs
/// assert_eq!(verdict(1, 100, control(100)), GuaranteeVerdict::NotDecidable);
/// assert_eq!(verdict(50, 100, control(100)), GuaranteeVerdict::Violated);
/// let vacuous = Power { vacuous: true, ..Power::default() };
/// assert_eq!(verdict(0, 1000, vacuous), GuaranteeVerdict::Vacuous);
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
    /// The runs that violate it, and all runs.
    #[serde(flatten)]
    pub counted: ViolationCount,
    /// The share of runs that violate it.
    pub share: f64,
    /// The 95 % interval of Clopper and Pearson for that share.
    pub interval: (f64, f64),
    /// Runs of the control.
    pub control: ViolationCount,
    /// The verdict.
    pub verdict: GuaranteeVerdict,
}

impl Guarantee {
    /// A guarantee with this number of violating runs.
    pub fn new(
        statement: impl Into<String>,
        says: impl Into<String>,
        delta: f64,
        counted: ViolationCount,
        power: Power,
    ) -> Guarantee {
        let (low, high) = counted.interval();
        let could_fail = power.control.interval().0 > delta;
        let untouched = counted.violated == 0 && counted.runs > 0;
        Guarantee {
            statement: statement.into(),
            says: says.into(),
            delta,
            counted,
            share: counted.share(),
            interval: (low, high),
            control: power.control,
            verdict: match () {
                () if low > delta => GuaranteeVerdict::Violated,
                () if power.vacuous => GuaranteeVerdict::Vacuous,
                () if high <= delta && could_fail => GuaranteeVerdict::Holds,
                () if high <= delta || untouched => GuaranteeVerdict::Consistent,
                () => GuaranteeVerdict::NotDecidable,
            },
        }
    }

    /// The fewest runs that can show that a guarantee holds, if none of them violates it.
    pub fn runs_needed(delta: f64) -> f64 {
        libm::ceil(libm::log((1.0 - CONFIDENCE) / 2.0) / libm::log1p(-delta))
    }
}
