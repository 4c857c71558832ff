//! The test of drift takes episodes in the order in which they were opened.

use serde_json::{Value, json};

use crate::support::{TestServer, study_with};

fn value(health: &crate::support::Answer) -> (Value, String) {
    let checks = health.at("/checks");
    let drift = checks
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "drift");
    let drift = drift.unwrap();
    (
        drift["value"].clone(),
        drift["detail"].as_str().unwrap().into(),
    )
}

/// Episodes with alternating results, of which the negative ones are learned long before the positive ones: in the order of
/// learning the results would have changed.
#[tokio::test]
async fn late_outcomes_are_no_drift() {
    let client = TestServer::new()
        .new_study("clinic", &study_with(json!({})))
        .await;
    let health = async || client.server.get("/v1/studies/clinic/health").await.is(200);
    let mut late = Vec::new();
    for i in 0..80 {
        let (id, feedback) = (format!("p{i}"), ["negative", "positive"][i % 2]);
        client
            .run(&format!(
                "open {id}\n tell {id} 1 scan {feedback}\n stop {id} 2"
            ))
            .await;
        let outcome = format!("outcome {id} {{\"costs\": [0], \"rewards\": [0.5, 0.5]}}");
        match i % 2 {
            0 => drop(client.run(&outcome).await),
            _ => late.push(outcome),
        }
    }
    // The second episode is awaited: only the first one has entered.
    let (p, detail) = value(&health().await);
    assert_eq!(p, 1.0);
    assert!(
        detail.contains("no sign of a change in 3 tests"),
        "{detail}"
    );
    client.run(&late.join("\n")).await;
    let (p, detail) = value(&health().await);
    assert!(p.as_f64().unwrap() > 0.2, "{detail}");
    // A correction changes what had entered, and is read anew; a second installation has the same.
    client
        .run("amend-step p0 1 {\"feedback\": \"positive\", \"reason\": \"mistyped\"}")
        .await;
    let corrected = value(&health().await);
    let other = TestServer::new().study("clinic");
    other.import(&client.export_file().await).await.is(200);
    let again = other.server.get("/v1/studies/clinic/health").await;
    assert_eq!(value(&again), corrected);
}

/// An outcome that never comes does not hold up the test for ever.
#[tokio::test]
async fn a_lost_outcome_is_left_out_after_two_expected_delays() {
    let study = study_with(json!({"expected_delay": "3s"}));
    let client = TestServer::new().new_study("clinic", &study).await;
    let script = r#"
        open lost
        stop lost 1
        open p1
        tell p1 1 scan negative
        stop p1 2
        outcome p1 {"costs": [0], "rewards": [0.5, 0.5]}
    "#;
    client.run(script).await;
    let health = async || value(&client.server.get("/v1/studies/clinic/health").await).0;
    assert_eq!(health().await, Value::Null);
    tokio::time::sleep(std::time::Duration::from_millis(6_100)).await;
    // By the time of the last event.
    assert_eq!(health().await, Value::Null);
    client.run("open p2").await;
    assert_eq!(health().await, 1.0);
}
