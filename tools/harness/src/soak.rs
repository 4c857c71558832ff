//! A long steady load: whether the service's memory stays what it was.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::bench::{check, machine_line};
use crate::check::{Check, Findings};
use crate::load::client::{Client, Habits};
use crate::load::fleet::Fleet;
use crate::scene::{Kind, Scene};

/// How often its memory is looked at.
const LOOKS: u32 = 60;

/// What to do, and for how long.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The program that serves.
    pub program: PathBuf,
    /// Where it keeps its data.
    pub store: Kind,
    /// How many clients there are.
    pub clients: u16,
    /// How long.
    pub time: Duration,
    /// Writes a second, of all clients together.
    pub rate: u32,
}

/// What was seen.
#[derive(Debug)]
pub struct Report {
    /// Where and when.
    pub machine: String,
    /// How many writes were acknowledged.
    pub writes: u64,
    /// How long it took.
    pub took: Duration,
    /// The service's memory in KiB, sixty times.
    pub memory: Vec<u64>,
    /// Whether what was acknowledged is there.
    pub findings: Findings,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |kib: &u64| format!("{:.1}", *kib as f64 / 1024.0);
        let all: Vec<String> = self.memory.iter().map(mib).collect();
        let (early, late) = self.memory.split_at(self.memory.len() / 2);
        let most = |part: &[u64]| part.iter().max().map_or("?".into(), mib);
        writeln!(
            f,
            "{}\n{} acknowledged writes in {:.0} s\nmemory in MiB: {}\nat most {} MiB in the first half, {} in the second",
            self.machine,
            self.writes,
            self.took.as_secs_f64(),
            all.join(" "),
            most(early),
            most(late)
        )?;
        write!(f, "{}", self.findings)
    }
}

/// Loads it, and looks at its memory.
pub fn soak(soak: &Soak) -> Result<Report, String> {
    let machine = machine_line();
    let scene = Scene::new(soak.program.clone(), soak.store, None)?;
    let service = scene.recipe.start()?;
    scene.create_studies(&service)?;
    let clients = Client::many(soak.clients, 1, Habits::DILIGENT);
    let mut fleet = Fleet::new(&scene.token, clients).paced(soak.rate);
    fleet
        .talkers()
        .for_each(|client| client.times = Some(Vec::new()));
    let begun = Instant::now();
    let mut memory = Vec::new();
    for look in 1..=LOOKS {
        fleet.drive(&[service.address], begun + soak.time * look / LOOKS)?;
        let now = service.memory();
        memory.extend(now);
        // An hour is long: whoever waits sees that it goes on.
        eprintln!("{look} of {LOOKS}: {} KiB", now.unwrap_or_default());
    }
    let took = begun.elapsed();
    let times = fleet.talkers().filter_map(|client| client.times.take());
    let writes = times.map(|times| times.len() as u64).sum();
    let mut findings = Findings::default();
    let silent = fleet.drain(Duration::from_secs(35))?;
    findings.check(Check::Answer, silent == 0, || {
        format!("{silent} requests are not answered")
    });
    fleet.hang_up();
    check(&scene, &mut fleet, &mut findings)?;
    service.stop()?;
    Ok(Report {
        machine,
        writes,
        took,
        memory,
        findings,
    })
}
