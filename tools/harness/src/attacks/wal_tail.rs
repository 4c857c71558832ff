//! A store that lost its tail: frames at the end of SQLite's write-ahead log, or everything since an old copy.
//!
//! What is left is a valid log, only shorter. Checkpoints in a file elsewhere say how long it was.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Api, Audit, Installation, Target, fixture};
use crate::Result;
use crate::checks::{Check, Findings};
use crate::environment::StoreKind;
use crate::rng::Rng;
use crate::scenarios::Report;

/// A frame of the write-ahead log has a head of 24 bytes and a page of 4096; the file has a head of 32.
const FRAME: u64 = 24 + 4096;
const FILE_HEAD: u64 = 32;

/// Cut and damage the write-ahead log of a killed service, and check that the audit notices lost events.
#[derive(Clone, Debug, clap::Args)]
pub struct WalTail {
    /// Number of cuts and changed bytes.
    #[arg(long, default_value_t = 300)]
    pub cuts: u32,
    /// The store. In PostgreSQL an older copy of the database takes the place of a cut file.
    #[arg(long, default_value = "sqlite")]
    pub store: StoreKind,
    /// Without checkpoints: builds of 87d6868 and before have none.
    #[arg(long)]
    pub plain: bool,
    /// What is attacked.
    #[command(flatten)]
    pub target: Target,
}

/// The number of events of each study.
type Lengths = BTreeMap<String, u64>;

impl WalTail {
    /// Runs the attack.
    pub fn run(&self) -> Result<Report> {
        let mut installation = Installation::new(&self.target, self.store)?;
        let token = installation.token("anna", "admin")?;
        let checkpoints = installation.path("checkpoints");
        if !self.plain {
            let file = checkpoints.display().to_string();
            installation.arguments = vec!["--checkpoint-file".into(), file];
        }
        if self.store == StoreKind::Postgres {
            return self.older_copy(&installation, &token, &checkpoints);
        }
        let mut service = installation.start()?;
        let mut api = Api::new(service.address, &token);
        fixture::populate(&mut api, "clinic", 14, &fixture::plain_value)?;
        let written = lengths(&installation.path("studies.db"))?;
        let covered = match self.plain {
            true => written,
            false => wait_for(&checkpoints, &written)?,
        };
        // These events are younger than the last checkpoint, or covered by the next one.
        for number in 0..5 {
            let body = json!({"id": format!("young{number}")});
            api.succeed("POST", "/v1/studies/clinic/episodes", body)?;
        }
        service.kill()?;
        drop(service);
        // The service may have written another checkpoint before it was killed.
        let covered = match self.plain {
            true => covered,
            false => read_checkpoints(&checkpoints)?,
        };
        let mut findings = Findings::default();
        let mut rng = Rng::new(self.target.seed);
        let (mut lost, mut noticed) = (0, 0);
        for _ in 0..self.cuts {
            let folder = installation.path("cut");
            std::fs::create_dir_all(&folder)?;
            for name in ["studies.db", "studies.db-wal"] {
                std::fs::copy(installation.path(name), folder.join(name))?;
            }
            let what = damage(&folder.join("studies.db-wal"), &mut rng)?;
            let left = lengths(&folder.join("studies.db")).unwrap_or_default();
            let is_lost = covered
                .iter()
                .any(|(study, seq)| left.get(study).unwrap_or(&0) < seq);
            let store = folder.join("studies.db").display().to_string();
            let audit = self.audit(&installation, &store, &checkpoints)?;
            lost += u32::from(is_lost);
            noticed += u32::from(is_lost && !audit.is_clean);
            findings.check(Check::Audit, !(is_lost && audit.is_clean), || {
                format!("{what}: events {left:?} are left of {covered:?}, and the audit is clean")
            });
            findings.check(Check::Replay, is_lost || audit.is_clean, || {
                format!(
                    "{what}: nothing is lost, and the audit reports {}",
                    audit.text
                )
            });
            std::fs::remove_dir_all(folder)?;
        }
        let summary = format!(
            "{} times a damaged end of the write-ahead log: {lost} times acknowledged events with a checkpoint were lost, \
             {noticed} times the audit noticed",
            self.cuts
        );
        Ok(Report {
            summary,
            disruptions: lost,
            findings,
            ..Report::default()
        })
    }
}

impl WalTail {
    fn audit(&self, installation: &Installation, store: &str, file: &Path) -> Result<Audit> {
        let file = file.display().to_string();
        match self.plain {
            true => installation.audit(store, &[]),
            false => installation.audit(store, &["--checkpoint", &file]),
        }
    }

    /// A database that was replaced by an older copy of itself.
    fn older_copy(&self, installation: &Installation, token: &str, file: &Path) -> Result<Report> {
        let server = installation.server.as_ref().ok_or("no server")?;
        let mut findings = Findings::default();
        for (round, study) in ["clinic", "school"].into_iter().enumerate() {
            let service = installation.start()?;
            let mut api = Api::new(service.address, token);
            fixture::populate(&mut api, study, 7, &fixture::plain_value)?;
            if !self.plain {
                let written = Lengths::from([(study.to_owned(), 30)]);
                wait_for(file, &written)?;
            }
            service.stop()?;
            if round == 0 {
                server.execute("CREATE DATABASE older TEMPLATE studies")?;
            }
        }
        for (store, is_older) in [
            (installation.store.clone(), false),
            (server.url_of("older"), true),
        ] {
            let audit = self.audit(installation, &store, file)?;
            findings.check(Check::Audit, audit.is_clean != is_older, || {
                format!(
                    "audit of the older copy: {is_older}, clean: {}\n{}",
                    audit.is_clean, audit.text
                )
            });
        }
        Ok(Report {
            summary: "a database and an older copy of it, compared with checkpoints".into(),
            disruptions: 1,
            findings,
            ..Report::default()
        })
    }
}

/// Cuts the file at a random frame or byte, or changes a byte of it.
fn damage(wal: &Path, rng: &mut Rng) -> Result<String> {
    let length = std::fs::metadata(wal)?.len();
    let frames = length.saturating_sub(FILE_HEAD) / FRAME;
    let at = match rng.below(3) {
        0 => rng.below(length),
        _ => FILE_HEAD + rng.below(frames + 1) * FRAME,
    };
    if rng.percent(30) {
        let mut bytes = std::fs::read(wal)?;
        let at = rng.below(length) as usize;
        bytes[at] ^= 1 + rng.below(255) as u8;
        std::fs::write(wal, bytes)?;
        return Ok(format!("byte {at} of {length} changed"));
    }
    std::fs::File::options()
        .write(true)
        .open(wal)?
        .set_len(at)?;
    Ok(format!("cut at {at} of {length}"))
}

/// The numbers of events that a SQLite store has, read from a copy: opening a file with a log changes it.
fn lengths(path: &Path) -> Result<Lengths> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("copy.db");
    for end in ["", "-wal"] {
        let from = format!("{}{end}", path.display());
        if Path::new(&from).exists() {
            std::fs::copy(&from, format!("{}{end}", copy.display()))?;
        }
    }
    let file = rusqlite::Connection::open(&copy)?;
    let sql =
        "SELECT name, (SELECT coalesce(max(seq), 0) FROM events WHERE study = key) FROM studies";
    let mut statement = file.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)? as u64))
    })?;
    Ok(rows.collect::<std::result::Result<_, _>>()?)
}

/// The last event of each study that a checkpoint in the file covers.
fn read_checkpoints(path: &Path) -> Result<Lengths> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut lengths = Lengths::new();
    for line in text.lines() {
        // The last line may be incomplete: the service was killed.
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if let (Some(study), Some(seq)) = (line["study"].as_str(), line["seq"].as_u64()) {
            let known = lengths.entry(study.into()).or_default();
            *known = seq.max(*known);
        }
    }
    Ok(lengths)
}

/// Waits until checkpoints cover these events.
fn wait_for(path: &Path, written: &Lengths) -> Result<Lengths> {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        let covered = read_checkpoints(path)?;
        let is_covered = |(study, seq): (&String, &u64)| covered.get(study).unwrap_or(&0) >= seq;
        if written.iter().all(is_covered) {
            return Ok(covered);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Err("no checkpoint covers the events after 20 s".into())
}
