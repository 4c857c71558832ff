//! One change at a time, by SQL, in a file that the service wrote.

use std::sync::LazyLock;

use emab_server::app::{replay::Replay, state_hash};
use emab_server::audit::{Report, Statement, audit_study};
use emab_server::domain::checkpoint::Restored;
use emab_server::domain::command::{Command, Open};
use emab_server::domain::event::Record;
use emab_server::store::Head;
use emab_server::store::sqlite::Sqlite;
use ring::signature::Ed25519KeyPair;
use rusqlite::Connection;

use super::recorded::{RecordedStore, Writer, restore_command, study};

pub static RECORDED: LazyLock<RecordedStore> = LazyLock::new(|| RecordedStore::new(45));

/// The reports of `clinic` and `other` after a change of the file.
pub fn after(change: impl FnOnce(&Connection)) -> [Report; 2] {
    let (_folder, path) = RECORDED.copy();
    let file = Connection::open(&path).unwrap();
    change(&file);
    drop(file);
    let mut store = Sqlite::inspect(&path).unwrap();
    store.begin_snapshot().unwrap();
    let heads = store.heads("", 10).unwrap();
    let [clinic, other] = heads.try_into().unwrap();
    [clinic, other].map(|head| audit_study(&mut *store, head).unwrap())
}

pub fn findings(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|found| &*found.place).collect()
}

/// Asserts that the change is found at these places and that the other study is clean.
#[track_caller]
fn found_at(sql: &str, expected: &[&str]) -> Report {
    let [clinic, other] = after(|file| {
        let changed = file.execute(sql, []).unwrap();
        assert_eq!(changed, 1, "one row is changed by {sql}");
    });
    assert_eq!(findings(&clinic), expected, "{sql}: {clinic:#?}");
    assert!(other.is_clean(), "{other:#?}");
    clinic
}

/// The same for lines of `SQL => PLACE; PLACE…`, in which `ROW` is replaced by a condition. Returns the reports.
fn all_found(row: &str, table: &str) -> Vec<Report> {
    let lines = table.trim().lines().map(|line| {
        let (sql, places) = line.trim().split_once(" => ").unwrap();
        let places: Vec<&str> = places.split("; ").collect();
        found_at(&sql.replace("ROW", row), &places)
    });
    lines.collect()
}

/// The report of `clinic` after several statements, and that `other` is clean.
fn changed(sql: &str) -> Report {
    let [clinic, other] = after(|file| file.execute_batch(sql).unwrap());
    assert!(other.is_clean(), "{other:#?}");
    clinic
}

/// The first event of this kind from a number on.
pub fn event_of(kind: &str, from: u64) -> (u64, serde_json::Value) {
    let found = RECORDED.events.iter().find_map(|record| {
        let line: serde_json::Value = serde_json::from_str(&record.text).unwrap();
        (record.seq >= from && line["kind"] == kind).then_some((record.seq, line))
    });
    found.unwrap_or_else(|| panic!("no event {kind} from {from} on"))
}

#[test]
fn an_unchanged_store_is_clean() {
    let [clinic, other] = after(|_| {});
    for report in [&clinic, &other] {
        assert!(report.is_clean(), "{report:#?}");
        assert_eq!(report.recomputed, report.events);
        assert!(report.events > 150 && report.decisions > 80 && report.learned > 30);
    }
    assert_eq!(clinic.events, RECORDED.events.len() as u64);
    assert_eq!(clinic.head_hash, RECORDED.events.last().unwrap().hash);
    assert_ne!(clinic.state_hash, other.state_hash);
    for kind in "created opened told stopped abandoned outcome amended imported closed".split(' ') {
        event_of(kind, 0);
    }
    let overridden = |event: &Record| event.text.contains("\"override\":true");
    assert!(RECORDED.events.iter().any(overridden));
}

#[test]
fn the_state_hash_is_the_same_in_store_replay_and_restore() {
    let mut store = Sqlite::inspect(&RECORDED.path()).unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    let stored = state_hash::of_store(&mut *store, &head).unwrap();
    let mut replay = Replay::default();
    let mut before = String::new();
    for event in &RECORDED.events {
        assert_eq!(replay.feed(event), Ok(None));
        let now = state_hash::of_replay(&mut replay).unwrap();
        assert_ne!(now, before, "every event changes the state");
        before = now;
    }
    assert_eq!(before, stored);
    // Restored elsewhere, from the log.
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::open(&folder.path().join("restored.db"));
    let create = Command::Create(study("other"));
    writer.ask("other", create).unwrap();
    let restore = restore_command(RECORDED.events.clone());
    writer.ask("clinic", restore).unwrap();
    writer.ask("clinic", Command::FinishRestore(None)).unwrap();
    let mut store = writer.reader();
    let there = store.head("clinic").unwrap().unwrap();
    assert_ne!(there.key, head.key);
    assert_eq!(state_hash::of_store(&mut *store, &there).unwrap(), stored);
}

#[test]
fn finds_changed_events() {
    let (seq, _) = event_of("told", 40);
    // Another value, a byte that is not UTF-8, the same value with other whitespace, another hash, and no event.
    let table = r#"
        UPDATE events SET text = replace(text, '"by":"00000001"', '"by":"00000002"') WHERE ROW => event SEQ
        UPDATE events SET text = CAST(substr(CAST(text AS BLOB), 1, 50) || x'ff' || substr(CAST(text AS BLOB), 52) AS TEXT) WHERE ROW => event SEQ
        UPDATE events SET text = replace(text, '"by":', '"by": ') WHERE ROW => event SEQ
        UPDATE events SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE ROW => event SEQ
        UPDATE events SET hash = upper(hash) WHERE ROW => event SEQ
        DELETE FROM events WHERE ROW => event SEQ
        DELETE FROM events WHERE study = 1 AND seq = 1 => event 1
    "#;
    let row = format!("study = 1 AND seq = {seq}");
    let reports = all_found(&row, &table.replace("SEQ", &seq.to_string()));
    assert_eq!(reports[0].recomputed, seq);
    assert_eq!(reports[0].events, RECORDED.events.len() as u64);
    assert_eq!(reports[0].state_hash, None);
    // The next event shows that the line is right.
    assert_eq!(reports[3].recomputed, reports[3].events);
    let missing = &reports[5].findings[0].what;
    assert!(missing.contains("missing"), "{missing}");
}

#[test]
fn finds_changes_of_the_last_event() {
    let last = RECORDED.events.len();
    let (row, end) = (format!("study = 1 AND seq = {last}"), last + 4);
    let table = format!(
        "UPDATE events SET text = replace(text, 'moved away', 'moved awaY') WHERE ROW => event {last}
        UPDATE events SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE ROW => event {last}
        DELETE FROM events WHERE ROW => event {last}
        UPDATE events SET seq = seq + 5 WHERE ROW => events {last} to {end}; event {}",
        end + 1
    );
    all_found(&row, &table);
    for first in [last - 6, 1] {
        let sql = format!("DELETE FROM events WHERE study = 1 AND seq >= {first}");
        let place = format!("events {first} to {last}");
        assert_eq!(findings(&changed(&sql)), [place]);
    }
}

#[test]
fn finds_two_swapped_events() {
    let clinic = changed(
        "UPDATE events SET seq = -1 WHERE study = 1 AND seq = 40;
         UPDATE events SET seq = 40 WHERE study = 1 AND seq = 41;
         UPDATE events SET seq = 41 WHERE study = 1 AND seq = -1;",
    );
    assert_eq!(findings(&clinic), ["event 40", "event 41"], "{clinic:#?}");
}

#[test]
fn finds_changed_counts_and_sums() {
    let table = "
        UPDATE cells SET sum = sum + 1 WHERE ROW => count of (2, 1, 0)
        UPDATE cells SET sum = -9223372036854775807 - 1 WHERE ROW => count of (2, 1, 0)
        UPDATE cells SET count = count + 1 WHERE ROW => count of (2, 1, 0)
        UPDATE cells SET count = -1 WHERE ROW => count of (2, 1, 0)
        UPDATE cells SET a = 77 WHERE ROW => count of (2, 1, 0); count of (2, 1, 77)
        DELETE FROM cells WHERE ROW => count of (2, 1, 0)
        INSERT INTO cells VALUES (1, 4, 4, 0, 1, 0) => count of (4, 4, 0)
        INSERT INTO cells VALUES (1, 4, 4, 0, 0, 0) => count of (4, 4, 0)
    ";
    let reports = all_found("study = 1 AND (t, x, a) = (2, 1, 0)", table);
    let words = ["sum", "-0.0", "and the log leads to", "cannot be read"];
    for (report, words) in reports.iter().zip(words) {
        assert!(report.findings[0].what.contains(words), "{report:#?}");
    }
}

#[test]
fn finds_changed_decisions() {
    let table = r#"
        UPDATE answers SET text = replace(text, '"step":1', '"step":2') WHERE ROW => decision 1 of episode p7
        UPDATE answers SET text = text || ' ' WHERE ROW => decision 1 of episode p7
        DELETE FROM answers WHERE ROW => decision 1 of episode p7
        INSERT INTO answers VALUES (1, 'p7', 9, '{}') => decision 9 of episode p7
        INSERT INTO answers VALUES (1, 'p7', 0, '{}') => decision 0 of episode p7
        INSERT INTO answers VALUES (1, 'stray', 1, '{}') => decision 1 of episode stray
    "#;
    all_found("study = 1 AND episode = 'p7' AND step = 1", table);
}

#[test]
fn finds_changed_episodes() {
    let (_, amended) = event_of("amended", 0);
    let id = amended["data"]["episode"].as_str().unwrap();
    let table = r#"
        UPDATE cases SET body = replace(body, '"states":[0', '"states":[1') WHERE ROW => episode ID
        UPDATE cases SET body = replace(body, 'enough', 'enougH') WHERE ROW => episode ID
        UPDATE cases SET body = replace(body, '"place":', '"plase":') WHERE ROW => episode ID
        UPDATE cases SET body = replace(body, ':', ': ') WHERE ROW => episode ID
        UPDATE cases SET body = 'x' WHERE ROW => episode ID
        UPDATE cases SET step = step + 1 WHERE ROW => episode ID
        UPDATE cases SET open = 1 WHERE ROW => episode ID
        UPDATE cases SET awaited = 1 WHERE ROW => episode ID
        DELETE FROM cases WHERE ROW => episode ID
        UPDATE cases SET open = 0 WHERE study = 1 AND id = 'p11' => episode p11
        DELETE FROM cases WHERE study = 1 AND id = 'p11' => episode p11
        UPDATE cases SET open = 2 WHERE study = 1 AND id = 'p11' => episode p11
        INSERT INTO cases SELECT study, 'q', step, open, awaited, replace(body, '"p7"', '"q"') FROM cases WHERE study = 1 AND id = 'p7' => episode q
    "#;
    let row = format!("study = 1 AND id = '{id}'");
    let reports = all_found(&row, &table.replace("ID", id));
    let what = &reports[0].findings[0].what;
    let words = "`/states/0` is 1, and the log leads to 0";
    assert!(what.contains(words), "{what}");
    // A row whose key differs from its content.
    let clinic = changed("UPDATE cases SET id = 'q' WHERE study = 1 AND id = 'p7'");
    assert!(findings(&clinic).contains(&"episode p7"), "{clinic:#?}");
}

#[test]
fn finds_changed_learned_episodes() {
    let table = "
        DELETE FROM lessons WHERE ROW => learned episode 4
        UPDATE lessons SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'77' AS BLOB) WHERE ROW => learned episode 4
        UPDATE lessons SET bytes = x'' WHERE ROW => learned episode 4
        INSERT INTO lessons VALUES (1, 1000, x'00') => learned episode 1000
        INSERT INTO lessons VALUES (1, 9223372036854775807, x'00') => learned episode 9223372036854775807
    ";
    all_found("study = 1 AND place = 4", table);
}

#[test]
fn finds_changes_of_the_study_head() {
    for field in ["episodes", "open", "learned", "missing", "relearned"] {
        let sql = format!("UPDATE studies SET {field} = {field} + 1 WHERE key = 1");
        let named = found_at(&sql, &["head"]);
        let what = &named.findings[0].what;
        assert!(what.contains(&format!("`{field}`")), "{what}");
    }
    let table = format!(
        "UPDATE studies SET closed = 0 WHERE ROW => head
        UPDATE studies SET seq = seq - 1 WHERE ROW => head
        UPDATE studies SET seq = seq + 1 WHERE ROW => event {}
        UPDATE studies SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE ROW => head
        UPDATE studies SET spec_hash = '' WHERE ROW => head
        UPDATE specs SET text = replace(text, '0.05', '0.06') WHERE study = 1 => specification
        UPDATE studies SET name = 'clinik' WHERE ROW => head",
        RECORDED.events.len() + 1
    );
    all_found("key = 1", &table);
    // A study without its first event.
    let clinic =
        changed("DELETE FROM events WHERE study = 1; UPDATE studies SET seq = 0 WHERE key = 1");
    assert_eq!(findings(&clinic), ["head"]);
}

#[test]
fn finds_changes_of_restores_and_checkpoints() {
    let hash = &RECORDED.events[9].hash;
    let row = format!("'2026-11-16T10:00:00Z', 't1', '2026-11-16T10:00:00Z', 't1', 10, '{hash}'");
    let restored = Restored {
        at: "2026-11-16T10:00:00Z".into(),
        by: "t1".into(),
    };
    let [clinic, _] = after(|file| {
        let checkpoint = signed("clinic", 10, hash, Some(restored.clone()));
        let rows = format!(
            "INSERT INTO restores VALUES (1, {row}); INSERT INTO checkpoints VALUES (1, 10, '{checkpoint}')"
        );
        file.execute_batch(&rows).unwrap();
    });
    assert!(clinic.is_clean(), "{clinic:#?}");
    assert_eq!(clinic.checkpoint, Some(10));
    assert_eq!(clinic.restore.unwrap().begun_by, "t1");
    for (from, to) in [
        ("'2026-11-16T10:00:00Z'", "'yesterday'"),
        ("'t1', 10", "NULL, 10"),
        (", 10,", ", 11,"),
        (", 10,", ", 100000,"),
        (hash, "0"),
    ] {
        let sql = format!("INSERT INTO restores VALUES (1, {})", row.replace(from, to));
        found_at(&sql, &["restore"]);
    }
    let text = signed("clinic", 10, hash, None);
    for text in [
        "{}".to_string(),
        "{".to_string(),
        signed("other", 10, hash, None),
        signed("clinic", 11, hash, None),
        signed("clinic", 10, "0", None),
        // The record of the restoration was removed.
        signed("clinic", 10, hash, Some(restored)),
        text.replace("2026", "2027"),
        text.replace("{", "{ "),
    ] {
        found_at(
            &format!("INSERT INTO checkpoints VALUES (1, 10, '{text}')"),
            &["checkpoint"],
        );
    }
    // The log lost its tail.
    let text = signed("clinic", 100_000, hash, None);
    found_at(
        &format!("INSERT INTO checkpoints VALUES (1, 100000, '{text}')"),
        &["checkpoint"],
    );
}

/// A checkpoint with a valid signature.
fn signed(study: &str, seq: u64, hash: &str, restored: Option<Restored>) -> String {
    let key = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap();
    let head = Head {
        name: study.into(),
        seq,
        hash: hash.into(),
        ..Head::default()
    };
    Statement::sign(&key, &head, restored, "2026-11-16T10:00:00Z").text()
}

#[test]
fn finds_rows_of_no_study_and_foreign_objects() {
    let cases = "
        DELETE FROM studies WHERE key = 2 => study 2 in events; study 2 in cases; study 2 in answers; study 2 in lessons; study 2 in cells; study 2 in specs
        UPDATE studies SET name = '' WHERE key = 2 => study 2
        UPDATE studies SET name = 'a b' WHERE key = 2 => study 2
        INSERT INTO specs VALUES (7, '{}') => study 7 in specs
        INSERT INTO restores VALUES (7, '', '', '', '', 1, '') => study 7 in restores
        INSERT INTO checkpoints VALUES (-7, 1, '') => study -7 in checkpoints
        INSERT INTO events VALUES (3, 1, '{}', ''), (9, 1, '{}', '') => study 3 in events; study 9 in events
        INSERT INTO events VALUES (1, 0, '{}', '') => study 1 in events
        INSERT INTO cases VALUES (2, '', 1, 0, 0, '{}') => study 2 in cases
        INSERT INTO answers VALUES (2, '', -1, '{}') => study 2 in answers
        INSERT INTO lessons VALUES (1, -1, x'') => study 1 in lessons
        INSERT INTO cells VALUES (1, -1, 0, 0, 0, 0) => study 1 in cells
        CREATE TABLE t (a) => table t
        CREATE VIEW v AS SELECT * FROM studies => view v
        CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM cells; END => trigger t
        CREATE INDEX i ON cases (body) => index i
        DROP INDEX cases_open => index cases_open
        DROP INDEX cases_awaited => index cases_awaited
        DROP TABLE sessions => table sessions
        ALTER TABLE events ADD COLUMN extra TEXT => table events; table events
        ALTER TABLE cells RENAME COLUMN sum TO total => table cells; table cells
    ";
    for line in cases.trim().lines() {
        let (sql, places) = line.trim().split_once(" => ").unwrap();
        let (_folder, path) = RECORDED.copy();
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let mut store = Sqlite::inspect(&path).unwrap();
        store.begin_snapshot().unwrap();
        let found = store.check_store().unwrap();
        let there: Vec<&str> = found.iter().map(|it| &*it.place).collect();
        assert_eq!(
            there,
            places.split("; ").collect::<Vec<_>>(),
            "{sql}: {found:#?}"
        );
    }
    // Sessions belong to no study.
    let (_folder, path) = RECORDED.copy();
    let session =
        "INSERT INTO sessions VALUES ('0', 't', '2026-11-16T10:00:00Z', '2026-11-16T11:00:00Z')";
    Connection::open(&path)
        .unwrap()
        .execute_batch(session)
        .unwrap();
    for path in [path, RECORDED.path()] {
        let mut store = Sqlite::inspect(&path).unwrap();
        assert_eq!(store.check_store().unwrap(), []);
    }
}

#[test]
fn names_every_unreadable_row() {
    let clinic = changed(
        "UPDATE cases SET body = '' WHERE study = 1 AND id IN ('p7', 'p8');
         UPDATE cells SET count = -1 WHERE study = 1 AND t = 1;
         UPDATE answers SET step = -1 WHERE study = 1 AND episode = 'p3' AND step = 1;",
    );
    let findings = findings(&clinic);
    for place in [
        "episode p7",
        "episode p8",
        "decision 1 of episode p3",
        "count of (1, 0, 0)",
        "count of (1, 0, 1)",
        "count of (1, 0, 2)",
    ] {
        assert!(findings.contains(&place), "{place}: {clinic:#?}");
    }
}

#[test]
fn keeps_one_hundred_findings_and_counts_the_rest() {
    let clinic = changed("DELETE FROM answers WHERE study = 1; DELETE FROM cases WHERE study = 1");
    assert_eq!(clinic.findings.len(), 100);
    assert!(clinic.more > 20);
}

#[test]
fn an_audit_reads_a_snapshot_of_a_store_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = Writer::open(&path);
    let create = |name| Command::Create(study(name));
    let open = || Command::Open(Open::default());
    writer.ask("live", create("live")).unwrap();
    writer.ask("live", open()).unwrap();
    let mut store = Sqlite::inspect(&path).unwrap();
    store.begin_snapshot().unwrap();
    let head = store.head("live").unwrap().unwrap();
    for _ in 0..10 {
        writer.ask("live", open()).unwrap();
    }
    let report = audit_study(&mut *store, head).unwrap();
    assert!(report.is_clean() && report.events == 2, "{report:#?}");
    store.rollback();
    let head = store.head("live").unwrap().unwrap();
    let report = audit_study(&mut *store, head).unwrap();
    assert!(report.is_clean() && report.events == 12, "{report:#?}");
}
