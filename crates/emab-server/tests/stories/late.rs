//! Copies of requests that come late, after something else has happened.

use serde_json::Value;

use crate::support::{CLINIC, Clinic};

const RIGHT: &str = r#"{"rewards": [null, 0.5], "reason": "second opinion"}"#;

#[tokio::test]
async fn a_late_copy_of_a_correction_does_not_undo_the_next_one() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    desk.tell("p1", 1, "blood", "positive").await.is(200);
    desk.stop("p1", 2).await.is(200);
    let first = r#"{"costs": [0.25], "rewards": [0, 1]}"#;
    desk.outcome("p1", first).await.is(200);
    desk.amend("p1", RIGHT).await.is(200);
    desk.amend(
        "p1",
        r#"{"rewards": [null, 0.75], "reason": "third opinion"}"#,
    )
    .await
    .is(200);
    let (seq, known) = (desk.seq().await, desk.known(1, "unknown", "blood").await);
    assert_eq!(known, Some((1, 0.5)));
    // The network delivers the first correction, and the outcome itself, once more.
    let answer = desk.amend("p1", RIGHT).await.is(200);
    assert_eq!(answer.at("/outcome/rewards/1"), 0.75);
    desk.outcome("p1", first).await.is(200);
    assert_eq!(desk.seq().await, seq);
    assert_eq!(desk.known(1, "unknown", "blood").await, known);
    // For another reason it is another correction.
    desk.amend(
        "p1",
        r#"{"rewards": [null, 0.5], "reason": "the second was right"}"#,
    )
    .await
    .is(200);
    assert_eq!(desk.known(1, "unknown", "blood").await, Some((1, 0.25)));
    desk.verify().await;
}

#[tokio::test]
async fn a_file_is_imported_again_after_an_episode_of_it_was_corrected() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    let lines = [
        r#"{"id": "a", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}"#,
        r#"{"id": "b", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
    ]
    .join("\n");
    desk.import(&lines).await.is(200);
    desk.amend("a", r#"{"rewards": [1, null], "reason": "mistyped"}"#)
        .await
        .is(200);
    let again = desk.import(&lines).await.is(200);
    assert_eq!(
        (again.at("/taken"), again.at("/repeated")),
        (0.into(), 2.into())
    );
    desk.verify().await;
}

/// Estimates could be computed from outcomes: whoever must not compare sees none, not even in a refusal.
#[tokio::test]
async fn a_blinded_token_sees_no_outcome() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    desk.stop("p1", 1).await.is(200);
    desk.outcome("p1", r#"{"costs": [], "rewards": [0.8125]}"#)
        .await
        .is(200);
    let role = emab_server::tokens::Role::Blinded;
    let (_, secret) = clinic.tokens.new_token("nurse", role, None).unwrap();
    let other = r#"{"costs": [], "rewards": [0.5]}"#;
    for (method, path, body) in [
        ("GET", desk.path("/episodes"), None),
        ("GET", desk.of("p1", ""), None),
        ("PUT", desk.of("p1", "/outcome"), Some(other)),
        ("POST", desk.of("p1", ":stop"), Some(r#"{"step": 1}"#)),
    ] {
        let answer = clinic.call_as(secret.reveal(), method, &path, body).await;
        assert!(answer.status.as_u16() < 500);
        assert!(!answer.text.contains("0.8125"), "{path}: {}", answer.text);
        assert_eq!(answer.at("/outcome"), Value::Null);
    }
}
