//! Kill −9 under load, again and again: what was acknowledged is there, once, and nothing else.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::chance::Chance;
use crate::check::audit::audit;
use crate::check::log::Logs;
use crate::check::{Check, Findings};
use crate::load::client::{Client, Done, Habits};
use crate::load::fleet::Fleet;
use crate::plant::Plant;
use crate::scene::{Kind, Scene};

/// How to crash.
#[derive(Clone, Debug)]
pub struct Crash {
    /// The program that serves.
    pub program: PathBuf,
    /// Where it keeps its data.
    pub store: Kind,
    /// How often it is killed.
    pub kills: u32,
    /// How many clients there are.
    pub clients: u16,
    /// The longest time between its start and its end, in milliseconds.
    pub life: u64,
    /// After so many kills everything is recomputed from the log.
    pub audit: u32,
    /// A fault planted in it.
    pub plant: Option<Plant>,
    /// What chance is made of.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// What was found.
    pub findings: Findings,
    /// How often it was killed, while it started, too.
    pub kills: u32,
    /// Those of them while it started.
    pub early: u32,
    /// What the clients did.
    pub done: Done,
    /// Events in the logs at the end.
    pub events: u64,
    /// From the start of the service until it listened, each time, in order of size.
    pub ready: Vec<Duration>,
    /// How long all of it took.
    pub took: Duration,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Done {
            writes,
            reads,
            unanswered,
            put_off,
        } = self.done;
        writeln!(
            f,
            "{} kills ({} while it started) in {:.1} s: {writes} writes acknowledged, {reads} other answers, {unanswered} \
             requests unanswered, {put_off} put off, {} events in the logs",
            self.kills,
            self.early,
            self.took.as_secs_f64(),
            self.events
        )?;
        let ready = |part: usize| {
            let place = (self.ready.len().saturating_sub(1)) * part / 100;
            self.ready.get(place).map_or(0, Duration::as_millis)
        };
        writeln!(
            f,
            "ready again after {} ms (median), {} ms (longest)",
            ready(50),
            ready(100)
        )?;
        write!(f, "{}", self.findings)
    }
}

/// How often the chance of a kill while it starts is taken.
const EARLY: u64 = 10;

/// Kills it as often as was asked, and checks after each time.
pub fn crash(crash: &Crash) -> Result<Report, String> {
    let begun = Instant::now();
    let scene = Scene::new(crash.program.clone(), crash.store, crash.plant)?;
    let mut run = Run {
        scene: &scene,
        chance: Chance::new(crash.seed),
        logs: Logs::default(),
        report: Report::default(),
    };
    let clients = (0..crash.clients).map(|i| Client::new(i, crash.seed, Habits::CURIOUS));
    let mut fleet = Fleet::new(&scene.token, clients);
    let mut service = scene.recipe.start()?;
    scene.create_studies(&service)?;
    for kill in 1..=crash.kills {
        let life = Duration::from_millis(10 + run.chance.below(crash.life));
        fleet.drive(&[service.address], Instant::now() + life)?;
        service.kill()?;
        // What it answered before it died is still on its way.
        run.quiet(&mut fleet)?;
        service.reap()?;
        run.report.kills += 1;
        if run.chance.percent(EARLY) {
            let moment = Duration::from_millis(run.chance.below(40));
            scene.recipe.start_and_kill(moment)?;
            run.report.kills += 1;
            run.report.early += 1;
        }
        service = match scene.recipe.start() {
            Ok(service) => service,
            Err(what) => {
                run.report.findings.broken(Check::Service, what);
                return Ok(run.end(&mut fleet, begun));
            }
        };
        run.report.findings.checked(Check::Service, 1);
        run.report.ready.push(service.ready);
        run.check(&mut fleet, kill % crash.audit.max(1) == 0)?;
        if run.report.findings.total() > 0 && crash.plant.is_some() {
            break;
        }
    }
    // A last quiet while, and the end as it should be.
    fleet.drive(
        &[service.address],
        Instant::now() + Duration::from_millis(300),
    )?;
    run.quiet(&mut fleet)?;
    let stopped = service.stop();
    let what = || stopped.clone().err().unwrap_or_default();
    run.report
        .findings
        .check(Check::Service, stopped.is_ok(), what);
    run.check(&mut fleet, true)?;
    Ok(run.end(&mut fleet, begun))
}

struct Run<'a> {
    scene: &'a Scene,
    chance: Chance,
    logs: Logs,
    report: Report,
}

impl Run<'_> {
    /// Waits until nothing is on its way, and closes all connections.
    fn quiet(&mut self, fleet: &mut Fleet<Client>) -> Result<(), String> {
        let silent = fleet.drain(Duration::from_secs(35))?;
        self.report.findings.check(Check::Answer, silent == 0, || {
            format!("{silent} requests are neither answered nor broken off")
        });
        fleet.hang_up();
        Ok(())
    }

    /// Compares what was promised with what is there.
    fn check(&mut self, fleet: &mut Fleet<Client>, everything: bool) -> Result<(), String> {
        let findings = &mut self.report.findings;
        let mut clients: Vec<&mut Client> = fleet.talkers().collect();
        for client in &mut clients {
            findings.extend(&mut client.findings);
        }
        let mut store = self.scene.look()?;
        let mut checked = self.logs.check(&mut *store, &mut clients, findings);
        if everything && checked.is_ok() {
            checked = audit(&mut *store, findings);
        }
        checked.map_err(|error| format!("{error}\n{}", self.scene.said()))
    }

    /// Looks at everything once more.
    fn end(mut self, fleet: &mut Fleet<Client>, begun: Instant) -> Report {
        let clients: Vec<&mut Client> = fleet.talkers().collect();
        self.logs.check_all(&clients, &mut self.report.findings);
        for client in clients {
            self.report.done.add(client.done);
        }
        self.report.events = self.logs.events();
        self.report.ready.sort_unstable();
        self.report.took = begun.elapsed();
        self.report
    }
}
