//! The health of studies, for people and for metrics.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::app::drift::DriftReader;
use crate::app::{Service, ServiceError, with_caller};
use crate::clock::now_seconds;
use crate::domain::{Check, Head, Health, HealthInputs, HealthStatus, Study};

/// The largest number of studies in the metrics, in the order of their names.
const STUDIES: usize = 100;
/// The largest number of studies of which the open ones are found.
const MAX_HEADS: usize = 10_000;
/// How long one read of the metrics may refresh studies, those first that were not refreshed for longest. The others show an
/// earlier event.
const BUDGET: Duration = Duration::from_secs(2);

/// What reads in the background count for, in place of a token.
const BACKGROUND: &str = "health";

/// What was last read of a study.
#[derive(Debug)]
struct LastRead {
    study: Arc<Study>,
    inputs: HealthInputs,
    drift: DriftReader,
    at: Instant,
}

/// The studies as they were when their health was last read.
#[derive(Clone, Debug, Default)]
pub struct HealthCache {
    studies: Arc<Mutex<HashMap<String, LastRead>>>,
    /// The studies whose health is being read in the background.
    running: Arc<Mutex<HashSet<String>>>,
}

impl HealthCache {
    /// The health of a study now.
    pub async fn health(
        &self,
        service: &Arc<Service>,
        study: &str,
    ) -> Result<Health, ServiceError> {
        let (cache, name) = (self.clone(), study.to_owned());
        service
            .current_state_and_store(study, move |state, store| {
                let earlier = cache.locked().remove(&name).map(|it| it.drift);
                let drift = DriftReader::read(earlier, state, store)?;
                let inputs = HealthInputs::of(state, drift.monitor());
                let health = Health::new(&state.study, &inputs, now_seconds());
                let last = LastRead {
                    study: state.study.clone(),
                    inputs,
                    drift,
                    at: Instant::now(),
                };
                cache.locked().insert(name, last);
                Ok(health)
            })
            .await
    }

    /// The health of the studies that are not closed, as OpenMetrics text. If the store cannot be read, it is the one that was last
    /// read: metrics are needed most when something fails.
    pub async fn metrics(&self, service: &Arc<Service>) -> String {
        let heads = service.read(|store| Ok(store.heads("", MAX_HEADS)?));
        if let Ok(mut heads) = heads.await {
            heads.retain(|head| !head.closed && !head.restoring);
            heads.truncate(STUDIES);
            self.locked()
                .retain(|name, _| heads.iter().any(|head| head.name == *name));
            let is_current = |head: &Head| {
                let cache = self.locked();
                let last = cache.get(&head.name);
                last.is_some_and(|it| {
                    it.inputs.as_of() == head.seq && it.study.hash == head.spec_hash
                })
            };
            heads.retain(|head| !is_current(head));
            heads.sort_by_key(|head| self.locked().get(&head.name).map(|it| it.at));
            let start = Instant::now();
            for head in heads {
                if start.elapsed() > BUDGET {
                    break;
                }
                // A busy service keeps what it knew.
                let _ = self.health(service, &head.name).await;
            }
        }
        let cache = self.locked();
        let known = cache
            .values()
            .map(|it| Health::new(&it.study, &it.inputs, now_seconds()));
        let mut all: Vec<Health> = known.collect();
        all.sort_by(|one, other| one.study.cmp(&other.study));
        text(&all)
    }

    /// The health of a study as it was last read, which may be at an earlier event; none if it was not read yet. It is then read in
    /// the background: loading a long study takes seconds.
    pub fn latest(&self, service: &Arc<Service>, head: &Head) -> Option<Health> {
        let (latest, as_of) = {
            let cache = self.locked();
            let last = cache.get(&head.name);
            let last = last.filter(|it| it.study.hash == head.spec_hash);
            let health = last.map(|it| Health::new(&it.study, &it.inputs, now_seconds()));
            (health, last.map(|it| it.inputs.as_of()))
        };
        let running = || self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if as_of < Some(head.seq) && running().insert(head.name.clone()) {
            let (cache, service, name) = (self.clone(), service.clone(), head.name.clone());
            tokio::spawn(async move {
                // Shown as not known if it fails; the log says why.
                let _ = with_caller(BACKGROUND, cache.health(&service, &name)).await;
                let running = cache.running.lock();
                running
                    .unwrap_or_else(PoisonError::into_inner)
                    .remove(&name);
            });
        }
        latest
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<String, LastRead>> {
        self.studies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn number(status: HealthStatus) -> f64 {
    match status {
        HealthStatus::Green => 0.0,
        HealthStatus::Yellow => 1.0,
        HealthStatus::Red => 2.0,
    }
}

/// The metrics of studies. Names of studies and checks need no escaping.
pub fn text(all: &[Health]) -> String {
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
    let of_checks = |value: &dyn Fn(&Check) -> Option<f64>| {
        let checks = all
            .iter()
            .flat_map(|it| it.checks.iter().map(|check| (&it.study, check)));
        let line = |(study, check): (&String, &Check)| {
            let labels = format!("study=\"{study}\",check=\"{}\"", check.name);
            value(check).map(|value| (labels, value))
        };
        checks.filter_map(line).collect()
    };
    let status = |it: &Health| number(it.status);
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
    let status = |it: &Check| Some(number(it.status));
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
