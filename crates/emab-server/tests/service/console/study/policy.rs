//! The policy map.

use super::shows;
use crate::console::Browser;
use crate::support::study::clinic;
use crate::support::{TestServer, study_with};

#[tokio::test]
async fn the_map_shows_the_policy_of_the_api() {
    let study = clinic().await;
    for i in 0..3 {
        let steps = "blood positive 0.1, scan negative 0.2";
        study
            .episode(&format!("p{i}"), steps, &[0.2, 0.9, 0.3])
            .await;
    }
    let mut operator = Browser::signed_in(&study.server, &study.server.operator).await;
    let page = operator.get("/studies/clinic/policy").await;
    let policy = study.get("/policy").await;
    let hash = policy.at("/hash");
    let event = format!("id=\"as-of\">{}<", policy.at("/as_of"));
    shows(
        &page,
        &[hash.as_str().unwrap(), "Step 3", "suspect", &event],
    );
    for choice in policy.at("/choices").as_array().unwrap() {
        let action = choice["action"].as_str().unwrap();
        shows(&page, &[&format!("<bdi>{action}</bdi>")]);
    }
    // The count of the recommended action, as the next decision states it.
    let decision = study.open("next").await;
    let count = decision.at("/estimate/count").as_u64().unwrap();
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let count = format!("{count} observation");
    assert!(!page.text.contains(&count) && !page.text.contains("certificate"));
    shows(&viewer.get("/studies/clinic/policy").await, &[&count]);
    // The page to print is that of the API.
    let printed = operator.get("/studies/clinic/policy/print").await;
    let policy = study.get("/policy").await;
    shows(
        &printed,
        &[policy.at("/hash").as_str().unwrap(), "For times when"],
    );
}

#[tokio::test]
async fn changes_are_those_since_an_event_or_a_date() {
    let study = clinic().await;
    let before = study.get("/policy").await;
    for i in 0..12 {
        let steps = "scan positive 0.1, scan negative 0.2";
        study
            .episode(&format!("p{i}"), steps, &[0.2, 0.9, 0.3])
            .await;
    }
    let after = study.get("/policy").await;
    let (before, after) = (before.at("/choices"), after.at("/choices"));
    let pairs = before.as_array().unwrap().iter();
    let pairs = pairs.zip(after.as_array().unwrap());
    let changed = pairs.filter(|(old, new)| old["action"] != new["action"]);
    let changed = changed.count();
    assert!(changed > 0);
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let page = viewer.get("/studies/clinic/policy?since=1").await;
    let count = format!("{changed} of 5 recommendations changed");
    shows(&page, &[&count, "since event 1", "changed, before: "]);
    assert_eq!(page.text.matches("class=\"changed\"").count(), changed);
    // No event is older than the study, and all are older than a day in the future.
    let page = viewer.get("/studies/clinic/policy?since=2001-01-31").await;
    shows(&page, &["has no event before 2001-01-31"]);
    let page = viewer.get("/studies/clinic/policy?since=2999-01-31").await;
    let last = format!("since event {}", study.seq().await);
    shows(&page, &["0 of 5 recommendations changed", &last]);
    // The last event before the time of another one.
    let events = study.events("told").await;
    let (seq, at) = (events[5]["seq"].as_u64().unwrap(), &events[5]["at"]);
    let at = at.as_str().unwrap();
    let page = viewer
        .get(&format!("/studies/clinic/policy?since={at}"))
        .await;
    shows(&page, &[&format!("since event {}", seq - 1)]);
    for wrong in ["0", "999999", "yesterday", "-1", "2026-13-01"] {
        let page = viewer
            .get(&format!("/studies/clinic/policy?since={wrong}"))
            .await;
        shows(&page, &["No comparison: "]);
    }
}

#[tokio::test]
async fn a_large_policy_is_shown_by_step() {
    let states: Vec<String> = (0..500).map(|i| format!("s{i}")).collect();
    let spec = study_with(serde_json::json!({
        "horizon": 4, "states": states, "transition": "min(100 * x + f + 1, 499)",
        "feedbacks": (0..300).map(|i| format!("f{i}")).collect::<Vec<_>>(),
    }));
    let study = TestServer::new().new_study("large", &spec).await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let page = viewer.get("/studies/large/policy").await;
    shows(&page, &["States 1 to 1 of 1", "Step 2"]);
    let page = viewer.get("/studies/large/policy?step=2&since=1").await;
    shows(
        &page,
        &["States 1 to 200 of 300", "Further states of step 2"],
    );
    assert!(page.text.len() < 150_000);
    let page = viewer.get("/studies/large/policy?step=2&skip=200").await;
    shows(&page, &["States 201 to 300 of 300", "Earlier states"]);
    for wrong in [
        "step=0",
        "step=9",
        "step=2&skip=99999999999999999999",
        "step=x&skip=-1",
    ] {
        let page = viewer.get(&format!("/studies/large/policy?{wrong}")).await;
        shows(&page, &["Policy map"]);
    }
}
