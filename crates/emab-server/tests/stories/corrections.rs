//! Corrected outcomes: what is known afterwards is what would be known had they been right from the start.

use serde_json::json;

use super::learners::GOOD;
use crate::support::desk::Desk;
use crate::support::{CLINIC, Clinic, clinic_of};

/// Three patients; the values of the second one are given.
async fn three(desk: &Desk<'_>, cost: f64, reward: f64) {
    desk.patient("a", &[("blood", "positive")], &[0.1], &[0.3, 0.7])
        .await;
    let steps = [("scan", "negative"), ("blood", "positive")];
    desk.patient("b", &steps, &[0.2, cost], &[0.1, 0.6, reward])
        .await;
    desk.patient("c", &[("scan", "positive")], &[0.3], &[0.2, 0.9])
        .await;
}

#[tokio::test]
async fn as_if_told_right_from_the_start() {
    let clinic = Clinic::new();
    for (i, learner) in GOOD.iter().enumerate() {
        let (wrong, right) = (format!("wrong{i}"), format!("right{i}"));
        let wrong = clinic.desk(&wrong, &clinic_of(learner)).await;
        three(&wrong, 0.9, 0.05).await;
        let before = wrong.estimates().await;
        let amended =
            r#"{"costs": [null, 0.15], "rewards": [null, null, 0.85], "reason": "swapped"}"#;
        let answer = wrong.amend("b", amended).await.is(200);
        assert_eq!(answer.at("/learned"), 1, "its place stays");
        let right = clinic.desk(&right, &clinic_of(learner)).await;
        three(&right, 0.15, 0.85).await;

        let after = wrong.estimates().await;
        assert_ne!(after.at("/estimates"), before.at("/estimates"), "{learner}");
        // Bit for bit: floats are written so that they come back as they were.
        let rows = |answer: &crate::support::Answer| answer.at("/estimates").to_string();
        assert_eq!(rows(&after), rows(&right.estimates().await), "{learner}");
        // And so are the next decisions.
        let (one, other) = (wrong.open("d").await, right.open("d").await);
        for pointer in ["/action", "/estimate", "/runner_up", "/certificate"] {
            assert_eq!(one.at(pointer), other.at(pointer), "{learner} {pointer}");
        }
        wrong.verify().await;
    }
}

#[tokio::test]
async fn both_stay_in_the_log() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.patient("p1", &[("scan", "positive")], &[0.5], &[0.0, 1.0])
        .await;
    let changed = desk.outcome("p1", r#"{"rewards": [0, 0.25]}"#).await;
    let refused = changed.refuses_at(409, "/rewards/1");
    let detail = refused.at("/detail");
    assert!(detail.as_str().unwrap().contains("/outcome:amend"));
    desk.amend("p1", r#"{"rewards": [null, 0.25], "reason": "mistyped"}"#)
        .await
        .is(200);
    assert_eq!(desk.known(1, "unknown", "scan").await, Some((1, -0.25)));
    let (told, amended) = (desk.events("outcome").await, desk.events("amended").await);
    assert_eq!(told[0]["data"]["rewards"], json!([0.0, 1.0]));
    assert_eq!(amended[0]["data"]["rewards"], json!([null, 0.25]));
    assert_eq!(amended[0]["data"]["reason"], "mistyped");
    assert_eq!(amended[0]["by"], told[0]["by"]);
    // And it can be corrected again, to what it was.
    desk.amend("p1", r#"{"rewards": [null, 1], "reason": "it was right"}"#)
        .await
        .is(200);
    assert_eq!(desk.known(1, "unknown", "scan").await, Some((1, 0.5)));
    assert_eq!(desk.events("amended").await.len(), 2);
    desk.verify().await;
}

#[tokio::test]
async fn a_correction_needs_a_reason_and_an_end() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    desk.amend("p1", r#"{"rewards": [1], "reason": "x"}"#)
        .await
        .refuses(409);
    desk.stop("p1", 1).await.is(200);
    desk.outcome("p1", r#"{"rewards": [1]}"#).await.is(200);
    let seq = desk.seq().await;
    desk.amend("p1", r#"{"rewards": [0]}"#)
        .await
        .refuses_at(400, "");
    desk.amend("p1", r#"{"rewards": [0], "reason": ""}"#)
        .await
        .refuses_at(422, "/reason");
    desk.amend("p1", r#"{"rewards": [0, 1], "reason": "x"}"#)
        .await
        .refuses_at(422, "/rewards");
    assert_eq!(desk.seq().await, seq);
}

/// Decisions between the wrong value and its correction are still what they were when they are replayed.
#[tokio::test]
async fn what_was_decided_in_between_stays_explained() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.patient("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    desk.patient("b", &[("scan", "positive")], &[0.0], &[0.0, 0.9])
        .await;
    let between = desk.open("p1").await.is(201);
    assert_eq!(between.at("/action"), "blood");
    desk.amend("a", r#"{"rewards": [null, 0.1], "reason": "x"}"#)
        .await
        .is(200);
    assert_eq!(desk.ask("p1").await.is(200).text, between.text);
    assert_eq!(desk.open("p2").await.is(201).at("/action"), "scan");
    let replay = desk.get("/episodes/p1/decisions/1:replay").await.is(200);
    assert_eq!(replay.at("/equal"), true, "{}", replay.text);
    desk.verify().await;
}
