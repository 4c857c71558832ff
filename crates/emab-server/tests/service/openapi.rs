//! The OpenAPI document and its page.
use std::collections::BTreeSet;

use crate::support::documented::DOCUMENT;
use crate::support::{TestServer, request};
use axum::body::Body;
use axum::http::Request;
use serde_json::Value;

/// Every call: method, address, operation.
fn calls() -> Vec<(String, String, &'static Value)> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let calls = paths.iter().flat_map(|(path, item)| {
        let operations = item.as_object().unwrap().iter();
        operations.map(|(method, operation)| (method.to_uppercase(), path.clone(), operation))
    });
    calls.collect()
}

/// A path with its parameters filled in.
fn filled(path: &str) -> String {
    path.replace("{study}", "clinic")
        .replace("{episode}", "patient-1")
        .replace("{step}", "1")
}

#[tokio::test]
async fn the_paths_are_pinned() {
    let expected = [
        "DELETE /v1/studies/{study}",
        "GET /docs",
        "GET /livez",
        "GET /metrics",
        "GET /openapi.json",
        "GET /readyz",
        "GET /v1/codebook",
        "GET /v1/studies",
        "GET /v1/studies/{study}",
        "GET /v1/studies/{study}/checkpoint",
        "GET /v1/studies/{study}/decisions",
        "GET /v1/studies/{study}/episodes",
        "GET /v1/studies/{study}/episodes/{episode}",
        "GET /v1/studies/{study}/episodes/{episode}/decisions/{step}:replay",
        "GET /v1/studies/{study}/estimates",
        "GET /v1/studies/{study}/evaluation",
        "GET /v1/studies/{study}/events",
        "GET /v1/studies/{study}/health",
        "GET /v1/studies/{study}/policy",
        "GET /v1/studies/{study}:export",
        "POST /v1/studies/{study}/episodes",
        "POST /v1/studies/{study}/episodes/{episode}/outcome:amend",
        "POST /v1/studies/{study}/episodes/{episode}/steps/{step}:amend",
        "POST /v1/studies/{study}/episodes/{episode}:abandon",
        "POST /v1/studies/{study}/episodes/{episode}:ask",
        "POST /v1/studies/{study}/episodes/{episode}:stop",
        "POST /v1/studies/{study}/episodes/{episode}:tell",
        "POST /v1/studies/{study}/episodes/{episode}:void",
        "POST /v1/studies/{study}:close",
        "POST /v1/studies/{study}:import",
        "POST /v1/studies/{study}:pause",
        "POST /v1/studies/{study}:reopen",
        "POST /v1/studies/{study}:resume",
        "PUT /v1/studies/{study}",
        "PUT /v1/studies/{study}/episodes/{episode}/outcome",
    ];
    let calls = calls();
    let mut found: Vec<String> = calls.iter().map(|(m, p, _)| format!("{m} {p}")).collect();
    found.sort();
    assert_eq!(found, expected);
    let ids = calls
        .iter()
        .map(|(_, _, call)| call["operationId"].as_str());
    assert_eq!(ids.collect::<BTreeSet<_>>().len(), calls.len());
    for (method, path, call) in calls {
        assert!(call["summary"].is_string(), "{method} {path}");
    }
}

#[tokio::test]
async fn every_call_is_routed() {
    let server = TestServer::new();
    for (method, path, call) in calls() {
        let request = Request::builder().method(&*method).uri(filled(&path));
        let request = request.body(Body::empty()).unwrap();
        let open = call.get("security").is_some();
        server.send(request).await.is(if open { 200 } else { 401 });
    }
}

#[test]
fn every_reference_resolves() {
    let text = DOCUMENT.to_string();
    let references = text.split("\"$ref\":\"#/components/schemas/").skip(1);
    let found: BTreeSet<&str> = references
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let schemas = DOCUMENT["components"]["schemas"].as_object().unwrap();
    assert_eq!(found, schemas.keys().map(String::as_str).collect());
    let all = text.matches("\"$ref\":\"").count();
    assert_eq!(
        all,
        text.matches("\"$ref\":\"#/components/schemas/").count()
    );
}

#[tokio::test]
async fn the_examples_are_accepted() {
    let server = TestServer::new();
    let call = async |id: &str, replace: &str| {
        let mut calls = calls().into_iter();
        let found = calls.find(|(_, _, call)| call["operationId"] == id);
        let (method, path, call) = found.unwrap();
        let content = call["requestBody"]["content"]
            .as_object()
            .into_iter()
            .flatten();
        let mut examples = content.filter_map(|(kind, it)| Some((kind, it.get("example")?)));
        let example = examples.next();
        let kind = example.map(|(kind, _)| ("content-type", kind.as_str()));
        let body = example.map_or(String::new(), |(_, body)| body.to_string());
        let path = filled(&path).replace("patient-1", replace);
        let request = request(&server.admin, &method, &path, kind.as_slice(), body);
        let answer = server.send(request).await;
        assert!(answer.status.is_success(), "{id}: {}", answer.text);
        answer
    };
    for id in "createStudy readStudy listStudies importStudy openEpisode askEpisode tellEpisode stopEpisode giveOutcome \
        amendOutcome readEpisode listEpisodes replayDecision readEstimates readEvents exportStudy \
        readDecisions readCodebook"
        .split_whitespace()
    {
        call(id, "patient-1").await;
    }
    let other = server.post("/v1/studies/clinic/episodes", "{}").await;
    let other = other.is(201).at("/episode");
    call("abandonEpisode", other.as_str().unwrap()).await;
    call("closeStudy", "").await;
    server.study("clinic").assert_consistent().await;
}

#[tokio::test]
async fn the_document_and_its_page_are_served() {
    let server = TestServer::new();
    let served = server.get("/openapi.json").await.is(200);
    assert_eq!(served.json(), *DOCUMENT);
    assert_eq!(served.at("/openapi"), "3.1.0");
    let page = server.get("/docs").await.is(200);
    let policy = page.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    for (_, path, _) in calls() {
        assert!(page.text.contains(&path), "{path}");
    }
    // The page loads nothing from elsewhere.
    let page = page.text;
    for word in [
        "<script", "<iframe", "<img", "@import", "url(", " src=", "srcset", "//cdn",
    ] {
        assert!(!page.contains(word), "{word}");
    }
    for (at, _) in page.match_indices("href=\"") {
        let to = &page[at + 6..];
        let to = &to[..to.find('"').unwrap()];
        let local = to.starts_with('#') || to == "data:,";
        let path = to.starts_with('/') && !to.starts_with("//");
        assert!(local || path, "{to}");
    }
}
