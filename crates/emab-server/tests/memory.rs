//! Memory that a study needs for each byte of its specification, and that a table needs.
//!
//! `cargo test -p emab-server --test memory -- --nocapture` prints the figures.

use std::sync::{Arc, Mutex};

use cap::Cap;
use emab_server::app::execute_command::CommandExecutor;
use emab_server::domain::author::Author;
use emab_server::domain::command::{Command, PastEpisode};
use emab_server::domain::event::RULES;
use emab_server::domain::study::Study;
use emab_server::domain::study_state::StudyState;
use emab_server::store::Backend;
use emab_server::store::sqlite::Sqlite;
use emab_server::tables::{Format, Table, write};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: Cap<std::alloc::System> = Cap::new(std::alloc::System, usize::MAX);

/// While a stored study is parsed, in bytes for each byte.
const PEAK: usize = 45;

fn study(fields: Value) -> String {
    let mut study = json!({"horizon": 2, "states": 2, "actions": ["scan"],
        "feedbacks": ["negative", "positive"], "transition": "f",
        "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]}, "learner": "feedbal:width=sound"});
    for (name, value) in fields.as_object().into_iter().flatten() {
        study[name] = value.clone();
    }
    study.to_string()
}

/// One test at a time: others in the same process would be counted, too.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_study_needs_little_memory_for_each_byte_of_its_specification() {
    let _alone = ALONE.lock().unwrap();
    let rows = |count: usize, row: Value| json!([vec![row; count]]);
    let names: Vec<String> = (0..60_000).map(|i| format!("state{i}")).collect();
    let cases = [
        (
            "numbers in rows of two",
            json!({"states": 100_000, "transition": rows(100_000, json!([[0, 1]]))}),
            8,
        ),
        (
            "expressions",
            json!({"states": 100_000, "transition": rows(100_000, json!([["f", "x"]]))}),
            20,
        ),
        ("named states", json!({"states": names}), 8),
    ];
    for (what, fields, most) in cases {
        let body = study(fields);
        let before = ALLOCATOR.allocated();
        let created = Arc::new(Study::read("large", body.as_bytes()).unwrap());
        let state = StudyState::new(created.clone(), 2).unwrap();
        let retained = (ALLOCATOR.allocated() - before) / body.len();
        println!(
            "{what}: {retained} bytes are kept for each byte of {}",
            body.len()
        );
        assert!(retained <= most, "{what}: {retained} bytes for each");
        // A stored study is parsed again within a multiple; an allocation beyond it ends the test.
        let canonical = created.canonical.clone();
        drop((state, created));
        let limit = ALLOCATOR.allocated() + PEAK * canonical.len();
        ALLOCATOR.set_limit(limit).unwrap();
        Study::from_canonical("large", &canonical).unwrap();
        ALLOCATOR.set_limit(usize::MAX).unwrap();
    }
}

/// A table is read in parts. The store's own memory is not counted; Parquet collects a group of rows.
#[test]
fn a_table_needs_no_memory_for_its_rows() {
    const EPISODES: u64 = 20_000;
    let _alone = ALONE.lock().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    let mut store = store.writer().unwrap();
    let study = Arc::new(Study::read("clinic", study(json!({})).as_bytes()).unwrap());
    let mut state = StudyState::new(study.clone(), RULES).unwrap();
    store.begin().unwrap();
    let created = store.create(&state.head, &study.canonical).unwrap();
    state.head.key = created.unwrap();
    let past = |number: u64| -> (u64, PastEpisode) {
        let episode = json!({"id": format!("past-{number:06}"), "actions": ["scan"], "feedbacks": ["positive"],
            "costs": [0.1], "rewards": [0.0, number as f64 / 7.0]});
        (number, serde_json::from_value(episode).unwrap())
    };
    let now = "2026-01-01T00:00:00.000000Z";
    let mut work = CommandExecutor::new(&mut state, &mut *store, now, Vec::new());
    let author = Author {
        token: "00000001".into(),
        person: "Anna".into(),
    };
    work.execute(&Command::Create(study), &author).unwrap();
    let past = Command::Import((1..=EPISODES).map(past).collect());
    work.execute(&past, &author).unwrap();
    let changes = work.finish().unwrap().unwrap();
    store.write(&state.head, &changes).unwrap();
    store.commit().unwrap();
    let head = state.head.clone();
    drop((past, changes, state));
    for (table, format, most) in [
        (Table::Decisions, Format::Csv, 3 << 20),
        (Table::Episodes, Format::Csv, 3 << 20),
        (Table::Decisions, Format::Parquet, 64 << 20),
    ] {
        store.begin_snapshot().unwrap();
        // An allocation beyond it ends the test.
        ALLOCATOR.set_limit(ALLOCATOR.allocated() + most).unwrap();
        let (_, rows) = write(&mut *store, &head, table, format, std::io::sink()).unwrap();
        ALLOCATOR.set_limit(usize::MAX).unwrap();
        store.rollback();
        let steps = if table == Table::Decisions { 2 } else { 1 };
        assert_eq!(rows, steps * EPISODES);
    }
}
