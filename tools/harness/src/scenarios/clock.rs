//! Moves the service's clock by hours to decades, forward and back: the order is that of the log.

use std::path::Path;
use std::time::Duration;

use emab_server::store::Store;

use super::{Common, Report};
use crate::Result;
use crate::checks::Check;
use crate::environment::StoreKind;
use crate::load::studies::STUDIES;

/// Paths of the library that changes the clock of a process.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib64/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];

/// Offsets of the clock. The last but one is before 1970.
const OFFSETS: [&str; 8] = [
    "-3600", "+7200", "-3d", "+400d", "-20y", "+70y", "-70y", "+0",
];

/// Move the clock of the service.
#[derive(Clone, Debug, clap::Args)]
pub struct Clock {
    /// Clients, seed and program.
    #[command(flatten)]
    pub common: Common,
}

/// The path of libfaketime; fails if it is not installed.
pub fn library() -> Result<&'static Path> {
    let mut paths = LIBRARIES.iter().map(Path::new);
    paths.find(|path| path.is_file()).ok_or_else(|| {
        "libfaketime is not found (on Debian and Ubuntu `apt-get install faketime`)".into()
    })
}

impl Clock {
    /// Runs the scenario. Fails without libfaketime.
    pub fn run(&self) -> Result<Report> {
        let library = library()?;
        let mut scenario = self.common.scenario(StoreKind::Sqlite, None)?;
        let environment = &mut scenario.environment;
        let file = environment.folder().join("clock");
        let set_offset = |offset: &str| {
            // Replaced atomically: the service reads the file at any time.
            let new = file.with_extension("new");
            std::fs::write(&new, format!("{offset}\n")).and_then(|()| std::fs::rename(&new, &file))
        };
        set_offset("+0")?;
        environment.command.variables = vec![
            ("LD_PRELOAD", library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", file.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".into()),
            // Setting a machine's clock does not move its monotonic clock.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".into()),
        ];
        let mut service = scenario.environment.start_with_studies()?;
        for (i, offset) in OFFSETS.iter().enumerate() {
            scenario.run_load(&[service.address], Duration::from_millis(150));
            set_offset(offset)?;
            let before = scenario.counts().writes;
            scenario.run_load(&[service.address], Duration::from_millis(250));
            scenario.drain();
            let written = scenario.counts().writes > before;
            scenario.findings.check(Check::Service, written, || {
                format!("no writes with the clock at {offset}")
            });
            // Every second time the service also starts with the moved clock.
            if i % 2 == 1 {
                scenario.generator.disconnect();
                scenario.stop(service);
                service = scenario.start_service()?;
            }
            scenario.check(false)?;
        }
        scenario.finish([service])?;
        let times = event_times(&mut *scenario.environment.open_store()?)?;
        let backward = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        scenario.findings.check(Check::Service, backward > 0, || {
            "no event is dated before the event before it: the clock did not move".into()
        });
        let moves = OFFSETS.len();
        let (first, last) = (times.iter().min(), times.iter().max());
        let summary = format!(
            "the clock was moved {moves} times under load; {backward} events are dated before the event before them, from \
             {} to {}",
            first.map_or("", String::as_str),
            last.map_or("", String::as_str)
        );
        Ok(scenario.report(summary, moves as u32))
    }
}

/// The times of the first study's events, in the order of the log.
fn event_times(store: &mut dyn Store) -> Result<Vec<String>> {
    let mut times = Vec::new();
    let Some(head) = store.head(STUDIES[0].name)? else {
        return Ok(times);
    };
    loop {
        let page = store.events(head.key, times.len() as u64, 1000)?;
        if page.is_empty() {
            return Ok(times);
        }
        for record in &page {
            times.push(record.read()?.at);
        }
    }
}
