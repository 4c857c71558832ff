//! Stores and exports in `tests/fixtures`, which an earlier build wrote: the service opens, serves and continues them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emab_server::app::audit::{audit_export, audit_study};
use emab_server::domain::event::Record;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Head, Store, Which};
use emab_testkit::postgres::Server;
use serde_json::{Value, json};

use crate::support::TestServer;
use crate::support::study::{StudyClient, clinic};

fn fixture(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    folder.join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(fixture(name)).unwrap()
}

/// The name of a study, the hash of its head and the hash of its state in a report of an audit.
fn hashes(report: &Value) -> [Value; 3] {
    ["study", "head_hash", "state_hash"].map(|field| report[field].clone())
}

/// The hashes that the earlier build's audit reports of each study.
fn audited(name: &str) -> Vec<[Value; 3]> {
    let document: Value = serde_json::from_str(&text(name)).unwrap();
    let studies = document["studies"].as_array().unwrap();
    studies.iter().map(hashes).collect()
}

/// The same of a store, audited now.
fn audit(store: &mut dyn Store) -> Vec<[Value; 3]> {
    assert_eq!(store.check_store().unwrap(), []);
    let heads = store.heads("", 10).unwrap().into_iter();
    let reports = heads.map(|head| {
        let report = audit_study(store, head).unwrap();
        assert!(report.is_clean(), "{report:#?}");
        assert_eq!(report.recomputed, report.events);
        hashes(&json!(report))
    });
    reports.collect()
}

/// A service on a copy of the SQLite store.
fn served() -> Arc<TestServer> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("studies.db");
    fs::copy(fixture("studies.db"), &file).unwrap();
    TestServer::over(folder, Arc::new(Sqlite::open(&file).unwrap()))
}

/// The lines of the log of every study.
fn logs(store: &mut dyn Store) -> Vec<Record> {
    let heads = store.heads("", 10).unwrap().into_iter();
    let logs = heads.flat_map(|head| store.events(head.key, 0, usize::MAX).unwrap());
    logs.collect()
}

/// The names of the episodes of all studies, in this order: all, open, and with an awaited outcome. An inspection also compares
/// the columns with each episode.
fn episodes(store: &mut dyn Store) -> [Vec<String>; 3] {
    let heads = store.heads("", 10).unwrap();
    [Which::All, Which::Open, Which::Awaited].map(|which| {
        let read = |head: &Head| {
            store
                .episodes_after(head.key, "", which, usize::MAX)
                .unwrap()
        };
        let found = heads.iter().flat_map(read);
        found.map(|episode| episode.id).collect()
    })
}

/// Asserts that one episode is open, and that the outcome of one is awaited.
fn have_statuses(version: u32, [_, open, awaited]: &[Vec<String>; 3]) {
    let stopped = match version {
        3 => "stopped",
        _ => "waiting",
    };
    assert_eq!(
        (&open[..], &awaited[..]),
        (&["open".into()][..], &[stopped.into()][..])
    );
}

/// The store of version 1, or as the next build has migrated it, or that of version 3.
fn a_sqlite_store_is_audited_and_migrated_from(version: u32) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("studies.db");
    let name = match version {
        3 => "studies-3",
        _ => "studies",
    };
    fs::copy(fixture(&format!("{name}.db")), &file).unwrap();
    if version == 2 {
        let connection = rusqlite::Connection::open(&file).unwrap();
        let changes = include_str!("../../src/store/sqlite-2.sql");
        connection.execute_batch(changes).unwrap();
    }
    let (bytes, expected) = (
        fs::read(&file).unwrap(),
        audited(&format!("{name}.audit.json")),
    );
    let mut store = Sqlite::inspect(&file).unwrap();
    store.begin_snapshot().unwrap();
    assert_eq!(audit(&mut *store), expected);
    let (log, statuses) = (logs(&mut *store), episodes(&mut *store));
    have_statuses(version, &statuses);
    drop(store);
    assert_eq!(fs::read(&file).unwrap(), bytes, "an audit changes nothing");
    for _ in 0..2 {
        let owner = Sqlite::open(&file).unwrap();
        assert_eq!(audit(&mut *owner.reader().unwrap()), expected);
        assert_eq!(logs(&mut *owner.reader().unwrap()), log);
    }
    let mut store = Sqlite::inspect(&file).unwrap();
    assert_eq!(audit(&mut *store), expected);
    assert_eq!(episodes(&mut *store), statuses);
}

#[test]
fn a_sqlite_store_is_audited_unchanged_and_migrated() {
    for version in [1, 2, 3] {
        a_sqlite_store_is_audited_and_migrated_from(version);
    }
}

#[test]
fn a_postgres_dump_is_audited_unchanged_and_migrated() {
    for version in [1, 2, 3] {
        a_postgres_dump_is_audited_and_migrated_from(version);
    }
}

fn a_postgres_dump_is_audited_and_migrated_from(version: u32) {
    let server = Server::start().unwrap();
    let name = match version {
        3 => "postgres-3",
        _ => "postgres",
    };
    server.execute(&text(&format!("{name}.sql"))).unwrap();
    if version == 2 {
        let changes = include_str!("../../src/store/postgres-2.sql");
        server.execute(changes).unwrap();
    }
    let expected = audited(&format!("{name}.audit.json"));
    let mut store = Postgres::inspect(&server.url()).unwrap();
    store.begin_snapshot().unwrap();
    assert_eq!(audit(&mut *store), expected);
    let (log, statuses) = (logs(&mut *store), episodes(&mut *store));
    have_statuses(version, &statuses);
    drop(store);
    if version == 1 {
        server.execute("SELECT spec FROM studies").unwrap();
    }
    // Several copies start at once.
    let url = server.url();
    std::thread::scope(|scope| {
        let open = || scope.spawn(|| Postgres::open(&url).unwrap());
        let copies: Vec<_> = (0..4).map(|_| open()).collect();
        for copy in copies {
            let mut store = copy.join().unwrap().reader().unwrap();
            assert_eq!(audit(&mut *store), expected);
            assert_eq!(logs(&mut *store), log);
        }
    });
    let mut store = Postgres::inspect(&server.url()).unwrap();
    assert_eq!(audit(&mut *store), expected);
    assert_eq!(episodes(&mut *store), statuses);
}

#[tokio::test]
async fn a_sqlite_store_is_served_and_its_open_episode_continues() {
    let server = served();
    let client = server.study("clinic");
    assert_eq!(client.export().await, text("clinic.ndjson"));
    assert_eq!(client.estimates().await.text, text("clinic.estimates.json"));
    let decision = client.ask("open").await.is(200);
    assert_eq!(decision.text, text("clinic.decision.json"));
    for (id, step) in [("open", 1), ("open", 2), ("p5", 1), ("p5", 3), ("gone", 1)] {
        let replay = client.replay(id, step).await.is(200);
        assert_eq!(replay.at("/equal"), true, "{id} {step}");
    }
    let seq = client.seq().await;
    let script = r#"
        tell open 2 scan negative
        stop open 3
        outcome open {"costs": [0.05, 0.2], "rewards": [0, 0.5, 1]}
        amend p0 {"rewards": [0.75], "reason": "mistyped"}
        outcome waiting {"costs": [0.05], "rewards": [0, 1]}
        open new
    "#;
    client.run(script).await;
    assert_eq!(client.seq().await, seq + 6);
    client.assert_consistent().await;
    rules_stay_those_of_the_study(&client, seq).await;
    let closed = server.study("ward");
    closed.open("new").await.expect_error(409);
    closed.assert_consistent().await;
}

#[tokio::test]
async fn an_export_is_imported_and_gives_the_same_state() {
    let server = TestServer::new();
    let client = server.study("clinic");
    let lines = text("clinic.ndjson");
    let taken = client.import(&lines).await.is(200);
    assert_eq!(taken.at("/taken"), lines.lines().count());
    assert_eq!(client.estimates().await.text, text("clinic.estimates.json"));
    let mut store = Sqlite::inspect(&server.file()).unwrap();
    assert_eq!(audit(&mut *store), audited("studies.audit.json")[..1]);
    client.assert_consistent().await;
}

/// Studies of rules 4, in which costs are unknown: their decisions are those of learners that leave out the feedback before an
/// unknown cost, and continue so.
#[tokio::test]
async fn studies_of_rules_4_with_unknown_costs_keep_their_decisions() {
    for name in ["model", "pooled", "values", "gains"] {
        let name = format!("unknown-{name}");
        let export = text(&format!("{name}.ndjson"));
        let report = audit_export(export.as_bytes());
        assert!(report.is_clean(), "{name}: {report:#?}");
        let server = TestServer::new();
        let client = server.study(&name);
        client.import(&export).await.is(200);
        client.run(r#"view -> {"rules": 4}"#).await;
        client.open("more").await.is(201);
        client.assert_consistent().await;
        // The same log under rules 5 has other decisions.
        let later = export.replacen("\"rules\":4", "\"rules\":5", 1);
        assert_ne!(later, export);
        assert!(!audit_export(later.as_bytes()).is_clean(), "{name}");
    }
}

/// The study keeps rules 1. Its new events have a salt, and none without one comes after them.
async fn rules_stay_those_of_the_study(client: &StudyClient, earlier: u64) {
    client
        .run(r#"view -> {"rules": 1, "restoring": false}"#)
        .await;
    let log = client.export().await;
    let mut records: Vec<Record> = log
        .lines()
        .map(|line| Record::from_line(line).unwrap())
        .collect();
    for record in &records {
        assert_eq!(record.text.contains("\"salt\":\""), record.seq > earlier);
        assert!(!record.text.contains("\"rules\""));
    }
    let lines = |records: &[Record]| -> String {
        let lines = records.iter().map(|record| record.line() + "\n");
        lines.collect()
    };
    let elsewhere = || TestServer::new().study("clinic");
    let restored = elsewhere();
    restored.import(&lines(&records)).await.is(200);
    assert_eq!(restored.export().await, log);
    restored.assert_consistent().await;
    let last = records.pop().unwrap();
    let (before, salt) = last.text.split_once("\"salt\":\"").unwrap();
    let unsalted = format!("{before}{}", &salt[32 + 2..]);
    records.push(Record::new(last.seq, unsalted));
    let refused = elsewhere().import(&lines(&records)).await;
    refused.expect_error(409).says("it has no `salt`");
}

#[tokio::test]
async fn rules_of_a_later_version_are_rejected() {
    let client = clinic().await;
    let log = client.export().await;
    let record = Record::from_line(log.trim_end()).unwrap();
    let text = record.text.replacen("\"rules\":5", "\"rules\":6", 1);
    assert_ne!(text, record.text);
    let later = Record::new(1, text).line();
    let refused = TestServer::new().study("clinic").import(&later).await;
    refused.expect_error(422).says("rules 6");
    assert!(!audit_export(format!("{later}\n").as_bytes()).is_clean());
}

/// The import of the earlier build accepted such an event.
#[tokio::test]
async fn a_forged_time_in_a_log_of_rules_1_is_found_and_not_imported() {
    let log = text("clinic.ndjson");
    let (earlier, last) = log.trim_end().rsplit_once('\n').unwrap();
    let last = Record::from_line(last).unwrap();
    let (start, rest) = last.text.split_once("\"at\":\"").unwrap();
    let (_, end) = rest.split_once('"').unwrap();
    let forged = format!("{start}\"at\":\"yesterday\"{end}");
    let forged = Record::new(last.seq, forged).line();
    let forged = format!("{earlier}\n{forged}\n");
    let report = audit_export(forged.as_bytes());
    let [finding] = &report.findings[..] else {
        panic!("{report:?}")
    };
    assert!(finding.what.contains("its time `yesterday`"), "{finding:?}");
    let refused = TestServer::new().study("clinic").import(&forged).await;
    refused.expect_error(409).says("its time `yesterday`");
}
