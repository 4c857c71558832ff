//! `emab audit`: stores and exports, and changes found in them.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use crate::common::{emab, json};
use crate::test_dir::TestDir;
use emab_server::app::execute_command::CommandExecutor;
use emab_server::domain::command::{Abandon, Command as Ask};
use emab_server::domain::event::Record;
use emab_server::domain::study::Study;
use emab_server::domain::study_state::StudyState;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Backend, Store};

const STUDY: &str = r#"{"horizon": 3, "states": 4, "actions": ["test"], "feedbacks": ["negative", "positive"],
    "transition": "x + f", "learning": {"sigma2": 0.2, "delta": 0.05, "feedback_spread": 1},
    "learner": "feedbal:width=sound"}"#;

/// A study with one episode that was given up.
fn write(store: &mut dyn Store, name: &str) -> Vec<Record> {
    let study = Arc::new(Study::read(name, STUDY.as_bytes()).unwrap());
    let mut board = StudyState::new(study.clone()).unwrap();
    store.begin().unwrap();
    board.head.key = store.create(&board.head).unwrap().unwrap();
    let mut work = CommandExecutor::new(&mut board, store, "2026-01-01T00:00:00Z", Vec::new());
    let reason = "did not come back".to_string();
    for ask in [
        Ask::Create(study),
        Ask::Open(Some("p1".into())),
        Ask::Abandon("p1".into(), Abandon { reason }),
    ] {
        work.execute(&ask, "t1").unwrap();
    }
    work.write().unwrap();
    store.commit().unwrap();
    store.events(board.head.key, 0, 10).unwrap()
}

/// A folder with `studies.db` of `clinic` and `ward`, and the log of `clinic`.
fn written() -> (TestDir, Vec<Record>) {
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

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn an_audit_does_not_change_the_store() {
    let (dir, events) = written();
    let before = dir.read("studies.db");
    let last = &events[2].hash;
    for name in [
        dir.at("studies.db"),
        format!("sqlite:{}", dir.at("studies.db")),
    ] {
        let (code, out, err) = said(&emab(&["audit", &name]));
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(
            out.contains("study clinic: clean\n  events      3, all recomputed\n"),
            "{out}"
        );
        assert!(out.contains("study ward: clean"), "{out}");
        assert!(out.contains(last), "{out}");
    }
    let report = json(&[
        "audit",
        &dir.at("studies.db"),
        "--study",
        "clinic",
        "--expect",
        last,
        "--json",
    ]);
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
fn an_export_is_audited_from_a_file_or_a_pipe() {
    let (dir, events) = written();
    let whole = dir.write("clinic.jsonl", &export(&events));
    let (code, out, _) = said(&emab(&["audit", &whole, "--study", "clinic"]));
    assert_eq!(code, Some(0));
    let of_store = said(&emab(&[
        "audit",
        &dir.at("studies.db"),
        "--study",
        "clinic",
    ]))
    .1;
    assert_eq!(out, of_store, "the same words as of the store");

    let mut child = Command::new(env!("CARGO_BIN_EXE_emab"))
        .args(["audit", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(export(&events).as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(said(&output), (Some(0), out, String::new()));

    let changed = export(&events).replace("come back", "come bacK");
    let changed = dir.write("changed.jsonl", &changed);
    let (code, out, err) = said(&emab(&["audit", &changed]));
    assert_eq!(code, Some(1));
    assert!(out.contains("study clinic: 1 finding"), "{out}");
    assert!(
        out.contains("\n  ! event 3: its hash does not match its line"),
        "{out}"
    );
    assert_eq!(err, "error: the audit found something\n");
    let output = emab(&["audit", &changed, "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(report["studies"][0]["findings"][0]["place"], "event 3");
}

#[test]
fn an_expected_hash_must_be_found() {
    let (dir, events) = written();
    let whole = dir.write("clinic.jsonl", &export(&events));
    let (code, out, _) = said(&emab(&[
        "audit",
        &whole,
        "--expect",
        &events[1].hash.to_uppercase(),
    ]));
    assert_eq!(code, Some(0));
    assert!(out.contains("it is the hash of event 2"), "{out}");
    let shorter = dir.write("shorter.jsonl", &export(&events[..2]));
    let (code, out, _) = said(&emab(&["audit", &shorter, "--expect", &events[2].hash]));
    assert_eq!(code, Some(1));
    assert!(
        out.contains("! head: no event has the expected hash"),
        "{out}"
    );
}

#[test]
fn rejects_invalid_calls() {
    let (dir, events) = written();
    dir.write("text", "hello");
    dir.write("clinic.jsonl", &export(&events));
    let hash = "0".repeat(64);
    for (call, words) in [
        ("audit @/none", "cannot read"),
        ("audit sqlite:@/none", "cannot read"),
        ("audit @/text", "neither a SQLite file nor an export"),
        ("audit sqlite:", "a store is"),
        ("audit http://localhost/v1", "emab audit -"),
        ("audit @/studies.db --study none", "has no study `none`"),
        ("audit @/clinic.jsonl --study ward", "is of study `clinic`"),
        ("audit @/clinic.jsonl --expect 12", "64 hexadecimal digits"),
        (
            &format!("audit @/studies.db --expect {hash}"),
            "name it with --study",
        ),
    ] {
        dir.rejects(call, 2, &[words]);
    }
    assert!(!fs::exists(dir.at("none")).unwrap());
}
