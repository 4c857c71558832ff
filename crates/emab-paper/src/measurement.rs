//! Measurements as text and as verdicts.

use emab_report::{Verdict, confidence, number};
use emab_sim::results::{CurvePoint, Guarantee, GuaranteeVerdict, LearnerResult};

/// The verdict on a claim that is checked exactly.
pub fn exact(holds: bool) -> Verdict {
    if holds {
        Verdict::Holds
    } else {
        Verdict::Fails
    }
}

/// The verdict on a guarantee.
pub fn guarantee_verdict(guarantee: &Guarantee) -> Verdict {
    match guarantee.verdict {
        GuaranteeVerdict::Holds => Verdict::Holds,
        GuaranteeVerdict::Violated => Verdict::Fails,
        GuaranteeVerdict::NotDecidable => Verdict::Undecided,
    }
}

/// How many runs violate a guarantee.
pub fn violation_text(guarantee: &Guarantee) -> String {
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
pub const MIN_RUNS: u64 = 10;

/// Regret at an episode with its standard error, which is infinite for too few runs.
pub fn regret_at(result: &LearnerResult, episode: u64, runs: u64) -> (f64, f64) {
    let point = result.curve.iter().find(|point| point.episode == episode);
    point.map_or((f64::NAN, f64::INFINITY), |point| regret(point, runs))
}

/// Regret after the last episode.
pub fn last(result: &LearnerResult, runs: u64) -> (f64, f64) {
    let point = result.curve.last();
    point.map_or((f64::NAN, f64::INFINITY), |point| regret(point, runs))
}

fn regret(point: &CurvePoint, runs: u64) -> (f64, f64) {
    let stderr = if runs < MIN_RUNS {
        f64::INFINITY
    } else {
        point.stderr
    };
    (point.regret, stderr)
}

/// A measurement with its 95 % interval.
pub fn measured_text((mean, stderr): (f64, f64)) -> String {
    match (mean, stderr) {
        (mean, _) if mean.is_nan() => "unknown (too few runs)".into(),
        (mean, stderr) if stderr.is_finite() => confidence(mean, stderr),
        (mean, _) => format!("{} (too few runs for an interval)", number(mean)),
    }
}
