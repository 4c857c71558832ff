//! The load bench: acknowledged writes and reads a second, beside what the disk can do and beside Optuna, in one run.

mod askers;
mod disk;
mod machine;
mod optuna;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;

use crate::check::log::Logs;
use crate::check::{Check, Findings};
use crate::load::client::{Client, Habits};
use crate::load::fleet::Fleet;
use crate::load::studies::STUDIES;
use crate::scene::{Kind, Scene};
use askers::Asker;
use optuna::{Optuna, Reached};

pub use machine::line as machine_line;

/// Until everything is at hand, before anything is measured.
const WARM: Duration = Duration::from_secs(1);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The program that serves.
    pub program: PathBuf,
    /// The stores.
    pub stores: Vec<Kind>,
    /// How many clients there are.
    pub clients: u16,
    /// How long each measurement takes.
    pub time: Duration,
    /// Whether Optuna is measured as well.
    pub optuna: bool,
}

/// How many a second, and how long each took.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Figures {
    /// How many were measured.
    pub count: u64,
    /// How many a second.
    pub per_second: f64,
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: f64,
    /// All but one of a hundred took no longer.
    pub p99_ms: f64,
    /// None took longer.
    pub longest_ms: f64,
}

impl Figures {
    /// From single times in microseconds.
    pub fn of(mut times: Vec<u32>, took: Duration) -> Figures {
        times.sort_unstable();
        let at = |part: usize| {
            let place = (times.len() * part / 100).min(times.len().saturating_sub(1));
            times
                .get(place)
                .map_or(0.0, |&time| f64::from(time) / 1000.0)
        };
        Figures {
            count: times.len() as u64,
            per_second: times.len() as f64 / took.as_secs_f64(),
            p50_ms: at(50),
            p99_ms: at(99),
            longest_ms: at(100),
        }
    }
}

/// What was measured of one store.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Its name.
    pub store: &'static str,
    /// Acknowledged writes of whole episodes, all in one study.
    pub writes: Figures,
    /// Episodes that were opened meanwhile, a second.
    pub episodes_per_second: f64,
    /// Answers to `:ask`.
    pub asks: Figures,
    /// Of two processors, what the service took while it wrote, and what the clients took.
    pub processors: (Option<f64>, Option<f64>),
    /// The service's memory in MiB, eleven times while it wrote.
    pub memory_mib: Vec<u64>,
    /// Optuna's ask and tell, with one process and with several.
    pub optuna: Vec<OptunaFigures>,
}

/// What Optuna reached.
#[derive(Clone, Debug, Serialize)]
pub struct OptunaFigures {
    /// How many processes.
    pub workers: u32,
    /// Pairs of ask and tell a second.
    pub pairs_per_second: f64,
    /// In milliseconds.
    pub p50_ms: Option<f64>,
    /// In milliseconds.
    pub p99_ms: Option<f64>,
    /// Pairs that failed.
    pub failures: u64,
    /// Its version.
    pub version: String,
}

impl From<Reached> for OptunaFigures {
    fn from(reached: Reached) -> OptunaFigures {
        OptunaFigures {
            workers: reached.workers,
            pairs_per_second: reached.pairs_per_second,
            p50_ms: reached.p50_ms,
            p99_ms: reached.p99_ms,
            failures: reached.failures,
            version: reached.version,
        }
    }
}

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    /// Where and when.
    pub machine: String,
    /// How many clients.
    pub clients: u16,
    /// The disk, before and after.
    pub disk: [Figures; 2],
    /// Each store.
    pub stores: Vec<Measured>,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// Whether what was acknowledged is there.
    pub findings: Findings,
}

/// Measures.
pub fn bench(bench: &Bench) -> Result<Report, String> {
    let machine = machine::line();
    let (mut notes, mut findings) = (Vec::new(), Findings::default());
    let optuna = match bench.optuna.then(Optuna::prepare) {
        None => None,
        Some(Ok(optuna)) => Some(optuna),
        Some(Err(why)) => {
            notes.push(format!("Optuna was left out: {why}"));
            None
        }
    };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let sync_time = Duration::from_secs(2).min(bench.time);
    let before = disk::syncs(folder.path(), sync_time)?;
    let mut stores = Vec::new();
    for &kind in &bench.stores {
        match Scene::new(bench.program.clone(), kind, None) {
            Ok(scene) => stores.push(measure(
                bench,
                kind,
                &scene,
                optuna.as_ref(),
                &mut findings,
            )?),
            Err(why) if kind == Kind::Postgres => {
                notes.push(format!("PostgreSQL was left out: {why}"));
            }
            Err(why) => return Err(why),
        }
    }
    let after = disk::syncs(folder.path(), sync_time)?;
    Ok(Report {
        machine,
        clients: bench.clients,
        disk: [before, after],
        stores,
        notes,
        findings,
    })
}

fn measure(
    bench: &Bench,
    kind: Kind,
    scene: &Scene,
    optuna: Option<&Optuna>,
    findings: &mut Findings,
) -> Result<Measured, String> {
    let service = scene.recipe.start()?;
    scene.create_studies(&service)?;
    let clients = Client::many(bench.clients, 1, Habits::DILIGENT);
    let mut fleet = Fleet::new(&scene.token, clients);
    fleet.drive(&[service.address], Instant::now() + WARM)?;
    let opened = |fleet: &mut Fleet<Client>| fleet.talkers().map(|c| c.opened()).sum::<u64>();
    let processors = || {
        let [theirs, ours] = [service.id(), std::process::id()].map(machine::processor);
        (theirs, ours)
    };
    let (before, was_open) = (processors(), opened(&mut fleet));
    let mut memory_mib: Vec<u64> = service.memory().map(|kib| kib >> 10).into_iter().collect();
    fleet
        .talkers()
        .for_each(|client| client.times = Some(Vec::new()));
    let begun = Instant::now();
    for part in 1..=10 {
        fleet.drive(&[service.address], begun + bench.time * part / 10)?;
        memory_mib.extend(service.memory().map(|kib| kib >> 10));
    }
    let took = begun.elapsed();
    let (after, is_open) = (processors(), opened(&mut fleet));
    let times = fleet.talkers().filter_map(|client| client.times.take());
    let writes = Figures::of(times.flatten().collect(), took);
    let silent = fleet.drain(Duration::from_secs(35))?;
    findings.check(Check::Answer, silent == 0, || {
        format!("{silent} requests are not answered")
    });
    fleet.hang_up();
    check(scene, &mut fleet, findings)?;
    let asks = ask(bench, scene, service.address, findings)?;
    service.stop()?;
    let share = |before: Option<f64>, after: Option<f64>| {
        let seconds = after? - before?;
        Some(seconds / took.as_secs_f64())
    };
    let mut reached = Vec::new();
    for workers in [1, 4] {
        let Some(optuna) = optuna else { break };
        let url = match &scene.server {
            None => format!("sqlite:///{}", scene.folder().join("optuna.db").display()),
            Some(server) => {
                let url = server.database(&format!("optuna{workers}"))?;
                url.replacen("postgres://", "postgresql+psycopg2://", 1)
            }
        };
        let one = optuna.ask_and_tell(&url, bench.time.min(Duration::from_secs(10)), workers)?;
        reached.push(one.into());
    }
    Ok(Measured {
        store: match kind {
            Kind::Sqlite => "SQLite",
            Kind::Postgres => "PostgreSQL",
        },
        writes,
        episodes_per_second: (is_open - was_open) as f64 / took.as_secs_f64(),
        asks,
        processors: (share(before.0, after.0), share(before.1, after.1)),
        memory_mib,
        optuna: reached,
    })
}

/// Speed is worth nothing if something is lost.
pub(crate) fn check(
    scene: &Scene,
    fleet: &mut Fleet<Client>,
    findings: &mut Findings,
) -> Result<(), String> {
    let mut clients: Vec<&mut Client> = fleet.talkers().collect();
    for client in &mut clients {
        findings.extend(&mut client.findings);
    }
    let mut store = scene.look()?;
    let checked = Logs::default().check(&mut *store, &mut clients, findings);
    checked.map_err(|error| error.to_string())
}

fn ask(
    bench: &Bench,
    scene: &Scene,
    address: std::net::SocketAddr,
    findings: &mut Findings,
) -> Result<Figures, String> {
    let askers = (0..usize::from(bench.clients)).map(|i| Asker::new(i, STUDIES[0].name));
    let mut fleet = Fleet::new(&scene.token, askers);
    fleet.drive(&[address], Instant::now() + WARM)?;
    fleet.talkers().for_each(|asker| asker.times.clear());
    let begun = Instant::now();
    fleet.drive(&[address], begun + bench.time)?;
    let took = begun.elapsed();
    let times = fleet
        .talkers()
        .flat_map(|asker| std::mem::take(&mut asker.times));
    let figures = Figures::of(times.collect(), took);
    fleet.drain(Duration::from_secs(5))?;
    let wrong: u64 = fleet.talkers().map(|asker| asker.wrong).sum();
    findings.checked(Check::Answer, figures.count);
    if wrong > 0 {
        findings.broken(
            Check::Answer,
            format!("{wrong} of the answers to :ask are wrong"),
        );
    }
    Ok(figures)
}

impl Report {
    /// For programs.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "machine": self.machine,
            "clients": self.clients,
            "disk": self.disk,
            "stores": self.stores,
            "notes": self.notes,
            "broken": self.findings.total(),
        })
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.machine)?;
        writeln!(
            f,
            "\n{:<12} {:<44} {:>9} {:>9} {:>9}",
            "store", "what", "a second", "p50 ms", "p99 ms"
        )?;
        let mut row = |store: &str, what: &str, rate: f64, p50: f64, p99: f64| {
            writeln!(
                f,
                "{store:<12} {what:<44} {rate:>9.0} {p50:>9.2} {p99:>9.2}"
            )
        };
        for (disk, when) in self.disk.iter().zip(["before", "after"]) {
            let what = format!("append 4 KiB, fdatasync ({when})");
            row("disk", &what, disk.per_second, disk.p50_ms, disk.p99_ms)?;
        }
        for store in &self.stores {
            let Measured { writes, asks, .. } = store;
            let what = format!("acknowledged writes, {} clients, one study", self.clients);
            row(
                store.store,
                &what,
                writes.per_second,
                writes.p50_ms,
                writes.p99_ms,
            )?;
            let what = format!(":ask, {} clients", self.clients);
            row(
                store.store,
                &what,
                asks.per_second,
                asks.p50_ms,
                asks.p99_ms,
            )?;
            for optuna in &store.optuna {
                let what = format!(
                    "Optuna {} ask + tell, {} process{}",
                    optuna.version,
                    optuna.workers,
                    if optuna.workers == 1 { "" } else { "es" }
                );
                let known = |value: Option<f64>| value.unwrap_or(f64::NAN);
                let (p50, p99) = (known(optuna.p50_ms), known(optuna.p99_ms));
                row(store.store, &what, optuna.pairs_per_second, p50, p99)?;
            }
        }
        writeln!(f)?;
        for store in &self.stores {
            store.write_words(f)?;
        }
        for note in &self.notes {
            writeln!(f, "{note}")?;
        }
        write!(f, "{}", self.findings)
    }
}

impl Measured {
    fn write_words(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = |value: Option<f64>| value.map_or("?".into(), |value| format!("{value:.2}"));
        let memory: Vec<String> = self.memory_mib.iter().map(u64::to_string).collect();
        let (service, clients) = self.processors;
        writeln!(
            f,
            "{}: {:.0} episodes a second; processors taken: service {}, clients {}; memory in MiB: {}",
            self.store,
            self.episodes_per_second,
            known(service),
            known(clients),
            memory.join(" ")
        )?;
        let best = self.optuna.iter().map(|optuna| optuna.pairs_per_second);
        let best = best.fold(0.0, f64::max);
        if best > 0.0 {
            writeln!(
                f,
                "{}: {:.0} writes, or {:.1} whole episodes, for each pair of Optuna's at its best; {} of its pairs failed",
                self.store,
                self.writes.per_second / best,
                self.episodes_per_second / best,
                self.optuna
                    .iter()
                    .map(|optuna| optuna.failures)
                    .sum::<u64>()
            )?;
        }
        Ok(())
    }
}
