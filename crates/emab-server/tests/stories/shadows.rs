//! Shadow learners: asked and logged, and never shown or listened to.

use serde_json::json;

use crate::support::week::WEEK;
use crate::support::{CLINIC, Clinic, clinic_with};

#[tokio::test]
async fn in_the_log_and_nowhere_else() {
    let clinic = Clinic::new();
    let shadow = json!({"shadow": ["q-learning", "feedbal:width=paper"]});
    let watched = clinic.desk("watched", &clinic_with(shadow)).await;
    let plain = clinic.desk("plain", CLINIC).await;
    for request in WEEK {
        let (one, other) = (watched.day(*request).await, plain.day(*request).await);
        assert!(one.status.is_success(), "{}", one.text);
        assert!(!one.text.contains("q-learning") || request.1 == ":close");
        // The learner does not know that others are asked.
        for pointer in [
            "/action",
            "/estimate",
            "/runner_up",
            "/certificate",
            "/explored",
            "/as_of",
        ] {
            assert_eq!(one.at(pointer), other.at(pointer), "{request:?} {pointer}");
        }
    }
    let rows = |answer: crate::support::Answer| answer.at("/estimates");
    assert_eq!(
        rows(watched.estimates().await),
        rows(plain.estimates().await)
    );
    for kind in ["opened", "told"] {
        for event in watched.events(kind).await {
            let shadow = event["data"]["shadow"].as_array().unwrap();
            let names: Vec<_> = shadow.iter().map(|s| s["learner"].clone()).collect();
            assert_eq!(names, ["q-learning", "feedbal:width=paper"]);
            assert!(shadow.iter().all(|s| s["action"].is_string()));
        }
        for event in plain.events(kind).await {
            assert_eq!(event["data"].get("shadow"), None);
        }
    }
    let episode = watched.get("/episodes/p1").await.is(200);
    assert!(!episode.text.contains("q-learning"), "{}", episode.text);
    watched.verify().await;

    // Whoever may read the log may know of them; who acts may not.
    let path = watched.path("");
    for (token, sees) in [
        (&clinic.admin, true),
        (&clinic.viewer, true),
        (&clinic.operator, false),
        (&clinic.blinded, false),
    ] {
        let view = clinic.call_as(token, "GET", &path, None).await.is(200);
        assert_eq!(view.text.contains("q-learning"), sees);
        assert_eq!(view.text.contains("shadow"), sees);
        let list = clinic.call_as(token, "GET", "/v1/studies", None).await;
        assert_eq!(list.is(200).text.contains("q-learning"), sees);
    }
}

#[tokio::test]
async fn not_too_many_of_them() {
    let clinic = Clinic::new();
    for wrong in [json!("feedbal"), json!({}), json!(vec!["feedbal"; 17])] {
        let spec = clinic_with(json!({ "shadow": wrong }));
        clinic
            .put("/v1/studies/clinic", &spec)
            .await
            .refuses_at(400, "/shadow");
    }
    let spec = clinic_with(json!({"shadow": [7]}));
    clinic
        .put("/v1/studies/clinic", &spec)
        .await
        .refuses_at(400, "/shadow/0");
}
