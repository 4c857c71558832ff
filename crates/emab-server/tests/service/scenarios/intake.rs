//! Episodes that begin in one of several states.

use serde_json::{Value, json};

use crate::support::{TestServer, study_with};

fn study() -> String {
    study_with(json!({"start": ["low", "high"],
        "states": ["low", "high", "clear", "suspect"], "transition": "2 + f"}))
}

#[tokio::test]
async fn an_episode_begins_in_the_state_at_intake() {
    let client = TestServer::new().new_study("clinic", &study()).await;
    let script = r#"
        POST /episodes {"id": "p1"} -> 422 /start ~ begins in `low`, `high`
        POST /episodes {"id": "p1", "start": "clear"} -> 422 /start ~ `low`, `high`
        POST /episodes {"id": "p1", "start": 9} -> 422 /start
        POST /episodes {"id": "p1", "start": "high"} -> 201
        // A repeated request gets the same answer; another start is a conflict.
        POST /episodes {"id": "p1", "start": 1} -> {"state": "high", "as_of": 1}
        POST /episodes {"id": "p1", "start": "low"} -> 409 /start ~ opened in state `high`
        POST /episodes {"id": "p2", "start": "low"} -> 201
        tell p1 1 scan negative -> {"state": "clear"}
        amend-step p1 1 {"feedback": "positive", "reason": "mistyped"}
        ask p1 -> {"state": "suspect"}
        stop p1 2
        outcome p1 {"costs": [0], "rewards": [0.25, 1]}
        GET /episodes/p1 -> {"start": "high", "state": "suspect", "steps/0/state": "high"}
        GET /episodes -> {"episodes/0/start": "high", "episodes/1/start": "low"}
    "#;
    client.run(script).await;
    // Learned in its own state only.
    let estimates = client.server.get("/v1/studies/clinic/estimates").await;
    let rows = estimates.at("/estimates");
    let first: Vec<&Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["step"] == 1)
        .collect();
    assert!(
        !first.is_empty() && first.iter().all(|it| it["state"] == "high"),
        "{rows}"
    );
    // The policy has a row for both.
    let policy = client.server.get("/v1/studies/clinic/policy").await;
    let states = |i: usize| policy.at(&format!("/choices/{i}/state"));
    assert_eq!((states(0), states(1)), (json!("low"), json!("high")));
    client.assert_consistent().await;

    let other = TestServer::new().study("clinic");
    other.import(&client.export_file().await).await.is(200);
    assert_eq!(
        other.view().await.at("/hash"),
        client.view().await.at("/hash")
    );
    other.assert_consistent().await;
}

#[tokio::test]
async fn past_episodes_name_their_start() {
    let client = TestServer::new().new_study("clinic", &study()).await;
    let past = |id: &str, start: &str| {
        format!(
            r#"{{"id": "{id}"{start}, "actions": ["scan"], "feedbacks": ["positive"], "costs": [0], "rewards": [0, 1]}}"#
        )
    };
    client
        .import(&past("q1", r#", "start": "high""#))
        .await
        .is(200);
    let missing = client.import(&past("q2", "")).await;
    missing.expect_error(422).says("`start` is missing");
    let again = client.import(&past("q1", r#", "start": "low""#)).await;
    again.expect_error(409);
    client
        .run(r#"GET /episodes/q1 -> {"start": "high", "imported": true}"#)
        .await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_study_with_one_start_takes_that_start_only() {
    let client = TestServer::new()
        .new_study("clinic", &study_with(json!({})))
        .await;
    let script = r#"
        POST /episodes {"id": "p1", "start": "unknown"} -> 201
        POST /episodes {"id": "p1"} -> {"state": "unknown"}
        POST /episodes {"id": "p2", "start": "clear"} -> 422 /start
    "#;
    client.run(script).await;
    // The event of an only start does not name it.
    let log = client.export().await;
    assert!(!log.contains("\"start\""), "{log}");
}
