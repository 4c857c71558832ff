//! Corrected steps, and episodes that were entered in error.

use std::sync::Arc;

use serde_json::json;

use super::learners::GOOD;
use crate::support::study::{StudyClient, clinic};
use crate::support::{Answer, TestServer, study_of, study_with};

/// Three episodes; the second has the given first step.
async fn three(client: &StudyClient, first: &str) {
    client.episode("a", "blood positive 0.1", &[0.3, 0.7]).await;
    let steps = format!("{first} 0.2, blood positive 0.15");
    client.episode("b", &steps, &[0.1, 0.6, 0.85]).await;
    client.episode("c", "scan positive 0.3", &[0.2, 0.9]).await;
}

/// A new study with a learner.
async fn study(server: &Arc<TestServer>, name: &str, learner: &str) -> StudyClient {
    server.new_study(name, &study_of(learner)).await
}

/// The rows of the estimates, bit for bit: JSON floats round-trip.
async fn rows(client: &StudyClient) -> String {
    client.estimates().await.at("/estimates").to_string()
}

#[tokio::test]
async fn a_corrected_step_gives_the_estimates_of_the_right_one_from_the_start() {
    let server = TestServer::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let wrong = study(&server, &format!("wrong{i}"), learner).await;
        three(&wrong, "scan negative").await;
        let before = rows(&wrong).await;
        let script = r#"
            amend-step b 1 {"action": "blood", "feedback": "positive", "reason": "swapped"} -> {"learned": 1, "status": "learned"}
        "#;
        wrong.run(script).await;
        let right = study(&server, &format!("right{i}"), learner).await;
        three(&right, "blood positive").await;
        assert_ne!(rows(&wrong).await, before, "{learner}");
        assert_eq!(rows(&wrong).await, rows(&right).await, "{learner}");
        let (one, other) = (wrong.open("d").await, right.open("d").await);
        for pointer in ["/action", "/estimate", "/runner_up", "/certificate"] {
            assert_eq!(one.at(pointer), other.at(pointer), "{learner} {pointer}");
        }
        wrong.assert_consistent().await;
    }
}

#[tokio::test]
async fn the_decision_of_the_open_step_is_made_anew() {
    let client = clinic().await;
    // Going on pays in `suspect`, and not in `clear`.
    client
        .episode("a", "blood negative 0, scan positive 1", &[0.5, 0.9, 0.0])
        .await;
    client
        .episode("b", "blood positive 0, scan positive 0", &[0.5, 0.0, 1.0])
        .await;
    let script = r#"
        open p
        tell p 1 blood negative -> {"step": 2, "state": "clear"}
        amend-step p 1 {"feedback": "positive", "reason": "read wrongly"} -> {"step": 2, "state": "suspect", "status": "open"}
        ask p -> {"step": 2, "state": "suspect"}
        GET /episodes/p/decisions/2:replay -> {"equal": true}
        GET /episodes/p/decisions/1:replay -> {"equal": true}
        GET /episodes/p -> {"state": "suspect"}
        // The first decision for the step is in the log.
        tell p 2 scan positive
        amend-step p 2 {"action": "blood", "reason": "the other one"}
        stop p 3
        amend-step p 1 {"feedback": "negative", "reason": "right at first"} -> {"state": "suspect", "status": "stopped"}
    "#;
    let answers = client.run(script).await;
    assert_ne!(answers[1].text, answers[3].text);
    let amended = client.events("step_amended").await;
    assert_eq!(amended.len(), 3);
    assert_eq!(amended[0]["data"]["reason"], "read wrongly");
    assert_eq!(amended[0]["data"]["decision"]["state"], "suspect");
    assert_eq!(amended[2]["data"]["decision"], json!(null), "it has ended");
    let told = client.events("told").await;
    let first = told.iter().rfind(|event| event["data"]["episode"] == "p");
    assert_eq!(first.unwrap()["data"]["step"], 2);
    let shown = client.get("/episodes/p").await;
    assert_eq!(shown.at("/steps/0/corrected"), "right at first");
    assert_eq!(shown.at("/steps/1/action"), "blood");
    client.assert_consistent().await;
}

/// Whether a correction makes a step an override depends on what was recommended then.
#[tokio::test]
async fn overrides_follow_the_correction() {
    let client = clinic().await;
    let script = r#"
        open p
        tell p 1 scan negative
        tell p 2 blood negative
    "#;
    let recommended = client.run(script).await[0].at("/action");
    assert_eq!(recommended, "stop");
    let overridden = |answer: Answer| answer.at("/steps/0/override");
    assert_eq!(overridden(client.get("/episodes/p").await), true);
    client.episode("q", "blood positive 0", &[0.0, 1.0]).await;
    let first = client.open("r").await.at("/action");
    let other = if first == "blood" { "scan" } else { "blood" };
    let script = format!(
        r#"
        tell r 1 {} positive
        GET /episodes/r
        amend-step r 1 {{"action": "{other}", "reason": "mistyped"}}
        GET /episodes/r
        amend-step r 1 {{"action": {first}, "reason": "it was right"}}
        GET /episodes/r
    "#,
        first.as_str().unwrap()
    );
    let answers = client.run(&script).await;
    assert_eq!(answers[1].at("/steps/0/override"), false);
    assert_eq!(answers[3].at("/steps/0/override"), true);
    assert_eq!(answers[5].at("/steps/0/override"), false);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_correction_that_makes_later_steps_impossible_is_rejected() {
    let spec = study_with(json!({"allowed": "a == 0 or x != 1"}));
    let client = TestServer::new().new_study("clinic", &spec).await;
    let script = r#"
        open p
        tell p 1 blood positive
        tell p 2 scan positive
        amend-step p 1 {"feedback": "negative", "reason": "x"} -> 422 ~ step 2 would be in state `clear`
        amend-step p 1 {"action": "cut", "reason": "x"} -> 422 /action ~ there are `blood`, `scan`
        amend-step p 1 {"feedback": "negative"} -> 400 ~ reason
        amend-step p 1 {"feedback": "negative", "reason": " "} -> 422 /reason
        amend-step p 3 {"feedback": "negative", "reason": "x"} -> 404 ~ steps 1 to 2, not 3
        amend-step p 0 {"feedback": "negative", "reason": "x"} -> 404
        amend-step p x {"feedback": "negative", "reason": "x"} -> 404
        amend-step q 1 {"feedback": "negative", "reason": "x"} -> 404
        view -> {"seq": 4}
        void p entered in error -> {"status": "voided", "voided": "entered in error"}
        amend-step p 1 {"action": "scan", "reason": "x"} -> 409 ~ voided
        tell p 3 blood positive -> 409 ~ voided
        outcome p {"rewards": [0, 0, 0]} -> 409 ~ voided
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

/// A late copy of a correction must not undo a later one.
#[tokio::test]
async fn repeated_corrections_change_nothing() {
    let client = clinic().await;
    client.episode("p", "blood positive 0", &[0.0, 1.0]).await;
    let script = r#"
        amend-step p 1 {"feedback": "positive", "reason": "as it was"}
        amend-step p 1 {"feedback": "negative", "reason": "mistyped"}
        view -> {"seq": 7}
        amend-step p 1 {"feedback": "positive", "reason": "as it was"}
        amend-step p 1 {"feedback": "negative", "reason": "mistyped"}
        view -> {"seq": 7}
        GET /episodes/p -> {"state": "clear"}
        amend-step p 1 {"feedback": "positive", "reason": "as it was", "request": "r1"} -> {"state": "suspect"}
        amend-step p 1 {"feedback": "positive", "reason": "as it was", "request": "r1"}
        amend-step p 1 {"feedback": "negative", "reason": "mistyped", "request": "r1"} -> 409 /request
        view -> {"seq": 8}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_voided_episode_counts_for_nothing() {
    let server = TestServer::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let with = study(&server, &format!("with{i}"), learner).await;
        three(&with, "scan negative").await;
        let script = r#"
            open lost
            abandon lost moved away
            view -> {"missing": 1, "episodes": 4, "learned": 3}
            void lost a test
            void b entered twice -> {"status": "voided"}
            void b entered twice -> {"status": "voided"}
            void b another reason -> 409
            open e
            void e a test -> {"status": "voided"}
            view -> {"missing": 0, "episodes": 2, "learned": 2, "open": 0}
        "#;
        with.run(script).await;
        let without = study(&server, &format!("without{i}"), learner).await;
        without
            .episode("a", "blood positive 0.1", &[0.3, 0.7])
            .await;
        without.episode("c", "scan positive 0.3", &[0.2, 0.9]).await;
        assert_eq!(rows(&with).await, rows(&without).await, "{learner}");
        let (one, other) = (with.open("d").await, without.open("d").await);
        for pointer in ["/action", "/estimate", "/certificate", "/withheld"] {
            assert_eq!(one.at(pointer), other.at(pointer), "{learner} {pointer}");
        }
        with.assert_consistent().await;
    }
}

/// An imported episode has steps without recommendations.
#[tokio::test]
async fn imported_steps_can_be_corrected() {
    let client = clinic().await;
    let script = r#"
        import {"id": "old", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}
        estimate 1 unknown scan -> 1 0.5
        amend-step old 1 {"action": "blood", "reason": "mistyped"}
        estimate 1 unknown scan -> none
        estimate 1 unknown blood -> 1 0.5
        GET /episodes/old
    "#;
    let answers = client.run(script).await;
    assert_eq!(answers[2].at("/steps/0/override"), false);
    client.assert_consistent().await;
}
