//! The health of studies, for people and for metrics.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};

use crate::app::{Service, ServiceError};
use crate::domain::{Health, HealthInputs, HealthStatus, Study};

/// The largest number of studies in the metrics, in the order of their names.
const STUDIES: usize = 100;
/// The largest number of studies of which the open ones are found.
const MAX_HEADS: usize = 10_000;
/// How long one read of the metrics may refresh studies. The others show an earlier event, and are refreshed by later reads.
const BUDGET: Duration = Duration::from_secs(2);

/// What was read of a study.
type Known = (Arc<Study>, HealthInputs);

/// The studies as they were when they were last read for the metrics.
#[derive(Debug, Default)]
pub struct HealthCache(Mutex<HashMap<String, Known>>);

fn now() -> u64 {
    let since = crate::clock::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

async fn read(service: &Arc<Service>, study: &str) -> Result<Known, ServiceError> {
    service
        .current_state(study, |state| {
            (state.study.clone(), HealthInputs::of(state))
        })
        .await
}

/// The health of a study now.
pub async fn health(service: &Arc<Service>, study: &str) -> Result<Health, ServiceError> {
    let (study, inputs) = read(service, study).await?;
    Ok(Health::new(&study, &inputs, now()))
}

impl HealthCache {
    /// The health of the studies that are not closed, as OpenMetrics text.
    pub async fn metrics(&self, service: &Arc<Service>) -> Result<String, ServiceError> {
        let heads = service.read(|store| Ok(store.heads("", MAX_HEADS)?));
        let mut heads = heads.await?;
        heads.retain(|head| !head.closed && !head.restoring);
        heads.truncate(STUDIES);
        let start = Instant::now();
        let mut all = Vec::new();
        for head in heads {
            let known = self.locked().remove(&head.name);
            let is_current = known.as_ref().is_some_and(|(study, inputs)| {
                inputs.as_of() == head.seq && study.hash == head.spec_hash
            });
            let known = match known {
                Some(known) if is_current || start.elapsed() > BUDGET => Some(known),
                None if start.elapsed() > BUDGET => None,
                // A busy service keeps what it knew.
                earlier => read(service, &head.name).await.ok().or(earlier),
            };
            if let Some((study, inputs)) = known {
                all.push(Health::new(&study, &inputs, now()));
                self.locked().insert(head.name, (study, inputs));
            }
        }
        Ok(text(&all))
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number(status: HealthStatus) -> u8 {
    match status {
        HealthStatus::Green => 0,
        HealthStatus::Yellow => 1,
        HealthStatus::Red => 2,
    }
}

/// Names of studies and checks need no escaping.
fn text(all: &[Health]) -> String {
    let mut out = String::new();
    let mut family = |name: &str, help: &str, lines: Vec<(String, f64)>| {
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "# HELP emab_study_{name} {help}.\n# TYPE emab_study_{name} gauge"
        );
        for (labels, value) in lines {
            let _ = writeln!(out, "emab_study_{name}{{{labels}}} {value}");
        }
    };
    let of_studies = |value: &dyn Fn(&Health) -> f64| {
        let line = |it: &Health| (format!("study=\"{}\"", it.study), value(it));
        all.iter().map(line).collect()
    };
    let of_checks = |value: &dyn Fn(&crate::domain::Check) -> Option<f64>| {
        let checks = all
            .iter()
            .flat_map(|it| it.checks.iter().map(|check| (&it.study, check)));
        let line = |(study, check): (&String, &crate::domain::Check)| {
            let labels = format!("study=\"{study}\",check=\"{}\"", check.name);
            value(check).map(|value| (labels, value))
        };
        checks.filter_map(line).collect()
    };
    let status = |it: &Health| f64::from(number(it.status));
    family(
        "health",
        "The worst check: 0 green, 1 yellow, 2 red",
        of_studies(&status),
    );
    let event = |it: &Health| it.as_of as f64;
    family(
        "event",
        "The number of the last event that the checks include",
        of_studies(&event),
    );
    let status = |it: &crate::domain::Check| Some(f64::from(number(it.status)));
    family(
        "check",
        "A check: 0 green, 1 yellow, 2 red",
        of_checks(&status),
    );
    family(
        "check_value",
        "What a check compares with its thresholds",
        of_checks(&|it| it.value),
    );
    out
}
