//! Invalid names, unknown paths and wrong query parameters.

use super::{CALLS, Fixture};
use crate::support::STUDY;

/// Invalid names, as encoded in a path and decoded.
fn names() -> Vec<(String, String)> {
    let plain = [
        ("..", ".."),
        (".", "."),
        ("-a", "-a"),
        ("_a", "_a"),
        ("a%20b", "a b"),
        ("a%2Fb", "a/b"),
        ("%2e%2e%2fetc", "../etc"),
        ("a%3Ab%3Ac", "a:b:c"),
        ("%C3%BC", "ü"),
        ("%E5%90%8D", "名"),
        ("a%00", "a\0"),
        ("a%0A", "a\n"),
        ("a%22", "a\""),
        ("a'%3B--", "a';--"),
        ("%25", "%"),
        ("a+b", "a+b"),
        ("~", "~"),
        ("a*", "a*"),
    ];
    let mut names: Vec<(String, String)> = plain
        .into_iter()
        .map(|(path, name)| (path.into(), name.into()))
        .collect();
    names.push(("x".repeat(129), "x".repeat(129)));
    names.push(("x".repeat(8_000), "x".repeat(8_000)));
    names
}

#[tokio::test]
async fn rejects_invalid_names() {
    let fixture = Fixture::new().await;
    for (path, name) in names() {
        let study = format!("/v1/studies/{path}");
        fixture.send("GET", &study, &[], "").await.expect_error(404);
        let put = fixture.json("PUT", &study, STUDY).await;
        let status = put.status.as_u16();
        // A colon makes it another operation.
        assert!([404, 405, 422].contains(&status), "{path}: {}", put.text);
        put.expect_error(status);
        for (method, rest, body) in [
            ("GET", "/episodes", ""),
            ("POST", "/episodes", "{}"),
            ("GET", "/events", ""),
            ("GET", "/estimates", ""),
            ("GET", "/episodes/open", ""),
            ("POST", ":close", ""),
            ("GET", ":export", ""),
            ("POST", ":import", "{}"),
        ] {
            let path = format!("{study}{rest}");
            fixture.json(method, &path, body).await.expect_error(404);
        }
        let episode = format!("/v1/studies/clinic/episodes/{path}");
        for (method, rest, body) in [
            ("GET", "", ""),
            ("POST", ":ask", ""),
            (
                "POST",
                ":tell",
                r#"{"step": 1, "action": 0, "feedback": 0}"#,
            ),
            ("POST", ":stop", r#"{"step": 1}"#),
            ("POST", ":abandon", r#"{"reason": "x"}"#),
            ("PUT", "/outcome", "{}"),
            ("POST", "/outcome:amend", r#"{"reason": "x"}"#),
            ("GET", "/decisions/1:replay", ""),
        ] {
            let path = format!("{episode}{rest}");
            fixture.json(method, &path, body).await.expect_error(404);
        }
        let body = serde_json::json!({ "id": name }).to_string();
        let open = fixture.json("POST", CALLS[1].1, body).await;
        assert!(open.expect_error_at(422, "/id").text.len() < 1_000);
        let past = serde_json::json!({"id": name, "actions": [], "feedbacks": [], "costs": [], "rewards": [1]});
        let import = fixture.json("POST", CALLS[7].1, past.to_string()).await;
        import.expect_error_at(422, "/id");
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn unknown_paths_are_not_found() {
    let fixture = Fixture::new().await;
    for path in "/ // /v1 /v1/ /v1/studies/ /v1/studies//episodes /v1/studies/clinic/ /v1/studies/clinic/episodes/ \
         /v1/studies/clinic/episodes/open/ /v1/studies/clinic/episodes/open/outcome \
         /v1/studies/clinic/episodes/open/decisions/1 /v1/studies/clinic: /v1/studies/clinic:destroy \
         /v1/studies/clinic:export: /v1/studies/clinic/~export \
         /v1/studies/clinic/episodes/open/decisions/1/~replay /~ /v1/studies/clinic/events:tell \
         /v1/studies/../v1/studies /v1/studies/a/b /v2/studies /V1/studies /metrics/ /openapi.yaml \
         /favicon.ico /.env /livez/..".split(' ') {
        let answer = fixture.send("GET", path, &[], "").await;
        let status = answer.status.as_u16();
        assert!([404, 405].contains(&status), "{path}: {}", answer.text);
        answer.expect_error(status);
    }
    // Not UTF-8, and not a valid escape.
    for path in ["/v1/studies/%FF", "/v1/studies/clinic/episodes/%C3"] {
        fixture.send("GET", path, &[], "").await.expect_error(400);
    }
    for path in [
        "/v1/studies/%",
        "/v1/studies/%zz",
        "/v1/studies/clinic/episodes/%2",
    ] {
        fixture.send("GET", path, &[], "").await.expect_error(404);
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn missing_studies_and_episodes_are_not_found() {
    let fixture = Fixture::new().await;
    for (method, path, body) in CALLS.iter().skip(1) {
        let path = path.replace("clinic", "none");
        fixture.json(method, &path, *body).await.expect_error(404);
        if path.contains("/episodes/") {
            let path = path.replace("none", "clinic");
            let path = ["open", "stopped", "known"]
                .iter()
                .fold(path, |path, id| path.replace(&format!("/{id}"), "/none"));
            fixture.json(method, &path, *body).await.expect_error(404);
        }
    }
    for path in [
        "",
        "/estimates",
        "/events",
        "/episodes",
        ":export",
        "/episodes/open",
        "/episodes/open/decisions/1:replay",
    ] {
        let path = format!("/v1/studies/none{path}");
        fixture.send("GET", &path, &[], "").await.expect_error(404);
    }
    for path in ["none", "none/decisions/1:replay", "open/decisions/2:replay"] {
        let path = format!("/v1/studies/clinic/episodes/{path}");
        fixture.send("GET", &path, &[], "").await.expect_error(404);
    }
    let stream = [("accept", "text/event-stream")];
    let path = "/v1/studies/none/events";
    fixture
        .send("GET", path, &stream, "")
        .await
        .expect_error(404);
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_wrong_query_parameters() {
    let fixture = Fixture::new().await;
    for (path, wrong) in [
        (
            "/v1/studies",
            &[
                "limit=0",
                "limit=1001",
                "limit=-1",
                "limit=x",
                "limit=1.5",
                "limit=",
                "limit=1&limit=2",
                "after=%00",
                "after=a/b",
                "x=1",
            ][..],
        ),
        (
            "/v1/studies/clinic/episodes",
            &[
                "limit=0",
                "limit=1001",
                "open=yes",
                "open=",
                "open=true&open=true",
                "after=%00",
                "x=1",
            ],
        ),
        (
            "/v1/studies/clinic/events",
            &[
                "after=-1",
                "after=x",
                "after=1.5",
                "after=99999999999999999999",
                "limit=0",
                "limit=10001",
                "x=1",
            ],
        ),
        (
            "/v1/studies/clinic/estimates",
            &["as_of=0", "as_of=-1", "as_of=x", "as_of", "x=1"],
        ),
    ] {
        for query in wrong {
            let answer = fixture
                .send("GET", &format!("{path}?{query}"), &[], "")
                .await;
            answer.expect_error(400);
        }
    }
    for how in ["dry_run=yes", "dry_run=1", "dry_run", "dryrun=true", "x=1"] {
        let path = format!("{}?{how}", CALLS[7].1);
        fixture
            .json("POST", &path, CALLS[7].2)
            .await
            .expect_error(400);
    }
    // An unknown parameter is an error on every path.
    for &(method, path, body) in CALLS.iter() {
        let path = format!("{path}?x=1");
        fixture.json(method, &path, body).await.expect_error(400);
    }
    for path in [
        "",
        "/episodes/open",
        "/episodes/open/decisions/1:replay",
        ":export",
    ] {
        let path = format!("/v1/studies/clinic{path}?x=1");
        fixture.send("GET", &path, &[], "").await.expect_error(400);
    }
    fixture.assert_unchanged().await;
    for path in [
        "/v1/studies?limit=1.0",
        "/v1/studies?",
        "/v1/studies/clinic?",
        "/v1/studies/clinic/events?after=9007199254740991",
    ] {
        fixture.send("GET", path, &[], "").await.is(200);
    }
}

#[tokio::test]
async fn unsupported_methods_get_405_with_allow() {
    let fixture = Fixture::new().await;
    let document = emab_server::http::document();
    for (path, item) in document["paths"].as_object().unwrap() {
        let known = item.as_object().unwrap();
        let path = path
            .replace("{study}", "clinic")
            .replace("{episode}", "open")
            .replace("{step}", "1");
        for method in [
            "GET", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW",
        ] {
            if known.contains_key(&method.to_lowercase()) {
                continue;
            }
            let answer = fixture.json(method, &path, "{}").await.expect_error(405);
            let allowed = answer.header("allow").to_lowercase();
            for method in known.keys() {
                assert!(allowed.contains(method), "{path}: {allowed}");
            }
            assert!(
                !allowed.contains(&method.to_lowercase()),
                "{path}: {allowed}"
            );
        }
    }
    fixture.assert_unchanged().await;
}
