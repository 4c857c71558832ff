//! What the learners of a study are worth.

use serde_json::{Value, json};

use super::shows;
use crate::console::Browser;
use crate::support::{TestServer, study_with};

const PAGE: &str = "/studies/clinic/evaluation";

#[tokio::test]
async fn the_page_shows_the_evaluation_of_the_api() {
    let spec = study_with(json!({"shadow": ["feedbal-pooled"]}));
    let study = TestServer::new().new_study("clinic", &spec).await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let empty = "There is no evaluation: the log has no case with an outcome";
    shows(&viewer.get(PAGE).await, &[empty]);
    for i in 0..40 {
        study
            .episode(&format!("p{i}"), "blood positive 0.25", &[0.0, 1.0])
            .await;
    }
    let page = viewer.get(PAGE).await;
    shows(
        &page,
        &[
            "the 40 cases of this study",
            "gained 0.75 on average",
            ", recommends",
            ", shadow",
        ],
    );
    let answer = study.get("/evaluation").await.is(200);
    for policy in answer.at("/policies").as_array().unwrap() {
        let shown = |of: &Value, name: &str| {
            let text = format!("{:.3}", of[name].as_f64().unwrap());
            text.replace('-', "\u{2212}")
        };
        let interval = |of| format!("{} to {}", shown(of, "lower"), shown(of, "upper"));
        let other = &policy["without_overrides"];
        let without = format!("{} ({})", shown(other, "value"), interval(other));
        let name = policy["learner"].as_str().unwrap();
        shows(&page, &[name, &interval(policy), &without]);
        for place in policy["unsupported"].as_array().unwrap() {
            let state = place["state"].as_str().unwrap();
            shows(&page, &["was never observed in", state]);
        }
    }
    shows(
        &viewer.get("/studies/clinic/progress").await,
        &["href=\"evaluation\""],
    );
}

#[tokio::test]
async fn contradicted_statements_are_shown() {
    let spec = study_with(json!({"learning": {
        "delta": 0.05, "sigma2": 0.0001, "reward_range": [0, 1],
    }}));
    let study = TestServer::new().new_study("clinic", &spec).await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    for i in 0..20 {
        let reward = f64::from(i % 2);
        study
            .episode(&format!("p{i}"), "blood positive 0.25", &[0.0, reward])
            .await;
    }
    let page = viewer.get(PAGE).await;
    shows(
        &page,
        &["contradict what the study states", "rewards vary by"],
    );
    let violations = study.get("/evaluation").await.is(200).at("/violations");
    assert_eq!(violations.as_array().unwrap().len(), 1, "{violations}");
}
