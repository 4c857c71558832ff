//! Kill −9 under load, again and again: what was acknowledged is there, once, and nothing else.

use std::path::PathBuf;
use std::time::Duration;

use crate::check::Check;
use crate::fault::Fault;
use crate::scene::{Kind, Scene};
use crate::trial::{Outcome, Trial};

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
    pub fault: Option<Fault>,
    /// What chance is made of.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// What was found, and what the clients did.
    pub outcome: Outcome,
    /// How often it was killed, while it started, too.
    pub kills: u32,
    /// Those of them while it started.
    pub early: u32,
    /// From the start of the service until it listened, each time, in order of size.
    pub ready: Vec<Duration>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ready = |part: usize| {
            let place = (self.ready.len().saturating_sub(1)) * part / 100;
            self.ready.get(place).map_or(0, Duration::as_millis)
        };
        writeln!(
            f,
            "{} kills, {} of them while it started; ready again after {} ms (median), {} ms (longest)",
            self.kills,
            self.early,
            ready(50),
            ready(100)
        )?;
        write!(f, "{}", self.outcome)
    }
}

/// How often it is killed before there is anything.
const UNBORN: u32 = 5;
/// How many of a hundred starts are cut short as well.
const EARLY: u64 = 10;

/// Kills it as often as was asked, and checks after each time.
pub fn crash(crash: &Crash) -> Result<Report, String> {
    let scene = Scene::new(crash.program.clone(), crash.store, crash.fault)?;
    let mut trial = Trial::new(scene, crash.clients, crash.seed);
    let mut report = Report::default();
    // While it makes its store, too.
    for _ in 0..UNBORN {
        let moment = Duration::from_millis(trial.chance.below(20));
        trial.scene.recipe.start_and_kill(moment)?;
        report.kills += 1;
        report.early += 1;
    }
    let mut service = trial.scene.recipe.start()?;
    trial.scene.create_studies(&service)?;
    for kill in 1..=crash.kills {
        let life = Duration::from_millis(10 + trial.chance.below(crash.life));
        trial.play(&[service.address], life)?;
        service.kill()?;
        // What it answered before it died is still on its way.
        trial.quiet()?;
        trial.hang_up();
        service.reap()?;
        report.kills += 1;
        if trial.chance.percent(EARLY) {
            let moment = Duration::from_millis(trial.chance.below(40));
            trial.scene.recipe.start_and_kill(moment)?;
            report.kills += 1;
            report.early += 1;
        }
        service = match trial.scene.recipe.start() {
            Ok(service) => service,
            Err(what) => {
                trial.findings.broken(Check::Service, what);
                report.outcome = trial.end();
                return Ok(report);
            }
        };
        trial.findings.checked(Check::Service, 1);
        report.ready.push(service.ready);
        trial.check(kill % crash.audit.max(1) == 0)?;
        if trial.findings.total() > 0 && crash.fault.is_some() {
            break;
        }
    }
    // A last quiet while, and the end as it should be.
    trial.play(&[service.address], Duration::from_millis(300))?;
    trial.quiet()?;
    trial.hang_up();
    trial.findings.stopped(service.stop());
    trial.check(true)?;
    report.outcome = trial.end();
    report.ready.sort_unstable();
    Ok(report)
}
