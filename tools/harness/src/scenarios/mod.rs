//! Scenarios: the service under load while something fails, and the checks after it.

mod bench;
mod clock;
mod crash;
mod disk_full;
mod drift;
mod large;
mod logs;
mod machine;
mod outage;
mod pages;
mod soak;
mod story;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::Result;
use crate::checks::log::{LogChecker, audit};
use crate::checks::{Check, Findings};
use crate::environment::service_process::ServiceProcess;
use crate::environment::{Environment, StoreKind};
use crate::faults::Fault;
use crate::load::client::{ClientBehaviour, EpisodeClient, RequestCounts};
use crate::load::event_key::KINDS;
use crate::load::generator::LoadGenerator;
use crate::load::studies::STUDIES;
use crate::rng::Rng;

pub use bench::Bench;
pub use clock::{Clock, library as clock_library};
pub use crash::Crash;
pub use disk_full::DiskFull;
pub use drift::Drift;
pub use large::Large;
pub use logs::Logs;
pub use outage::Outage;
pub use pages::Pages;
pub use soak::Soak;
pub use story::Story;

/// Longer than any request may take.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(35);

/// Options of the scenarios that break something.
#[derive(Clone, Debug, clap::Args)]
pub struct Common {
    /// Number of clients.
    #[arg(long, default_value_t = 24)]
    pub clients: u16,
    /// Seed of the clients' requests and of the times of failures.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Another program with the command `serve`, such as `emab`.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

impl Common {
    fn scenario(&self, store: StoreKind, fault: Option<Fault>) -> Result<Scenario> {
        let environment = Environment::new(self.program.as_deref(), store, fault)?;
        let behaviour = ClientBehaviour::Varied;
        Scenario::new(environment, self.clients, self.seed, behaviour)
    }
}

/// The result of a scenario.
#[derive(Debug, Default)]
pub struct Report {
    /// What happened, in one or more lines.
    pub summary: String,
    /// Kills, stops of the database, or moves of the clock.
    pub disruptions: u32,
    /// What the clients did; `None` where a measurement reports it in the summary.
    pub load: Option<LoadSummary>,
    /// The checks.
    pub findings: Findings,
}

/// What the clients did in a scenario.
#[derive(Debug)]
pub struct LoadSummary {
    /// The duration of the scenario.
    pub duration: Duration,
    /// Requests by result.
    pub requests: RequestCounts,
    /// Events in the logs at the end.
    pub events: u64,
    /// The kinds of events that clients have requested.
    pub kinds: BTreeSet<&'static str>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.summary)?;
        if let Some(load) = &self.load {
            let counts = load.requests;
            writeln!(
                f,
                "in {:.1} s: {} writes acknowledged, {} other responses, {} requests unanswered, {} deferred, {} events in \
                 the logs",
                load.duration.as_secs_f64(),
                counts.writes,
                counts.reads,
                counts.unanswered,
                counts.deferred,
                load.events
            )?;
        }
        write!(f, "{}", self.findings)
    }
}

/// A running scenario: an environment, clients, and what the checks found so far.
struct Scenario {
    environment: Environment,
    rng: Rng,
    findings: Findings,
    generator: LoadGenerator<EpisodeClient>,
    log: LogChecker,
    started: Instant,
}

impl Scenario {
    fn new(
        environment: Environment,
        clients: u16,
        seed: u64,
        behaviour: ClientBehaviour,
    ) -> Result<Scenario> {
        let clients = EpisodeClient::create(clients, seed, behaviour);
        Ok(Scenario {
            rng: Rng::new(seed),
            findings: Findings::default(),
            generator: LoadGenerator::new(&environment.token, clients)?,
            log: LogChecker::new(match behaviour {
                ClientBehaviour::Varied => STUDIES.len(),
                ClientBehaviour::Steady => 1,
            }),
            started: Instant::now(),
            environment,
        })
    }

    fn start_service(&self) -> Result<ServiceProcess> {
        self.environment.command.start()
    }

    /// A random duration from `least` to `least + range` milliseconds.
    fn random_time(&mut self, least: u64, range: u64) -> Duration {
        Duration::from_millis(least + self.rng.below(range))
    }

    /// Sends requests to the service at these addresses for a time. Requests are in flight on return.
    fn run_load(&mut self, addresses: &[SocketAddr], time: Duration) {
        self.generator.run(addresses, Instant::now() + time);
    }

    fn counts(&mut self) -> RequestCounts {
        let clients = self.generator.clients();
        clients.fold(RequestCounts::default(), |sum, it| sum.add(it.counts))
    }

    /// Sends requests until this many more writes are acknowledged; returns the time that took, `None` after the timeout.
    fn run_until_written(
        &mut self,
        addresses: &[SocketAddr],
        writes: u64,
        timeout: Duration,
    ) -> Option<Duration> {
        let (started, before) = (Instant::now(), self.counts().writes);
        while started.elapsed() < timeout {
            self.run_load(addresses, Duration::from_millis(10));
            if self.counts().writes >= before + writes {
                return Some(started.elapsed());
            }
        }
        None
    }

    /// Waits until no request is in flight.
    fn drain(&mut self) {
        let missing = self.generator.drain(RESPONSE_TIMEOUT);
        self.findings.check(Check::Response, missing == 0, || {
            format!("{missing} requests are not answered")
        });
    }

    /// Waits until no request is in flight, and closes all connections.
    fn drain_and_disconnect(&mut self) {
        self.drain();
        self.generator.disconnect();
    }

    /// Compares the log with the ack journals while no request is in flight; with `audit`, also recomputes everything from
    /// the log.
    fn check(&mut self, with_audit: bool) -> Result<()> {
        let mut clients: Vec<&mut EpisodeClient> = self.generator.clients().collect();
        for client in &mut clients {
            self.findings.append(&mut client.findings);
        }
        let mut store = self.environment.open_store()?;
        let findings = &mut self.findings;
        let mut checked = self.log.check(&mut *store, &mut clients, findings);
        if with_audit && checked.is_ok() {
            checked = audit(&mut *store, findings);
        }
        checked.map_err(|error| format!("{error}\n{}", self.environment.command.log_tail()).into())
    }

    /// Whether every kind of event is in the logs, once no request is in flight.
    fn has_all_kinds(&mut self) -> Result<bool> {
        self.drain();
        self.check(false)?;
        let kinds = self.log.kinds();
        Ok(KINDS.iter().all(|kind| kinds.contains(kind)))
    }

    fn stop(&mut self, service: ServiceProcess) {
        self.findings.check_result(Check::Service, service.stop());
    }

    /// Stops the services and checks everything once more.
    fn finish(&mut self, services: impl IntoIterator<Item = ServiceProcess>) -> Result<()> {
        self.drain_and_disconnect();
        services.into_iter().for_each(|service| self.stop(service));
        self.check(true)
    }

    /// Compares all acknowledgements with the log, and returns the report.
    fn report(mut self, summary: String, disruptions: u32) -> Report {
        let clients: Vec<&mut EpisodeClient> = self.generator.clients().collect();
        self.log.check_all(&clients, &mut self.findings);
        Report {
            summary,
            disruptions,
            load: Some(LoadSummary {
                duration: self.started.elapsed(),
                requests: self.counts(),
                events: self.log.events(),
                kinds: self.log.kinds(),
            }),
            findings: self.findings,
        }
    }
}

/// The median and the longest of some times, in milliseconds.
fn median_and_longest(mut times: Vec<Duration>) -> (u128, u128) {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(0, Duration::as_millis);
    let last = times.len().saturating_sub(1);
    (at(last / 2), at(last))
}
