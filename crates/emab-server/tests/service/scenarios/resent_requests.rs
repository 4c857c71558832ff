//! Resent requests get the same bytes and change nothing.

use serde_json::json;

use crate::support::every_command::COMMANDS;
use crate::support::{STUDY, TestServer, study_of};

/// Every command three times in a row, and again at the end.
#[tokio::test]
async fn resent_commands_change_nothing_and_get_the_same_answer() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let mut answers = Vec::new();
    for request in COMMANDS.iter() {
        let first = client.send_command(*request).await;
        assert!(first.status.is_success(), "{request:?} {}", first.text);
        let head = client.view().await.text;
        for _ in 0..2 {
            let again = client.send_command(*request).await.is(200);
            if request.1 == ":import" {
                assert_eq!(again.at("/repeated"), 1);
                assert_eq!(again.at("/taken"), 0);
            } else {
                assert_eq!(again.text, first.text, "{request:?}");
            }
            assert_eq!(client.view().await.text, head, "{request:?}");
        }
        answers.push(first.text);
    }
    let head = client.view().await.text;
    for (request, first) in COMMANDS.iter().zip(answers) {
        let again = client.send_command(*request).await;
        assert_eq!(client.view().await.text, head, "{request:?}");
        let again = again.is(200);
        // Decisions never change; episodes and studies are shown as they are now.
        if request.1.ends_with(":tell") || request.1 == "/episodes" {
            assert_eq!(again.text, first, "{request:?}");
        }
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_study_is_created_once() {
    let server = TestServer::new();
    let first = server.put("/v1/studies/clinic", STUDY).await.is(201);
    let again = server.put("/v1/studies/clinic", STUDY).await.is(200);
    assert_eq!(again.text, first.text);
    // Order and whitespace do not matter.
    let reworded = r#"{"learner": "feedbal:width=sound", "learning": {"reward_range": [0,1], "delta": 0.05,
        "sigma2": 0.25}, "transition": "1 + f", "feedbacks": ["negative", "positive"], "actions": ["blood", "scan"],
        "states": ["unknown", "clear", "suspect"], "horizon": 3}"#;
    let reworded = server.put("/v1/studies/clinic", reworded).await.is(200);
    assert_eq!(reworded.text, first.text);
    let other = study_of("feedbal:width=paper");
    let refused = server
        .put("/v1/studies/clinic", &other)
        .await
        .expect_error(409);
    assert!(
        refused
            .at("/detail")
            .as_str()
            .unwrap()
            .contains("another specification")
    );
    let seq = server.study("clinic").seq().await;
    assert_eq!(seq, 1);
}

#[tokio::test]
async fn changed_values_are_conflicts() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    client.tell("p1", 1, "blood", "positive").await.is(200);
    let seq = client.seq().await;
    let recorded = client
        .tell("p1", 1, "blood", "negative")
        .await
        .expect_error(409);
    assert_eq!(recorded.at("/current_step"), 2);
    let ahead = client.tell("p1", 3, "blood", "negative").await;
    let ahead = ahead.expect_error_at(409, "/step");
    assert_eq!(
        (ahead.at("/current_step"), ahead.at("/type")),
        (json!(2), json!("urn:emab:wrong-step"))
    );
    let reason = r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "another"}"#;
    server
        .post(&client.episode_path("p1", ":tell"), reason)
        .await
        .expect_error(409);
    // Without a reason it is the same request.
    let without = r#"{"step": 1, "action": "blood", "feedback": "positive"}"#;
    server
        .post(&client.episode_path("p1", ":tell"), without)
        .await
        .is(200);
    client.stop("p1", 1).await.expect_error_at(409, "/step");
    assert_eq!(client.seq().await, seq);

    client.stop("p1", 2).await.is(200);
    let seq = client.seq().await;
    client.stop("p1", 1).await.expect_error(409);
    let other = r#"{"step": 2, "reason": "another"}"#;
    server
        .post(&client.episode_path("p1", ":stop"), other)
        .await
        .expect_error(409);
    server
        .post(&client.episode_path("p1", ":stop"), r#"{"step": 2}"#)
        .await
        .is(200);
    client.abandon("p1", "x").await.expect_error(409);
    client
        .tell("p1", 2, "blood", "positive")
        .await
        .expect_error(409);
    // A recorded step gets the same answer after the end.
    client.tell("p1", 1, "blood", "positive").await.is(200);

    client.open("p2").await.is(201);
    client.abandon("p2", "x").await.is(200);
    client.abandon("p2", "y").await.expect_error(409);
    client.stop("p2", 1).await.expect_error(409);
    assert_eq!(client.seq().await, seq + 2);

    client
        .outcome("p1", r#"{"costs": [1], "rewards": [null, 1]}"#)
        .await
        .is(200);
    let changed = client.outcome("p1", r#"{"costs": [0.5], "rewards": [1, 1]}"#);
    let changed = changed.await.expect_error_at(409, "/costs/0");
    assert!(changed.at("/detail").as_str().unwrap().contains(":amend"));
    // The whole outcome is rejected.
    let read = client.get("/episodes/p1").await.is(200);
    assert_eq!(read.at("/outcome/rewards"), json!([null, 1.0]));
    client.assert_consistent().await;
}

const RIGHT: &str = r#"{"rewards": [null, 0.5], "reason": "second opinion"}"#;

#[tokio::test]
async fn a_resent_correction_does_not_undo_a_later_one() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    client.tell("p1", 1, "blood", "positive").await.is(200);
    client.stop("p1", 2).await.is(200);
    let first = r#"{"costs": [0.25], "rewards": [0, 1]}"#;
    client.outcome("p1", first).await.is(200);
    client.amend("p1", RIGHT).await.is(200);
    client
        .amend(
            "p1",
            r#"{"rewards": [null, 0.75], "reason": "third opinion"}"#,
        )
        .await
        .is(200);
    let (seq, estimate) = (
        client.seq().await,
        client.estimate(1, "unknown", "blood").await,
    );
    assert_eq!(estimate, Some((1, 0.5)));
    // The first correction and the outcome arrive again.
    let answer = client.amend("p1", RIGHT).await.is(200);
    assert_eq!(answer.at("/outcome/rewards/1"), 0.75);
    client.outcome("p1", first).await.is(200);
    assert_eq!(client.seq().await, seq);
    assert_eq!(client.estimate(1, "unknown", "blood").await, estimate);
    // With another reason it is another correction.
    client
        .amend(
            "p1",
            r#"{"rewards": [null, 0.5], "reason": "the second was right"}"#,
        )
        .await
        .is(200);
    assert_eq!(
        client.estimate(1, "unknown", "blood").await,
        Some((1, 0.25))
    );
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_file_is_imported_again_after_an_episode_of_it_was_corrected() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let lines = [
        r#"{"id": "a", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}"#,
        r#"{"id": "b", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
    ]
    .join("\n");
    client.import(&lines).await.is(200);
    client
        .amend("a", r#"{"rewards": [1, null], "reason": "mistyped"}"#)
        .await
        .is(200);
    let again = client.import(&lines).await.is(200);
    assert_eq!(
        (again.at("/taken"), again.at("/repeated")),
        (0.into(), 2.into())
    );
    client.assert_consistent().await;
}
