//! The demo: simulated studies beside the running service, in a temporary folder.
//!
//! - `studies`: the studies, with the models that feedback, costs and rewards are drawn from (`truth`).
//! - `people`: the people who report, each with a token.
//! - `case`: one simulated case; `simulated_study`: the cases of a study, first its past, then one report after another.
//! - `folder`: the temporary folder.
//!
//! Reports are commands to `Service::submit`, as those of requests are. The simulation reads the replies, and whether a study
//! opens cases; it leaves a case alone once a visitor has changed it.

mod case;
mod folder;
mod people;
mod simulated_study;
mod studies;
mod truth;

use std::sync::Arc;
use std::time::Duration;

use emab::spec::PointError;
use emab::{Role, Stream};
use emab_problem::ReadError;
use thiserror::Error;
use tokio::time::{MissedTickBehavior, interval};

pub use folder::TemporaryFolder;
pub use people::{DemoToken, People};

use crate::app::{Service, ServiceError};
use crate::platform::Hangup;
use simulated_study::SimulatedStudy;
use studies::{CLINIC, TUTORING};

/// The names of the studies.
pub const STUDIES: [&str; 2] = [CLINIC.name, TUTORING.name];
/// The share of the clinic among the cases, and among the reports.
const CLINIC_SHARE: f64 = 0.7;

/// Why the demo cannot go on.
#[derive(Debug, Error)]
pub enum DemoError {
    /// The service has rejected or not answered a report of the past.
    #[error("a simulated report failed: {0}")]
    Service(#[from] ServiceError),
    /// A problem of the demo is invalid.
    #[error("a problem of the demo is invalid: {0}")]
    Problem(#[from] Box<ReadError>),
    /// A quantity of a problem is invalid.
    #[error("a problem of the demo is invalid: {0}")]
    Point(#[from] PointError),
    /// A study cannot be written as JSON.
    #[error("a study of the demo is invalid: {0}")]
    Json(#[from] serde_json::Error),
}

impl From<ReadError> for DemoError {
    fn from(error: ReadError) -> DemoError {
        DemoError::Problem(Box::new(error))
    }
}

/// Runs a simulation until it ends, or until SIGHUP.
pub async fn until_hangup<E>(simulation: impl Future<Output = Result<(), E>>) -> Result<(), E> {
    let mut hangup = Hangup::new();
    tokio::select! {
        () = hangup.recv() => Ok(()),
        end = simulation => end,
    }
}

/// The simulated studies.
pub struct Demo {
    clinic: SimulatedStudy,
    tutoring: SimulatedStudy,
    /// Which study is next.
    turns: Stream,
}

impl Demo {
    /// Creates the studies.
    pub async fn start(
        service: &Arc<Service>,
        people: People,
        seed: u64,
    ) -> Result<Demo, DemoError> {
        let people = Arc::new(people);
        let create = |plan, number| {
            SimulatedStudy::create(plan, service.clone(), people.clone(), (seed, number))
        };
        Ok(Demo {
            clinic: create(&CLINIC, 0).await?,
            tutoring: create(&TUTORING, 1).await?,
            turns: Stream::new(seed, STUDIES.len() as u64, Role::Delay),
        })
    }

    /// Records so many cases, in both studies together.
    pub async fn record_past(&mut self, cases: u64) -> Result<(), DemoError> {
        let clinic = (cases as f64 * CLINIC_SHARE).ceil() as u64;
        let (clinic, tutoring) = tokio::join!(
            self.clinic.record_past(clinic),
            self.tutoring.record_past(cases - clinic),
        );
        clinic.and(tutoring)
    }

    /// Reports something every `pace`, until it is dropped.
    pub async fn run(&mut self, pace: Duration) -> Result<(), DemoError> {
        let mut clock = interval(pace);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let study = match self.turns.uniform() < CLINIC_SHARE {
                true => &mut self.clinic,
                false => &mut self.tutoring,
            };
            study.step().await?;
        }
    }
}
