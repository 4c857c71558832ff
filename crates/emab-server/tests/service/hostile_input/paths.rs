//! Invalid names, unknown paths and wrong query parameters.

use super::{CALLS, Fixture};
use crate::support::{STUDY, requests};

/// Invalid names as encoded in a path.
const NAMES: &str = ".. . -a _a a%20b a%2Fb %2e%2e%2fetc a%3Ab%3Ac %C3%BC %E5%90%8D a%00 a%0A a%22 a'%3B-- %25 a+b ~ a*";

/// The text of an encoded name.
fn decoded(path: &str) -> String {
    let mut parts = path.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn rejects_invalid_names() {
    let fixture = Fixture::new().await;
    let of_study = r#"
        GET /episodes
        POST /episodes {}
        GET /events
        GET /estimates
        GET /episodes/open
        POST :close
        GET :export
        POST :import {}
    "#;
    let of_episode = r#"
        GET -
        POST :ask
        POST :tell {"step": 1, "action": 0, "feedback": 0}
        POST :stop {"step": 1}
        POST :abandon {"reason": "x"}
        PUT /outcome {}
        POST /outcome:amend {"reason": "x"}
        GET /decisions/1:replay
    "#;
    let long = [129, 8_000].map(|length| "x".repeat(length));
    for path in NAMES.split(' ').chain(long.iter().map(String::as_str)) {
        let study = format!("/v1/studies/{path}");
        fixture.no_get(&study, 404).await;
        let put = fixture.json("PUT", &study, STUDY).await;
        let status = put.status.as_u16();
        // A colon makes it another operation.
        assert!([404, 405, 422].contains(&status), "{path}: {}", put.text);
        put.expect_error(status);
        let episode = format!("/v1/studies/clinic/episodes/{path}");
        for (start, calls) in [(study, of_study), (episode, of_episode)] {
            for (method, rest, body) in requests(calls) {
                let path = format!("{start}{rest}");
                fixture.refuses(404, method, &path, body).await;
            }
        }
        let name = decoded(path);
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
    for path in "// /v1 /v1/ /v1/studies/ /v1/studies//episodes /v1/studies/clinic/ /v1/studies/clinic/episodes/ \
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
    for (name, status) in [
        ("%FF", 400),
        ("clinic/episodes/%C3", 400),
        ("%", 404),
        ("%zz", 404),
        ("clinic/episodes/%2", 404),
    ] {
        fixture.no_get(&format!("/v1/studies/{name}"), status).await;
    }
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn missing_studies_and_episodes_are_not_found() {
    let fixture = Fixture::new().await;
    for (method, path, body) in CALLS.iter().skip(1) {
        let path = path.replace("clinic", "none");
        fixture.refuses(404, method, &path, *body).await;
        if path.contains("/episodes/") {
            let path = path.replace("none", "clinic");
            let path = ["open", "stopped", "known"]
                .iter()
                .fold(path, |path, id| path.replace(&format!("/{id}"), "/none"));
            fixture.refuses(404, method, &path, *body).await;
        }
    }
    for path in "none none/estimates none/events none/episodes none:export none/episodes/open \
         none/episodes/open/decisions/1:replay clinic/episodes/none \
         clinic/episodes/none/decisions/1:replay clinic/episodes/open/decisions/2:replay"
        .split(' ')
    {
        fixture.no_get(&format!("/v1/studies/{path}"), 404).await;
    }
    let stream = [("accept", "text/event-stream")];
    let path = "/v1/studies/none/events";
    let answer = fixture.send("GET", path, &stream, "").await;
    answer.expect_error(404);
    fixture.assert_unchanged().await;
}

#[tokio::test]
async fn rejects_wrong_query_parameters() {
    let fixture = Fixture::new().await;
    for (path, wrong) in [
        (
            "",
            "limit=0 limit=1001 limit=-1 limit=x limit=1.5 limit= limit=1&limit=2 after=%00 after=a/b x=1",
        ),
        (
            "/clinic/episodes",
            "limit=0 limit=1001 open=yes open= open=true&open=true after=%00 x=1",
        ),
        (
            "/clinic/events",
            "after=-1 after=x after=1.5 after=99999999999999999999 limit=0 limit=10001 x=1",
        ),
        ("/clinic/estimates", "as_of=0 as_of=-1 as_of=x as_of x=1"),
        // An unknown parameter is an error on every path.
        ("/clinic", "x=1"),
        ("/clinic/episodes/open", "x=1"),
        ("/clinic/episodes/open/decisions/1:replay", "x=1"),
        ("/clinic:export", "x=1"),
    ] {
        for query in wrong.split(' ') {
            fixture
                .no_get(&format!("/v1/studies{path}?{query}"), 400)
                .await;
        }
    }
    for how in ["dry_run=yes", "dry_run=1", "dry_run", "dryrun=true"] {
        let path = format!("{}?{how}", CALLS[7].1);
        fixture.refuses(400, "POST", &path, CALLS[7].2).await;
    }
    for &(method, path, body) in CALLS.iter() {
        let path = format!("{path}?x=1");
        fixture.refuses(400, method, &path, body).await;
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
        for method in "GET PUT POST DELETE PATCH OPTIONS TRACE BREW".split(' ') {
            if known.contains_key(&method.to_lowercase()) {
                continue;
            }
            let answer = fixture.refuses(405, method, &path, "{}").await;
            let allowed = answer.header("allow").to_lowercase();
            for method in known.keys() {
                assert!(allowed.contains(method), "{path}: {allowed}");
            }
            let method = method.to_lowercase();
            assert!(!allowed.contains(&method), "{path}: {allowed}");
        }
    }
    fixture.assert_unchanged().await;
}
