//! Import of past episodes.

use serde_json::{Value, json};

use crate::support::study::clinic;

fn past(id: &str, action: &str, cost: f64, rewards: [f64; 2]) -> String {
    json!({"id": id, "actions": [action], "feedbacks": ["positive"], "costs": [cost], "rewards": rewards}).to_string()
}

/// This many lines, of both actions in turn.
fn lines(count: usize) -> Vec<String> {
    let line = |i| {
        let (id, action) = (format!("old{i}"), ["blood", "scan"][i % 2]);
        past(&id, action, 0.125, [0.25, 0.875])
    };
    (0..count).map(line).collect()
}

/// The answer to an import without mistakes.
pub fn taken(taken: usize, repeated: usize, dry_run: bool) -> Value {
    json!({"taken": taken, "repeated": repeated, "dry_run": dry_run, "mistakes": []})
}

#[tokio::test]
async fn imported_episodes_are_learned_from() {
    let client = clinic().await;
    let cold = client.open("p1").await.is(201);
    assert_eq!(cold.at("/action"), "stop");
    let answer = client.import(&lines(10).join("\n")).await.is(200);
    assert_eq!(answer.json(), taken(10, 0, false));
    let warm = client.open("p2").await.is(201);
    assert_ne!(warm.at("/action"), "stop");
    assert_eq!(warm.at("/estimate/count"), 5);
    // An imported episode has no decisions: it cannot be asked, told or opened. It can be corrected.
    let script = r#"
        estimate 1 unknown stop -> 10 0.25
        view -> {"learned": 10}
        GET /episodes/old3 -> {"imported": true, "status": "learned", "steps/0/decision": null}
        ask old3 -> 409
        tell old3 1 scan positive -> 409
        tell old3 2 scan positive -> 409
        open old3 -> 409
        stop old3 2 -> 409
        amend old3 {"costs": [0.25], "reason": "x"}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_dry_run_writes_nothing_and_lists_all_errors() {
    let client = clinic().await;
    let mut lines = lines(10);
    let answer = client.dry_run(&lines.join("\n")).await.is(200);
    assert_eq!(answer.json(), taken(10, 0, true));
    lines[2] = lines[2].replace("blood", "urine");
    lines[6] = "{".into();
    lines[8] = lines[8].replace("0.125", "0.125, 1");
    let answer = client.dry_run(&lines.join("\n")).await.is(200);
    assert_eq!(answer.at("/taken"), 7);
    let mistakes: Vec<String> = serde_json::from_value(answer.at("/mistakes")).unwrap();
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    for (line, word) in [("3", "`urine`"), ("7", ""), ("9", "`costs`")] {
        let start = format!("line {line}: ");
        let named = |m: &String| m.starts_with(&start) && m.contains(word);
        assert!(mistakes.iter().any(named), "{line} {mistakes:?}");
    }
    assert_eq!(client.seq().await, 1);
    let none = client.server.study("none").dry_run(&lines[0]).await;
    none.expect_error(404);
}

#[tokio::test]
async fn a_dry_run_predicts_repeated_and_conflicting_lines() {
    let client = clinic().await;
    let one = past("a", "blood", 0.1, [0.2, 0.3]);
    let other = past("a", "scan", 0.1, [0.2, 0.3]);
    let twice = [&*one, &one].join("\n");
    let foreseen = client.dry_run(&twice).await.is(200);
    foreseen.has(json!({"taken": 1, "repeated": 1}));
    let foreseen = client.dry_run(&[&*one, &other].join("\n")).await.is(200);
    let mistake = foreseen.has(json!({"taken": 1})).at("/mistakes/0");
    assert!(mistake.as_str().unwrap().starts_with("line 2: "));

    let done = client.import(&twice).await.is(200);
    done.has(json!({"taken": 1, "repeated": 1}));
    let foreseen = client.dry_run(&twice).await.is(200);
    foreseen.has(json!({"taken": 0, "repeated": 2}));
    let conflict = client.import(&other).await.expect_error(409);
    conflict.says("line 1");

    client.run("close").await;
    let new = past("b", "scan", 0.1, [0.2, 0.3]);
    let foreseen = client.dry_run(&new).await.is(200);
    foreseen.has(json!({"taken": 0}));
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
        let client = clinic().await;
        let mut damaged = lines(10);
        damaged[6] = wrong.into();
        let answer = client.import(&damaged.join("\r\n")).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "{wrong}: {}", answer.text);
        let detail = answer.expect_error(status).at("/detail");
        let detail = detail.as_str().unwrap();
        assert!(detail.starts_with("line 7: "), "{wrong}: {detail}");
        // Earlier lines are imported; all lines again are accepted.
        assert_eq!(client.view().await.at("/learned"), 6);
        let answer = client.import(&lines(10).join("\n")).await.is(200);
        answer.has(json!({"taken": 4, "repeated": 6}));
        client.assert_consistent().await;
    }
}

#[tokio::test]
async fn an_import_may_span_several_batches() {
    let client = clinic().await;
    let lines = lines(1203);
    let answer = client.import(&lines.join("\n\n")).await.is(200);
    assert_eq!(answer.at("/taken"), 1203);
    let answer = client.import(&lines.join("\n")).await.is(200);
    assert_eq!(answer.at("/repeated"), 1203);
    client.run("estimate 1 unknown stop -> 1203 0.25").await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn a_dry_run_of_several_batches_parses_the_specification_once() {
    let client = clinic().await;
    let client = client.server.restarted().study("clinic");
    let answer = client.dry_run(&lines(1203).join("\n")).await.is(200);
    assert_eq!(answer.json(), taken(1203, 0, true));
    assert_eq!(client.server.service.specs.parsed(), 1);
}

#[tokio::test]
async fn imported_outcomes_may_have_missing_values() {
    let client = clinic().await;
    let script = r#"
        import {"id": "a", "actions": [1], "feedbacks": [0], "costs": [null], "rewards": [0.5, 1]}
        estimate 1 unknown scan -> none
        estimate 2 clear stop -> 1 1
        view -> {"missing": 1}
        import {"id": "a", "actions": [1], "feedbacks": [0], "costs": [null], "rewards": [0.5, 1]}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}
