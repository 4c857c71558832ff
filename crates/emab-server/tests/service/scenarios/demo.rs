//! The simulated studies of `emab demo`.

use std::sync::Arc;
use std::time::Duration;

use emab_server::demo::{Demo, People, STUDIES};
use emab_server::tokens::TokenFile;
use serde_json::Value;
use tokio::time::timeout;

use crate::support::TestServer;

/// A service with simulated studies that have so many past cases.
async fn demo(seed: u64, cases: u64) -> (Arc<TestServer>, Demo) {
    let server = TestServer::new();
    let tokens = TokenFile::at(server.folder.path().join("people.json"));
    let (people, visitors) = People::create(&tokens).unwrap();
    assert_eq!(visitors.len(), 4);
    let mut demo = Demo::start(&server.service, people, seed).await.unwrap();
    demo.record_past(cases).await.unwrap();
    (server, demo)
}

/// The events of a study without times, tokens, salts and hashes.
async fn events(server: &TestServer, study: &str) -> Vec<Value> {
    let export = server.get(&format!("/v1/studies/{study}:export")).await;
    let lines = export.text.lines().skip(1);
    let events = lines.map(|line| {
        let mut event = serde_json::from_str(line).unwrap();
        remove(&mut event, &["at", "by", "salt", "hash", "previous"]);
        event
    });
    events.collect()
}

fn remove(value: &mut Value, names: &[&str]) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.contains(&&**name));
            fields.values_mut().for_each(|value| remove(value, names));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| remove(value, names)),
        _ => {}
    }
}

/// Lets the simulation run for a while.
async fn run(demo: &mut Demo) {
    let running = demo.run(Duration::from_millis(1));
    if let Ok(end) = timeout(Duration::from_millis(500), running).await {
        panic!("the simulation ended: {end:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_depends_on_the_seed_alone() {
    let (one, _) = demo(7, 150).await;
    let (again, _) = demo(7, 150).await;
    let (other, _) = demo(8, 150).await;
    for study in STUDIES {
        let events_of_one = events(&one, study).await;
        assert_eq!(events_of_one, events(&again, study).await);
        assert_ne!(events_of_one, events(&other, study).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_past_has_everything_that_the_service_records() {
    let (server, _) = demo(1, 400).await;
    let clinic = events(&server, "clinic").await;
    for kind in [
        "created",
        "opened",
        "told",
        "stopped",
        "abandoned",
        "voided",
        "outcome",
        "amended",
        "step_amended",
    ] {
        assert!(
            clinic.iter().any(|event| event["kind"] == kind),
            "no {kind}"
        );
    }
    assert!(!clinic.iter().any(|event| event["kind"] == "repeated"));
    let is_override = |event: &&Value| event["data"]["override"] == true;
    assert!(clinic.iter().filter(is_override).count() > 5);
    for person in ["Ada Admin", "Nora Nurse", "Dana Doctor", "Ben Blinded"] {
        assert!(
            clinic.iter().any(|event| event["person"] == person),
            "{person}"
        );
    }
    for study in STUDIES {
        let health = server.get(&format!("/v1/studies/{study}/health")).await;
        let checks = health.at("/checks");
        let certificate = checks.as_array().unwrap().last().unwrap();
        assert!(certificate["value"].is_f64(), "{certificate}");
        let list = server
            .get(&format!("/v1/studies/{study}/episodes?limit=1000"))
            .await;
        for status in ["open", "stopped", "learned"] {
            assert!(
                list.text.contains(&format!("\"status\":\"{status}\"")),
                "{study}: no {status}"
            );
        }
        let partial = list.text.contains("null],\"final\":false}");
        assert!(study != "clinic" || partial, "{}", list.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_simulation_leaves_the_cases_of_visitors_alone() {
    let (server, mut demo) = demo(1, 60).await;
    for study in STUDIES {
        let path = format!("/v1/studies/{study}");
        server
            .post(&format!("{path}:pause"), r#"{"reason": "a visitor"}"#)
            .await
            .is(200);
        let list = server
            .get(&format!("{path}/episodes?open=true&limit=1000"))
            .await;
        let list = list.at("/episodes");
        for episode in list.as_array().unwrap() {
            let id = episode["episode"].as_str().unwrap();
            let void = format!("{path}/episodes/{id}:void");
            server
                .post(&void, r#"{"reason": "a visitor"}"#)
                .await
                .is(200);
        }
    }
    let before = counts(&server).await;
    run(&mut demo).await;
    let paused = counts(&server).await;
    for ((opened, open, learned), (opened_before, _, learned_before)) in paused.iter().zip(&before)
    {
        assert_eq!(opened, opened_before);
        assert_eq!(*open, 0);
        assert!(learned > learned_before);
    }
    // A visitor opens the next cases of the simulation.
    for (study, name) in [("clinic", "p0043"), ("tutoring", "s0019")] {
        let path = format!("/v1/studies/{study}");
        server
            .post(&format!("{path}:resume"), r#"{"reason": "a visitor"}"#)
            .await
            .is(200);
        let body = format!(r#"{{"id": "{name}", "start": 0}}"#);
        server
            .post(&format!("{path}/episodes"), &body)
            .await
            .is(201);
    }
    run(&mut demo).await;
    for ((opened, ..), (before, ..)) in counts(&server).await.iter().zip(&paused) {
        assert!(*opened > before + 1);
    }
}

/// The numbers of opened, open and learned cases of each study.
async fn counts(server: &TestServer) -> Vec<(u64, u64, u64)> {
    let mut counts = Vec::new();
    for study in STUDIES {
        let head = server.service.head(study).await.unwrap();
        counts.push((head.details.opened, head.open, head.learned));
    }
    counts
}
