//! Choices in flight: open episodes do not all repeat the same choice, and every decision can be recomputed.

use std::sync::Arc;

use serde_json::Value;

use super::postgres_replicas::copy;
use crate::support::study::StudyClient;
use crate::support::{TestServer, study_of};

const LEARNER: &str = "feedbal-pooled";

/// The decided action.
fn action(answer: &crate::support::Answer) -> Value {
    answer.at("/action")
}

#[tokio::test]
async fn open_episodes_try_different_actions() {
    let server = TestServer::new();
    let client = server.new_study("clinic", &study_of(LEARNER)).await;
    let plain = study_of(&format!("{LEARNER}:pending=false"));
    let plain = server.new_study("plain", &plain).await;
    for (id, expected) in [("p1", "blood"), ("p2", "scan"), ("p3", "blood")] {
        assert_eq!(action(&client.open(id).await.is(201)), expected);
        assert_eq!(action(&plain.open(id).await.is(201)), "blood");
    }
    // Blood is in flight twice and scan once; without p1 and p3, blood is not.
    client.abandon("p1", "moved away").await.is(200);
    client.abandon("p3", "moved away").await.is(200);
    assert_eq!(action(&client.open("p4").await.is(201)), "blood");
    // Another action than the recommended one counts from the step on at which it was taken.
    client.tell("p4", 1, "scan", "negative").await.is(200);
    assert_eq!(action(&client.open("p5").await.is(201)), "blood");
    client.assert_consistent().await;
    plain.assert_consistent().await;
}

/// Episodes that overlap: outcomes come late, partly, with corrections, or never. After each request `next` gives the client
/// to use. Returns the last client and the decisions.
pub async fn overlapping(
    mut client: StudyClient,
    mut next: impl FnMut(StudyClient) -> StudyClient,
) -> (StudyClient, Vec<Value>) {
    let mut decisions = Vec::new();
    let feedbacks = ["negative", "positive", "positive"];
    for number in 0..12_usize {
        let id = format!("p{number}");
        let decision = client.open(&id).await.is(201);
        decisions.push(action(&decision));
        client = next(client);
        if let Some(name) = action(&decision).as_str().filter(|name| *name != "stop") {
            let told = client
                .tell(&id, 1, name, feedbacks[number % 3])
                .await
                .is(200);
            decisions.push(action(&told));
            client = next(client);
            if number % 5 == 4 {
                client.abandon(&id, "moved away").await.is(200);
            } else {
                client.stop(&id, 2).await.is(200);
            }
            client = next(client);
        }
        // The outcome of an earlier episode, in two parts.
        if let Some(late) = number.checked_sub(3).filter(|late| late % 5 != 4) {
            let late = format!("p{late}");
            let costs = r#"{"costs": [0.25]}"#;
            client.outcome(&late, costs).await.is(200);
            client = next(client);
            let rewards = format!(r#"{{"rewards": [0.5, 0.{number}]}}"#);
            client.outcome(&late, &rewards).await.is(200);
            client = next(client);
        }
        if number == 7 {
            let amended = r#"{"rewards": [null, 0.9], "reason": "mistyped"}"#;
            client.amend("p0", amended).await.is(200);
            client = next(client);
        }
    }
    (client, decisions)
}

#[tokio::test]
async fn restarts_do_not_change_a_decision() {
    let spec = study_of(LEARNER);
    let once = TestServer::new().new_study("clinic", &spec).await;
    let (client, decisions) = overlapping(once, |client| client).await;
    assert!(decisions.contains(&"scan".into()), "{decisions:?}");
    client.assert_consistent().await;
    let often = TestServer::new().new_study("clinic", &spec).await;
    let restarted = overlapping(often, |client| {
        let StudyClient { server, study } = client;
        server.restarted().study(&study)
    });
    let (client, restarted) = restarted.await;
    assert_eq!(restarted, decisions);
    client.assert_consistent().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replicas_in_turns_decide_as_one() {
    let spec = study_of(LEARNER);
    let alone = TestServer::new().new_study("clinic", &spec).await;
    let (_, decisions) = overlapping(alone, |client| client).await;
    let made = tokio::task::spawn_blocking(|| {
        let server = emab_testkit::postgres::Server::shared().unwrap();
        let url = server.database("in_flight").unwrap();
        (server, copy(&url), copy(&url))
    });
    let (_server, one, two) = made.await.unwrap();
    let first = one.new_study("clinic", &spec).await;
    let mut others: [Arc<TestServer>; 2] = [two.clone(), one.clone()];
    let in_turns = overlapping(first, |client| {
        others.swap(0, 1);
        others[1].study(&client.study)
    });
    assert_eq!(in_turns.await.1, decisions);
    one.service.finish();
    two.service.finish();
}
