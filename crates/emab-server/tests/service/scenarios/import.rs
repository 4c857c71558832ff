//! Import of past episodes.

use serde_json::json;

use crate::support::study::StudyClient;
use crate::support::{STUDY, TestServer};

fn past(id: &str, action: &str, cost: f64, rewards: [f64; 2]) -> String {
    json!({"id": id, "actions": [action], "feedbacks": ["positive"], "costs": [cost], "rewards": rewards}).to_string()
}

fn ten() -> Vec<String> {
    (0..10)
        .map(|i| {
            past(
                &format!("old{i}"),
                ["blood", "scan"][i % 2],
                0.125,
                [0.25, 0.875],
            )
        })
        .collect()
}

async fn dry(client: &StudyClient<'_>, lines: &str) -> crate::support::Answer {
    let path = client.path(":import?dry_run=true");
    client.server.post(&path, lines).await
}

#[tokio::test]
async fn imported_episodes_are_learned_from() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let cold = client.open("p1").await.is(201);
    assert_eq!(cold.at("/action"), "stop");
    let answer = client.import(&ten().join("\n")).await.is(200);
    assert_eq!(
        answer.json(),
        json!({"taken": 10, "repeated": 0, "dry_run": false, "mistakes": []})
    );
    let warm = client.open("p2").await.is(201);
    assert_ne!(warm.at("/action"), "stop");
    assert_eq!(warm.at("/estimate/count"), 5);
    assert_eq!(
        client.estimate(1, "unknown", "stop").await,
        Some((10, 0.25))
    );
    assert_eq!(client.view().await.at("/learned"), 10);
    let old = client.get("/episodes/old3").await.is(200);
    assert_eq!(
        (old.at("/imported"), old.at("/status")),
        (json!(true), json!("learned"))
    );
    assert_eq!(old.at("/steps/0/decision"), json!(null));
    // An imported episode has no decisions: it cannot be asked, told or opened.
    client.ask("old3").await.expect_error(409);
    client
        .tell("old3", 1, "scan", "positive")
        .await
        .expect_error(409);
    client
        .tell("old3", 2, "scan", "positive")
        .await
        .expect_error(409);
    client.open("old3").await.expect_error(409);
    client.stop("old3", 2).await.expect_error(409);
    // It can be corrected.
    client
        .amend("old3", r#"{"costs": [0.25], "reason": "x"}"#)
        .await
        .is(200);
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_lists_all_errors() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let mut lines = ten();
    let answer = dry(&client, &lines.join("\n")).await.is(200);
    assert_eq!(
        answer.json(),
        json!({"taken": 10, "repeated": 0, "dry_run": true, "mistakes": []})
    );
    lines[2] = lines[2].replace("blood", "urine");
    lines[6] = "{".into();
    lines[8] = lines[8].replace("0.125", "0.125, 1");
    let answer = dry(&client, &lines.join("\n")).await.is(200);
    assert_eq!(answer.at("/taken"), 7);
    let mistakes = answer.at("/mistakes");
    let mistakes: Vec<&str> = mistakes
        .as_array()
        .unwrap()
        .iter()
        .map(|m| m.as_str().unwrap())
        .collect();
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    for (line, word) in [
        ("line 3: ", "`urine`"),
        ("line 7: ", ""),
        ("line 9: ", "`costs`"),
    ] {
        assert!(
            mistakes
                .iter()
                .any(|m| m.starts_with(line) && m.contains(word)),
            "{line} {mistakes:?}"
        );
    }
    assert_eq!(client.seq().await, 1);
    server
        .post("/v1/studies/none:import?dry_run=true", &lines[0])
        .await
        .expect_error(404);
}

#[tokio::test]
async fn a_dry_run_predicts_repeated_and_conflicting_lines() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let one = past("a", "blood", 0.1, [0.2, 0.3]);
    let other = past("a", "scan", 0.1, [0.2, 0.3]);
    let twice = [&*one, &one].join("\n");
    let foreseen = dry(&client, &twice).await.is(200);
    assert_eq!(
        (foreseen.at("/taken"), foreseen.at("/repeated")),
        (json!(1), json!(1))
    );
    let foreseen = dry(&client, &[&*one, &other].join("\n")).await.is(200);
    assert_eq!(foreseen.at("/taken"), 1);
    let mistake = foreseen.at("/mistakes/0");
    assert!(mistake.as_str().unwrap().starts_with("line 2: "));

    let done = client.import(&twice).await.is(200);
    assert_eq!(
        (done.at("/taken"), done.at("/repeated")),
        (json!(1), json!(1))
    );
    let foreseen = dry(&client, &twice).await.is(200);
    assert_eq!(
        (foreseen.at("/taken"), foreseen.at("/repeated")),
        (json!(0), json!(2))
    );
    let conflict = client.import(&other).await.expect_error(409);
    assert!(conflict.at("/detail").as_str().unwrap().contains("line 1"));

    server.post(&client.path(":close"), "").await.is(200);
    let new = past("b", "scan", 0.1, [0.2, 0.3]);
    let foreseen = dry(&client, &new).await.is(200);
    assert_eq!(foreseen.at("/taken"), 0, "{}", foreseen.text);
    client.import(&new).await.expect_error(409);
    client.import(&one).await.is(200);
    client.assert_consistent().await;
}

#[tokio::test]
async fn an_error_names_its_line_and_keeps_earlier_lines() {
    for wrong in [
        "{\"id\": ",
        r#"{"id": "x", "actions": ["urine"], "feedbacks": ["positive"], "costs": [0], "rewards": [0, 1]}"#,
        r#"{"id": "x", "actions": ["scan"], "feedbacks": [], "costs": [0], "rewards": [0, 1]}"#,
        r#"{"id": "x", "actions": [], "feedbacks": [], "costs": [], "rewards": [1e200]}"#,
        r#"{"id": "a/b", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
        r#"{"id": "x", "actions": [], "feedbacks": [], "costs": []}"#,
        r#"{"id": "x", "id": "y", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
        r#"["x"]"#,
        "7",
    ] {
        let server = TestServer::new();
        let client = server.new_study("clinic", STUDY).await;
        let mut lines = ten();
        lines[6] = wrong.into();
        let answer = client.import(&lines.join("\r\n")).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "{wrong}: {}", answer.text);
        let detail = answer.expect_error(status).at("/detail");
        let detail = detail.as_str().unwrap();
        assert!(detail.starts_with("line 7: "), "{wrong}: {detail}");
        // Earlier lines are imported; all lines again are accepted.
        assert_eq!(client.view().await.at("/learned"), 6);
        let answer = client.import(&ten().join("\n")).await.is(200);
        assert_eq!(
            (answer.at("/taken"), answer.at("/repeated")),
            (json!(4), json!(6))
        );
        client.assert_consistent().await;
    }
}

#[tokio::test]
async fn an_import_may_span_several_batches() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let lines: Vec<String> = (0..1203)
        .map(|i| {
            past(
                &format!("old{i}"),
                ["blood", "scan"][i % 2],
                0.125,
                [0.25, 0.875],
            )
        })
        .collect();
    let answer = client.import(&lines.join("\n\n")).await.is(200);
    assert_eq!(answer.at("/taken"), 1203);
    let answer = client.import(&lines.join("\n")).await.is(200);
    assert_eq!(answer.at("/repeated"), 1203);
    assert_eq!(
        client.estimate(1, "unknown", "stop").await,
        Some((1203, 0.25))
    );
    client.assert_consistent().await;
}

#[tokio::test]
async fn imported_outcomes_may_have_missing_values() {
    let server = TestServer::new();
    let client = server.new_study("clinic", STUDY).await;
    let line =
        r#"{"id": "a", "actions": [1], "feedbacks": [0], "costs": [null], "rewards": [0.5, 1]}"#;
    client.import(line).await.is(200);
    assert_eq!(client.estimate(1, "unknown", "scan").await, None);
    assert_eq!(client.estimate(2, "clear", "stop").await, Some((1, 1.0)));
    assert_eq!(client.view().await.at("/missing"), 1);
    client.import(line).await.is(200);
    client.assert_consistent().await;
}
