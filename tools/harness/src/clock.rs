//! The clock is moved under the service, by days and decades, forth and back: order is that of the log, and nothing breaks.

use std::path::{Path, PathBuf};
use std::time::Duration;

use emab_server::store::Store;

use crate::check::Check;
use crate::load::studies::STUDIES;
use crate::scene::{Kind, Scene};
use crate::trial::{Outcome, Trial};

/// How to move it.
#[derive(Clone, Debug)]
pub struct Clock {
    /// The program that serves.
    pub program: PathBuf,
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
    /// How often the clock was moved.
    pub moves: u32,
    /// How often an event is dated before the one before it.
    pub back: u64,
    /// The first and the last date.
    pub dates: Option<(String, String)>,
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (first, last) = self.dates.clone().unwrap_or_default();
        writeln!(
            f,
            "the clock was moved {} times under load; {} events are dated before the one before them, from {first} to {last}",
            self.moves, self.back
        )?;
        write!(f, "{}", self.outcome)
    }
}

/// Where the library is that moves the clock of a process.
const PLACES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// By how much the clock is wrong, one after the other. The last but one is before 1970.
const MOVES: [&str; 8] = [
    "-3600", "+7200", "-3d", "+400d", "-20y", "+70y", "-70y", "+0",
];

/// The library; an error names the command that installs it.
pub fn library() -> Result<&'static Path, String> {
    let found = PLACES.iter().map(Path::new).find(|path| path.is_file());
    found.ok_or_else(|| {
        "libfaketime is not found (on Debian and Ubuntu `apt-get install faketime`)".into()
    })
}

/// Moves the clock under load.
pub fn clock(clock: &Clock) -> Result<Report, String> {
    let library = library()?;
    let mut scene = Scene::new(clock.program.clone(), Kind::Sqlite, None)?;
    let file = scene.folder().join("clock");
    let set = |text: &str| {
        // Replaced whole: it is read while it is written.
        let new = file.with_extension("new");
        std::fs::write(&new, format!("{text}\n"))
            .and_then(|()| std::fs::rename(&new, &file))
            .map_err(|error| format!("{}: {error}", file.display()))
    };
    set("+0")?;
    let variables = [
        ("LD_PRELOAD", library.display().to_string()),
        ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".into()),
        // Setting the clock of a machine does not move the one that only counts.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
    ];
    scene.recipe.environment = variables.map(|(name, value)| (name.into(), value)).into();
    let mut trial = Trial::new(scene, clock.clients, clock.seed);
    let mut report = Report::default();
    let mut service = trial.scene.recipe.start()?;
    trial.scene.create_studies(&service)?;
    for (i, by) in MOVES.iter().enumerate() {
        trial.play(&[service.address], Duration::from_millis(150))?;
        set(by)?;
        report.moves += 1;
        let before = trial.done().writes;
        trial.play(&[service.address], Duration::from_millis(250))?;
        trial.quiet()?;
        let written = trial.done().writes > before;
        trial.findings.check(Check::Service, written, || {
            format!("nothing is written any more with the clock at {by}")
        });
        // And a start with the clock where it is.
        if i % 2 == 1 {
            trial.hang_up();
            trial.findings.stopped(service.stop());
            service = trial.scene.recipe.start()?;
        }
        trial.check(false)?;
    }
    trial.hang_up();
    trial.findings.stopped(service.stop());
    trial.check(true)?;
    let mut store = trial.scene.look()?;
    (report.back, report.dates) = dates(&mut *store)?;
    // Otherwise it was not moved at all.
    trial.findings.check(Check::Service, report.back > 0, || {
        "no event is dated before the one before it: the clock did not move".into()
    });
    report.outcome = trial.end();
    Ok(report)
}

type Dates = (u64, Option<(String, String)>);

/// How often the date goes back along the log of the first study, and the first and the last date.
fn dates(store: &mut dyn Store) -> Result<Dates, String> {
    let wrong = |error: &dyn std::fmt::Display| error.to_string();
    let head = store.head(STUDIES[0].name).map_err(|error| wrong(&error))?;
    let Some(head) = head else {
        return Ok((0, None));
    };
    let (mut back, mut last) = (0, String::new());
    let mut ends: Option<(String, String)> = None;
    let mut after = 0;
    loop {
        let page = store
            .events(head.key, after, 1000)
            .map_err(|error| wrong(&error))?;
        let Some(end) = page.last() else { break };
        after = end.seq;
        for record in &page {
            let at = record.read().map_err(|error| wrong(&error))?.at;
            back += u64::from(at < last);
            let (first, latest) = ends.get_or_insert_with(|| (at.clone(), at.clone()));
            if at < *first {
                first.clone_from(&at);
            }
            if at > *latest {
                latest.clone_from(&at);
            }
            last = at;
        }
    }
    Ok((back, ends))
}
