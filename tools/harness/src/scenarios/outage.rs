//! Stops PostgreSQL as a crash would, under the load of two instances of the service.

use std::net::SocketAddr;
use std::time::Duration;

use emab_testkit::postgres::Server;

use super::{Common, Report, Scenario, median_and_longest};
use crate::Result;
use crate::checks::Check;
use crate::environment::StoreKind;

/// The longest time from the database's return to the first write.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Percentage of rounds in which an instance is killed while the database is down.
const KILLS: u64 = 25;

/// Stop PostgreSQL as a crash would, under two instances of the service.
#[derive(Clone, Debug, clap::Args)]
pub struct Outage {
    /// Number of stops.
    #[arg(long, default_value_t = 50)]
    pub rounds: u32,
    /// Rounds between two audits, which recompute everything from the log.
    #[arg(long, default_value_t = 10)]
    pub audit: u32,
    /// Clients, seed and program.
    #[command(flatten)]
    pub common: Common,
}

impl Outage {
    /// Runs the scenario.
    pub fn run(&self) -> Result<Report> {
        let mut scenario = self.common.scenario(StoreKind::Postgres, None)?;
        let (mut kills, mut recoveries) = (0, Vec::new());
        let first = scenario.environment.start_with_studies()?;
        let mut instances = [first, scenario.start_service()?];
        for round in 1..=self.rounds {
            let addresses = [instances[0].address, instances[1].address];
            let time = scenario.random_time(50, 600);
            scenario.run_load(&addresses, time);
            let mut server = scenario.environment.server.take().ok_or("no PostgreSQL")?;
            server.stop_immediate()?;
            let time = scenario.random_time(50, 300);
            scenario.run_load(&addresses, time);
            let kill = scenario.rng.percent(KILLS);
            if kill {
                instances[1].kill()?;
                kills += 1;
            }
            scenario.environment.server = Some(restart(server, &mut scenario, &addresses)?);
            let recovery = scenario.run_until_written(&addresses, 1, RECOVERY_TIMEOUT);
            recoveries.extend(recovery);
            let log = scenario.environment.command.log_tail();
            scenario.findings.check(Check::Service, recovery.is_some(), || {
                format!("round {round}: no write within {RECOVERY_TIMEOUT:?} after the database's return\n{log}")
            });
            if kill {
                instances[1] = scenario.start_service()?;
            }
            scenario.drain();
            scenario.check(round % self.audit.max(1) == 0)?;
        }
        let addresses = [instances[0].address, instances[1].address];
        scenario.run_load(&addresses, Duration::from_millis(300));
        scenario.finish(instances)?;
        let (median, longest) = median_and_longest(recoveries);
        let summary = format!(
            "PostgreSQL stopped {} times with -m immediate under two instances of the service, one of which was killed \
             {kills} times; writes succeeded {median} ms (median), {longest} ms (longest) after its return",
            self.rounds
        );
        Ok(scenario.report(summary, self.rounds))
    }
}

/// Starts the database on another thread while the load continues.
fn restart(
    mut server: Server,
    scenario: &mut Scenario,
    addresses: &[SocketAddr],
) -> Result<Server> {
    let starting = std::thread::spawn(move || server.start_again().map(|()| server));
    while !starting.is_finished() {
        scenario.run_load(addresses, Duration::from_millis(20));
    }
    let started = starting.join();
    Ok(started.map_err(|_| "the thread that starts the database panicked")??)
}
