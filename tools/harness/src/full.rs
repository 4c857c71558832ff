//! The disk is full: writing is refused with a time to try again, reading goes on, and nothing acknowledged is lost.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::check::{Check, Findings};
use crate::load::studies::STUDIES;
use crate::room::Room;
use crate::scene::{Kind, Scene};
use crate::trial::{Outcome, Trial};
use crate::wire::{Caller, Message};

/// How to fill it.
#[derive(Clone, Debug)]
pub struct Full {
    /// The program that serves.
    pub program: PathBuf,
    /// Whether a small file system may be mounted.
    pub mount: bool,
    /// How many clients there are.
    pub clients: u16,
    /// What chance is made of.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Report {
    /// What was found, and what the clients did.
    pub outcome: Outcome,
    /// What was full.
    pub room: String,
    /// Events when nothing more went in.
    pub events: u64,
    /// How long after there was room writing went on.
    pub back: Option<Duration>,
    /// What became of a start on a full disk.
    pub start: String,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let back = self.back.map_or(0, |back| back.as_millis());
        writeln!(
            f,
            "{} was full after {} writes; writing went on {back} ms after there was room; killed and started while \
             full: {}",
            self.room, self.events, self.start
        )?;
        write!(f, "{}", self.outcome)
    }
}

/// The longest that filling takes, and that writing may take to go on.
const PATIENCE: Duration = Duration::from_secs(120);

/// Fills the disk under load, looks, makes room, and goes on.
pub fn full(full: &Full) -> Result<Report, String> {
    let folder = tempfile::Builder::new()
        .prefix("emab-harness-")
        .tempdir()
        .map_err(|error| format!("no folder: {error}"))?;
    let room = Room::new(&folder, full.mount)?;
    let scene = Scene::within(folder, full.program.clone(), Kind::Sqlite, None)?;
    let mut trial = Trial::new(scene, full.clients, full.seed);
    let (program, before) = room.wrap(full.program.clone());
    trial.scene.recipe.program = program;
    trial.scene.recipe.before = before;
    // What it says must not fill the disk for it, nor fail because of that.
    let log = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    trial.scene.recipe.log = log.path().into();
    let mut report = Report {
        room: room.words(),
        ..Report::default()
    };
    let mut service = trial.scene.recipe.start()?;
    trial.scene.create_studies(&service)?;
    until_full(&mut trial, service.address)?;
    report.events = trial.done().writes;
    trial.quiet()?;
    trial.check(true)?;
    reads(&trial.scene.token, service.address, &mut trial.findings)?;

    // A crash while it is full.
    trial.play(&[service.address], Duration::from_millis(100))?;
    service.kill()?;
    trial.quiet()?;
    trial.hang_up();
    service.reap()?;
    report.start = match trial.scene.recipe.start() {
        Ok(again) => {
            reads(&trial.scene.token, again.address, &mut trial.findings)?;
            let took = again.ready.as_millis();
            service = again;
            room.make(service.id())?;
            format!("it served after {took} ms")
        }
        Err(what) => {
            // Nowhere to put even what is read with. It must come up once there is room.
            room.make(0)?;
            service = trial.scene.recipe.start()?;
            let why = what.lines().last().unwrap_or_default().to_owned();
            format!("it did not start ({why}), and did once there was room")
        }
    };
    report.back = trial.until_written(&[service.address], 200, PATIENCE)?;
    trial
        .findings
        .check(Check::Service, report.back.is_some(), || {
            format!("nothing was written within {PATIENCE:?} after there was room")
        });
    trial.quiet()?;
    trial.hang_up();
    trial.findings.stopped(service.stop());
    trial.check(true)?;
    report.outcome = trial.end();
    Ok(report)
}

/// Lets the clients write until nothing goes in any more.
fn until_full(trial: &mut Trial, address: SocketAddr) -> Result<(), String> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let before = trial.done();
        trial.play(&[address], Duration::from_millis(400))?;
        let after = trial.done();
        if after.writes == before.writes && after.put_off > before.put_off {
            return Ok(());
        }
    }
    Err(format!(
        "it is not full after {PATIENCE:?}\n{}",
        trial.scene.said()
    ))
}

/// Reading goes on.
fn reads(token: &str, address: SocketAddr, findings: &mut Findings) -> Result<(), String> {
    let mut caller = Caller::new(address, token)?;
    let study = STUDIES[0].name;
    for target in [
        "/livez".into(),
        "/readyz".into(),
        format!("/v1/studies/{study}"),
        format!("/v1/studies/{study}/episodes?limit=5"),
        format!("/v1/studies/{study}/estimates"),
        format!("/v1/studies/{study}/events?limit=5"),
    ] {
        let message = Message::json("GET", target, String::new());
        let answer = caller.call(&message)?;
        findings.check(Check::Reading, answer.status == 200, || {
            format!("{}: {} {}", message.target, answer.status, answer.text())
        });
    }
    Ok(())
}
