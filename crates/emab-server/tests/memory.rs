//! Memory that a study needs for each byte of its specification.
//!
//! `cargo test -p emab-server --test memory -- --nocapture` prints the figures.

use std::sync::Arc;

use cap::Cap;
use emab_server::domain::study::Study;
use emab_server::domain::study_state::StudyState;
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

/// One test: others in the same process would be counted, too.
#[test]
fn a_study_needs_little_memory_for_each_byte_of_its_specification() {
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
