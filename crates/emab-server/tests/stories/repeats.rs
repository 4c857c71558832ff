//! Every request may be sent again: the same bytes, and nothing changes.

use serde_json::json;

use crate::support::week::WEEK;
use crate::support::{CLINIC, Clinic, clinic_of};

/// Every request of a week, sent twice and thrice as it happens, and once more when all is over.
#[tokio::test]
async fn everything_twice() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    let mut answers = Vec::new();
    for request in WEEK {
        let first = desk.day(*request).await;
        assert!(first.status.is_success(), "{request:?} {}", first.text);
        let head = desk.view().await.text;
        for _ in 0..2 {
            let again = desk.day(*request).await.is(200);
            if request.1 == ":import" {
                assert_eq!(again.at("/repeated"), 1);
                assert_eq!(again.at("/taken"), 0);
            } else {
                assert_eq!(again.text, first.text, "{request:?}");
            }
            assert_eq!(desk.view().await.text, head, "{request:?}");
        }
        answers.push(first.text);
    }
    let head = desk.view().await.text;
    for (request, first) in WEEK.iter().zip(answers) {
        let again = desk.day(*request).await;
        assert_eq!(desk.view().await.text, head, "{request:?}");
        let again = again.is(200);
        // Decisions are the same for ever; episodes and studies are told as they now are.
        if request.1.ends_with(":tell") || request.1 == "/episodes" {
            assert_eq!(again.text, first, "{request:?}");
        }
    }
    desk.verify().await;
}

#[tokio::test]
async fn a_study_is_created_once() {
    let clinic = Clinic::new();
    let first = clinic.put("/v1/studies/clinic", CLINIC).await.is(201);
    let again = clinic.put("/v1/studies/clinic", CLINIC).await.is(200);
    assert_eq!(again.text, first.text);
    // The same in another order, with other blanks, is the same.
    let reworded = r#"{"learner": "feedbal:width=sound", "learning": {"reward_range": [0,1], "delta": 0.05,
        "sigma2": 0.25}, "transition": "1 + f", "feedbacks": ["negative", "positive"], "actions": ["blood", "scan"],
        "states": ["unknown", "clear", "suspect"], "horizon": 3}"#;
    let reworded = clinic.put("/v1/studies/clinic", reworded).await.is(200);
    assert_eq!(reworded.text, first.text);
    let other = clinic_of("feedbal:width=paper");
    let refused = clinic.put("/v1/studies/clinic", &other).await.refuses(409);
    assert!(
        refused
            .at("/detail")
            .as_str()
            .unwrap()
            .contains("another specification")
    );
    let seq = clinic.at("clinic").seq().await;
    assert_eq!(seq, 1);
}

#[tokio::test]
async fn changed_values_are_conflicts() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    desk.tell("p1", 1, "blood", "positive").await.is(200);
    let seq = desk.seq().await;
    let told = desk.tell("p1", 1, "blood", "negative").await.refuses(409);
    assert_eq!(told.at("/current_step"), 2);
    let ahead = desk.tell("p1", 3, "blood", "negative").await;
    let ahead = ahead.refuses_at(409, "/step");
    assert_eq!(
        (ahead.at("/current_step"), ahead.at("/type")),
        (json!(2), json!("urn:emab:wrong-step"))
    );
    let reason = r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "another"}"#;
    clinic
        .post(&desk.of("p1", ":tell"), reason)
        .await
        .refuses(409);
    // Left out, it is not another one.
    let without = r#"{"step": 1, "action": "blood", "feedback": "positive"}"#;
    clinic.post(&desk.of("p1", ":tell"), without).await.is(200);
    desk.stop("p1", 1).await.refuses_at(409, "/step");
    assert_eq!(desk.seq().await, seq);

    desk.stop("p1", 2).await.is(200);
    let seq = desk.seq().await;
    desk.stop("p1", 1).await.refuses(409);
    let other = r#"{"step": 2, "reason": "another"}"#;
    clinic
        .post(&desk.of("p1", ":stop"), other)
        .await
        .refuses(409);
    clinic
        .post(&desk.of("p1", ":stop"), r#"{"step": 2}"#)
        .await
        .is(200);
    desk.abandon("p1", "x").await.refuses(409);
    desk.tell("p1", 2, "blood", "positive").await.refuses(409);
    // A step told before is answered as it was, after the end, too.
    desk.tell("p1", 1, "blood", "positive").await.is(200);

    desk.open("p2").await.is(201);
    desk.abandon("p2", "x").await.is(200);
    desk.abandon("p2", "y").await.refuses(409);
    desk.stop("p2", 1).await.refuses(409);
    assert_eq!(desk.seq().await, seq + 2);

    desk.outcome("p1", r#"{"costs": [1], "rewards": [null, 1]}"#)
        .await
        .is(200);
    let changed = desk.outcome("p1", r#"{"costs": [0.5], "rewards": [1, 1]}"#);
    let changed = changed.await.refuses_at(409, "/costs/0");
    assert!(changed.at("/detail").as_str().unwrap().contains(":amend"));
    // Refused whole: the other value of it was not taken.
    let read = desk.get("/episodes/p1").await.is(200);
    assert_eq!(read.at("/outcome/rewards"), json!([null, 1.0]));
    desk.verify().await;
}
