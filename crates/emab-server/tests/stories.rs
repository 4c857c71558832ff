//! Stories of people in the loop, each from its first request to the estimates.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use support::{CLINIC, Clinic};

const PATIENT: &str = "/v1/studies/clinic/episodes/p1";

async fn clinic() -> Clinic {
    let clinic = Clinic::new();
    clinic.put("/v1/studies/clinic", CLINIC).await.is(201);
    clinic
}

/// A study that has learned that stopping at once is worth 0 and testing by blood is worth more.
async fn open(clinic: &Clinic, id: &str) -> support::Answer {
    let body = format!(r#"{{"id": "{id}"}}"#);
    clinic.post("/v1/studies/clinic/episodes", &body).await
}

#[tokio::test]
async fn an_ordinary_patient() {
    let clinic = clinic().await;
    let first = open(&clinic, "p1").await.is(201);
    // Nothing is known: Algorithm 2 stops at a pair it has never seen.
    assert_eq!(first.at("/action"), "stop");
    assert_eq!(first.at("/step"), 1);
    assert_eq!(first.at("/state"), "unknown");
    assert_eq!(first.at("/explored"), true);
    assert_eq!(first.at("/as_of"), 1);

    // The same question, the same bytes.
    let ask = clinic.post(&format!("{PATIENT}:ask"), "").await.is(200);
    assert_eq!(ask.text, first.text);
    assert_eq!(open(&clinic, "p1").await.is(200).text, first.text);

    // The doctor tests all the same: an override, with its reason.
    let tell = r#"{"step": 1, "action": "blood", "feedback": "positive"}"#;
    let refused = clinic.post(&format!("{PATIENT}:tell"), tell).await.is(422);
    assert_eq!(refused.at("/pointer"), "/reason");
    let tell =
        r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "family history"}"#;
    let second = clinic.post(&format!("{PATIENT}:tell"), tell).await.is(200);
    assert_eq!(
        (second.at("/step"), second.at("/state")),
        (2.into(), "suspect".into())
    );
    let again = clinic.post(&format!("{PATIENT}:tell"), tell).await.is(200);
    assert_eq!(again.text, second.text);
    let other = r#"{"step": 1, "action": "scan", "feedback": "positive", "reason": "x"}"#;
    let conflict = clinic.post(&format!("{PATIENT}:tell"), other).await.is(409);
    assert_eq!(conflict.at("/current_step"), 2);

    clinic
        .post(&format!("{PATIENT}:stop"), r#"{"step": 2}"#)
        .await
        .is(200);
    assert_eq!(clinic.known("clinic", 1, "unknown", "blood").await, None);
    let outcome = r#"{"costs": [0.25], "rewards": [0, 1]}"#;
    let done = clinic
        .put(&format!("{PATIENT}/outcome"), outcome)
        .await
        .is(200);
    assert_eq!(done.at("/status"), "learned");
    // The learner learned from the action taken.
    assert_eq!(
        clinic.known("clinic", 1, "unknown", "blood").await,
        Some((1, 0.75))
    );
    assert_eq!(
        clinic.known("clinic", 1, "unknown", "stop").await,
        Some((1, 0.0))
    );
    assert_eq!(
        clinic.known("clinic", 2, "suspect", "stop").await,
        Some((1, 1.0))
    );
    let replay = clinic
        .get(&format!("{PATIENT}/decisions/2:replay"))
        .await
        .is(200);
    assert_eq!(replay.at("/equal"), true);
}
