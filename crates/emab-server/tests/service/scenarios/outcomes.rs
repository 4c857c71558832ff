//! Outcomes in parts and missing outcomes.

use serde_json::{Value, json};

use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer, study_with};

/// Two tests, then stop.
async fn stopped(client: &StudyClient<'_>, id: &str) {
    client.open(id).await.is(201);
    client.tell(id, 1, "blood", "positive").await.is(200);
    client.tell(id, 2, "scan", "negative").await.is(200);
    client.stop(id, 3).await.is(200);
}

#[tokio::test]
async fn an_outcome_in_parts_is_learned_from_once_complete() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    stopped(&client, "p1").await;
    let one = r#"{"costs": [0.25, null], "rewards": [null, null, null]}"#;
    let two = r#"{"rewards": [0, 0.5, null]}"#;
    let three = r#"{"costs": [null, 0.125], "rewards": [null, null, 1]}"#;
    for part in [one, two] {
        let recorded = client.outcome("p1", part).await.is(200);
        assert_eq!(recorded.at("/status"), "stopped");
        assert_eq!(client.view().await.at("/learned"), 0);
        assert_eq!(client.estimates().await.at("/estimates"), json!([]));
    }
    let recorded = client.outcome("p1", three).await.is(200);
    assert_eq!(recorded.at("/status"), "learned");
    assert_eq!(
        recorded.at("/outcome"),
        json!({"costs": [0.25, 0.125], "rewards": [0.0, 0.5, 1.0], "final": false})
    );
    assert_eq!(
        client.estimate(1, "unknown", "blood").await,
        Some((1, 0.25))
    );
    assert_eq!(
        client.estimate(2, "suspect", "scan").await,
        Some((1, 0.875))
    );
    assert_eq!(client.estimate(3, "clear", "stop").await, Some((1, 1.0)));
    // Each part again, in any order, changes nothing.
    let seq = client.seq().await;
    for part in [two, three, one] {
        assert_eq!(client.outcome("p1", part).await.is(200).text, recorded.text);
    }
    assert_eq!(client.seq().await, seq);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_final_outcome_with_missing_values_counts_what_is_known() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    stopped(&client, "p1").await;
    // The second reward is missing: neither it nor the gain that needs it is counted.
    let body = r#"{"costs": [0.25, 0.125], "rewards": [0.5, null, 1], "final": true}"#;
    let recorded = client.outcome("p1", body).await.is(200);
    assert_eq!(recorded.at("/status"), "learned");
    let view = client.view().await;
    assert_eq!(
        (view.at("/learned"), view.at("/missing")),
        (json!(1), json!(1))
    );
    assert_eq!(client.estimate(1, "unknown", "stop").await, Some((1, 0.5)));
    assert_eq!(client.estimate(1, "unknown", "blood").await, None);
    assert_eq!(client.estimate(2, "suspect", "stop").await, None);
    assert_eq!(
        client.estimate(2, "suspect", "scan").await,
        Some((1, 0.875))
    );
    // A value after a final outcome is a correction.
    let late = r#"{"rewards": [null, 0.75, null]}"#;
    let refused = client
        .outcome("p1", late)
        .await
        .expect_error_at(409, "/rewards/1");
    assert!(refused.at("/detail").as_str().unwrap().contains(":amend"));
    client
        .amend(
            "p1",
            r#"{"rewards": [null, 0.75, null], "reason": "found"}"#,
        )
        .await
        .is(200);
    assert_eq!(client.estimate(1, "unknown", "blood").await, Some((1, 0.5)));
    assert_eq!(client.view().await.at("/missing"), 0);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_final_outcome_without_values_counts_as_missing() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    stopped(&client, "p1").await;
    client.outcome("p1", "{}").await.is(200);
    assert_eq!(client.view().await.at("/learned"), 0);
    let recorded = client.outcome("p1", r#"{"final": true}"#).await.is(200);
    assert_eq!(recorded.at("/status"), "learned");
    assert_eq!(recorded.at("/outcome/final"), true);
    assert_eq!(client.estimates().await.at("/estimates"), json!([]));
    assert_eq!(client.view().await.at("/missing"), 1);
    client.assert_consistent().await;
}

#[tokio::test]
async fn missing_outcomes_withhold_the_certificate_unless_missing_at_random() {
    for at_random in [false, true] {
        let server = TestServer::new();
        let spec = study_with(json!({ "missing_at_random": at_random }));
        let client = server.new_study("clinic", &spec).await;
        client
            .full_episode("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
            .await;
        client
            .full_episode("b", &[("scan", "positive")], &[0.0], &[0.0, 1.0])
            .await;
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
        client.stop("p2", 1).await.is(200);
        client.outcome("p2", r#"{"final": true}"#).await.is(200);
        let reason = certified(client.open("p3").await.is(201).json());
        assert_eq!(reason.is_none(), at_random);
        assert_eq!(client.view().await.at("/missing"), 2);

        // With complete outcomes nothing is withheld.
        client.outcome("p1", r#"{"rewards": [0.5]}"#).await.is(200);
        client
            .amend("p2", r#"{"rewards": [0.5], "reason": "found"}"#)
            .await
            .is(200);
        let after = client.open("p4").await.is(201).json();
        assert_eq!(certified(after), None);
        client.assert_consistent().await;
    }
}

#[tokio::test]
async fn negative_zero_is_zero_and_values_are_bounded() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    client.open("p1").await.is(201);
    client.stop("p1", 1).await.is(200);
    let recorded = client
        .outcome("p1", r#"{"rewards": [-0.0], "final": true}"#)
        .await
        .is(200);
    assert!(
        recorded.text.contains(r#""rewards":[0.0]"#),
        "{}",
        recorded.text
    );
    client.outcome("p1", r#"{"rewards": [0]}"#).await.is(200);
    client.open("p2").await.is(201);
    client.stop("p2", 1).await.is(200);
    for (value, status) in [("1e101", 422), ("-1e308", 422), ("1e100", 200)] {
        let body = format!(r#"{{"rewards": [{value}]}}"#);
        let answer = client.outcome("p2", &body).await;
        if status == 200 {
            answer.is(200);
        } else {
            answer.expect_error_at(status, "/rewards/0");
        }
    }
    client.assert_consistent().await;
}
