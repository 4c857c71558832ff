//! The health of a study: what people who run it have to know, each with a status and one sentence.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{
    Decision, DecisionPoint, Drift, DriftMonitor, Head, RULES_4, Recent, Rejection, Study,
    StudyState,
};

/// How serious something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum HealthStatus {
    /// As it should be, or nothing is known.
    Green,
    /// To be looked at.
    Yellow,
    /// To be acted on.
    Red,
}

/// The values at which a check becomes yellow and red.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Yellow at this value.
    #[schema(minimum = 0, maximum = 1e100)]
    pub yellow: f64,
    /// Red at this value.
    #[schema(minimum = 0, maximum = 1e100)]
    pub red: f64,
}

/// Declares the checks with their default limits.
macro_rules! checks {
    ($($(#[$doc:meta])* $name:ident: $default:expr,)*) => {
        /// Limits of the checks; those that are left out are the defaults.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Thresholds {
            $($(#[$doc])*
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub $name: Option<Limits>,)*
        }

        impl Thresholds {
            /// The names, the limits and the defaults.
            fn all(&self) -> Vec<(&'static str, Option<Limits>, Option<Limits>)> {
                vec![$((stringify!($name), self.$name, $default.map(|(yellow, red)| Limits { yellow, red }))),*]
            }
        }
    };
}

const NONE: Option<(f64, f64)> = None;

checks! {
    /// Outcomes that are awaited for longer than the expected delay: their share of themselves and the last 64 learned episodes.
    overdue: Some((0.1, 0.3)),
    /// Choices that were not the recommended ones: their share of the last 64.
    overrides: Some((0.2, 0.5)),
    /// Corrections of outcomes and steps, and voided episodes: their share of the last 64 reports.
    corrections: Some((0.05, 0.2)),
    /// Episodes whose outcome is missing for good: their share of those that have ended.
    missing: Some((0.05, 0.2)),
    /// The probability of so much evidence of drift if nothing changes: yellow and red at or below.
    drift: Some((0.05, 0.001)),
    /// The largest certificate of a first decision; without limits it is always green.
    certificate: NONE,
}

impl Thresholds {
    /// Checks the order of the limits.
    pub fn check(&self) -> Result<(), Rejection> {
        for (name, limits, _) in self.all() {
            let Some(Limits { yellow, red }) = limits else {
                continue;
            };
            let falls = name == "drift";
            let ordered = if falls { red <= yellow } else { yellow <= red };
            let most = if name == "certificate" { 1e100 } else { 1.0 };
            if !ordered || yellow.min(red) < 0.0 || yellow.max(red) > most {
                let [yellow, red, most] = [yellow, red, most].map(emab::spec::format_number);
                let order = if falls {
                    "red <= yellow"
                } else {
                    "yellow <= red"
                };
                return Err(Rejection::not_possible(format!(
                    "`yellow` is {yellow} and `red` is {red}: both are from 0 to {most}, and {order}"
                ))
                .at(format!("/thresholds/{name}")));
            }
        }
        Ok(())
    }

    fn of(&self, name: &str) -> Option<Limits> {
        let all = self.all().into_iter();
        let mut named = all.filter(|it| it.0 == name);
        named.find_map(|(_, own, default)| own.or(default))
    }
}

/// One check.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Check {
    /// `overdue`, `overrides`, `corrections`, `missing`, `drift` or `certificate`.
    pub name: &'static str,
    /// The status.
    pub status: HealthStatus,
    /// What is compared with the thresholds; `null` if it is not known.
    pub value: Option<f64>,
    /// The thresholds; `null` if there are none.
    pub threshold: Option<Limits>,
    /// One sentence.
    pub detail: String,
}

/// The health of a study.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Health {
    /// The study.
    pub study: String,
    /// The worst status of a check.
    pub status: HealthStatus,
    /// The checks.
    pub checks: Vec<Check>,
    /// The sequence number of the last event that is included.
    pub as_of: u64,
    /// The time of that event, RFC 3339; left out for a study of rules before 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// What the health of a study depends on besides the time. It changes with the events only.
#[derive(Clone, Debug)]
pub struct HealthInputs {
    head: Head,
    /// None for a study of rules before 4, whose episodes have no times.
    drift: Option<Drift>,
    /// The sentence of the evidence of drift.
    changed: Option<String>,
    /// The largest certificate of a first decision, or why there is none.
    certificate: Result<f64, String>,
}

impl HealthInputs {
    /// From the state of a study and its test of drift.
    pub fn of(state: &mut StudyState, monitor: &DriftMonitor) -> HealthInputs {
        state.settle_expired();
        let (study, number) = (state.study.clone(), state.next_number());
        let drift = monitor.drift(state.head.details.outliers > 0);
        let drift = Some(drift).filter(|_| state.head.rules >= RULES_4);
        let mut certificate = Ok(0.0_f64);
        for &x in study.spec.starts() {
            let decision = Decision::make(
                &study,
                &state.head,
                &mut state.learners,
                DecisionPoint {
                    episode: "",
                    number,
                    t: 1,
                    x,
                    at: "",
                },
            );
            certificate = match (certificate, decision.certificate) {
                (Ok(most), Some(one)) => Ok(most.max(one)),
                (Ok(_), None) => Err(decision.withheld.unwrap_or_default()),
                (none, _) => none,
            };
        }
        HealthInputs {
            changed: drift
                .as_ref()
                .and_then(|it| it.strongest)
                .map(|series| series.describe(&study)),
            head: state.head.clone(),
            drift,
            certificate,
        }
    }

    /// The number of the last event that is included.
    pub fn as_of(&self) -> u64 {
        self.head.seq
    }
}

impl Health {
    /// The health at a time, in seconds since 1970.
    pub fn new(study: &Study, inputs: &HealthInputs, now: u64) -> Health {
        let checks = vec![
            overdue(study, &inputs.head, now),
            recent(study, &inputs.head, "overrides", "choices", |it| {
                (it.choices, it.recent_overrides)
            }),
            recent(study, &inputs.head, "corrections", "reports", |it| {
                (it.reports, it.recent_corrections)
            }),
            missing(study, &inputs.head),
            drift(study, inputs),
            certificate(study, inputs),
        ];
        let worst = checks.iter().map(|check| check.status).max();
        Health {
            study: study.name.clone(),
            status: worst.unwrap_or(HealthStatus::Green),
            checks,
            as_of: inputs.head.seq,
            at: inputs.head.details.at.clone(),
        }
    }
}

fn check(study: &Study, name: &'static str, value: Option<f64>, detail: String) -> Check {
    let threshold = study.thresholds.of(name);
    let reached = |limit: f64| match value {
        None => false,
        Some(value) if name == "drift" => value <= limit,
        // A limit of 0 is reached by what happens at all.
        Some(value) => value >= limit && value > 0.0,
    };
    let status = match threshold {
        Some(limits) if reached(limits.red) => HealthStatus::Red,
        Some(limits) if reached(limits.yellow) => HealthStatus::Yellow,
        _ => HealthStatus::Green,
    };
    Check {
        name,
        status,
        value,
        threshold,
        detail,
    }
}

/// The smallest number of cases whose share is judged.
const LEAST: u64 = 20;
const EARLIER: &str = "not recorded for a study of rules before 4";

fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

/// A delay in its largest unit, such as `30 days`.
pub fn in_words(delay: Duration) -> String {
    let seconds = delay.as_secs();
    let units = [
        (604_800, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let whole = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit));
    let (unit, name) = whole.unwrap_or((1, "second"));
    let count = seconds / unit;
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

fn overdue(study: &Study, head: &Head, now: u64) -> Check {
    let awaited = head.details.awaited.total();
    let (value, detail) = match study.expected_delay {
        _ if head.rules < RULES_4 => (None, EARLIER.into()),
        None => (
            None,
            format!("{awaited} outcomes are awaited; the study states no `expected_delay`"),
        ),
        Some(delay) => {
            let overdue = head.details.awaited.overdue(delay, now);
            let beside = head.counted_learned().min(Recent::KEPT);
            let after = in_words(delay);
            (
                share(overdue, overdue + beside),
                format!(
                    "{overdue} of {awaited} awaited outcomes are overdue: they were expected after {after}"
                ),
            )
        }
    };
    check(study, "overdue", value, detail)
}

fn recent(
    study: &Study,
    head: &Head,
    name: &'static str,
    of: &str,
    counter: impl FnOnce(&super::Details) -> (u64, Recent),
) -> Check {
    if head.rules < RULES_4 {
        return check(study, name, None, EARLIER.into());
    }
    let (all, recent) = counter(&head.details);
    let (all, yes) = (all.min(Recent::KEPT), recent.yes());
    let detail = format!("{yes} of the last {all} {of} are {name}");
    judged(check(study, name, share(yes, all), detail), all)
}

/// The check; green as long as there are few cases, of which one would change its status.
fn judged(check: Check, cases: u64) -> Check {
    if cases >= LEAST || check.status == HealthStatus::Green {
        return check;
    }
    Check {
        status: HealthStatus::Green,
        detail: format!("{}; fewer than {LEAST} are not judged", check.detail),
        ..check
    }
}

fn missing(study: &Study, head: &Head) -> Check {
    let ended = head.counted_episodes().saturating_sub(head.open);
    let missing = head.missing;
    let detail =
        format!("{missing} of {ended} ended episodes lack a part of their outcome for good");
    judged(
        check(study, "missing", share(missing, ended), detail),
        ended,
    )
}

fn drift(study: &Study, inputs: &HealthInputs) -> Check {
    let Some(drift) = &inputs.drift else {
        return check(study, "drift", None, EARLIER.into());
    };
    let p = drift.p;
    let limits = study.thresholds.of("drift");
    let alarm = limits.is_some_and(|limits| p <= limits.yellow);
    let mut detail = match &inputs.changed {
        Some(what) if alarm => format!(
            "{what} has changed: without a change so much evidence appears with probability at most {p:.2e}"
        ),
        Some(_) => format!("no sign of a change in {} tests", drift.tests),
        None => "nothing was learned yet".into(),
    };
    if drift.strongest.is_some() && !drift.tests_rewards {
        detail +=
            "; rewards are not tested, which needs `sigma2`, or `outcome_range` without outliers";
    }
    check(study, "drift", drift.strongest.map(|_| p), detail)
}

fn certificate(study: &Study, inputs: &HealthInputs) -> Check {
    let (value, detail) = match &inputs.certificate {
        Ok(most) => (
            Some(*most),
            format!("the first recommendation is within {most:.3} of the best action"),
        ),
        Err(why) => (None, format!("no certificate: {why}")),
    };
    check(study, "certificate", value, detail)
}
