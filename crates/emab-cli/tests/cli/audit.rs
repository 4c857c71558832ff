//! `emab audit`: stores and exports, and changes found in them.

use std::process::Output;
use std::sync::Arc;

use crate::common::{emab, emab_with_input, said};
use crate::test_dir::TestDir;
use emab_server::app::execute_command::CommandExecutor;
use emab_server::domain::author::Author;
use emab_server::domain::command::{Abandon, Command as Ask, Open};
use emab_server::domain::event::{RULES, Record};
use emab_server::domain::study::Study;
use emab_server::domain::study_state::StudyState;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Store};

const STUDY: &str = r#"{"horizon": 3, "states": 4, "actions": ["test"], "feedbacks": ["negative", "positive"],
    "transition": "x + f", "learning": {"sigma2": 0.2, "delta": 0.05, "feedback_spread": 1},
    "learner": "feedbal:width=sound"}"#;

/// A study with one episode that was given up.
pub fn write(store: &mut dyn Store, name: &str) -> Vec<Record> {
    let study = Arc::new(Study::read(name, STUDY.as_bytes()).unwrap());
    let mut board = StudyState::new(study.clone(), RULES).unwrap();
    store.begin().unwrap();
    board.head.key = store
        .create(&board.head, &board.study.canonical)
        .unwrap()
        .unwrap();
    let mut work =
        CommandExecutor::new(&mut board, store, "2026-01-01T00:00:00.000000Z", Vec::new());
    let open = Open {
        id: Some("p1".into()),
        ..Open::default()
    };
    let abandon = Abandon {
        reason: "did not come back".into(),
        request: None,
    };
    let author = Author {
        token: "00000001".into(),
        person: "Anna".into(),
    };
    for ask in [
        Ask::Create(study),
        Ask::Open(open),
        Ask::Abandon("p1".into(), abandon),
    ] {
        work.execute(&ask, &author).unwrap();
    }
    let changes = work.finish().unwrap().unwrap();
    store.write(&board.head, &changes).unwrap();
    store.commit().unwrap();
    store.events(board.head.key, 0, 10).unwrap()
}

/// A folder with `studies.db` of `clinic` and `ward`, and the log of `clinic`.
pub fn written() -> (TestDir, Vec<Record>) {
    let dir = TestDir::new();
    let file = Sqlite::open(dir.at("studies.db").as_ref()).unwrap();
    let mut store = file.writer().unwrap();
    let events = write(&mut *store, "clinic");
    write(&mut *store, "ward");
    (dir, events)
}

fn export(events: &[Record]) -> String {
    events.iter().map(|event| event.line() + "\n").collect()
}

/// Exit code, standard output and standard error.
fn all(output: &Output) -> (Option<i32>, String, String) {
    let [out, err] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8(text.clone()).unwrap());
    (output.status.code(), out, err)
}

#[test]
fn an_audit_does_not_change_the_store() {
    let (dir, events) = written();
    let before = dir.read("studies.db");
    let last = &events[2].hash;
    for name in ["@/studies.db", "sqlite:@/studies.db"] {
        let (out, err) = said(&dir.call(&format!("audit {name}")));
        assert_eq!(err, "");
        let clean = "study clinic: clean\n  events      3, all recomputed\n";
        for words in [clean, "study ward: clean", last] {
            assert!(out.contains(words), "{out}");
        }
    }
    let call = format!("audit @/studies.db --study clinic --expect {last} --json");
    let report = dir.json(&call);
    assert_eq!(report["clean"], true);
    assert_eq!(report["studies"].as_array().unwrap().len(), 1);
    let study = &report["studies"][0];
    for (field, value) in [
        ("events", 3),
        ("recomputed", 3),
        ("decisions", 1),
        ("episodes", 1),
        ("learned", 0),
        ("expected", 3),
    ] {
        assert_eq!(study[field], value, "{field}");
    }
    assert_eq!(study["head_hash"], last.as_str());
    assert_eq!(dir.read("studies.db"), before);
}

#[test]
fn an_audit_says_what_the_file_seems_to_be() {
    let (dir, _) = written();
    dir.write("study.json", STUDY);
    dir.write("problem.json", "{\n\"horizon\": 3\n}\n");
    dir.rejects_each(
        2,
        "
        audit @/studies.db --study clinc => no study `clinc` (did you mean `clinic`?)
        audit @/study.json               => study.json is not an export: it seems to be the body that creates a study
        audit @/problem.json             => problem.json is not an export: it seems to be a problem file
        ",
    );
}

#[test]
fn an_export_is_audited_from_a_file_or_a_pipe() {
    let (dir, events) = written();
    dir.write("clinic.jsonl", &export(&events));
    let (out, _) = said(&dir.call("audit @/clinic.jsonl --study clinic"));
    let (of_store, _) = said(&dir.call("audit @/studies.db --study clinic"));
    assert_eq!(out, of_store, "the same words as of the store");
    let output = emab_with_input("audit -", export(&events).as_bytes());
    assert_eq!(all(&output), (Some(0), out, String::new()));

    let changed = export(&events).replace("come back", "come bacK");
    let changed = dir.write("changed.jsonl", &changed);
    let (code, out, err) = all(&emab(&format!("audit {changed}")));
    assert_eq!(code, Some(1));
    assert!(out.contains("study clinic: 1 finding"), "{out}");
    assert!(
        out.contains("\n  ! event 3: its hash does not match its line"),
        "{out}"
    );
    assert_eq!(err, "error: the audit found something\n");
    let output = emab(&format!("audit {changed} --json"));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["studies"][0]["findings"][0]["place"], "event 3");
}

#[test]
fn an_expected_hash_must_be_found() {
    let (dir, events) = written();
    let whole = dir.write("clinic.jsonl", &export(&events));
    let hash = events[1].hash.to_uppercase();
    let (out, _) = said(&format!("audit {whole} --expect {hash}"));
    assert!(out.contains("it is the hash of event 2"), "{out}");
    let shorter = dir.write("shorter.jsonl", &export(&events[..2]));
    let (code, out, _) = all(&emab(&format!(
        "audit {shorter} --expect {}",
        events[2].hash
    )));
    assert_eq!(code, Some(1));
    assert!(
        out.contains("! head: no event has the expected hash"),
        "{out}"
    );
}

#[test]
fn a_backup_is_audited_like_its_store() {
    let (dir, _) = written();
    said(&dir.call("backup @/studies.db @/backup.db"));
    let (of_store, _) = said(&dir.call("audit @/studies.db"));
    assert_eq!(said(&dir.call("audit @/backup.db")).0, of_store);
    dir.rejects_each(
        1,
        "
        backup @/studies.db @/backup.db        => exists | --force
        backup sqlite:@/studies.db @/none/x.db => cannot be created
        ",
    );
    dir.rejects_each(
        2,
        "
        backup @/none @/new.db                 => cannot read
        backup postgres://emab@db/emab new.db  => pg_dump
        ",
    );
    said(&dir.call("backup --force sqlite:@/studies.db @/backup.db"));
}

#[test]
fn an_empty_store_is_not_clean() {
    let dir = TestDir::new();
    drop(Sqlite::open(dir.at("studies.db").as_ref()).unwrap());
    let (code, _, err) = all(&emab(&dir.call("audit @/studies.db")));
    assert_eq!(code, Some(1));
    assert!(err.contains("there is nothing to audit"), "{err}");
    let output = emab(&dir.call("audit @/studies.db --json"));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["clean"], false);
}

#[test]
fn rejects_invalid_calls() {
    let (dir, events) = written();
    dir.write("text", "hello");
    dir.write("clinic.jsonl", &export(&events));
    dir.rejects_each(
        2,
        "
        audit @/none                        => cannot read
        audit sqlite:@/none                 => cannot read
        audit @/text                        => neither a SQLite file nor an export
        audit sqlite:                       => a store is
        audit http://localhost/v1           => emab audit -
        audit @/studies.db --study none     => has no study `none`
        audit @/clinic.jsonl --study ward   => is of study `clinic`
        audit @/clinic.jsonl --expect 12    => 64 hexadecimal digits
        ",
    );
    let hash = "0".repeat(64);
    dir.rejects(
        &format!("audit @/studies.db --expect {hash}"),
        2,
        "name it with --study",
    );
    assert!(!dir.exists("none"));
}
