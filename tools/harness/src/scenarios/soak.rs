//! Watches the service's memory under a constant load.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Report, Scenario, machine};
use crate::Result;
use crate::environment::{Environment, StoreKind};
use crate::load::client::ClientBehaviour;

/// Measurements of memory.
const SAMPLES: u32 = 60;

/// Watch the memory of the service under a constant load.
#[derive(Clone, Debug, clap::Args)]
pub struct Soak {
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Number of clients.
    #[arg(long, default_value_t = 64)]
    pub clients: u16,
    /// Duration.
    #[arg(long, default_value_t = 3600)]
    pub seconds: u32,
    /// Writes per second of all clients together; a million take 1.5 GB of disk.
    #[arg(long, default_value_t = 2000)]
    pub rate: u32,
    /// Another program with the command `serve`, such as `emab`.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

impl Soak {
    /// Runs the load, and prints the memory to standard error meanwhile.
    pub fn run(&self) -> Result<Report> {
        let machine = machine::describe();
        let environment = Environment::new(self.program.as_deref(), self.store, None)?;
        let mut scenario = Scenario::new(environment, self.clients, 1, ClientBehaviour::Steady)?;
        scenario.generator.limit_rate(self.rate);
        let service = scenario.environment.start_with_study()?;
        let started = Instant::now();
        let time = Duration::from_secs(self.seconds.into());
        let mut memory = Vec::new();
        for sample in 1..=SAMPLES {
            let until = started + time * sample / SAMPLES;
            scenario.generator.run(&[service.address], until);
            let kib = service.memory_kib();
            memory.extend(kib);
            eprintln!("{sample} of {SAMPLES}: {} KiB", kib.unwrap_or_default());
        }
        let (seconds, writes) = (started.elapsed().as_secs_f64(), scenario.counts().writes);
        scenario.drain_and_disconnect();
        scenario.check(false)?;
        service.stop()?;
        let mib = |kib: &u64| format!("{:.1}", *kib as f64 / 1024.0);
        let most = |part: &[u64]| part.iter().max().map_or("?".into(), mib);
        let (early, late) = memory.split_at(memory.len() / 2);
        let samples: Vec<String> = memory.iter().map(mib).collect();
        let summary = format!(
            "{machine}\n{writes} acknowledged writes in {seconds:.0} s\nmemory in MiB: {}\nat most {} MiB in the first half, \
             {} in the second",
            samples.join(" "),
            most(early),
            most(late)
        );
        Ok(Report {
            summary,
            findings: scenario.findings,
            ..Report::default()
        })
    }
}
