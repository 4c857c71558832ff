//! One change at a time, by SQL, in a file that the service wrote.

use std::sync::LazyLock;

use emab_server::app::{replay::Replay, state_hash};
use emab_server::audit::{Report, audit_study};
use emab_server::store::sqlite::Sqlite;
use rusqlite::Connection;

use super::recorded::{RecordedStore, Writer, study};

pub static RECORDED: LazyLock<RecordedStore> = LazyLock::new(|| RecordedStore::new(60));

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
    for kind in [
        "created",
        "opened",
        "told",
        "stopped",
        "abandoned",
        "outcome",
        "amended",
        "imported",
        "closed",
    ] {
        event_of(kind, 0);
    }
    assert!(
        RECORDED
            .events
            .iter()
            .any(|event| event.text.contains("\"override\":true"))
    );
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
    writer
        .ask(
            "other",
            emab_server::domain::command::Command::Create(study("other")),
        )
        .unwrap();
    let restore = emab_server::domain::command::Command::Restore(RECORDED.events.clone());
    writer.ask("clinic", restore).unwrap();
    let mut store = writer.reader();
    let there = store.head("clinic").unwrap().unwrap();
    assert_ne!(there.key, head.key);
    assert_eq!(state_hash::of_store(&mut *store, &there).unwrap(), stored);
}

#[test]
fn finds_changed_events() {
    let (seq, line) = event_of("told", 40);
    let event = format!("event {seq}");
    let named = found_at(
        &format!(
            "UPDATE events SET text = replace(text, '\"by\":\"t1\"', '\"by\":\"t2\"') WHERE study = 1 AND seq = {seq}"
        ),
        &[&event],
    );
    assert_eq!(named.recomputed, seq);
    assert_eq!(named.events, RECORDED.events.len() as u64);
    assert_eq!(named.state_hash, None);
    // A byte that is not UTF-8.
    found_at(
        &format!(
            "UPDATE events SET text = CAST(substr(CAST(text AS BLOB), 1, 50) || x'ff' || substr(CAST(text AS BLOB), 52) AS TEXT) WHERE study = 1 AND seq = {seq}"
        ),
        &[&event],
    );
    // The same value with other whitespace.
    found_at(
        &format!(
            "UPDATE events SET text = replace(text, '\"by\":', '\"by\": ') WHERE study = 1 AND seq = {seq}"
        ),
        &[&event],
    );
    let hash = format!(
        "UPDATE events SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE study = 1 AND seq = {seq}"
    );
    let named = found_at(&hash, &[&event]);
    assert_eq!(
        named.recomputed, named.events,
        "the next event shows that the line is right"
    );
    let upper = format!("UPDATE events SET hash = upper(hash) WHERE study = 1 AND seq = {seq}");
    found_at(&upper, &[&event]);
    let named = found_at(
        &format!("DELETE FROM events WHERE study = 1 AND seq = {seq}"),
        &[&event],
    );
    assert!(named.findings[0].what.contains("missing"), "{named:#?}");
    found_at(
        "DELETE FROM events WHERE study = 1 AND seq = 1",
        &["event 1"],
    );
    let _ = line;
}

#[test]
fn finds_changes_of_the_last_event() {
    let last = RECORDED.events.len();
    let place = format!("event {last}");
    for change in [
        "UPDATE events SET text = replace(text, 'moved away', 'moved awaY')",
        "UPDATE events SET hash = replace(hash, substr(hash, 1, 1), 'g')",
        "DELETE FROM events",
    ] {
        found_at(
            &format!("{change} WHERE study = 1 AND seq = {last}"),
            &[&place],
        );
    }
    let beyond = last + 5;
    found_at(
        &format!("UPDATE events SET seq = {beyond} WHERE study = 1 AND seq = {last}"),
        &[
            &format!("events {last} to {}", beyond - 1),
            &format!("event {beyond}"),
        ],
    );
    let [clinic, _] = after(|file| {
        file.execute(
            &format!("DELETE FROM events WHERE study = 1 AND seq > {}", last - 7),
            [],
        )
        .unwrap();
    });
    assert_eq!(
        findings(&clinic),
        [format!("events {} to {last}", last - 6)]
    );
    let [clinic, _] = after(|file| {
        file.execute("DELETE FROM events WHERE study = 1", [])
            .unwrap();
    });
    assert_eq!(findings(&clinic), [format!("events 1 to {last}")]);
}

#[test]
fn finds_two_swapped_events() {
    let [clinic, other] = after(|file| {
        file.execute_batch(
            "UPDATE events SET seq = -1 WHERE study = 1 AND seq = 40;
             UPDATE events SET seq = 40 WHERE study = 1 AND seq = 41;
             UPDATE events SET seq = 41 WHERE study = 1 AND seq = -1;",
        )
        .unwrap();
    });
    assert_eq!(findings(&clinic), ["event 40", "event 41"], "{clinic:#?}");
    assert!(other.is_clean());
}

#[test]
fn finds_changed_counts_and_sums() {
    for (change, word) in [
        ("sum = sum + 1", "sum"),
        ("sum = -9223372036854775807 - 1", "-0.0"),
        ("count = count + 1", "and the log leads to"),
        ("count = -1", "cannot be read"),
        ("a = 77", ""),
    ] {
        let sql = format!("UPDATE cells SET {change} WHERE study = 1 AND (t, x, a) = (2, 1, 0)");
        let findings: &[&str] = match change {
            "a = 77" => &["count of (2, 1, 0)", "count of (2, 1, 77)"],
            _ => &["count of (2, 1, 0)"],
        };
        let named = found_at(&sql, findings);
        assert!(named.findings[0].what.contains(word), "{named:#?}");
    }
    found_at(
        "DELETE FROM cells WHERE study = 1 AND (t, x, a) = (2, 1, 0)",
        &["count of (2, 1, 0)"],
    );
    found_at(
        "INSERT INTO cells VALUES (1, 4, 4, 0, 1, 0)",
        &["count of (4, 4, 0)"],
    );
    found_at(
        "INSERT INTO cells VALUES (1, 4, 4, 0, 0, 0)",
        &["count of (4, 4, 0)"],
    );
}

#[test]
fn finds_changed_decisions() {
    let place = ["decision 1 of episode p7"];
    let one = "study = 1 AND episode = 'p7' AND step = 1";
    found_at(
        &format!("UPDATE answers SET text = replace(text, '\"step\":1', '\"step\":2') WHERE {one}"),
        &place,
    );
    found_at(
        &format!("UPDATE answers SET text = text || ' ' WHERE {one}"),
        &place,
    );
    found_at(&format!("DELETE FROM answers WHERE {one}"), &place);
    found_at(
        "INSERT INTO answers VALUES (1, 'p7', 9, '{}')",
        &["decision 9 of episode p7"],
    );
    found_at(
        "INSERT INTO answers VALUES (1, 'p7', 0, '{}')",
        &["decision 0 of episode p7"],
    );
    found_at(
        "INSERT INTO answers VALUES (1, 'nobody', 1, '{}')",
        &["decision 1 of episode nobody"],
    );
}

#[test]
fn finds_changed_episodes() {
    let (_, amended) = event_of("amended", 0);
    let id = amended["data"]["episode"].as_str().unwrap().to_string();
    let place = format!("episode {id}");
    let one = format!("study = 1 AND id = '{id}'");
    let named = found_at(
        &format!(
            "UPDATE cases SET body = replace(body, '\"states\":[0', '\"states\":[1') WHERE {one}"
        ),
        &[&place],
    );
    assert!(
        named.findings[0]
            .what
            .contains("`/states/0` is 1, and the log leads to 0"),
        "{named:#?}"
    );
    found_at(
        &format!("UPDATE cases SET body = replace(body, 'enough', 'enougH') WHERE {one}"),
        &[&place],
    );
    found_at(
        &format!("UPDATE cases SET body = replace(body, '\"place\":', '\"plase\":') WHERE {one}"),
        &[&place],
    );
    found_at(
        &format!("UPDATE cases SET body = replace(body, ':', ': ') WHERE {one}"),
        &[&place],
    );
    found_at(
        &format!("UPDATE cases SET body = 'x' WHERE {one}"),
        &[&place],
    );
    found_at(
        &format!("UPDATE cases SET step = step + 1 WHERE {one}"),
        &[&place],
    );
    found_at(&format!("UPDATE cases SET open = 1 WHERE {one}"), &[&place]);
    found_at(&format!("DELETE FROM cases WHERE {one}"), &[&place]);
    found_at(
        "UPDATE cases SET open = 0 WHERE study = 1 AND id = 'p11'",
        &["episode p11"],
    );
    found_at(
        "DELETE FROM cases WHERE study = 1 AND id = 'p11'",
        &["episode p11"],
    );
    found_at(
        "UPDATE cases SET open = 2 WHERE study = 1 AND id = 'p11'",
        &["episode p11"],
    );
    found_at(
        "INSERT INTO cases SELECT study, 'q', step, open, replace(body, '\"p7\"', '\"q\"') FROM cases WHERE study = 1 AND id = 'p7'",
        &["episode q"],
    );
    // A row whose key differs from its content.
    let [clinic, _] = after(|file| {
        file.execute(
            "UPDATE cases SET id = 'q' WHERE study = 1 AND id = 'p7'",
            [],
        )
        .unwrap();
    });
    assert!(findings(&clinic).contains(&"episode p7"), "{clinic:#?}");
}

#[test]
fn finds_changed_learned_episodes() {
    let one = "study = 1 AND place = 4";
    let place = ["learned episode 4"];
    found_at(&format!("DELETE FROM lessons WHERE {one}"), &place);
    found_at(
        &format!(
            "UPDATE lessons SET bytes = CAST(substr(bytes, 1, length(bytes) - 1) || x'77' AS BLOB) WHERE {one}"
        ),
        &place,
    );
    found_at(
        &format!("UPDATE lessons SET bytes = x'' WHERE {one}"),
        &place,
    );
    found_at(
        "INSERT INTO lessons VALUES (1, 1000, x'00')",
        &["learned episode 1000"],
    );
    found_at(
        "INSERT INTO lessons VALUES (1, 9223372036854775807, x'00')",
        &["learned episode 9223372036854775807"],
    );
}

#[test]
fn finds_changes_of_the_study_head() {
    for field in ["episodes", "open", "learned", "missing", "relearned"] {
        let named = found_at(
            &format!("UPDATE studies SET {field} = {field} + 1 WHERE key = 1"),
            &["head"],
        );
        assert!(
            named.findings[0].what.contains(&format!("`{field}`")),
            "{named:#?}"
        );
    }
    found_at("UPDATE studies SET closed = 0 WHERE key = 1", &["head"]);
    found_at("UPDATE studies SET seq = seq - 1 WHERE key = 1", &["head"]);
    let last = RECORDED.events.len() + 1;
    found_at(
        "UPDATE studies SET seq = seq + 1 WHERE key = 1",
        &[&format!("event {last}")],
    );
    found_at(
        "UPDATE studies SET hash = replace(hash, substr(hash, 1, 1), 'g') WHERE key = 1",
        &["head"],
    );
    found_at("UPDATE studies SET spec_hash = '' WHERE key = 1", &["head"]);
    found_at(
        "UPDATE studies SET spec = replace(spec, '0.05', '0.06') WHERE key = 1",
        &["head"],
    );
    found_at(
        "UPDATE studies SET name = 'clinik' WHERE key = 1",
        &["head"],
    );
    // A study without its first event.
    let [clinic, _] = after(|file| {
        file.execute_batch(
            "DELETE FROM events WHERE study = 1; UPDATE studies SET seq = 0 WHERE key = 1",
        )
        .unwrap();
    });
    assert_eq!(findings(&clinic), ["head"]);
}

#[test]
fn names_every_unreadable_row() {
    let [clinic, other] = after(|file| {
        file.execute_batch(
            "UPDATE cases SET body = '' WHERE study = 1 AND id IN ('p7', 'p8');
             UPDATE cells SET count = -1 WHERE study = 1 AND t = 1;
             UPDATE answers SET step = -1 WHERE study = 1 AND episode = 'p3' AND step = 1;",
        )
        .unwrap();
    });
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
    assert!(other.is_clean());
}

#[test]
fn keeps_one_hundred_findings_and_counts_the_rest() {
    let [clinic, _] = after(|file| {
        file.execute("DELETE FROM answers WHERE study = 1", [])
            .unwrap();
        file.execute("DELETE FROM cases WHERE study = 1", [])
            .unwrap();
    });
    assert_eq!(clinic.findings.len(), 100);
    assert!(clinic.more > 20);
}

#[test]
fn an_audit_reads_a_snapshot_of_a_store_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let writer = Writer::open(&path);
    let create = |name| emab_server::domain::command::Command::Create(study(name));
    let open = || emab_server::domain::command::Command::Open(None);
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
