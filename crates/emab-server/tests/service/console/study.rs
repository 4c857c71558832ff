//! The pages of a study: policy map, progress, log, audit and downloads, as browsers request them.

mod evaluation;
mod log;
mod policy;
mod progress;

use super::Browser;
use crate::support::study::StudyClient;
use crate::support::{Answer, TestServer, study_with};

/// A study with shadow learners whose log has events of every kind.
async fn with_every_event() -> StudyClient {
    let spec = study_with(serde_json::json!({"shadow": ["feedbal-pooled"]}));
    let study = TestServer::new().new_study("clinic", &spec).await;
    study.send_all().await;
    study
}

/// Asserts that a page contains these texts.
#[track_caller]
fn shows(page: &Answer, texts: &[&str]) {
    assert_eq!(page.status, 200, "{}", page.text);
    for text in texts {
        assert!(page.text.contains(text), "no `{text}` in {}", page.text);
    }
}

#[tokio::test]
async fn blinded_people_and_those_of_other_studies_see_none_of_it() {
    let study = with_every_event().await;
    let server = &study.server;
    let pages = "policy policy/print progress evaluation log log/1 cases/p1/replay/1 download/estimates.csv download/estimates.parquet \
                 download/log.ndjson download/event-1.json";
    for token in [&server.blinded, &server.elsewhere] {
        let mut browser = Browser::signed_in(server, token).await;
        for page in pages.split(' ') {
            let answer = browser.get(&format!("/studies/clinic/{page}")).await;
            assert_eq!(answer.status, 403, "{page}: {}", answer.text);
        }
        let answer = browser.post("/studies/clinic/audit", &[]).await;
        assert_eq!(answer.status, 403);
    }
    // An operator sees the policy and no estimates and events, as in the API.
    let mut operator = Browser::signed_in(server, &server.operator).await;
    for (page, status) in [
        ("policy", 200),
        ("progress", 403),
        ("evaluation", 403),
        ("log", 403),
    ] {
        let answer = operator.get(&format!("/studies/clinic/{page}")).await;
        assert_eq!(answer.status, status, "{page}");
    }
}

#[tokio::test]
async fn pages_are_small_and_escape_what_people_wrote() {
    let hostile = "<script>alert(1)</script>";
    let spec = study_with(serde_json::json!({
        "states": ["unknown", hostile, "\"onload=x"],
        "actions": ["<b>blood", "scan"],
        "shadow": ["feedbal-pooled"],
    }));
    let study = TestServer::new().new_study("clinic", &spec).await;
    study.open("p1").await.is(201);
    study.tell("p1", 1, "<b>blood", "positive").await.is(200);
    study.abandon("p1", hostile).await.is(200);
    study
        .episode("p2", "<b>blood positive 0.25", &[0.0, 1.0])
        .await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    for page in
        "policy policy?since=2 policy/print progress evaluation log log/1 log/3 log/4 cases/p1/replay/1"
            .split(' ')
    {
        let answer = viewer.get(&format!("/studies/clinic/{page}")).await;
        assert_eq!(answer.status, 200, "{page}: {}", answer.text);
        assert!(answer.text.len() < 150_000, "{page}: {}", answer.text.len());
        for text in ["<script>alert", "<b>blood", "\"\"onload"] {
            assert!(!answer.text.contains(text), "{page}: {}", answer.text);
        }
    }
    let typed = "?since=%3Cscript%3Ealert&from=%22%3E%3Cscript%3Ealert";
    for page in ["policy", "log"] {
        let answer = viewer.get(&format!("/studies/clinic/{page}{typed}")).await;
        assert!(!answer.text.contains("<script>alert"), "{}", answer.text);
    }
}
