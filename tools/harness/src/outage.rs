//! The database is stopped as a crash would stop it, under load, while two copies of the service share it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use emab_testkit::postgres::Server;

use crate::check::Check;
use crate::scene::{Kind, Scene};
use crate::trial::{Outcome, Trial};

/// How to break it.
#[derive(Clone, Debug)]
pub struct Outage {
    /// The program that serves.
    pub program: PathBuf,
    /// How often the database is stopped.
    pub rounds: u32,
    /// How many clients there are.
    pub clients: u16,
    /// After so many rounds everything is recomputed from the log.
    pub audit: u32,
    /// What chance is made of.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// What was found, and what the clients did.
    pub outcome: Outcome,
    /// How often the database was stopped.
    pub rounds: u32,
    /// How often a copy of the service was killed as well.
    pub kills: u32,
    /// From when the database was back until writing went on, each time, in order of size.
    pub back: Vec<Duration>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let back = |part: usize| {
            let place = (self.back.len().saturating_sub(1)) * part / 100;
            self.back.get(place).map_or(0, Duration::as_millis)
        };
        writeln!(
            f,
            "PostgreSQL stopped {} times with -m immediate under two copies of the service, one of which was killed {} \
             times; writing went on {} ms (median), {} ms (longest) after it was back",
            self.rounds,
            self.kills,
            back(50),
            back(100)
        )?;
        write!(f, "{}", self.outcome)
    }
}

/// The longest that writing may take to go on once the database is back.
const PATIENCE: Duration = Duration::from_secs(30);
/// In how many of a hundred rounds a copy is killed while the database is down.
const KILLED: u64 = 25;

/// Stops the database as often as was asked, and checks after each time.
pub fn outage(outage: &Outage) -> Result<Report, String> {
    let scene = Scene::new(outage.program.clone(), Kind::Postgres, None)?;
    let mut trial = Trial::new(scene, outage.clients, outage.seed);
    let mut report = Report::default();
    let recipe = trial.scene.recipe.clone();
    let mut copies = [recipe.start()?, recipe.start()?];
    trial.scene.create_studies(&copies[0])?;
    let moment = |trial: &mut Trial, most| Duration::from_millis(50 + trial.chance.below(most));
    for round in 1..=outage.rounds {
        let addresses: Vec<SocketAddr> = copies.iter().map(|copy| copy.address).collect();
        let time = moment(&mut trial, 600);
        trial.play(&addresses, time)?;
        database(&mut trial)?.stop_immediate()?;
        report.rounds += 1;
        let time = moment(&mut trial, 300);
        trial.play(&addresses, time)?;
        let killed = trial.chance.percent(KILLED);
        if killed {
            copies[1].kill()?;
            report.kills += 1;
        }
        start_again(&mut trial, &addresses)?;
        match trial.until_written(&addresses, 1, PATIENCE)? {
            Some(took) => report.back.push(took),
            None => trial.findings.broken(
                Check::Service,
                format!(
                    "round {round}: nothing was written within {PATIENCE:?} after the database was back\n{}",
                    trial.scene.said()
                ),
            ),
        }
        trial.findings.checked(Check::Service, 1);
        if killed {
            copies[1] = recipe.start()?;
        }
        trial.quiet()?;
        trial.check(round % outage.audit.max(1) == 0)?;
    }
    let addresses: Vec<SocketAddr> = copies.iter().map(|copy| copy.address).collect();
    trial.play(&addresses, Duration::from_millis(300))?;
    trial.quiet()?;
    trial.hang_up();
    for copy in copies {
        trial.findings.stopped(copy.stop());
    }
    trial.check(true)?;
    report.outcome = trial.end();
    report.back.sort_unstable();
    Ok(report)
}

fn database(trial: &mut Trial) -> Result<&mut Server, String> {
    let server = trial.scene.server.as_mut();
    server.ok_or_else(|| "the store is no PostgreSQL server".into())
}

/// Starts it, while the clients go on asking: it takes seconds, and is neither here nor gone meanwhile.
fn start_again(trial: &mut Trial, addresses: &[SocketAddr]) -> Result<(), String> {
    let Some(mut server) = trial.scene.server.take() else {
        return Ok(());
    };
    let starting = std::thread::spawn(move || server.start_again().map(|()| server));
    while !starting.is_finished() {
        trial.play(addresses, Duration::from_millis(20))?;
    }
    let started = starting.join();
    let started = started.map_err(|_| "the thread that starts the database is gone")?;
    trial.scene.server = Some(started?);
    Ok(())
}
