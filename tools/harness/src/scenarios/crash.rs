//! Kills the service with SIGKILL under load, again and again.

use std::time::Duration;

use super::{Common, Report, median_and_longest};
use crate::Result;
use crate::checks::Check;
use crate::environment::StoreKind;
use crate::faults::Fault;

/// Kills before the store exists.
const KILLS_WITHOUT_STORE: u32 = 5;
/// Percentage of restarts that are killed as well.
const STARTUP_KILLS: u64 = 10;
/// How often the load after the last kill is continued, at most, until every kind of event has occurred.
const MORE_LOAD: u32 = 120;

/// Kill the service under load and check that no acknowledged write is lost.
#[derive(Clone, Debug, clap::Args)]
pub struct Crash {
    /// Number of kills.
    #[arg(long, default_value_t = 1000)]
    pub kills: u32,
    /// The store.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// The longest time from a start to a kill, in milliseconds.
    #[arg(long, default_value_t = 400)]
    pub life: u64,
    /// Kills between two audits, which recompute everything from the log.
    #[arg(long, default_value_t = 50)]
    pub audit: u32,
    /// A fault to inject.
    #[arg(long = "plant", value_name = "FAULT")]
    pub fault: Option<Fault>,
    /// Clients, seed and program.
    #[command(flatten)]
    pub common: Common,
}

impl Crash {
    /// Runs the scenario. With a fault it ends at the first violation.
    pub fn run(&self) -> Result<Report> {
        let mut scenario = self.common.scenario(self.store, self.fault)?;
        let (mut kills, mut startup_kills, mut startups) = (0, 0, Vec::new());
        for _ in 0..KILLS_WITHOUT_STORE {
            let delay = scenario.random_time(0, 20);
            scenario.environment.command.start_and_kill(delay)?;
            startup_kills += 1;
        }
        let mut service = Some(scenario.environment.start_with_studies()?);
        while kills < self.kills
            && let Some(mut running) = service.take()
        {
            let life = scenario.random_time(10, self.life);
            scenario.run_load(&[running.address], life);
            running.kill()?;
            // Responses that were sent before the kill still arrive.
            scenario.drain_and_disconnect();
            drop(running);
            kills += 1;
            if scenario.rng.percent(STARTUP_KILLS) {
                let delay = scenario.random_time(0, 40);
                scenario.environment.command.start_and_kill(delay)?;
                startup_kills += 1;
            }
            let started = scenario.start_service().map(|started| {
                startups.push(started.startup);
                service = Some(started);
            });
            let failed = started.is_err();
            scenario.findings.check_result(Check::Service, started);
            if failed {
                break;
            }
            scenario.check(kills % self.audit.max(1) == 0)?;
            if scenario.findings.total() > 0 && self.fault.is_some() {
                break;
            }
        }
        if let Some(service) = service {
            scenario.run_load(&[service.address], Duration::from_millis(300));
            // On a slow disk the rare kinds of events come later.
            let mut more = if self.fault.is_none() { MORE_LOAD } else { 0 };
            while more > 0 && !scenario.has_all_kinds()? {
                scenario.run_load(&[service.address], Duration::from_millis(500));
                more -= 1;
            }
            scenario.finish([service])?;
        }
        let kills = kills + startup_kills;
        let (median, longest) = median_and_longest(startups);
        let summary = format!(
            "{kills} kills, {startup_kills} of them during startup; ready again after {median} ms (median), {longest} ms \
             (longest)"
        );
        Ok(scenario.report(summary, kills))
    }
}
