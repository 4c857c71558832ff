//! Corrected outcomes.

use serde_json::json;

use super::learners::GOOD;
use crate::support::study::{StudyClient, clinic};
use crate::support::{Answer, TestServer, study_of};

/// Three episodes; the second has the given values.
async fn three(client: &StudyClient, cost: f64, reward: f64) {
    client.episode("a", "blood positive 0.1", &[0.3, 0.7]).await;
    let steps = format!("scan negative 0.2, blood positive {cost}");
    client.episode("b", &steps, &[0.1, 0.6, reward]).await;
    client.episode("c", "scan positive 0.3", &[0.2, 0.9]).await;
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
        let rows = |answer: &Answer| answer.at("/estimates").to_string();
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
    let client = clinic().await;
    client.episode("p1", "scan positive 0.5", &[0.0, 1.0]).await;
    // A second correction restores the first value.
    let script = r#"
        outcome p1 {"rewards": [0, 0.25]} -> 409 /rewards/1 ~ /outcome:amend
        amend p1 {"rewards": [null, 0.25], "reason": "mistyped"}
        estimate 1 unknown scan -> 1 -0.25
        amend p1 {"rewards": [null, 1], "reason": "it was right"}
        estimate 1 unknown scan -> 1 0.5
    "#;
    client.run(script).await;
    let recorded = client.events("outcome").await;
    let amended = client.events("amended").await;
    assert_eq!(recorded[0]["data"]["rewards"], json!([0.0, 1.0]));
    assert_eq!(amended[0]["data"]["rewards"], json!([null, 0.25]));
    assert_eq!(amended[0]["data"]["reason"], "mistyped");
    assert_eq!(amended[0]["by"], recorded[0]["by"]);
    assert_eq!(amended.len(), 2);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_correction_needs_a_reason_and_an_ended_episode() {
    let client = clinic().await;
    let script = r#"
        open p1
        amend p1 {"rewards": [1], "reason": "x"} -> 409
        stop p1 1
        outcome p1 {"rewards": [1]}
        view -> {"seq": 4}
        amend p1 {"rewards": [0]} -> 400 {"pointer": ""}
        amend p1 {"rewards": [0], "reason": ""} -> 422 /reason
        amend p1 {"rewards": [0, 1], "reason": "x"} -> 422 /rewards
        view -> {"seq": 4}
    "#;
    client.run(script).await;
}

#[tokio::test]
async fn decisions_before_a_correction_replay_to_the_same_bytes() {
    let client = clinic().await;
    client.episode("a", "blood positive 0", &[0.0, 1.0]).await;
    client.episode("b", "scan positive 0", &[0.0, 0.9]).await;
    let script = r#"
        open p1 -> {"action": "blood"}
        amend a {"rewards": [null, 0.1], "reason": "x"}
        ask p1
        open p2 -> {"action": "scan"}
        GET /episodes/p1/decisions/1:replay -> {"equal": true}
    "#;
    let answers = client.run(script).await;
    assert_eq!(answers[2].text, answers[0].text);
    client.assert_consistent().await;
}
