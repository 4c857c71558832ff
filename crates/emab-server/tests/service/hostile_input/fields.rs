//! Well-formed bodies with wrong values, and the pointers to them.

use serde_json::{Value, json};

use super::{CALLS, Fixture, JSON, LINES};
use crate::support::study_with;

/// Values of every JSON type.
const VALUES: [&str; 16] = [
    "null",
    "true",
    "7.5",
    "-1",
    "-0",
    "1e18",
    "1e308",
    "1e999",
    "NaN",
    "\"x\"",
    "\"\"",
    "[]",
    "[[]]",
    "[{}]",
    "{}",
    "\"\\ud800\"",
];

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
async fn names_the_field_with_a_value_of_the_wrong_type() {
    let fixture = Fixture::new().await;
    for i in JSON.skip(1).chain([LINES]) {
        let (method, path, body) = CALLS[i];
        let fields: Value = serde_json::from_str(body).unwrap();
        for field in fields.as_object().unwrap().keys() {
            for value in VALUES {
                // Stopping is recommended, so it needs no reason.
                if (i, &**field, value) == (3, "reason", "null") {
                    continue;
                }
                if fits(field, value) && (i != LINES || value != "null") {
                    continue;
                }
                let mut changed = fields.clone();
                changed[field] = json!("HERE");
                let changed = changed.to_string().replace("\"HERE\"", value);
                let answer = fixture.json(method, path, changed).await;
                let status = answer.status.as_u16();
                assert!(
                    [400, 409, 422].contains(&status),
                    "{field} {value} to {path}: {}",
                    answer.text
                );
                let answer = answer.expect_error(status);
                let pointer = answer.at("/pointer").as_str().unwrap_or("none").to_owned();
                // The number of costs must be that of the actions, so the pointer may name the costs.
                let related = i == LINES && ["actions", "feedbacks"].contains(&&**field);
                assert!(
                    pointer.starts_with(&format!("/{field}")) || related,
                    "{field} {value} to {path}: {}",
                    answer.text
                );
            }
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn names_a_missing_field() {
    let fixture = Fixture::new().await;
    for i in JSON.skip(2).chain([LINES]) {
        let (method, path, body) = CALLS[i];
        let fields: Value = serde_json::from_str(body).unwrap();
        for field in fields.as_object().unwrap().keys() {
            let mut without = fields.clone();
            without.as_object_mut().unwrap().remove(field);
            let optional = ["costs", "rewards", "final"].contains(&&**field) && i != LINES;
            // Stopping is recommended, so it needs no reason.
            if optional || (i == 3 && field == "reason") {
                continue;
            }
            let answer = fixture.json(method, path, without.to_string()).await;
            // A reason is required only for an override.
            let status = answer.status.as_u16();
            assert!(status == 400 || (status == 422 && field == "reason"));
            let answer = answer.expect_error(status);
            assert!(answer.at("/detail").to_string().contains(&**field));
        }
    }
}

#[tokio::test]
async fn rejects_wrong_steps() {
    let fixture = Fixture::new().await;
    for (step, status) in [
        ("0", 409),
        ("-0", 409),
        ("2", 409),
        ("2.0", 409),
        ("3", 409),
        ("4", 409),
        ("1000000", 409),
        ("9007199254740991", 409),
        ("9007199254740992", 400),
        ("18446744073709551615", 400),
        ("1e18", 400),
        ("1e308", 400),
        ("2.5", 400),
        ("-1", 400),
        ("-1e18", 400),
        ("1e999", 400),
        ("1e-7", 400),
    ] {
        for (i, rest) in [
            (
                2,
                r#""action": "blood", "feedback": "positive", "reason": "x""#,
            ),
            (3, r#""reason": "x""#),
        ] {
            let body = format!(r#"{{"step": {step}, {rest}}}"#);
            let answer = fixture.json("POST", CALLS[i].1, body).await;
            let answer = answer.expect_error_at(status, "/step");
            if status == 409 {
                assert_eq!(answer.at("/type"), "urn:emab:wrong-step");
                assert_eq!(answer.at("/current_step"), 1);
            }
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_unknown_actions_and_feedbacks() {
    let fixture = Fixture::new().await;
    for (action, status) in [
        ("\"urine\"", 422),
        ("\"stop\"", 422),
        ("\"Blood\"", 422),
        ("\"\"", 422),
        ("\"blood \"", 422),
        ("2", 422),
        ("1e15", 422),
        ("1e18", 400),
        ("-1", 400),
        ("0.5", 400),
        ("null", 400),
        ("[0]", 400),
    ] {
        let tell = |action: &str, feedback: &str| {
            format!(r#"{{"step": 1, "action": {action}, "feedback": {feedback}, "reason": "x"}}"#)
        };
        let answer = fixture.json("POST", CALLS[2].1, tell(action, "0")).await;
        answer.expect_error_at(status, "/action");
        let answer = fixture.json("POST", CALLS[2].1, tell("0", action)).await;
        answer.expect_error_at(status, "/feedback");
        let past = |action: &str, feedback: &str| {
            format!(
                r#"{{"id": "old", "actions": [0, {action}], "feedbacks": [0, {feedback}], "costs": [0, 0], "rewards": [0, 0, 0]}}"#
            )
        };
        let answer = fixture.json("POST", CALLS[7].1, past(action, "0")).await;
        answer.expect_error_at(status, "/actions/1");
        let answer = fixture.json("POST", CALLS[7].1, past("0", action)).await;
        answer.expect_error_at(status, "/feedbacks/1");
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
    for (path, status) in [
        ("/v1/studies/clinic/episodes/open/outcome", 409),
        ("/v1/studies/clinic/episodes/none/outcome", 404),
        ("/v1/studies/none/episodes/open/outcome", 404),
    ] {
        let answer = fixture.json("PUT", path, r#"{"rewards": [1]}"#).await;
        answer.expect_error(status);
        let path = format!("{path}:amend");
        let body = r#"{"rewards": [1], "reason": "x"}"#;
        fixture.json("POST", &path, body).await.expect_error(status);
    }
    for (field, value, status, pointer) in [
        ("costs", "[]", 422, "/costs"),
        ("costs", "[1, 2]", 422, "/costs"),
        ("rewards", "[1]", 422, "/rewards"),
        ("rewards", "[1, 2, 3]", 422, "/rewards"),
        ("rewards", "[1, 1e101]", 422, "/rewards/1"),
        ("rewards", "[-1e308, 0]", 422, "/rewards/0"),
        ("rewards", "[1e999, 0]", 400, "/rewards/0"),
        ("rewards", "[NaN, 0]", 400, "/rewards/0"),
        ("rewards", "[\"1\", 0]", 400, "/rewards/0"),
        ("rewards", "[0, true]", 400, "/rewards/1"),
        ("rewards", "{\"0\": 1}", 400, "/rewards"),
        ("rewards", "1", 400, "/rewards"),
        ("final", "1", 400, "/final"),
        ("final", "\"true\"", 400, "/final"),
        ("final", "null", 400, "/final"),
    ] {
        let body = format!(r#"{{"{field}": {value}}}"#);
        let answer = fixture.json("PUT", CALLS[5].1, body).await;
        answer.expect_error_at(status, pointer);
        if field != "final" {
            let body = format!(r#"{{"{field}": {value}, "reason": "x"}}"#);
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
    for (field, value, pointer) in [
        ("horizon", json!(0), "/horizon"),
        ("horizon", json!(-1), "/horizon"),
        ("horizon", json!(2.5), "/horizon"),
        ("horizon", json!(10_001), "/horizon"),
        ("horizon", json!(1e18), "/horizon"),
        ("horizon", json!("3"), "/horizon"),
        ("horizon", json!(null), "/horizon"),
        ("states", json!(0), "/states"),
        ("states", json!(-3), "/states"),
        ("states", json!([]), "/states"),
        ("states", json!([1, 2, 3]), "/states/0"),
        ("states", json!(["a", "a", "b"]), "/states/1"),
        ("actions", json!([]), "/actions"),
        ("actions", json!(["stop"]), "/actions/0"),
        ("actions", json!({}), "/actions"),
        ("feedbacks", json!([]), "/feedbacks"),
        ("transition", json!("1 +"), "/transition"),
        ("transition", json!("y"), "/transition"),
        ("transition", json!("1/0"), "/transition"),
        ("transition", json!(99), "/transition"),
        ("transition", json!("1 + f / 2"), "/transition"),
        ("learning", json!({"delta": 2}), "/learning/delta"),
        ("learning", json!({"sigma": 2}), "/learning/sigma"),
        ("surprise", json!(1), "/surprise"),
        ("model", json!({}), "/model"),
        ("conditions", json!({}), "/conditions"),
        ("learner", json!(7), "/learner"),
        ("learner", json!(null), "/learner"),
        ("missing_at_random", json!("yes"), "/missing_at_random"),
        ("shadow", json!({}), "/shadow"),
    ] {
        let body = study_with(json!({ field: value }));
        let answer = fixture.json("PUT", CALLS[0].1, body).await;
        let status = if ["learner", "missing_at_random", "shadow"].contains(&field) {
            400
        } else {
            422
        };
        let answer = answer.expect_error(status);
        let found = answer.at("/pointer");
        let found = found.as_str().unwrap();
        assert!(
            found == pointer || pointer.starts_with(found) && found.len() > 1,
            "{field} = {value}: {}",
            answer.text
        );
    }
    for field in [
        "horizon",
        "states",
        "actions",
        "feedbacks",
        "transition",
        "learner",
    ] {
        let mut body: Value = serde_json::from_str(CALLS[0].2).unwrap();
        body.as_object_mut().unwrap().remove(field);
        let answer = fixture.json("PUT", CALLS[0].1, body.to_string()).await;
        let status = answer.status.as_u16();
        if status == 201 {
            panic!("`{field}` may be left out");
        }
        assert!([400, 422].contains(&status));
        answer.expect_error(status);
    }
    fixture.assert_unchanged().await;
}
