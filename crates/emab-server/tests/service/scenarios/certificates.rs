//! Certificates and the reasons for withholding them.

use serde_json::{Value, json};

use crate::support::study::{StudyClient, clinic};
use crate::support::{Answer, TestServer, study_with};

/// Observes every action of the first step and of no other.
async fn all_tried(client: &StudyClient) -> Answer {
    client.episode("a", "blood positive 0.1", &[0.3, 0.7]).await;
    client.episode("b", "scan negative 0.2", &[0.1, 0.6]).await;
    client.open("p1").await.is(201)
}

/// The estimates of the first step.
async fn rows(client: &StudyClient) -> Vec<Value> {
    let rows = client.estimates().await.at("/estimates");
    let rows = rows.as_array().unwrap().iter();
    rows.filter(|row| row["step"] == 1).cloned().collect()
}

fn close(one: &Value, other: f64) -> bool {
    (one.as_f64().unwrap() - other).abs() < 1e-12
}

#[tokio::test]
async fn the_certificate_is_twice_the_width() {
    let client = clinic().await;
    // Without observations there is no certificate.
    let first = client.open("p0").await.is(201);
    let first = first.has(json!({"certificate": null, "estimate/mean": null}));
    let why = first.at("/withheld");
    assert!(why.as_str().unwrap().contains("not every action"), "{why}");

    let decision = all_tried(&client).await;
    let action = decision.at("/action");
    let decision = decision.has(json!({"withheld": null, "estimate/action": action}));
    let rows = rows(&client).await;
    let row = rows.iter().find(|row| row["action"] == action).unwrap();
    let number = |pointer: &str| decision.at(pointer).as_f64().unwrap();
    let certificate = decision.at("/certificate");
    assert!(close(&certificate, 2.0 * row["width"].as_f64().unwrap()));
    let between = number("/estimate/upper") - number("/estimate/lower");
    assert!(close(&certificate, between), "{}", decision.text);
    assert!(close(&row["mean"], number("/estimate/mean")));
    // The runner-up's upper limit is not larger.
    assert_ne!(decision.at("/runner_up/action"), action);
    assert!(number("/runner_up/upper") <= number("/estimate/upper"));
    assert!(number("/runner_up/lower") < number("/runner_up/mean"));
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_withheld_certificate_states_its_reason() {
    let server = TestServer::new();
    let no_delta = json!({"sigma2": 0.25, "reward_range": [0, 1]});
    let cases = [
        (json!({"learner": "feedbal:width=paper"}), "width=sound"),
        (json!({"learning": no_delta}), "`delta`"),
        (json!({"learner": "feedbal:width=sound,window=5"}), "window"),
        (json!({"learner": "q-learning"}), "q-learning"),
    ];
    for (i, (fields, word)) in cases.into_iter().enumerate() {
        let name = format!("study{i}");
        let client = server.new_study(&name, &study_with(fields)).await;
        let decision = all_tried(&client).await;
        assert_eq!(decision.at("/certificate"), json!(null));
        let why = decision.at("/withheld");
        assert!(why.as_str().unwrap().contains(word), "{word}: {why}");
        // The study states it beforehand.
        assert!(client.view().await.at("/withheld").is_string());
    }
}

#[tokio::test]
async fn explored_is_set_where_the_best_mean_is_not_recommended() {
    let client = clinic().await;
    let decision = all_tried(&client).await;
    let rows = rows(&client).await;
    let mean = |row: &&Value| row["mean"].as_f64().unwrap();
    let best = rows.iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
    let explored = best.unwrap()["action"] != decision.at("/action");
    assert_eq!(decision.at("/explored"), explored);
}
