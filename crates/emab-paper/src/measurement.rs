//! Measurements as text and as verdicts.

use std::fmt;

use emab_report::{Claim, Verdict, confidence, number};
use emab_sim::results::{CurvePoint, Guarantee, GuaranteeVerdict, LearnerResult};

/// The verdict on a claim that is checked exactly.
pub(crate) fn exact(holds: bool) -> Verdict {
    if holds {
        Verdict::Holds
    } else {
        Verdict::Fails
    }
}

/// The verdict on a guarantee.
pub(crate) fn guarantee_verdict(guarantee: &Guarantee) -> Verdict {
    match guarantee.verdict {
        GuaranteeVerdict::Holds => Verdict::Holds,
        GuaranteeVerdict::Violated => Verdict::Fails,
        GuaranteeVerdict::NotDecidable => Verdict::Undecided,
    }
}

/// How many runs violate a guarantee.
pub(crate) fn violation_text(guarantee: &Guarantee) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    format!(
        "{} of {} runs violate it ({} to {}; guaranteed at most {})",
        guarantee.violated,
        guarantee.runs,
        percent(guarantee.interval.0),
        percent(guarantee.interval.1),
        percent(guarantee.delta)
    )
}

/// Fewest runs for a standard error.
pub(crate) const MIN_RUNS: u64 = 10;

/// Regret at an episode.
pub(crate) fn regret_at(result: &LearnerResult, episode: u64, runs: u64) -> Estimate {
    let point = result.curve.iter().find(|point| point.episode == episode);
    point.map_or(Estimate::UNKNOWN, |point| regret(point, runs))
}

/// Regret after the last episode.
pub(crate) fn last(result: &LearnerResult, runs: u64) -> Estimate {
    let point = result.curve.last();
    point.map_or(Estimate::UNKNOWN, |point| regret(point, runs))
}

fn regret(point: &CurvePoint, runs: u64) -> Estimate {
    let known = runs >= MIN_RUNS;
    Estimate(
        point.regret,
        if known { point.stderr } else { f64::INFINITY },
    )
}

/// A mean and its standard error, which is infinite for too few runs; as text, with a 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate(pub(crate) f64, pub(crate) f64);

impl Estimate {
    pub(crate) const UNKNOWN: Estimate = Estimate(f64::NAN, f64::INFINITY);

    /// The verdict on the claim that this is less than another.
    pub(crate) fn less(self, other: Estimate) -> Verdict {
        Verdict::less((self.0, self.1), (other.0, other.1))
    }

    /// The verdict on the claim that this is less than a known number.
    pub(crate) fn below(self, bound: f64) -> Verdict {
        self.less(Estimate(bound, 0.0))
    }

    pub(crate) fn divided_by(self, by: f64) -> Estimate {
        Estimate(self.0 / by, self.1 / by)
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Estimate(mean, stderr) = *self;
        out.write_str(&match stderr {
            _ if mean.is_nan() => "unknown (too few runs)".into(),
            stderr if stderr.is_finite() => confidence(mean, stderr, u64::MAX),
            _ => format!("{} (too few runs for an interval)", number(mean)),
        })
    }
}

/// The size of an experiment as text.
pub(crate) fn runs_of(runs: u64, episodes: u64) -> String {
    format!("{runs} runs of {} episodes", number(episodes as f64))
}

/// A claim. Repairs, and questions that the paper does not ask, are marked as additions.
pub(crate) fn claim(
    place: &str,
    says: impl Into<String>,
    how: impl Into<String>,
    measured: impl Into<String>,
    verdict: Verdict,
) -> Claim {
    Claim {
        ours: place.ends_with("repaired") || place.starts_with("Assumption 2"),
        place: place.into(),
        says: says.into(),
        how: how.into(),
        measured: measured.into(),
        verdict,
    }
}

/// The claim that a guarantee holds.
pub(crate) fn guarantee_claim(
    place: &str,
    says: impl Into<String>,
    how: &str,
    guarantee: &Guarantee,
) -> Claim {
    let verdict = guarantee_verdict(guarantee);
    claim(place, says, how, violation_text(guarantee), verdict)
}
