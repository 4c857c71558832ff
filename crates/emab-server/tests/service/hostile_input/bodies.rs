//! Malformed bodies.

use super::{CALLS, EMPTY, Fixture, JSON, LINES};

/// Not JSON, or JSON of another shape.
fn wrong() -> Vec<(&'static str, Vec<u8>)> {
    let texts = r#"[] | [1] | 7 | -0 | 1e308 | true | "x" | { | } | {] | {"a"} | {"a": } | {"a": 1,} | {} {} | {'a': 1} |
NaN | Infinity | -Infinity | 1e999 | nul | \ | /* */ {} | {"a": NaN} | {"a": 1e999} | {"surprise": 1} | {"": 1} |
{"reason": "\ud800"} | {"reason": "\udc00\ud800"} | {"reason": "\u00"}"#;
    let texts = texts.split('|').map(str::trim);
    let texts = texts.chain(["\u{feff}{}", "{\"reason\": \"\t\"}"]);
    let mut bodies: Vec<(&str, Vec<u8>)> = texts.map(|body| (body, body.into())).collect();
    bodies.push(("not UTF-8", b"{\"reason\": \"\xff\"}".to_vec()));
    bodies.push(("half a character", b"{\"reason\": \"\xc3\"}".to_vec()));
    bodies.push(("a surrogate", b"{\"reason\": \"\xed\xa0\x80\"}".to_vec()));
    bodies.push(("zeros", vec![0; 100]));
    for (name, open, close, times) in [
        ("deep lists", "[", "]", 100_000),
        ("deep objects", "{\"a\":", "}", 100_000),
        ("deep fields", "{\"reason\":", "}", 80_000),
    ] {
        let deep = format!("{}1{}", open.repeat(times), close.repeat(times));
        bodies.push((name, deep.into_bytes()));
        bodies.push((name, open.repeat(times).into_bytes()));
    }
    bodies
}

#[tokio::test]
async fn rejects_malformed_json_and_wrong_shapes() {
    let fixture = Fixture::new().await;
    for (name, body) in wrong() {
        for (i, (method, path, _)) in CALLS.iter().copied().enumerate() {
            let answer = fixture.json(method, path, body.clone()).await;
            // A JSON object is read as a study where one is created.
            let study = i == 0 && ["{\"surprise\": 1}", "{\"\": 1}"].contains(&name);
            let missing = answer.text.contains("`learner` is missing");
            assert!(!study || missing, "{name}: {}", answer.text);
            let answer = answer.expect_error(400);
            let pointed = answer.at("/pointer").is_string();
            assert!(pointed, "{name} to {path}: {}", answer.text);
            if i == LINES {
                let detail = answer.at("/detail").to_string();
                assert!(detail.starts_with("\"line 1"), "{name}: {detail}");
            }
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_a_list_in_place_of_an_object() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]) {
        let (method, path, body) = CALLS[i];
        // In the order of the fields.
        let mut values = body.to_owned();
        let fields: serde_json::Value = serde_json::from_str(body).unwrap();
        for key in fields.as_object().unwrap().keys() {
            values = values.replace(&format!("\"{key}\": "), "");
        }
        let inside = values.trim().trim_start_matches('{').trim_end_matches('}');
        for list in [format!("[{inside}]").replace('\n', " "), "[]".into()] {
            let answer = fixture.json(method, path, list).await;
            answer.expect_error_at(400, "");
        }
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_empty_bodies_where_one_is_needed() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]).filter(|i| *i != 1) {
        let (method, path, _) = CALLS[i];
        for body in ["", " ", "\n"] {
            let answer = fixture.json(method, path, body).await;
            if i == LINES && !body.is_empty() {
                // Blank lines are ignored.
                answer.is(200);
                continue;
            }
            answer.expect_error(400);
        }
        if i != LINES {
            let answer = fixture.json(method, path, "null").await;
            answer.expect_error_at(400, "");
        }
    }
    // Calls without a body accept `null` and `{}`.
    let (method, path, _) = CALLS[EMPTY.start];
    for body in ["", "null", "{}", " {} "] {
        fixture.json(method, path, body).await.is(200);
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_duplicate_keys() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]) {
        let (method, path, body) = CALLS[i];
        let fields: serde_json::Value = serde_json::from_str(body).unwrap();
        for (key, value) in fields.as_object().unwrap() {
            let end = body.rfind('}').unwrap();
            for value in [value.to_string(), "null".into()] {
                let twice = format!("{}, \"{key}\": {value}}}", &body[..end]);
                let twice = twice.replace('\n', " ");
                let answer = fixture.refuses(400, method, path, twice).await;
                let detail = answer.at("/detail").to_string();
                let named = ["duplicate field", "given twice"].map(|words| detail.contains(words));
                assert!(named.contains(&true), "{key}: {detail}");
            }
        }
    }
    // Also inside a study.
    let delta = "\"delta\": 0.05";
    let twice = CALLS[0].2.replace(delta, &format!("{delta}, {delta}"));
    let answer = fixture.json("PUT", CALLS[0].1, twice).await;
    answer.expect_error_at(400, "/learning");
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_other_content_types() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]) {
        let (method, path, body) = CALLS[i];
        for kind in [
            "text/plain",
            "text/json",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonx",
            "image/json",
            "json",
            "*/*",
            "",
            "application/xml; application/json",
        ] {
            let headers = [("content-type", kind)];
            let answer = fixture.send(method, path, &headers, body).await;
            answer.expect_error(415);
        }
        let answer = fixture.send(method, path, &[], body).await;
        answer.expect_error(415);
    }
    for i in EMPTY {
        let (method, path, _) = CALLS[i];
        let headers = [("content-type", "text/plain")];
        let answer = fixture.send(method, path, &headers, "{}").await;
        answer.expect_error(415);
    }
    fixture.assert_unchanged().await;
    // Parameters, capitals and suffixes are accepted.
    let (method, path, body) = CALLS[2];
    for kind in [
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/vnd.clinic+json",
    ] {
        let headers = [("content-type", kind)];
        fixture.send(method, path, &headers, body).await.is(200);
    }
}

#[tokio::test]
async fn rejects_encoded_bodies() {
    let fixture = Fixture::new().await;
    for i in JSON.chain([LINES]) {
        let (method, path, body) = CALLS[i];
        for coding in ["gzip", "br", "identity, gzip", "x"] {
            let headers = [
                ("content-type", "application/json"),
                ("content-encoding", coding),
            ];
            let answer = fixture.send(method, path, &headers, body).await;
            let answer = answer.expect_error(415).says("content encoding");
            assert_eq!(answer.header("accept-encoding"), "identity");
        }
    }
    fixture.assert_unchanged().await;
    let (method, path, body) = CALLS[2];
    let headers = [
        ("content-type", "application/json"),
        ("content-encoding", "Identity"),
    ];
    fixture.send(method, path, &headers, body).await.is(200);
}
