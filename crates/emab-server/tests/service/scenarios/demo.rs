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

/// Lets the simulation run until the counts of both studies have changed in this way.
async fn run(
    server: &TestServer,
    demo: &mut Demo,
    changed: impl Fn(&Counts, &Counts) -> bool,
) -> Vec<Counts> {
    let before = counts(server).await;
    for _ in 0..100 {
        let running = demo.run(Duration::from_millis(1));
        if let Ok(end) = timeout(Duration::from_millis(200), running).await {
            panic!("the simulation ended: {end:?}");
        }
        let now = counts(server).await;
        if before
            .iter()
            .zip(&now)
            .all(|(before, now)| changed(before, now))
        {
            return now;
        }
    }
    panic!("nothing has changed since {before:?}");
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
    let learned = |before: &Counts, now: &Counts| now.learned > before.learned;
    let paused = run(&server, &mut demo, learned).await;
    for (before, now) in before.iter().zip(&paused) {
        assert_eq!((now.opened, now.open), (before.opened, 0));
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
    run(&server, &mut demo, |before, now| now.opened > before.opened).await;
}

/// The numbers of opened, open and learned cases of a study.
#[derive(Debug)]
struct Counts {
    opened: u64,
    open: u64,
    learned: u64,
}

async fn counts(server: &TestServer) -> Vec<Counts> {
    let mut counts = Vec::new();
    for study in STUDIES {
        let head = server.service.head(study).await.unwrap();
        counts.push(Counts {
            opened: head.details.opened,
            open: head.open,
            learned: head.learned,
        });
    }
    counts
}
