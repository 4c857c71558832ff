//! Certificates and the reasons for withholding them.

use serde_json::{Value, json};

use crate::support::study::StudyClient;
use crate::support::{Answer, TestServer, study_of, study_with};

/// Observes every action of the first step and of no other.
async fn all_tried(client: &StudyClient<'_>) -> Answer {
    client
        .full_episode("a", &[("blood", "positive")], &[0.1], &[0.3, 0.7])
        .await;
    client
        .full_episode("b", &[("scan", "negative")], &[0.2], &[0.1, 0.6])
        .await;
    client.open("p1").await.is(201)
}

fn close(one: &Value, other: f64) -> bool {
    (one.as_f64().unwrap() - other).abs() < 1e-12
}

#[tokio::test]
async fn the_certificate_is_twice_the_width() {
    let server = TestServer::new();
    let client = server
        .new_study("clinic", &study_of("feedbal:width=sound"))
        .await;
    // Without observations there is no certificate.
    let first = client.open("p0").await.is(201);
    assert_eq!(first.at("/certificate"), json!(null));
    let why = first.at("/withheld");
    assert!(why.as_str().unwrap().contains("not every action"), "{why}");
    assert_eq!(first.at("/estimate/mean"), json!(null));

    let decision = all_tried(&client).await;
    assert_eq!(decision.at("/withheld"), json!(null));
    let action = decision.at("/action");
    assert_eq!(decision.at("/estimate/action"), action);
    let rows = client.estimates().await.at("/estimates");
    let row = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["step"] == 1 && row["action"] == action)
        .unwrap();
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
    let cases = [
        (json!({"learner": "feedbal:width=paper"}), "width=sound"),
        (
            json!({"learner": "feedbal:width=sound", "learning": {"sigma2": 0.25, "reward_range": [0, 1]}}),
            "`delta`",
        ),
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
    let server = TestServer::new();
    let client = server
        .new_study("clinic", &study_of("feedbal:width=sound"))
        .await;
    let decision = all_tried(&client).await;
    let rows = client.estimates().await.at("/estimates");
    let best = rows
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["step"] == 1)
        .max_by(|a, b| {
            let mean = |row: &Value| row["mean"].as_f64().unwrap();
            mean(a).total_cmp(&mean(b))
        })
        .unwrap();
    let explored = best["action"] != decision.at("/action");
    assert_eq!(decision.at("/explored"), explored);
}
