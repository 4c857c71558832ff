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

/// An unknown cost: a mean of gains has no certificate at that pair, pooled estimates have one.
#[tokio::test]
async fn an_unknown_gain_withholds_the_certificate_of_a_mean() {
    let server = TestServer::new();
    for (i, learner) in ["feedbal:width=sound", "feedbal-model"]
        .into_iter()
        .enumerate()
    {
        let fields = json!({"learner": learner, "missing_at_random": true});
        let name = format!("study{i}");
        let client = server.new_study(&name, &study_with(fields)).await;
        assert!(all_tried(&client).await.at("/certificate").is_number());
        let lost = r#"
            import {"id": "x", "actions": ["blood"], "feedbacks": ["positive"], "costs": [null], "rewards": [0.2, 0.9]}
            import {"id": "y", "actions": ["blood"], "feedbacks": ["negative"], "costs": [0.1], "rewards": [0.2, 0.4]}
            open p2
        "#;
        let decision = client.run(lost).await.remove(2);
        let withheld = decision.at("/withheld");
        match i {
            0 => assert!(
                withheld
                    .as_str()
                    .unwrap()
                    .contains("a gain of `blood` is unknown here"),
                "{withheld}"
            ),
            _ => assert!(decision.at("/certificate").is_number(), "{withheld}"),
        }
        client.assert_consistent().await;
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

/// With a range of rewards from 0 to 1 and of costs from 0 to 0.5, the gain of an action is between -0.5 and 1.
#[tokio::test]
async fn limits_are_within_what_the_ranges_allow() {
    let server = TestServer::new();
    let ranges = json!({"outcome_range": {"cost": [0, 0.5]}});
    let ranged = server.new_study("ranged", &study_with(ranges)).await;
    let decision = all_tried(&ranged).await;
    let limits = |place: &str| {
        ["lower", "upper"].map(|limit| decision.at(&format!("/{place}/{limit}")).as_f64().unwrap())
    };
    // One observation is far from enough to know more.
    for place in ["estimate", "runner_up"] {
        let least = match decision.at(&format!("/{place}/action")) == "stop" {
            true => 0.0,
            false => -0.5,
        };
        assert_eq!(limits(place), [least, 1.0], "{}", decision.text);
    }
    let least = limits("estimate")[0];
    assert_eq!(decision.at("/certificate"), 1.0 - least);
    ranged.assert_consistent().await;
    // An accepted outlier shows that costs may be outside their range.
    let outlier = r#"import {"id": "x", "actions": ["blood"], "feedbacks": ["positive"], "costs": [9], "rewards": [0, 1],
        "outlier": true, "reason": "an ambulance"}"#;
    ranged.run(&outlier.replace('\n', " ")).await;
    let decision = ranged.open("p2").await;
    for place in ["estimate", "runner_up"] {
        if decision.at(&format!("/{place}/action")) != "stop" {
            assert!(decision.at(&format!("/{place}/lower")).as_f64().unwrap() < -0.5);
        }
    }
    // Without a range of costs only `stop` is limited.
    let plain = server.new_study("plain", &study_with(json!({}))).await;
    let decision = all_tried(&plain).await;
    for place in ["estimate", "runner_up"] {
        let upper = decision.at(&format!("/{place}/upper")).as_f64().unwrap();
        let is_stop = decision.at(&format!("/{place}/action")) == "stop";
        assert_eq!(upper <= 1.0, is_stop, "{}", decision.text);
    }
    let turned = json!({"learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [1, 0]}});
    let path = "/v1/studies/turned";
    server
        .put(path, &study_with(turned))
        .await
        .expect_error(422)
        .says("reward_range");
}
