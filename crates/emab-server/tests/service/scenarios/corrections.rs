//! Corrected outcomes.

use serde_json::json;

use super::learners::GOOD;
use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer, study_of};

/// Three episodes; the second has the given values.
async fn three(client: &StudyClient<'_>, cost: f64, reward: f64) {
    client
        .full_episode("a", &[("blood", "positive")], &[0.1], &[0.3, 0.7])
        .await;
    let steps = [("scan", "negative"), ("blood", "positive")];
    client
        .full_episode("b", &steps, &[0.2, cost], &[0.1, 0.6, reward])
        .await;
    client
        .full_episode("c", &[("scan", "positive")], &[0.3], &[0.2, 0.9])
        .await;
}

#[tokio::test]
async fn a_correction_gives_the_estimates_of_correct_values_from_the_start() {
    let server = TestServer::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let (wrong, right) = (format!("wrong{i}"), format!("right{i}"));
        let wrong = server.new_study(&wrong, &study_of(learner)).await;
        three(&wrong, 0.9, 0.05).await;
        let before = wrong.estimates().await;
        let amended =
            r#"{"costs": [null, 0.15], "rewards": [null, null, 0.85], "reason": "swapped"}"#;
        let answer = wrong.amend("b", amended).await.is(200);
        assert_eq!(answer.at("/learned"), 1, "its place stays");
        let right = server.new_study(&right, &study_of(learner)).await;
        three(&right, 0.15, 0.85).await;

        let after = wrong.estimates().await;
        assert_ne!(after.at("/estimates"), before.at("/estimates"), "{learner}");
        // Bit for bit: JSON floats round-trip.
        let rows = |answer: &crate::support::Answer| answer.at("/estimates").to_string();
        assert_eq!(rows(&after), rows(&right.estimates().await), "{learner}");
        // The next decisions are equal, too.
        let (one, other) = (wrong.open("d").await, right.open("d").await);
        for pointer in ["/action", "/estimate", "/runner_up", "/certificate"] {
            assert_eq!(one.at(pointer), other.at(pointer), "{learner} {pointer}");
        }
        wrong.assert_consistent().await;
    }
}

#[tokio::test]
async fn the_log_keeps_the_outcome_and_its_correction() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client
        .full_episode("p1", &[("scan", "positive")], &[0.5], &[0.0, 1.0])
        .await;
    let changed = client.outcome("p1", r#"{"rewards": [0, 0.25]}"#).await;
    let refused = changed.expect_error_at(409, "/rewards/1");
    let detail = refused.at("/detail");
    assert!(detail.as_str().unwrap().contains("/outcome:amend"));
    client
        .amend("p1", r#"{"rewards": [null, 0.25], "reason": "mistyped"}"#)
        .await
        .is(200);
    assert_eq!(
        client.estimate(1, "unknown", "scan").await,
        Some((1, -0.25))
    );
    let (recorded, amended) = (
        client.events("outcome").await,
        client.events("amended").await,
    );
    assert_eq!(recorded[0]["data"]["rewards"], json!([0.0, 1.0]));
    assert_eq!(amended[0]["data"]["rewards"], json!([null, 0.25]));
    assert_eq!(amended[0]["data"]["reason"], "mistyped");
    assert_eq!(amended[0]["by"], recorded[0]["by"]);
    // A second correction restores the first value.
    client
        .amend("p1", r#"{"rewards": [null, 1], "reason": "it was right"}"#)
        .await
        .is(200);
    assert_eq!(client.estimate(1, "unknown", "scan").await, Some((1, 0.5)));
    assert_eq!(client.events("amended").await.len(), 2);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_correction_needs_a_reason_and_an_ended_episode() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    client
        .amend("p1", r#"{"rewards": [1], "reason": "x"}"#)
        .await
        .expect_error(409);
    client.stop("p1", 1).await.is(200);
    client.outcome("p1", r#"{"rewards": [1]}"#).await.is(200);
    let seq = client.seq().await;
    client
        .amend("p1", r#"{"rewards": [0]}"#)
        .await
        .expect_error_at(400, "");
    client
        .amend("p1", r#"{"rewards": [0], "reason": ""}"#)
        .await
        .expect_error_at(422, "/reason");
    client
        .amend("p1", r#"{"rewards": [0, 1], "reason": "x"}"#)
        .await
        .expect_error_at(422, "/rewards");
    assert_eq!(client.seq().await, seq);
}

#[tokio::test]
async fn decisions_before_a_correction_replay_to_the_same_bytes() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client
        .full_episode("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    client
        .full_episode("b", &[("scan", "positive")], &[0.0], &[0.0, 0.9])
        .await;
    let between = client.open("p1").await.is(201);
    assert_eq!(between.at("/action"), "blood");
    client
        .amend("a", r#"{"rewards": [null, 0.1], "reason": "x"}"#)
        .await
        .is(200);
    assert_eq!(client.ask("p1").await.is(200).text, between.text);
    assert_eq!(client.open("p2").await.is(201).at("/action"), "scan");
    let replay = client.get("/episodes/p1/decisions/1:replay").await.is(200);
    assert_eq!(replay.at("/equal"), true, "{}", replay.text);
    client.assert_consistent().await;
}
