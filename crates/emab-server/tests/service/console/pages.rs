//! Pages of studies and cases: what the forms do, and what each role sees.

use axum::http::StatusCode;
use proptest::prelude::*;

use super::Browser;
use crate::support::{STUDY, TestServer};

const CASE: &str = "/studies/clinic/cases/p1";

async fn with_case() -> std::sync::Arc<TestServer> {
    let server = TestServer::new();
    server.put("/v1/studies/clinic", STUDY).await.is(201);
    let opened = server.post("/v1/studies/clinic/episodes", r#"{"id": "p1"}"#);
    opened.await.is(201);
    server
}

#[tokio::test]
async fn a_case_from_its_first_step_to_its_correction() {
    let server = with_case().await;
    let mut browser = Browser::signed_in(&server, &server.operator).await;
    let page = browser.get(CASE).await;
    assert!(page.text.contains("Recommended: "), "{}", page.text);
    // An override needs a reason; what was typed stays.
    let mut report = vec![("step", "1"), ("action", "blood"), ("feedback", "positive")];
    let page = browser.post(&format!("{CASE}/tell"), &report).await;
    assert!(
        page.text
            .contains("an override needs a <code>reason</code>"),
        "{}",
        page.text
    );
    assert!(
        page.text.contains("value=\"positive\" checked"),
        "{}",
        page.text
    );
    report.push(("reason", "protocol"));
    for _ in 0..2 {
        let answer = browser.post(&format!("{CASE}/tell"), &report).await;
        assert_eq!(
            answer.header("location"),
            "../../../../studies/clinic/cases/p1?note=tell"
        );
    }
    // The same step with another report.
    report[2].1 = "negative";
    let page = browser.post(&format!("{CASE}/tell"), &report).await;
    assert!(
        page.text.contains("Meanwhile step 1 was reported"),
        "{}",
        page.text
    );
    let done = [("step", "2")];
    let answer = browser.post(&format!("{CASE}/stop"), &done).await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text);
    // In parts: what is known is not asked for again.
    let part = [("reward-1", "0"), ("cost-1", "0,05")];
    browser
        .post(&format!("{CASE}/outcome"), &part)
        .await
        .is(303);
    let page = browser.get(CASE).await;
    assert!(
        page.text.contains("Known in part") && !page.text.contains("give-reward-1"),
        "{}",
        page.text
    );
    let answer = browser
        .post(&format!("{CASE}/outcome"), &[("reward-2", "1")])
        .await;
    assert_eq!(answer.status, StatusCode::SEE_OTHER);
    let episode = server.get("/v1/studies/clinic/episodes/p1").await;
    assert_eq!(episode.at("/status"), "learned");
    assert_eq!(episode.at("/outcome/costs/0"), 0.05);
    let amend = [
        ("reward-1", "0"),
        ("reward-2", "0.5"),
        ("cost-1", "0.05"),
        ("reason", "second opinion"),
    ];
    browser.post(&format!("{CASE}/amend"), &amend).await.is(303);
    let amend = [
        ("action", "scan"),
        ("feedback", "positive"),
        ("reason", "misread"),
    ];
    browser
        .post(&format!("{CASE}/steps/1/amend"), &amend)
        .await
        .is(303);
    let page = browser.get(CASE).await;
    assert!(
        page.text.contains("misread") && page.text.contains("Override: <bdi>protocol"),
        "{}",
        page.text
    );
    browser
        .post(&format!("{CASE}/void"), &[("reason", "twice")])
        .await
        .is(303);
    assert_eq!(
        server
            .get("/v1/studies/clinic/episodes/p1")
            .await
            .at("/status"),
        "voided"
    );
}

#[tokio::test]
async fn a_correction_keeps_those_of_others() {
    let server = with_case().await;
    let place = "/v1/studies/clinic/episodes/p1";
    let told = r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "protocol"}"#;
    server.post(&format!("{place}:tell"), told).await.is(200);
    server
        .post(&format!("{place}:stop"), r#"{"step": 2, "reason": "x"}"#)
        .await
        .is(200);
    let outcome = r#"{"costs": [0.05], "rewards": [0, 1]}"#;
    server
        .put(&format!("{place}/outcome"), outcome)
        .await
        .is(200);
    let mut browser = Browser::signed_in(&server, &server.operator).await;
    let page = browser.get(CASE).await;
    page.shows("name=\"was-reward-1\" value=\"0\"");
    page.shows("name=\"was-action\" value=\"blood\"");
    // Another person corrects a reward and the feedback meanwhile.
    let other = r#"{"rewards": [0.75, null], "reason": "misread"}"#;
    server
        .post(&format!("{place}/outcome:amend"), other)
        .await
        .is(200);
    let other = r#"{"feedback": "negative", "reason": "misread"}"#;
    server
        .post(&format!("{place}/steps/1:amend"), other)
        .await
        .is(200);
    let shown = [("was-reward-1", "0"), ("was-reward-2", "1")];
    let shown = [shown[0], shown[1], ("was-cost-1", "0.05")];
    let with = |values: [(&'static str, &'static str); 3], request| {
        let mut form = shown.to_vec();
        form.extend(values);
        form.extend([("reason", "invoice"), ("request", request)]);
        form
    };
    // The reward is as the page showed it: only the cost is corrected. Sent twice, it is one correction.
    let form = with(
        [("reward-1", "0"), ("reward-2", "1"), ("cost-1", "0.1")],
        "r1",
    );
    for _ in 0..2 {
        browser.post(&format!("{CASE}/amend"), &form).await.is(303);
    }
    let episode = server.get(place).await;
    assert_eq!(episode.at("/outcome/rewards/0"), 0.75);
    assert_eq!(episode.at("/outcome/costs/0"), 0.1);
    // Both corrected the reward.
    let form = with(
        [("reward-1", "0.5"), ("reward-2", "1"), ("cost-1", "0.05")],
        "r2",
    );
    let page = browser.post(&format!("{CASE}/amend"), &form).await;
    let page = page.expect_rejected();
    page.shows("the reward of step 1 was corrected by another person");
    page.shows("reward 1: <b><bdi>0.5</bdi></b>");
    page.shows("name=\"was-reward-1\" value=\"0.75\"");
    page.shows("name=\"reward-1\" value=\"0.5\"");
    page.shows("name=\"cost-1\" value=\"0.1\"");
    assert_eq!(server.get(place).await.at("/outcome/rewards/0"), 0.75);
    // The same with a step.
    let step = |action, feedback| {
        [
            ("was-action", "blood"),
            ("was-feedback", "positive"),
            ("action", action),
            ("feedback", feedback),
            ("reason", "wrong row"),
        ]
    };
    let path = format!("{CASE}/steps/1/amend");
    browser.post(&path, &step("scan", "positive")).await.is(303);
    let episode = server.get(place).await;
    assert_eq!(episode.at("/steps/0/action"), "scan");
    assert_eq!(episode.at("/steps/0/feedback"), "negative");
    let page = browser.post(&path, &step("blood", "positive")).await;
    page.expect_rejected().shows("no value is changed");
}

#[tokio::test]
async fn errors_name_forms_in_place_of_calls() {
    let server = with_case().await;
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let tell = |feedback| {
        vec![
            ("step", "1"),
            ("action", "blood"),
            ("feedback", feedback),
            ("reason", "x"),
        ]
    };
    let mut rejected = Vec::new();
    let early = [("reward-1", "1")];
    rejected.push(browser.post(&format!("{CASE}/outcome"), &early).await);
    let path = format!("{CASE}/tell");
    browser.post(&path, &tell("positive")).await.is(303);
    rejected.push(browser.post(&path, &tell("negative")).await);
    rejected.push(browser.post(&format!("{CASE}/abandon"), &[]).await);
    browser
        .post(&format!("{CASE}/stop"), &[("step", "2")])
        .await
        .is(303);
    let path = format!("{CASE}/outcome");
    browser.post(&path, &[("reward-1", "1")]).await.is(303);
    rejected.push(browser.post(&path, &[("reward-1", "0")]).await);
    browser.post(&path, &[("final", "yes")]).await.is(303);
    rejected.push(browser.post(&path, &[("reward-2", "0")]).await);
    for verb in ["pause", "close"] {
        let path = format!("/studies/clinic/{verb}");
        browser.post(&path, &[("reason", "x")]).await.is(303);
        let open = browser.post("/studies/clinic/open", &[("id", "p9")]);
        rejected.push(open.await);
    }
    for page in rejected {
        let page = page.expect_rejected().text;
        let error = page.split("role=\"alert\"").nth(1).unwrap();
        let error = error.split("</div>").next().unwrap();
        for call in ["POST", "PUT", "GET", "null", "episode"] {
            assert!(!error.contains(call), "{call} in {error}");
        }
    }
    let page = browser.get("/nowhere").await;
    assert!(!page.text.contains("GET"), "{}", page.text);
}

#[tokio::test]
async fn a_form_that_is_sent_twice_opens_one_case() {
    let server = with_case().await;
    let mut browser = Browser::signed_in(&server, &server.operator).await;
    let page = browser.get("/studies/clinic").await;
    let id = page.text.split("name=\"request\" value=\"").nth(1).unwrap();
    let id = &id[..32];
    let mut places = Vec::new();
    for _ in 0..2 {
        let answer = browser
            .post("/studies/clinic/open", &[("id", ""), ("request", id)])
            .await;
        places.push(
            answer
                .header("location")
                .split('?')
                .next()
                .unwrap()
                .to_owned(),
        );
    }
    assert_eq!(places[0], places[1]);
    assert_eq!(server.get("/v1/studies/clinic").await.at("/episodes"), 2);
}

#[tokio::test]
async fn lists_find_cases_by_their_ids() {
    let server = with_case().await;
    for id in ["p2", "p10", "q1"] {
        let body = format!(r#"{{"id": "{id}"}}"#);
        server
            .post("/v1/studies/clinic/episodes", &body)
            .await
            .is(201);
    }
    let mut browser = Browser::signed_in(&server, &server.operator).await;
    let page = browser.get("/studies/clinic/cases?id=p").await.text;
    let shows = |id: &str| page.contains(&format!("cases/{id}\">{id}</a>"));
    assert!(
        shows("p1") && shows("p10") && shows("p2") && !shows("q1"),
        "{page}"
    );
    let found = browser.get("/studies/clinic/cases?id=q1").await;
    assert_eq!(found.header("location"), "cases/q1");
    let found = browser.get("/worklist?id=q1").await;
    assert_eq!(found.header("location"), "studies/clinic/cases/q1");
    // Another person has opened them.
    assert!(
        browser
            .get("/worklist")
            .await
            .text
            .contains("No case waits")
    );
    assert!(
        browser
            .get("/worklist?of=everyone")
            .await
            .text
            .contains("q1")
    );
    let page = browser.get("/studies/clinic/cases?id=%3Cb%3E").await.text;
    assert!(
        page.contains("&lt;b&gt;") && !page.contains("<b>&"),
        "{page}"
    );
}

#[tokio::test]
async fn a_case_of_two_studies_is_not_guessed() {
    let server = with_case().await;
    server.put("/v1/studies/other", STUDY).await.is(201);
    let mut browser = Browser::signed_in(&server, &server.operator).await;
    let answer = browser.get("/worklist?id=p1").await;
    assert_eq!(answer.header("location"), "studies/clinic/cases/p1");
    let opened = server.post("/v1/studies/other/episodes", r#"{"id": "p1"}"#);
    opened.await.is(201);
    let page = browser.get("/worklist?id=p1").await;
    for study in ["clinic", "other"] {
        page.shows(&format!("href=\"studies/{study}/cases/p1\">p1 of {study}<"));
    }
}

#[tokio::test]
async fn studies_are_paged() {
    let server = TestServer::new();
    for number in 0..50 {
        let path = format!("/v1/studies/s{number:02}");
        server.put(&path, STUDY).await.is(201);
    }
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let page = browser.get("/").await;
    page.shows("data-updates=\"./updates?from=&amp;after=50\"");
    assert!(!page.text.contains("More studies"));
    server.put("/v1/studies/s50", STUDY).await.is(201);
    browser.get("/").await.shows("./?after=s49");
    let page = browser.get("/?after=s49").await;
    page.shows("data-updates=\"./updates?from=s49&amp;after=1\"");
    page.shows("studies/s50");
    // The worklist finds cases of every study.
    let opened = server.post("/v1/studies/s50/episodes", r#"{"id": "p1"}"#);
    opened.await.is(201);
    let answer = browser.get("/worklist?id=p1").await;
    assert_eq!(answer.header("location"), "studies/s50/cases/p1");
}

#[tokio::test]
async fn roles_see_what_the_api_shows_them() {
    let server = with_case().await;
    let stop = r#"{"step": 1}"#;
    server
        .post("/v1/studies/clinic/episodes/p1:stop", stop)
        .await
        .is(200);
    let outcome = r#"{"costs": [], "rewards": [0.123]}"#;
    server
        .put("/v1/studies/clinic/episodes/p1/outcome", outcome)
        .await
        .is(200);
    let hash = server.get("/v1/studies/clinic").await.at("/hash");
    let hash = hash.as_str().unwrap().to_owned();
    let mut blinded = Browser::signed_in(&server, &server.blinded).await;
    for path in [
        "/",
        "/worklist?of=everyone",
        "/studies/clinic",
        "/studies/clinic/cases",
        CASE,
    ] {
        let page = blinded.get(path).await.is(200).text;
        for secret in [
            "0.123",
            &hash,
            "Health",
            "health",
            "Certificate",
            "estimated",
        ] {
            assert!(!page.contains(secret), "{path} shows {secret}");
        }
    }
    let mut viewer = Browser::signed_in(&server, &server.viewer).await;
    assert!(viewer.get(CASE).await.text.contains("0.123"));
    assert!(
        !viewer
            .get("/studies/clinic")
            .await
            .text
            .contains("Open a case")
    );
    for (path, fields) in [
        ("/studies/clinic/open", vec![("id", "x")]),
        ("/studies/clinic/pause", vec![("reason", "x")]),
        ("/studies/clinic/cases/p1/void", vec![("reason", "x")]),
    ] {
        assert_eq!(
            viewer.post(path, &fields).await.status,
            StatusCode::FORBIDDEN,
            "{path}"
        );
    }
    for path in [
        "/studies/clinic/pause",
        "/studies/clinic/cases/p1/void",
        "/studies/clinic/cases/p1/amend",
    ] {
        let answer = blinded.post(path, &[("reason", "x")]).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path}");
    }
    // An admin of another study.
    let mut elsewhere = Browser::signed_in(&server, &server.elsewhere).await;
    assert!(!elsewhere.get("/").await.text.contains("clinic"));
    for path in [
        "/studies/clinic",
        "/studies/clinic/cases",
        CASE,
        "/updates?study=clinic",
    ] {
        assert_eq!(
            elsewhere.get(path).await.status,
            StatusCode::FORBIDDEN,
            "{path}"
        );
    }
    assert!(
        elsewhere
            .get("/worklist?id=p1")
            .await
            .text
            .contains("No case waits")
    );
}

#[tokio::test]
async fn people_and_programs_get_their_errors() {
    let server = with_case().await;
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    for (path, status) in [
        ("/nowhere", 404),
        ("/studies/none", 404),
        ("/studies/clinic/cases/none", 404),
        ("/studies/%22%3E", 404),
        ("/studies/clinic/open", 405),
    ] {
        let page = browser.get(path).await.is(status);
        assert!(
            page.text.starts_with("<!DOCTYPE html>"),
            "{path}: {}",
            page.text
        );
        let program = browser
            .send("GET", path, "", &[("accept", "application/json")])
            .await;
        program.expect_error(status);
    }
    // The API is for programs.
    browser.get("/v1/studies").await.expect_error(401);
    browser.get("/v1/nowhere").await.expect_error(404);
}

#[tokio::test]
async fn studies_are_paused_and_closed() {
    let server = with_case().await;
    let mut browser = Browser::signed_in(&server, &server.admin).await;
    let page = browser
        .post("/studies/clinic/pause", &[("reason", "")])
        .await;
    assert!(page.text.contains("Not recorded"), "{}", page.text);
    browser
        .post("/studies/clinic/pause", &[("reason", "repair")])
        .await
        .is(303);
    let page = browser.get("/studies/clinic").await.text;
    assert!(
        page.contains("paused")
            && page.contains("opens no new cases")
            && page.contains("Resume the study"),
        "{page}"
    );
    browser
        .post("/studies/clinic/resume", &[("reason", "repaired")])
        .await
        .is(303);
    browser
        .post("/studies/clinic/close", &[("reason", "")])
        .await
        .is(303);
    browser
        .post("/studies/clinic/reopen", &[("reason", "again")])
        .await
        .is(303);
}

#[test]
fn no_form_is_an_internal_error() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(with_case());
    let browser = runtime.block_on(Browser::signed_in(&server, &server.admin));
    let browser = std::cell::RefCell::new(browser);
    const PATHS: &[&str] = &[
        "open",
        "pause",
        "close",
        "cases/p1/tell",
        "cases/p1/stop",
        "cases/p1/outcome",
        "cases/p1/amend",
        "cases/p1/steps/1/amend",
        "cases/p1/steps/0/amend",
        "cases/p1/steps/x/amend",
        "cases/none/tell",
    ];
    const NAMES: &[&str] = &[
        "step",
        "action",
        "feedback",
        "reason",
        "policy-as-of",
        "policy-hash",
        "reward-1",
        "cost-1",
        "id",
        "start",
        "request",
        "final",
        "outlier",
        "x",
    ];
    let field = (proptest::sample::select(NAMES), any::<String>());
    let form = (
        proptest::sample::select(PATHS),
        proptest::collection::vec(field, 0..6),
    );
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let tried = runner.run(&form, |(path, fields)| {
        let fields: Vec<(&str, &str)> = fields
            .iter()
            .map(|(name, value)| (*name, &**value))
            .collect();
        let answer = {
            let (mut browser, path) = (browser.borrow_mut(), format!("/studies/clinic/{path}"));
            runtime.block_on(browser.post(&path, &fields))
        };
        prop_assert!(
            answer.status.as_u16() < 500,
            "{path} {fields:?}: {}",
            answer.text
        );
        Ok(())
    });
    tried.unwrap();
}
