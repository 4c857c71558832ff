//! The progress of a study.

use super::{shows, with_every_event};
use crate::console::Browser;
use crate::support::study::clinic;

#[tokio::test]
async fn progress_follows_the_log() {
    let study = clinic().await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let page = viewer.get("/studies/clinic/progress").await;
    let none = [
        "No case is learned yet",
        "No choice is reported yet",
        "no shadow learner",
        "no decision yet",
    ];
    shows(&page, &none);
    for i in 0..30 {
        study
            .episode(&format!("p{i}"), "blood positive 0.25", &[0.0, 1.0])
            .await;
    }
    let page = viewer.get("/studies/clinic/progress").await;
    // One event creates the study, and four make a case.
    shows(
        &page,
        &[
            "All 121 events are read, in blocks of 50",
            "All 30 learned cases",
            "1 to 50",
            "51 to 121",
        ],
    );
    shows(&page, &["0.75, 0.75 to 0.75", "data:image/svg+xml,"]);
    // Corrections change what was learned before.
    let amend = r#"{"rewards": [null, 0.5], "reason": "mistyped"}"#;
    for i in 0..10 {
        study.amend(&format!("p{i}"), amend).await.is(200);
    }
    let page = viewer.get("/studies/clinic/progress").await;
    shows(&page, &["0.25, 0.25 to 0.25", "0.75, 0.75 to 0.75"]);
}

#[tokio::test]
async fn shares_count_the_events_of_the_log() {
    let study = with_every_event().await;
    let mut viewer = Browser::signed_in(&study.server, &study.server.viewer).await;
    let page = viewer.get("/studies/clinic/progress").await;
    let (mut overrides, mut choices) = (0, 0);
    for kind in ["told", "stopped"] {
        for event in study.events(kind).await {
            choices += 1;
            overrides += u64::from(event["data"]["override"].as_bool().unwrap());
        }
    }
    shows(
        &page,
        &[
            &format!("{overrides} of {choices}"),
            "feedbal-pooled",
            "too few data",
        ],
    );
    let page = viewer.get("/studies/nowhere/progress").await;
    assert_eq!(page.status, 404);
}
