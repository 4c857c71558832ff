//! Measures the start of the service and a correction on a store with many events.

use std::path::PathBuf;
use std::time::Instant;

use super::Report;
use crate::Result;
use crate::environment::{Environment, StoreKind};
use crate::http::{BlockingClient, Request};
use crate::load::studies::STUDIES;
use crate::rng::Rng;

/// Episodes of one import.
const IMPORT: u64 = 20_000;

/// Measure a start on a large store.
#[derive(Clone, Debug, clap::Args)]
pub struct Large {
    /// Number of events.
    #[arg(long, default_value_t = 1_000_000)]
    pub events: u64,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Another program with the command `serve`, such as `emab`.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

impl Large {
    /// Imports the events, starts the service again, and measures it.
    pub fn run(&self) -> Result<Report> {
        let study = format!("/v1/studies/{}", STUDIES[0].name);
        let environment = Environment::new(self.program.as_deref(), self.store, None)?;
        let service = environment.start_with_study()?;
        let since = Instant::now();
        let mut client = environment.connect(&service)?;
        let mut rng = Rng::new(1);
        for start in (0..self.events).step_by(IMPORT as usize) {
            let numbers = start..self.events.min(start + IMPORT);
            let body = numbers.map(|number| past_episode(number, &mut rng));
            client.send(Request::ndjson(format!("{study}:import"), body.collect()))?;
        }
        let import = since.elapsed();
        drop(client);
        service.stop()?;

        let since = Instant::now();
        let service = environment.command.start()?;
        let mut client = environment.connect(&service)?;
        open_and_tell(&mut client, &study, "first")?;
        let first = since.elapsed();
        let memory_at_start = service.memory_kib();
        let since = Instant::now();
        open_and_tell(&mut client, &study, "second")?;
        let second = since.elapsed();
        let since = Instant::now();
        let target = format!("{study}/episodes/past-0/outcome:amend");
        let body = r#"{"rewards":[0.123,null],"reason":"mistyped"}"#;
        client.send(Request::json("POST", target, body.into()))?;
        open_and_tell(&mut client, &study, "third")?;
        let correction = since.elapsed();
        let mib = |kib: Option<u64>| kib.map_or("?".into(), |kib| (kib >> 10).to_string());
        let summary = format!(
            "{} events in one study, imported within {:.1} s\nlistens after {} ms, has answered an open and a tell after {} \
             ms, the next pair takes {} ms\na correction and the decision after it take {} ms\nmemory {} MiB after the \
             start, {} MiB at the end",
            self.events + 6,
            import.as_secs_f64(),
            service.startup.as_millis(),
            first.as_millis(),
            second.as_millis(),
            correction.as_millis(),
            mib(memory_at_start),
            mib(service.memory_kib())
        );
        drop(client);
        service.stop()?;
        Ok(Report {
            summary,
            ..Report::default()
        })
    }
}

/// A line of an import: an episode of one step.
pub(super) fn past_episode(number: u64, rng: &mut Rng) -> String {
    let study = &STUDIES[0];
    let (action, feedback) = (rng.name(study.actions), rng.name(study.feedbacks));
    let reward = rng.below(1000) as f64 / 1000.0;
    format!(
        "{{\"id\":\"past-{number}\",\"actions\":[\"{action}\"],\"feedbacks\":[\"{feedback}\"],\"costs\":[0.1],\
         \"rewards\":[0.2,{reward}]}}\n"
    )
}

fn open_and_tell(client: &mut BlockingClient, study: &str, id: &str) -> Result<()> {
    let open = format!(r#"{{"id":"{id}"}}"#);
    client.send(Request::json("POST", format!("{study}/episodes"), open))?;
    let tell = r#"{"step":1,"action":"scan","feedback":"positive","reason":"to be sure"}"#;
    let target = format!("{study}/episodes/{id}:tell");
    client.send(Request::json("POST", target, tell.into()))?;
    Ok(())
}
