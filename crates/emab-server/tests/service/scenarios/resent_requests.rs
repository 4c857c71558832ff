//! Resent requests get the same bytes and change nothing.

use serde_json::json;

use crate::support::every_command::COMMANDS;
use crate::support::study::clinic;
use crate::support::{STUDY, TestServer, study_of};

/// Every command three times in a row, and again at the end.
#[tokio::test]
async fn resent_commands_change_nothing_and_get_the_same_answer() {
    let client = clinic().await;
    let mut answers = Vec::new();
    for request in COMMANDS.iter() {
        let first = client.send_command(*request).await;
        assert!(first.status.is_success(), "{request:?} {}", first.text);
        let head = client.view().await.text;
        for _ in 0..2 {
            let again = client.send_command(*request).await.is(200);
            if request.1 == ":import" {
                again.has(json!({"repeated": 1, "taken": 0}));
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
        // Decisions change only by a correction; episodes and studies are shown as they are now.
        let corrected = request.1 == "/episodes/p3:tell" && request.2.contains("\"step\": 1");
        if request.1.ends_with(":tell") && !corrected || request.1 == "/episodes" {
            assert_eq!(again.text, first, "{request:?}");
        }
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_study_is_created_once() {
    let server = TestServer::new();
    let path = "/v1/studies/clinic";
    let first = server.put(path, STUDY).await.is(201);
    // Order and whitespace do not matter.
    let reworded = r#"{"learner": "feedbal:width=sound", "learning": {"reward_range": [0,1], "delta": 0.05,
        "sigma2": 0.25}, "transition": "1 + f", "feedbacks": ["negative", "positive"], "actions": ["blood", "scan"],
        "states": ["unknown", "clear", "suspect"], "horizon": 3}"#;
    for spec in [STUDY, reworded] {
        assert_eq!(server.put(path, spec).await.is(200).text, first.text);
    }
    let other = server.put(path, &study_of("feedbal:width=paper")).await;
    other.expect_error(409).says("another specification");
    assert_eq!(server.study("clinic").seq().await, 1);
}

#[tokio::test]
async fn changed_values_are_conflicts() {
    let client = clinic().await;
    // Without a reason it is the same request. A recorded step gets the same answer after the end.
    let script = r#"
        open p1
        tell p1 1 blood positive
        tell p1 1 blood negative -> 409 {"current_step": 2}
        tell p1 3 blood negative -> 409 /step {"current_step": 2, "type": "urn:emab:wrong-step"}
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "another"} -> 409 /reason
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive"}
        stop p1 1 -> 409 /step
        view -> {"seq": 3}
        stop p1 2
        stop p1 1 -> 409
        POST /episodes/p1:stop {"step": 2, "reason": "another"} -> 409
        POST /episodes/p1:stop {"step": 2}
        abandon p1 x -> 409
        tell p1 2 blood positive -> 409
        tell p1 1 blood positive
        view -> {"seq": 4}
        open p2
        abandon p2 x
        abandon p2 y -> 409
        stop p2 1 -> 409
        view -> {"seq": 6}
        outcome p1 {"costs": [1], "rewards": [null, 1]}
        outcome p1 {"costs": [0.5], "rewards": [1, 1]} -> 409 /costs/0 ~ :amend
        // The whole outcome is rejected.
        GET /episodes/p1 -> {"outcome/rewards": [null, 1.0]}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_resent_correction_does_not_undo_a_later_one() {
    let client = clinic().await;
    client
        .episode("p1", "blood positive 0.25", &[0.0, 1.0])
        .await;
    // The first correction and the outcome arrive again. With another reason it is another correction.
    let script = r#"
        amend p1 {"rewards": [null, 0.5], "reason": "second opinion"}
        amend p1 {"rewards": [null, 0.75], "reason": "third opinion"}
        estimate 1 unknown blood -> 1 0.5
        view -> {"seq": 7}
        amend p1 {"rewards": [null, 0.5], "reason": "second opinion"} -> {"outcome/rewards/1": 0.75}
        outcome p1 {"costs": [0.25], "rewards": [0, 1]}
        view -> {"seq": 7}
        estimate 1 unknown blood -> 1 0.5
        amend p1 {"rewards": [null, 0.5], "reason": "the second was right"}
        estimate 1 unknown blood -> 1 0.25
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_late_copy_of_a_request_that_changed_nothing_changes_nothing() {
    let client = clinic().await;
    client
        .episode("p1", "blood positive 0.25", &[0.0, 0.5])
        .await;
    // The copies of the correction and of the outcomes come after another correction.
    let script = r#"
        amend p1 {"rewards": [null, 0.5], "reason": "A"}
        outcome p1 {"rewards": [null, 0.5]}
        outcome p1 {"final": true}
        amend p1 {"rewards": [null, 1], "reason": "B"}
        view -> {"seq": 9}
        amend p1 {"rewards": [null, 0.5], "reason": "A"} -> {"outcome/rewards/1": 1.0}
        outcome p1 {"rewards": [null, 0.5]} -> {"outcome/rewards/1": 1.0}
        outcome p1 {"final": true} -> {"outcome/rewards/1": 1.0, "outcome/final": false}
        view -> {"seq": 9}
        // With an id, the same content is meant anew.
        amend p1 {"rewards": [null, 0.5], "reason": "A", "request": "r1"} -> {"outcome/rewards/1": 0.5}
        amend p1 {"rewards": [null, 1], "reason": "B", "request": "r2"} -> {"outcome/rewards/1": 1.0}
        amend p1 {"rewards": [null, 0.5], "reason": "A", "request": "r1"} -> {"outcome/rewards/1": 1.0}
        amend p1 {"rewards": [null, 0.75], "reason": "A", "request": "r1"} -> 409 /request
        amend p1 {"rewards": [null, 0.75], "reason": "A", "request": "a b"} -> 422 /request
        outcome p1 {"final": true, "request": "r1"} -> 409 /request
        view -> {"seq": 11}
    "#;
    client.run(script).await;
    let repeated = client.events("repeated").await;
    let kinds: Vec<_> = repeated.iter().map(|event| &event["data"]["of"]).collect();
    assert_eq!(kinds, ["amended", "outcome", "outcome"]);
    client.assert_consistent().await;
}

#[tokio::test]
async fn the_id_of_a_request_is_recorded() {
    let client = clinic().await;
    let script = r#"
        POST /episodes {"id": "p1", "request": "r1"} -> 201
        POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "a", "request": "r2"}
        POST /episodes/p1:stop {"step": 2, "reason": "a", "request": "r3"}
        outcome p1 {"final": true, "request": "r4"}
        open p2
        POST /episodes/p2:abandon {"reason": "a", "request": "r5"}
    "#;
    client.run(script).await;
    let kinds = ["opened", "told", "stopped", "outcome", "abandoned"];
    for (kind, id) in kinds.iter().zip(["r1", "r2", "r3", "r4", "r5"]) {
        assert_eq!(client.events(kind).await[0]["data"]["request"], id);
    }
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_file_is_imported_again_after_an_episode_of_it_was_corrected() {
    let client = clinic().await;
    let lines = [
        r#"{"id": "a", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}"#,
        r#"{"id": "b", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
    ]
    .join("\n");
    client.import(&lines).await.is(200);
    let amended = r#"{"rewards": [1, null], "reason": "mistyped"}"#;
    client.amend("a", amended).await.is(200);
    let again = client.import(&lines).await.is(200);
    again.has(json!({"taken": 0, "repeated": 2}));
    client.assert_consistent().await;
}
