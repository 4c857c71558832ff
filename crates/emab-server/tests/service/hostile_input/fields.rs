//! Well-formed bodies with wrong values, and the pointers to them.

use serde_json::{Value, json};

use super::{CALLS, Fixture, JSON, LINES};
use crate::support::{requests, study_with};

/// Values of every JSON type.
const VALUES: &str = r#"null true 7.5 -1 -0 1e18 1e308 1e999 NaN "x" "" [] [[]] [{}] {} "\ud800""#;

/// Whether a value is accepted: optional fields may be null, reasons and names any text.
fn fits(field: &str, value: &str) -> bool {
    match field {
        "costs" | "rewards" => value == "null",
        "final" => value == "true",
        "reason" => value == "\"x\"",
        // It is 0.
        "action" | "feedback" => value == "-0",
        "id" => ["null", "\"x\""].contains(&value),
        _ => false,
    }
}

#[tokio::test]
async fn names_a_missing_field_and_a_value_of_the_wrong_type() {
    let fixture = Fixture::new().await;
    for i in JSON.skip(1).chain([LINES]) {
        let (method, path, body) = CALLS[i];
        let fields: Value = serde_json::from_str(body).unwrap();
        for field in fields.as_object().unwrap().keys() {
            // Stopping is recommended, so it needs no reason.
            let no_reason = i == 3 && field == "reason";
            for value in VALUES.split(' ') {
                let fits = fits(field, value) && (i != LINES || value != "null");
                if fits || (no_reason && value == "null") {
                    continue;
                }
                let mut changed = fields.clone();
                changed[field] = json!("HERE");
                let changed = changed.to_string().replace("\"HERE\"", value);
                let answer = fixture.json(method, path, changed).await;
                let status = answer.status.as_u16();
                let what = format!("{field} {value} to {path}: {}", answer.text);
                assert!([400, 409, 422].contains(&status), "{what}");
                let answer = answer.expect_error(status);
                let pointer = answer.at("/pointer").as_str().unwrap_or("none").to_owned();
                // The number of costs must be that of the actions, so the pointer may name the costs.
                let related = i == LINES && ["actions", "feedbacks"].contains(&&**field);
                let named = pointer.starts_with(&format!("/{field}"));
                assert!(named || related, "{what}");
            }
            let optional = ["costs", "rewards", "final"].contains(&&**field) && i != LINES;
            if optional || no_reason || i == 1 {
                continue;
            }
            let mut without = fields.clone();
            without.as_object_mut().unwrap().remove(field);
            let answer = fixture.json(method, path, without.to_string()).await;
            // A reason is required only for an override.
            let status = answer.status.as_u16();
            assert!(status == 400 || (status == 422 && field == "reason"));
            answer.expect_error(status).says(field);
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_wrong_steps() {
    let fixture = Fixture::new().await;
    let wrong_step = "0 -0 2 2.0 3 4 1000000 9007199254740991";
    let malformed = "9007199254740992 18446744073709551615 1e18 1e308 2.5 -1 -1e18 1e999 1e-7";
    let tell = r#""action": "blood", "feedback": "positive", "reason": "x""#;
    let wrong_step = wrong_step.split(' ').map(|step| (step, 409));
    for (step, status) in wrong_step.chain(malformed.split(' ').map(|step| (step, 400))) {
        for (i, rest) in [(2, tell), (3, r#""reason": "x""#)] {
            let body = format!(r#"{{"step": {step}, {rest}}}"#);
            let answer = fixture.json("POST", CALLS[i].1, body).await;
            let answer = answer.expect_error_at(status, "/step");
            if status == 409 {
                answer.has(json!({"type": "urn:emab:wrong-step", "current_step": 1}));
            }
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_unknown_actions_and_feedbacks() {
    let fixture = Fixture::new().await;
    let unknown = r#""urine" | "stop" | "Blood" | "" | "blood " | 2 | 1e15"#;
    let unknown = unknown.split(" | ").map(|name| (422, name));
    let malformed = "1e18 -1 0.5 null [0]".split(' ').map(|name| (400, name));
    let tell = r#"{"step": 1, "action": ACTION, "feedback": FEEDBACK, "reason": "x"}"#;
    let past = r#"{"id": "old", "actions": [0, ACTION], "feedbacks": [0, FEEDBACK], "costs": [0, 0], "rewards": [0, 0, 0]}"#;
    for (status, name) in unknown.chain(malformed) {
        for (i, body, action, feedback) in [
            (2, tell, "/action", "/feedback"),
            (LINES, past, "/actions/1", "/feedbacks/1"),
        ] {
            for (pointer, names) in [(action, [name, "0"]), (feedback, ["0", name])] {
                let body = body
                    .replace("ACTION", names[0])
                    .replace("FEEDBACK", names[1]);
                let answer = fixture.json("POST", CALLS[i].1, body).await;
                answer.expect_error_at(status, pointer);
            }
        }
    }
    let long = format!(
        r#"{{"step": 1, "action": "{}", "feedback": 0}}"#,
        "x".repeat(100_000)
    );
    let answer = fixture.json("POST", CALLS[2].1, long).await;
    // The error does not repeat a long text.
    assert!(answer.expect_error_at(422, "/action").text.len() < 1_000);
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_wrong_outcomes() {
    let fixture = Fixture::new().await;
    let client = fixture.server.study("clinic");
    let of_open_episode = r#"
        outcome open {"rewards": [1]} -> 409
        amend open {"rewards": [1], "reason": "x"} -> 409
    "#;
    client.run(of_open_episode).await;
    let cases = r#"
        422 /costs {"costs": []}
        422 /costs {"costs": [1, 2]}
        422 /rewards {"rewards": [1]}
        422 /rewards {"rewards": [1, 2, 3]}
        422 /rewards/1 {"rewards": [1, 1e101]}
        422 /rewards/0 {"rewards": [-1e308, 0]}
        400 /rewards/0 {"rewards": [1e999, 0]}
        400 /rewards/0 {"rewards": [NaN, 0]}
        400 /rewards/0 {"rewards": ["1", 0]}
        400 /rewards/1 {"rewards": [0, true]}
        400 /rewards {"rewards": {"0": 1}}
        400 /rewards {"rewards": 1}
        400 /final {"final": 1}
        400 /final {"final": "true"}
        400 /final {"final": null}
    "#;
    for (status, pointer, body) in requests(cases) {
        let status = status.parse().unwrap();
        let answer = fixture.json("PUT", CALLS[5].1, body).await;
        answer.expect_error_at(status, pointer);
        if pointer != "/final" {
            let body = body.replacen('{', r#"{"reason": "x", "#, 1);
            let answer = fixture.json("POST", CALLS[6].1, body).await;
            answer.expect_error_at(status, pointer);
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_blank_and_long_reasons() {
    let fixture = Fixture::new().await;
    let (most, more) = ("é".repeat(2_000), "é".repeat(2_001));
    for (i, rest) in [(3, r#""step": 1, "#), (4, "")] {
        for wrong in ["", " ", "\\n\\t", &more] {
            let body = format!(r#"{{{rest}"reason": "{wrong}"}}"#);
            let answer = fixture.json("POST", CALLS[i].1, body).await;
            answer.expect_error_at(422, "/reason");
        }
    }
    fixture.assert_unchanged().await;
    let body = format!(r#"{{"reason": "{most}"}}"#);
    fixture.json("POST", CALLS[4].1, body).await.is(200);
}

#[tokio::test]
async fn rejects_wrong_study_fields() {
    let fixture = Fixture::new().await;
    // A pointer may name the field that contains the value.
    for (status, pointer, values) in [
        (
            422,
            "/horizon",
            r#"0 | -1 | 2.5 | 10001 | 1e18 | "3" | null"#,
        ),
        (422, "/states", "0 | -3 | []"),
        (422, "/states/0", "[1, 2, 3]"),
        (422, "/states/1", r#"["a", "a", "b"]"#),
        (422, "/actions", "[] | {}"),
        (422, "/actions/0", r#"["stop"]"#),
        (422, "/feedbacks", "[]"),
        (
            422,
            "/transition",
            r#""1 +" | "y" | "1/0" | 99 | "1 + f / 2""#,
        ),
        (422, "/learning/delta", r#"{"delta": 2}"#),
        (422, "/learning/sigma", r#"{"sigma": 2}"#),
        (422, "/surprise", "1"),
        (422, "/model", "{}"),
        (422, "/conditions", "{}"),
        (400, "/learner", "7 | null"),
        (400, "/missing_at_random", r#""yes""#),
        (400, "/shadow", "{}"),
    ] {
        let field = pointer.split('/').nth(1).unwrap();
        for value in values.split(" | ") {
            let value: Value = serde_json::from_str(value).unwrap();
            let body = study_with(json!({ field: value }));
            let answer = fixture.refuses(status, "PUT", CALLS[0].1, body).await;
            let found = answer.at("/pointer");
            let found = found.as_str().unwrap();
            let named = found == pointer || pointer.starts_with(found) && found.len() > 1;
            assert!(named, "{field} = {value}: {}", answer.text);
        }
    }
    for field in "horizon states actions feedbacks transition learner".split(' ') {
        let mut body: Value = serde_json::from_str(CALLS[0].2).unwrap();
        body.as_object_mut().unwrap().remove(field);
        let answer = fixture.json("PUT", CALLS[0].1, body.to_string()).await;
        let status = answer.status.as_u16();
        assert!([400, 422].contains(&status), "without `{field}`: {status}");
        answer.expect_error(status);
    }
    fixture.assert_unchanged().await;
}
