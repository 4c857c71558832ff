//! Measurements as text and as verdicts.

use std::fmt;

use emab_report::{Claim, Verdict, confidence, number};
use emab_sim::results::{CurvePoint, Guarantee, GuaranteeVerdict, LearnerResult, ViolationCount};

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
        GuaranteeVerdict::Consistent => Verdict::Consistent,
        GuaranteeVerdict::Vacuous => Verdict::Vacuous,
        GuaranteeVerdict::Violated => Verdict::Fails,
        GuaranteeVerdict::NotDecidable => Verdict::Undecided,
    }
}

/// How many runs violate a guarantee, of the learner and of the control.
pub(crate) fn violation_text(guarantee: &Guarantee) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let control = match guarantee.control {
        ViolationCount { runs: 0, .. } => String::new(),
        ViolationCount { violated, runs } => format!("; of the control {violated} of {runs}"),
    };
    format!(
        "{} of {} runs violate it ({} to {}; guaranteed at most {}){control}",
        guarantee.counted.violated,
        guarantee.counted.runs,
        percent(guarantee.interval.0),
        percent(guarantee.interval.1),
        percent(guarantee.delta)
    )
}

/// The verdict on the claim that an expected regret is below its bound: vacuous if no learner's regret can be above it, and
/// decided only if that of the control, choices at random, is.
pub(crate) fn bound_verdict(
    regret: Estimate,
    bound: f64,
    control: Estimate,
    largest: f64,
) -> Verdict {
    match bound >= largest {
        true => Verdict::Vacuous,
        false => regret.below(bound).with_control(control.below(bound)),
    }
}

/// The verdict on the claim that regret grows with a power, to within 0.2; undecided if the power is not known that well.
pub(crate) fn power_verdict(power: Estimate, claimed: f64) -> Verdict {
    let (away, error) = ((power.0 - claimed).abs(), 3.0 * power.1);
    match () {
        () if away > 0.2 + error => Verdict::Fails,
        () if error <= 0.2 && away <= 0.2 => Verdict::Holds,
        () => Verdict::Undecided,
    }
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

/// A claim that the paper does not make.
pub(crate) fn not_in_paper(claim: Claim) -> Claim {
    Claim {
        ours: true,
        ..claim
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_vacuous_consistent_violated_or_holds() {
        let verdict = |regret, bound, control| {
            let [regret, control] = [regret, control].map(|mean| Estimate(mean, 0.1));
            bound_verdict(regret, bound, control, 100.0)
        };
        assert_eq!(verdict(5.0, 10.0, 50.0), Verdict::Holds);
        assert_eq!(verdict(5.0, 60.0, 50.0), Verdict::Consistent);
        assert_eq!(verdict(5.0, 100.0, 50.0), Verdict::Vacuous);
        assert_eq!(verdict(15.0, 10.0, 50.0), Verdict::Fails);
        assert_eq!(verdict(10.1, 10.0, 50.0), Verdict::Undecided);
    }

    #[test]
    fn a_power_is_decided_only_if_it_is_known_well_enough() {
        let verdict = |mean, error| power_verdict(Estimate(mean, error), 1.0);
        assert_eq!(verdict(1.1, 0.01), Verdict::Holds);
        assert_eq!(verdict(1.3, 0.01), Verdict::Fails);
        assert_eq!(verdict(1.1, 0.5), Verdict::Undecided);
        assert_eq!(verdict(f64::NAN, f64::INFINITY), Verdict::Undecided);
    }
}
