//! `emab audit`: checks that a store or an export is unchanged since the service wrote it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use emab_server::audit::{Options, Report, audit_export_with, audit_study_with};
use emab_server::log_source::find_study;
use emab_server::store::{Address, Finding, Head, Restore, Store, StoreError};
use emab_sim::quoted;
use serde_json::{Value, json};

use crate::args::Audit;
use crate::commands::checkpoints::Checkpoints;
use crate::error::CommandError;
use crate::terminal;

/// The first bytes of every SQLite file.
const SQLITE: &[u8] = b"SQLite format 3\0";
/// Studies listed at once.
const PAGE: usize = 1_000;

pub fn audit(args: &Audit, as_json: bool) -> Result<(), CommandError> {
    let keys = &args.checkpoint_key_public;
    let checkpoints = args.checkpoint.as_deref();
    let checkpoints = checkpoints.map(|file| Checkpoints::read(file, keys));
    let mut checkpoints = checkpoints.transpose()?;
    let Audited { store, studies } = audited(args, &mut checkpoints)?;
    let in_store = store.as_ref().map_or(0, |found| found.len() as u64);
    let in_file = checkpoints
        .as_ref()
        .map_or(0, |it| it.findings.len() as u64);
    let findings = in_store + in_file + studies.iter().map(findings).sum::<u64>();
    let document = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "clean": findings == 0 && !studies.is_empty(),
        "checkpoints": checkpoints.as_ref().map(Checkpoints::json),
        "store": store.as_ref().map(|findings| json!({ "findings": findings })),
        "studies": studies,
    });
    terminal::show(as_json, &document, || {
        let of_store = store.iter().flatten().map(finding).collect::<String>();
        let of_store = match in_store {
            0 => None,
            more => Some(format!("store: {}\n{of_store}", verdict(more))),
        };
        let of_file = checkpoints.as_ref().map(|it| {
            let found = it.findings.iter().map(finding);
            it.text() + &found.collect::<String>()
        });
        let texts = of_store.into_iter().chain(of_file);
        let texts = texts.chain(studies.iter().map(text));
        texts.collect::<Vec<_>>().join("\n")
    })?;
    match findings {
        0 if studies.is_empty() => {
            let what = "the store contains no study: there is nothing to audit";
            Err(CommandError::Work(what.into()))
        }
        0 => Ok(()),
        1 => Err(CommandError::Work("the audit found something".into())),
        more => Err(CommandError::Work(format!("the audit found {more} things"))),
    }
}

/// What an audit found.
struct Audited {
    /// What concerns the whole store; none for an export.
    store: Option<Vec<Finding>>,
    studies: Vec<Report>,
}

/// Audits the input, which is recognised by its address or the first bytes of the file.
fn audited(args: &Audit, checkpoints: &mut Option<Checkpoints>) -> Result<Audited, CommandError> {
    let Some(place) = args.place.as_deref() else {
        let store = crate::args::store(None)?;
        let none =
            || CommandError::input("name a store or an export, or set EMAB_STORE to a store");
        return of_store(&store.ok_or_else(none)?, args, checkpoints);
    };
    match place.split_once(':') {
        Some(("postgres" | "postgresql" | "sqlite", _)) => {
            let address = place.parse().map_err(CommandError::Input)?;
            return of_store(&address, args, checkpoints);
        }
        Some(("http" | "https", rest)) if rest.starts_with("//") => {
            return Err(CommandError::input(
                "a URL of the service cannot be audited; give its store, or pipe the export of GET …/studies/NAME:export into \
                 `emab audit -`",
            ));
        }
        _ if place == "-" => return of_export(io::stdin().lock(), None, args, checkpoints),
        _ => {}
    }
    let path = Path::new(place);
    let mut file = open(path)?;
    let mut first = Vec::new();
    let mut start = file.by_ref().take(SQLITE.len() as u64);
    let read = start.read_to_end(&mut first);
    read.map_err(|error| unreadable(path, &error))?;
    if first == SQLITE {
        return of_store(&Address::Sqlite(path.into()), args, checkpoints);
    }
    if first.first() != Some(&b'{') {
        return Err(CommandError::Input(format!(
            "{} is neither a SQLite file nor an export, whose first line begins with {{",
            quoted(path)
        )));
    }
    if let Some(what) = other_document(path) {
        return Err(CommandError::Input(format!(
            "{} is not an export: it seems to be {what}; GET …/studies/NAME:export of a service is an export",
            quoted(path)
        )));
    }
    let bar = terminal::progress(file.metadata().map_or(0, |found| found.len()));
    bar.set_message("auditing");
    let whole = bar.wrap_read(io::Cursor::new(first).chain(file));
    let reopen_export =
        || -> io::Result<Box<dyn BufRead>> { Ok(Box::new(BufReader::new(File::open(path)?))) };
    // A pipe cannot be read twice.
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let reopen_export: Option<&dyn Fn() -> io::Result<Box<dyn BufRead>>> = match is_file {
        true => Some(&reopen_export),
        false => None,
    };
    let report = of_export(BufReader::new(whole), reopen_export, args, checkpoints);
    bar.finish_and_clear();
    report
}

/// What a file seems to be that is one JSON object, and neither an event nor the first line of an export, which have a hash.
fn other_document(path: &Path) -> Option<&'static str> {
    /// The largest body of a study.
    const MOST: u64 = 16 << 20;
    // A pipe cannot be read twice.
    let found = path.metadata().ok()?;
    let text = Some(path).filter(|_| found.is_file() && found.len() <= MOST)?;
    let text = std::fs::read_to_string(text).ok()?;
    let document: serde_json::Map<String, Value> = serde_json::from_str(&text).ok()?;
    let has = |field| document.contains_key(field);
    match has("hash") {
        true => None,
        false if has("learner") && has("horizon") => Some("the body that creates a study"),
        false if has("horizon") => Some("a problem file"),
        false => Some("another JSON document"),
    }
}

fn open(path: &Path) -> Result<File, CommandError> {
    File::open(path).map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    CommandError::Input(format!("cannot read {}: {error}", quoted(path)))
}

fn of_export(
    export: impl BufRead,
    reopen_export: Option<&dyn Fn() -> io::Result<Box<dyn BufRead>>>,
    args: &Audit,
    checkpoints: &mut Option<Checkpoints>,
) -> Result<Audited, CommandError> {
    let all = checkpoints.as_mut().map(Checkpoints::all);
    let options = Options {
        checkpoints: all.unwrap_or_default(),
        expect: args.expect.as_deref(),
        reopen_export,
        progress: None,
    };
    let report = audit_export_with(export, options);
    match (&args.study, &report.study) {
        (Some(asked), Some(there)) if asked != there => Err(CommandError::Input(format!(
            "the export is of study `{there}`, not of `{asked}`"
        ))),
        _ => Ok(Audited {
            store: None,
            studies: vec![report],
        }),
    }
}

fn of_store(
    address: &Address,
    args: &Audit,
    checkpoints: &mut Option<Checkpoints>,
) -> Result<Audited, CommandError> {
    if let Address::Sqlite(file) = address {
        open(file)?;
    }
    let failed = |error: StoreError| CommandError::Work(error.to_string());
    let mut store = address.inspect().map_err(failed)?;
    // The service may write meanwhile.
    store.begin_snapshot().map_err(failed)?;
    let heads = match &args.study {
        None => all(&mut *store).map_err(failed)?,
        Some(name) => vec![find_study(&mut *store, Some(name))?],
    };
    if args.expect.is_some() && heads.len() != 1 {
        return Err(CommandError::Input(format!(
            "--expect is about one study, and there are {}: name it with --study",
            heads.len()
        )));
    }
    let bar = terminal::progress(heads.iter().map(|head| head.seq).sum());
    bar.set_message("auditing");
    let store_findings = store.check_store().map_err(failed)?;
    let mut studies = Vec::new();
    let mut before = 0;
    for head in &heads {
        let mut watch = |events| bar.set_position(before + events);
        let of_study = checkpoints.as_mut().map(|it| it.of(&head.name));
        let options = Options {
            checkpoints: of_study.unwrap_or_default(),
            expect: args.expect.as_deref(),
            reopen_export: None,
            progress: Some(&mut watch),
        };
        studies.push(audit_study_with(&mut *store, head, options).map_err(failed)?);
        before += head.seq;
    }
    bar.finish_and_clear();
    if let Some(checkpoints) = checkpoints.as_mut().filter(|_| args.study.is_none()) {
        checkpoints.report_missing();
    }
    Ok(Audited {
        store: Some(store_findings),
        studies,
    })
}

fn all(store: &mut dyn Store) -> Result<Vec<Head>, StoreError> {
    let mut heads: Vec<Head> = Vec::new();
    loop {
        let after = heads.last().map_or("", |head| &head.name).to_owned();
        let page = store.heads(&after, PAGE)?;
        let last = page.len() < PAGE;
        heads.extend(page);
        if last {
            return Ok(heads);
        }
    }
}

fn findings(report: &Report) -> u64 {
    report.findings.len() as u64 + report.more
}

fn verdict(findings: u64) -> String {
    match findings {
        0 => "clean".into(),
        1 => "1 finding".into(),
        more => format!("{more} findings"),
    }
}

fn finding(finding: &Finding) -> String {
    format!("  ! {}: {}\n", finding.place, finding.what)
}

/// Who restored a study, and when.
fn restored(restore: &Restore) -> String {
    let Restore {
        begun, begun_by, ..
    } = restore;
    match (&restore.finished, &restore.finished_by) {
        (Some(finished), Some(by)) => {
            format!("from an export: begun {begun} by {begun_by}, finished {finished} by {by}")
        }
        _ => format!("not finished: begun {begun} by {begun_by}"),
    }
}

fn text(report: &Report) -> String {
    let name = match &report.study {
        Some(name) => format!("study {name}"),
        None => "a study whose name cannot be read".into(),
    };
    let verdict = verdict(findings(report));
    let recomputed = match report.recomputed {
        0 => "none recomputed".into(),
        last if last == report.events => "all recomputed".into(),
        last => format!("recomputed up to event {last}"),
    };
    let Report {
        events,
        decisions,
        episodes,
        learned,
        ..
    } = report;
    let at = |at: &Option<String>| at.as_ref().map_or(String::new(), |at| format!(" at {at}"));
    let of = |at: &Option<String>| at.as_ref().map_or(String::new(), |at| format!(" of {at}"));
    let expected = report
        .expected
        .map(|seq| format!("it is the hash of event {seq}{}", of(&report.expected_at)));
    let mut text = format!("{name}: {verdict}\n");
    for (name, value) in [
        ("events", Some(format!("{events}, {recomputed}"))),
        ("last event", report.last_at.clone()),
        ("decisions", Some(format!("{decisions} recomputed"))),
        (
            "episodes",
            Some(format!("{episodes}, {learned} learned from")),
        ),
        (
            "fallback",
            Some(report.fallbacks_not_recomputed)
                .filter(|count| *count > 0)
                .map(|count| {
                    format!(
                        "{count} choices from tables of the policy were not recomputed: audit a file or the store, not a pipe"
                    )
                }),
        ),
        ("head hash", Some(report.head_hash.clone())),
        ("state hash", report.state_hash.clone()),
        ("expected", expected),
        ("restored", report.restore.as_ref().map(restored)),
        (
            "checkpoint",
            report
                .checkpoint
                .map(|seq| format!("of event {seq}, signed{}, in the store", at(&report.checkpoint_at))),
        ),
    ] {
        let line = value.map(|value| format!("  {name:<10}  {value}\n"));
        text += &line.unwrap_or_default();
    }
    text.extend(report.findings.iter().map(finding));
    if report.more > 0 {
        text += &format!("  ! and {} more\n", report.more);
    }
    text
}
