//! Measurements as words, and measurements as verdicts.

use emab_report::{Verdict, confidence, number};
use emab_sim::results::{CurvePoint, Guarantee, GuaranteeVerdict, LearnerResult};

/// A claim holds exactly, or it does not.
pub fn exactly(holds: bool) -> Verdict {
    if holds {
        Verdict::Holds
    } else {
        Verdict::Fails
    }
}

/// What a promise over many runs says of the claim that it is kept.
pub fn kept(promise: &Guarantee) -> Verdict {
    match promise.verdict {
        GuaranteeVerdict::GuaranteeVerdict => Verdict::Holds,
        GuaranteeVerdict::Broken => Verdict::Fails,
        GuaranteeVerdict::NotDecidable => Verdict::Undecided,
    }
}

/// How often a promise was broken.
pub fn broken(promise: &Guarantee) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    format!(
        "{} of {} runs break it ({} to {}; promised at most {})",
        promise.broken,
        promise.runs,
        percent(promise.interval.0),
        percent(promise.interval.1),
        percent(promise.promised)
    )
}

/// Fewer runs than this have no standard error to speak of.
pub const FEW: u64 = 10;

/// Regret at an episode with its standard error, which is infinite for too few runs.
pub fn regret_at(result: &LearnerResult, episode: u64, runs: u64) -> (f64, f64) {
    let point = result.curve.iter().find(|point| point.episode == episode);
    point.map_or((f64::NAN, f64::INFINITY), |point| regret(point, runs))
}

/// Regret at the end.
pub fn last(result: &LearnerResult, runs: u64) -> (f64, f64) {
    let point = result.curve.last();
    point.map_or((f64::NAN, f64::INFINITY), |point| regret(point, runs))
}

fn regret(point: &CurvePoint, runs: u64) -> (f64, f64) {
    let stderr = if runs < FEW {
        f64::INFINITY
    } else {
        point.stderr
    };
    (point.regret, stderr)
}

/// A measurement with its 95 % interval.
pub fn show((mean, stderr): (f64, f64)) -> String {
    match (mean, stderr) {
        (mean, _) if mean.is_nan() => "unknown (too few runs)".into(),
        (mean, stderr) if stderr.is_finite() => confidence(mean, stderr),
        (mean, _) => format!("{} (too few runs for an interval)", number(mean)),
    }
}
