//! Studies at and over the size limits: served in time, or rejected.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Fixture;
use crate::support::study_with;

const LEARNERS: &str =
    "feedbal:width=sound feedbal-pooled feedbal-lookahead feedbal-model olp q-learning";

#[tokio::test]
async fn rejects_studies_over_the_limits() {
    let fixture = Fixture::new().await;
    let many: Vec<String> = (0..100_000).map(|i| format!("name{i}")).collect();
    let brackets = format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000));
    let settings = format!("feedbal:{}", "sigma2=0.1,".repeat(10_000));
    let cases = [
        json!({"horizon": 10_001}),
        json!({"states": 1_000_000_000_000_000u64}),
        json!({"actions": 1_000_000_000}),
        json!({"feedbacks": 1_000_000_000, "transition": "1"}),
        json!({"actions": many}),
        json!({"transition": brackets}),
        json!({"transition": format!("{}1", "-".repeat(100_000))}),
        json!({"transition": vec!["1"; 100_000].join("+")}),
        json!({"learner": settings}),
    ];
    for (case, fields) in cases.into_iter().enumerate() {
        let start = Instant::now();
        let answer = fixture.json("PUT", "/v1/studies/new", study_with(fields));
        let answer = answer.await.expect_error(422);
        assert!(answer.text.len() < 2_000, "{case}: {}", answer.text.len());
        assert!(start.elapsed() < Duration::from_secs(5), "{case}");
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn serves_the_largest_accepted_studies_in_time() {
    let fixture = Fixture::new().await;
    let server = &fixture.server;
    let cases = [
        json!({"horizon": 10_000}),
        json!({"states": 1_000_000_000, "transition": "x + f"}),
        json!({"actions": 10_000, "feedbacks": 10_000, "transition": "1"}),
        json!({"horizon": 10_000, "states": 1_000_000_000, "actions": 1_000, "feedbacks": 1_000,
            "transition": "x + f + a"}),
    ];
    let mut studies = vec![json!({"learner": "feedbal:window=1000000000000"})];
    for case in cases {
        for learner in LEARNERS.split(' ') {
            let mut fields: Value = case.clone();
            fields["learner"] = learner.into();
            studies.push(fields);
        }
    }
    for (number, fields) in studies.into_iter().enumerate() {
        let study = format!("study{number}");
        let client = server.study(&study);
        let start = Instant::now();
        let path = client.path("");
        let answer = fixture.json("PUT", &path, study_with(fields)).await;
        let status = answer.status.as_u16();
        assert!([201, 422].contains(&status), "{study}: {}", answer.text);
        let created = start.elapsed();
        if status == 201 {
            let script = r#"
                open ID
                POST /episodes/ID:tell {"step": 1, "action": 0, "feedback": 0, "reason": "x"}
                stop ID 2
                outcome ID {"costs": [0.1], "rewards": [0.5, 1]}
            "#;
            client.run(&script.replace("ID", "p1")).await;
            client.run(&script.replace("ID", "p2")).await;
        }
        println!("{study}: {status}, {created:?}, {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(20), "{study}");
    }
}
