//! Outcomes in parts and missing outcomes.

use serde_json::{Value, json};

use crate::support::study::{StudyClient, clinic};
use crate::support::{TestServer, study_with};

/// A study with an episode of two tests, then stop.
async fn stopped() -> StudyClient {
    let client = clinic().await;
    let script = "
        open p1
        tell p1 1 blood positive
        tell p1 2 scan negative
        stop p1 3
    ";
    client.run(script).await;
    client
}

#[tokio::test]
async fn an_outcome_in_parts_is_learned_from_once_complete() {
    let client = stopped().await;
    let script = r#"
        outcome p1 {"costs": [0.25, null], "rewards": [null, null, null]} -> {"status": "stopped"}
        view -> {"learned": 0}
        GET /estimates -> {"estimates": []}
        outcome p1 {"rewards": [0, 0.5, null]} -> {"status": "stopped"}
        view -> {"learned": 0}
        GET /estimates -> {"estimates": []}
        outcome p1 {"costs": [null, 0.125], "rewards": [null, null, 1]} -> {"status": "learned", "outcome": {"costs": [0.25, 0.125], "rewards": [0.0, 0.5, 1.0], "final": false}}
        estimate 1 unknown blood -> 1 0.25
        estimate 2 suspect scan -> 1 0.875
        estimate 3 clear stop -> 1 1
    "#;
    let recorded = client.run(script).await.pop().unwrap();
    // Each part again, in any order, changes nothing.
    let seq = client.seq().await;
    let again = r#"
        outcome p1 {"rewards": [0, 0.5, null]}
        outcome p1 {"costs": [null, 0.125], "rewards": [null, null, 1]}
        outcome p1 {"costs": [0.25, null], "rewards": [null, null, null]}
    "#;
    for answer in client.run(again).await {
        assert_eq!(answer.text, recorded.text);
    }
    assert_eq!(client.seq().await, seq);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_final_outcome_with_missing_values_counts_what_is_known() {
    let client = stopped().await;
    // The second reward is missing: neither it nor the gain that needs it is counted. A later value is a correction.
    let script = r#"
        outcome p1 {"costs": [0.25, 0.125], "rewards": [0.5, null, 1], "final": true} -> {"status": "learned"}
        view -> {"learned": 1, "missing": 1}
        estimate 1 unknown stop -> 1 0.5
        estimate 1 unknown blood -> none
        estimate 2 suspect stop -> none
        estimate 2 suspect scan -> 1 0.875
        outcome p1 {"rewards": [null, 0.75, null]} -> 409 /rewards/1 ~ :amend
        amend p1 {"rewards": [null, 0.75, null], "reason": "found"}
        estimate 1 unknown blood -> 1 0.5
        view -> {"missing": 0}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_final_outcome_without_values_counts_as_missing() {
    let client = stopped().await;
    let script = r#"
        outcome p1 {}
        view -> {"learned": 0}
        outcome p1 {"final": true} -> {"status": "learned", "outcome/final": true}
        GET /estimates -> {"estimates": []}
        view -> {"missing": 1}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn missing_outcomes_withhold_the_certificate_unless_missing_at_random() {
    for at_random in [false, true] {
        let spec = study_with(json!({ "missing_at_random": at_random }));
        let client = TestServer::new().new_study("clinic", &spec).await;
        client.episode("a", "blood positive 0", &[0.0, 1.0]).await;
        client.episode("b", "scan positive 0", &[0.0, 1.0]).await;
        let certified = |decision: Value| {
            let reason = decision["withheld"].as_str().map(str::to_owned);
            assert_eq!(decision["certificate"].is_number(), reason.is_none());
            reason
        };
        let before = client.open("p1").await.is(201).json();
        assert_eq!(certified(before), None);

        client.abandon("p1", "moved away").await.is(200);
        let reason = certified(client.open("p2").await.is(201).json());
        if at_random {
            assert_eq!(reason, None);
        } else {
            let reason = reason.unwrap();
            assert!(reason.starts_with("1 of 3 episodes"), "{reason}");
            assert!(reason.contains("`missing_at_random`"), "{reason}");
        }
        // A partial outcome counts as missing.
        let part = r#"
            stop p2 1
            outcome p2 {"final": true}
            open p3
        "#;
        let reason = certified(client.run(part).await[2].json());
        assert_eq!(reason.is_none(), at_random);
        // With complete outcomes nothing is withheld.
        let complete = r#"
            view -> {"missing": 2}
            outcome p1 {"rewards": [0.5]}
            amend p2 {"rewards": [0.5], "reason": "found"}
            open p4
        "#;
        let after = client.run(complete).await[3].json();
        assert_eq!(certified(after), None);
        client.assert_consistent().await;
    }
}

#[tokio::test]
async fn negative_zero_is_zero_and_values_are_bounded() {
    let client = clinic().await;
    let script = r#"
        open p1
        stop p1 1
        outcome p1 {"rewards": [-0.0], "final": true}
        outcome p1 {"rewards": [0]}
        open p2
        stop p2 1
        outcome p2 {"rewards": [1e101]} -> 422 /rewards/0
        outcome p2 {"rewards": [-1e308]} -> 422 /rewards/0
        outcome p2 {"rewards": [1e100]}
    "#;
    let text = &client.run(script).await[2].text;
    assert!(text.contains(r#""rewards":[0.0]"#), "{text}");
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_value_outside_the_range_of_the_study_is_an_outlier_with_a_reason() {
    let spec = study_with(json!({"outcome_range": {"reward": [0, 1], "cost": [0, 10]}}));
    let client = TestServer::new().new_study("clinic", &spec).await;
    let script = r#"
        open p1
        tell p1 1 blood positive
        stop p1 2
        outcome p1 {"costs": [1], "rewards": [0, 1e100]} -> 422 /rewards/1 ~ outside the range of this study, 0 to 1
        outcome p1 {"costs": [-1], "rewards": [0, 1]} -> 422 /costs/0
        outcome p1 {"costs": [11], "rewards": [0, 1], "outlier": true} -> 422 /reason
        outcome p1 {"costs": [11], "rewards": [0, 1], "outlier": true, "reason": "\u200b"} -> 422 /reason
        outcome p1 {"costs": [11], "rewards": [0, 1], "outlier": true, "reason": "a second scan"}
        amend p1 {"rewards": [null, 2], "reason": "mistyped"} -> 422 /rewards/1
        amend p1 {"rewards": [null, 2], "reason": "mistyped", "outlier": true}
        amend p1 {"rewards": [null, 1], "reason": "mistyped again", "outlier": true}
        import {"id": "a", "actions": [], "feedbacks": [], "costs": [], "rewards": [2]} -> 422 ~ line 1
        import {"id": "a", "actions": [], "feedbacks": [], "costs": [], "rewards": [2], "outlier": true, "reason": "b"}
    "#;
    client.run(script).await;
    let flags = |events: Vec<Value>| -> Vec<Value> {
        let flag = |event: &Value| event["data"].get("outlier").cloned().unwrap_or_default();
        events.iter().map(flag).collect()
    };
    assert_eq!(flags(client.events("outcome").await), [json!(true)]);
    assert_eq!(
        flags(client.events("amended").await),
        [json!(true), Value::Null]
    );
    client.assert_consistent().await;
    // It may stand in the problem file, which other commands read too.
    let learning = |range: Value| json!({"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1], "outcome_range": range});
    let spec = study_with(json!({"learning": learning(json!({"reward": [0, 1]}))}));
    let other = client.server.new_study("from-a-file", &spec).await;
    let script = r#"
        open p1
        stop p1 1
        outcome p1 {"rewards": [2]} -> 422 /rewards/0
        outcome p1 {"rewards": [2], "outlier": true, "reason": "a second scan"}
    "#;
    other.run(script).await;
    other.assert_consistent().await;
    let twice =
        json!({"learning": learning(json!({"cost": [0, 1]})), "outcome_range": {"cost": [0, 1]}});
    let too_large = json!({"learning": learning(json!({"cost": [0, 1e200]}))});
    let falling = json!({"learning": learning(json!({"cost": [1, 0]}))});
    for (fields, pointer) in [
        (twice, "/outcome_range"),
        (too_large, "/learning/outcome_range/cost"),
        (falling, "/learning/outcome_range/cost"),
    ] {
        let answer = client
            .server
            .put("/v1/studies/other", &study_with(fields))
            .await;
        answer.expect_error_at(422, pointer);
    }
    for (range, pointer) in [
        (json!({"reward": [1, 0]}), "/outcome_range/reward"),
        (json!({"reward": [0, 1e200]}), "/outcome_range/reward"),
        (json!({"rewards": [0, 1]}), "/outcome_range/rewards"),
        (json!({}), "/outcome_range"),
        (json!([0, 1]), "/outcome_range"),
    ] {
        let spec = study_with(json!({"outcome_range": range}));
        let answer = client.server.put("/v1/studies/other", &spec).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "{}", answer.text);
        answer.expect_error_at(status, pointer);
    }
}
