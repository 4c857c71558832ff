//! Benchmark: acknowledged writes and reads per second, beside the rate of the disk and beside Optuna, in one run.

mod optuna;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Report, Scenario, machine};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::service_process::ServiceProcess;
use crate::environment::{Environment, StoreKind};
use crate::load::client::ClientBehaviour;
use crate::load::generator::LoadGenerator;
use crate::load::readers::ReadClient;
use crate::load::studies::STUDIES;
use optuna::{Optuna, OptunaFigures};

/// Load before each measurement.
const WARM_UP: Duration = Duration::from_secs(1);

/// Measure writes and reads per second, beside the rate of the disk and beside Optuna.
#[derive(Clone, Debug, clap::Args)]
pub struct Bench {
    /// The stores.
    #[arg(long, value_delimiter = ',', default_value = "sqlite,postgres")]
    pub stores: Vec<StoreKind>,
    /// Number of clients.
    #[arg(long, default_value_t = 64)]
    pub clients: u16,
    /// Duration of each measurement.
    #[arg(long, default_value_t = 10.0)]
    pub seconds: f64,
    /// Leave Optuna out.
    #[arg(long)]
    pub no_optuna: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Another program with the command `serve`, such as `emab`.
    #[arg(long)]
    pub program: Option<PathBuf>,
}

/// Rate and latencies.
#[derive(Clone, Copy, Debug, Serialize)]
struct Figures {
    count: u64,
    per_second: f64,
    p50_ms: f64,
    p99_ms: f64,
    longest_ms: f64,
}

impl Figures {
    /// From latencies in microseconds.
    fn new(mut latencies: Vec<u32>, time: Duration) -> Figures {
        latencies.sort_unstable();
        let percentile = |percent: usize| {
            let index = (latencies.len() * percent / 100).min(latencies.len().saturating_sub(1));
            f64::from(latencies.get(index).copied().unwrap_or(0)) / 1000.0
        };
        Figures {
            count: latencies.len() as u64,
            per_second: latencies.len() as f64 / time.as_secs_f64(),
            p50_ms: percentile(50),
            p99_ms: percentile(99),
            longest_ms: percentile(100),
        }
    }
}

/// The measurements of a store.
#[derive(Clone, Debug, Serialize)]
struct StoreFigures {
    store: &'static str,
    /// Acknowledged writes of whole episodes of one study.
    writes: Figures,
    /// Episodes that were opened during these writes.
    episodes_per_second: f64,
    /// Responses to `:ask`.
    asks: Figures,
    /// Processors that the service and the clients used during the writes.
    processors: (Option<f64>, Option<f64>),
    /// Memory of the service during the writes.
    memory_mib: Vec<u64>,
    /// Optuna with one process and with four.
    optuna: Vec<OptunaFigures>,
}

/// All measurements.
#[derive(Debug, Serialize)]
struct BenchFigures {
    machine: String,
    clients: u16,
    /// Before and after the other measurements.
    disk: [Figures; 2],
    stores: Vec<StoreFigures>,
    /// What was left out, and why.
    notes: Vec<String>,
    /// Violated guarantees.
    broken: u64,
}

impl Bench {
    /// Runs all measurements. Without PostgreSQL or Optuna it leaves these out and says so.
    pub fn run(&self) -> Result<Report> {
        let time = Duration::try_from_secs_f64(self.seconds);
        let time = time.map_err(|error| format!("--seconds: {error}"))?;
        let folder = tempfile::tempdir()?;
        let measure_disk = || {
            let time = time.min(Duration::from_secs(2));
            let latencies = machine::disk_latencies(folder.path(), time)?;
            Ok::<_, crate::Error>(Figures::new(latencies, time))
        };
        let machine = machine::describe();
        let (mut notes, mut findings) = (Vec::new(), Findings::default());
        let left_out = |error| notes.push(format!("Optuna was left out: {error}"));
        let optuna = (!self.no_optuna).then(Optuna::install);
        let optuna = optuna.and_then(|installed| installed.map_err(left_out).ok());
        let before = measure_disk()?;
        let mut stores = Vec::new();
        for &store in &self.stores {
            match Environment::new(self.program.as_deref(), store, None) {
                Ok(environment) => {
                    let behaviour = ClientBehaviour::Steady;
                    let mut scenario = Scenario::new(environment, self.clients, 1, behaviour)?;
                    stores.push(measure(&mut scenario, self.clients, time, optuna.as_ref())?);
                    findings.append(&mut scenario.findings);
                }
                Err(error) if store == StoreKind::Postgres => {
                    notes.push(format!("PostgreSQL was left out: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
        let figures = BenchFigures {
            machine,
            clients: self.clients,
            disk: [before, measure_disk()?],
            stores,
            notes,
            broken: findings.total(),
        };
        let summary = match self.json {
            true => serde_json::to_string_pretty(&figures)?,
            false => figures.table(),
        };
        Ok(Report {
            summary,
            findings,
            ..Report::default()
        })
    }
}

fn measure(
    scenario: &mut Scenario,
    clients: u16,
    time: Duration,
    optuna: Option<&Optuna>,
) -> Result<StoreFigures> {
    let service = scenario.environment.start_with_study()?;
    scenario.run_load(&[service.address], WARM_UP);
    let processor_times = || [service.id(), std::process::id()].map(machine::processor_time);
    let memory = || service.memory_kib().map(|kib| kib >> 10);
    let processors_before = processor_times();
    let mut memory_mib: Vec<u64> = memory().into_iter().collect();
    let (mut episodes, mut latencies) = (0, Vec::new());
    for client in scenario.generator.clients() {
        client.latencies = Some(Vec::new());
        episodes -= i64::from(client.episodes);
    }
    let started = Instant::now();
    for part in 1..=10 {
        let until = started + time * part / 10;
        scenario.generator.run(&[service.address], until);
        memory_mib.extend(memory());
    }
    let measured = started.elapsed();
    let processors_after = processor_times();
    for client in scenario.generator.clients() {
        episodes += i64::from(client.episodes);
        latencies.extend(client.latencies.take().into_iter().flatten());
    }
    let writes = Figures::new(latencies, measured);
    let seconds = measured.as_secs_f64();
    scenario.drain_and_disconnect();
    scenario.check(false)?;
    let asks = measure_asks(scenario, &service, clients, time)?;
    service.stop()?;
    let used = |i: usize| Some((processors_after[i]? - processors_before[i]?) / seconds);
    let mut optuna_figures = Vec::new();
    let environment = &scenario.environment;
    for workers in [1, 4] {
        let Some(optuna) = optuna else { break };
        let file = environment.folder().join("optuna.db");
        let url = match &environment.server {
            None => format!("sqlite:///{}", file.display()),
            Some(server) => {
                let url = server.database(&format!("optuna{workers}"))?;
                url.replacen("postgres://", "postgresql+psycopg2://", 1)
            }
        };
        optuna_figures.push(optuna.measure(&url, time.min(Duration::from_secs(10)), workers)?);
    }
    Ok(StoreFigures {
        store: match environment.server {
            None => "SQLite",
            Some(_) => "PostgreSQL",
        },
        writes,
        episodes_per_second: episodes as f64 / seconds,
        asks,
        processors: (used(0), used(1)),
        memory_mib,
        optuna: optuna_figures,
    })
}

fn measure_asks(
    scenario: &mut Scenario,
    service: &ServiceProcess,
    clients: u16,
    time: Duration,
) -> Result<Figures> {
    let readers = (0..clients.into()).map(|number| ReadClient::new(number, STUDIES[0].name));
    let mut generator = LoadGenerator::new(&scenario.environment.token, readers)?;
    generator.run(&[service.address], Instant::now() + WARM_UP);
    generator.clients().for_each(|it| it.latencies.clear());
    let started = Instant::now();
    generator.run(&[service.address], started + time);
    let measured = started.elapsed();
    let clients = generator.clients();
    let latencies = clients.flat_map(|it| std::mem::take(&mut it.latencies));
    let figures = Figures::new(latencies.collect(), measured);
    generator.drain(Duration::from_secs(5));
    let failures: u64 = generator.clients().map(|it| it.failures).sum();
    scenario.findings.checked(Check::Response, figures.count);
    if failures > 0 {
        let finding = format!("{failures} responses to :ask are errors");
        scenario.findings.violated(Check::Response, finding);
    }
    Ok(figures)
}

impl BenchFigures {
    fn table(&self) -> String {
        let mut text = format!(
            "{}\n\n{:<12} {:<44} {:>9} {:>9} {:>9}\n",
            self.machine, "store", "what", "a second", "p50 ms", "p99 ms"
        );
        let mut row = |store: &str, what: &str, rate: f64, p50: f64, p99: f64| {
            text += &format!("{store:<12} {what:<44} {rate:>9.0} {p50:>9.2} {p99:>9.2}\n");
        };
        for (disk, when) in self.disk.iter().zip(["before", "after"]) {
            let what = format!("append 4 KiB, fdatasync ({when})");
            row("disk", &what, disk.per_second, disk.p50_ms, disk.p99_ms);
        }
        for store in &self.stores {
            let writes = format!("acknowledged writes, {} clients, one study", self.clients);
            let asks = format!(":ask, {} clients", self.clients);
            for (what, figures) in [(writes, store.writes), (asks, store.asks)] {
                let (rate, p50, p99) = (figures.per_second, figures.p50_ms, figures.p99_ms);
                row(store.store, &what, rate, p50, p99);
            }
            for optuna in &store.optuna {
                let plural = if optuna.workers == 1 { "" } else { "es" };
                let (version, workers) = (&optuna.version, optuna.workers);
                let what = format!("Optuna {version} ask + tell, {workers} process{plural}");
                let [p50, p99] = [optuna.p50_ms, optuna.p99_ms].map(|it| it.unwrap_or(f64::NAN));
                row(store.store, &what, optuna.pairs_per_second, p50, p99);
            }
        }
        text.push('\n');
        let descriptions = self.stores.iter().map(StoreFigures::description);
        text.extend(descriptions);
        text.push_str(&self.notes.join("\n"));
        text.trim_end().into()
    }
}

impl StoreFigures {
    fn description(&self) -> String {
        let known = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.2}"));
        let (service, clients) = (known(self.processors.0), known(self.processors.1));
        let memory: Vec<String> = self.memory_mib.iter().map(u64::to_string).collect();
        let (store, episodes, memory) = (self.store, self.episodes_per_second, memory.join(" "));
        let mut text = format!(
            "{store}: {episodes:.0} episodes a second; processors used: service {service}, clients {clients}; memory in \
             MiB: {memory}\n"
        );
        let rates = self.optuna.iter().map(|optuna| optuna.pairs_per_second);
        let best = rates.fold(0.0, f64::max);
        if best > 0.0 {
            let failures: u64 = self.optuna.iter().map(|optuna| optuna.failures).sum();
            let (writes, episodes) = (self.writes.per_second / best, episodes / best);
            text += &format!(
                "{store}: {writes:.0} writes, or {episodes:.1} whole episodes, for each pair of Optuna's at its best; \
                 {failures} of its pairs failed\n"
            );
        }
        text
    }
}
