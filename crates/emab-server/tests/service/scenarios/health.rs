//! The health of a study.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Answer, TestServer, study_with};

/// A check by its name.
fn check(health: &Answer, name: &str) -> Value {
    let checks = health.at("/checks");
    let found = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name}: {}", health.text))
        .clone()
}

#[track_caller]
fn assert_check(health: &Answer, name: &str, status: &str, value: Value, says: &str) {
    let check = check(health, name);
    assert_eq!(
        (&check["status"], &check["value"]),
        (&json!(status), &value),
        "{check}"
    );
    let detail = check["detail"].as_str().unwrap();
    assert!(detail.contains(says), "{detail}");
}

#[tokio::test]
async fn checks_count_what_happened() {
    let study = study_with(json!({"expected_delay": "5s",
        "thresholds": {"overrides": {"yellow": 0.5, "red": 0.75}, "certificate": {"yellow": 0.1, "red": 100}}}));
    let client = TestServer::new().new_study("clinic", &study).await;
    let health = async || client.server.get("/v1/studies/clinic/health").await.is(200);
    let new = health().await;
    assert_eq!(new.at("/status"), "green");
    assert_eq!(new.at("/as_of"), 1);
    assert_eq!(new.at("/checks").as_array().unwrap().len(), 6);
    assert_check(&new, "drift", "green", Value::Null, "nothing was learned");

    // p1 and p2 are treated against the advice; p1 is corrected, p3 abandoned.
    let script = r#"
        open p1
        tell p1 1 scan negative
        amend-step p1 1 {"feedback": "positive", "reason": "mistyped"}
        stop p1 2
        open p2
        tell p2 1 blood negative
        stop p2 2
        open p3
        abandon p3 moved away
    "#;
    client.run(script).await;
    let few = health().await;
    assert_eq!(few.at("/status"), "green");
    assert_check(
        &few,
        "overrides",
        "green",
        json!(0.5),
        "fewer than 20 are not judged",
    );
    for i in 0..20 {
        let id = format!("q{i}");
        client
            .run(&format!(
                "open {id}\n tell {id} 1 scan negative\n stop {id} 2"
            ))
            .await;
    }
    let script = r#"
        amend-step q0 1 {"feedback": "positive", "reason": "mistyped"}
        amend-step q1 1 {"feedback": "positive", "reason": "mistyped"}
        open p4
        abandon p4 moved away
    "#;
    client.run(script).await;
    let now = health().await;
    assert_eq!(now.at("/status"), "yellow");
    assert_check(
        &now,
        "overrides",
        "yellow",
        json!(0.5),
        "22 of the last 44 choices",
    );
    assert_check(
        &now,
        "corrections",
        "yellow",
        json!(3.0 / 49.0),
        "3 of the last 49 reports",
    );
    assert_check(
        &now,
        "missing",
        "yellow",
        json!(2.0 / 24.0),
        "2 of 24 ended episodes",
    );
    assert_eq!(
        check(&now, "overrides")["threshold"],
        json!({"yellow": 0.5, "red": 0.75})
    );
    assert!(
        check(&now, "certificate")["detail"]
            .as_str()
            .unwrap()
            .starts_with("no certificate")
    );
    // The outcomes are overdue after five seconds, rounded up to intervals of a second.
    tokio::time::sleep(Duration::from_millis(6_100)).await;
    assert_check(
        &health().await,
        "overdue",
        "red",
        json!(1.0),
        "22 of 22 awaited outcomes",
    );
    client
        .run("outcome p1 {\"costs\": [0], \"rewards\": [0, 1]}\n void p2 a test")
        .await;
    for i in 0..20 {
        let outcome = r#"{"costs": [0], "rewards": [0, 1]}"#;
        client.run(&format!("outcome q{i} {outcome}")).await;
    }
    let later = health().await;
    assert_check(
        &later,
        "overdue",
        "green",
        json!(0.0),
        "0 of 0 awaited outcomes",
    );
    client.assert_consistent().await;

    let metrics = client.server.get("/metrics").await.is(200).text;
    for line in [
        "emab_study_health{study=\"clinic\"} 1",
        "emab_study_check{study=\"clinic\",check=\"overdue\"} 0",
        "emab_study_check_value{study=\"clinic\",check=\"missing\"} 0.08695652173913043",
    ] {
        assert!(metrics.lines().any(|it| it == line), "{line}\n{metrics}");
    }
    assert!(metrics.ends_with("# EOF\n"));
    client.run("close").await;
    let metrics = client.server.get("/metrics").await.is(200).text;
    assert!(!metrics.contains("study=\"clinic\""));
}

#[tokio::test]
async fn drift_is_noticed_and_named() {
    let client = TestServer::new()
        .new_study("clinic", &study_with(json!({})))
        .await;
    let lines = |from: usize, to: usize, feedback: &dyn Fn(usize) -> &'static str| {
        let line = |i: usize| {
            let feedback = feedback(i);
            format!(
                r#"{{"id": "q{i}", "actions": ["scan"], "feedbacks": ["{feedback}"], "costs": [0.1], "rewards": [0.5, 0.5]}}"#
            )
        };
        (from..to).map(line).collect::<Vec<_>>().join("\n")
    };
    let import = async |lines: String| {
        client.import(&lines).await.is(200);
        client.server.get("/v1/studies/clinic/health").await.is(200)
    };
    let health = import(lines(0, 200, &|i| ["negative", "positive"][i % 2])).await;
    let quiet = check(&health, "drift");
    assert_eq!(quiet["status"], "green", "{quiet}");
    let health = import(lines(200, 300, &|_| "positive")).await;
    let drift = check(&health, "drift");
    assert_eq!(drift["status"], "red", "{drift}");
    let detail = drift["detail"].as_str().unwrap();
    assert!(
        detail.contains("the feedback to `scan` at step 1 in state `unknown` has changed"),
        "{detail}"
    );
    // It is a function of what was learned: the same after a restart and in a second installation.
    let other = TestServer::new().study("clinic");
    other.import(&client.export_file().await).await.is(200);
    let again = other.server.get("/v1/studies/clinic/health").await;
    assert_eq!(check(&again, "drift"), drift);
}

#[tokio::test]
async fn invalid_fields_name_the_place() {
    let server = TestServer::new();
    for (fields, status, pointer) in [
        (json!({"expected_delay": "soon"}), 422, "/expected_delay"),
        (json!({"expected_delay": "0d"}), 422, "/expected_delay"),
        (json!({"expected_delay": "1000d"}), 422, "/expected_delay"),
        (json!({"expected_delay": 30}), 400, "/expected_delay"),
        (json!({"thresholds": {}}), 422, "/thresholds"),
        (
            json!({"thresholds": {"overides": {"yellow": 0, "red": 1}}}),
            400,
            "/thresholds/overides",
        ),
        (
            json!({"thresholds": {"drift": {"yellow": 0.01, "red": 0.05}}}),
            422,
            "/thresholds/drift",
        ),
        (
            json!({"thresholds": {"missing": {"yellow": 0.5, "red": 0.1}}}),
            422,
            "/thresholds/missing",
        ),
        (
            json!({"thresholds": {"missing": {"yellow": 0.5, "red": 1.5}}}),
            422,
            "/thresholds/missing",
        ),
    ] {
        let answer = server.put("/v1/studies/clinic", &study_with(fields)).await;
        answer.expect_error_at(status, pointer);
    }
    let misspelt = study_with(json!({"treshold": {}}));
    let answer = server.put("/v1/studies/clinic", &misspelt).await;
    answer
        .expect_error_at(422, "/treshold")
        .says("(did you mean `thresholds`?)");
}

#[tokio::test]
async fn the_example_of_alerts_names_metrics_of_the_service() {
    let alerts = include_str!("../../../../../docs/alerts.yml");
    let metrics = TestServer::new().get("/metrics").await.is(200).text;
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let names: Vec<&str> = alerts
        .split(|c: char| !is_part(c))
        .filter(|word| word.starts_with("emab_"))
        .collect();
    assert!(names.len() > 6);
    for name in names {
        assert!(metrics.contains(name), "{name}");
    }
}
