//! Shadow learners: their decisions are logged and not shown.

use serde_json::json;

use crate::support::every_command::COMMANDS;
use crate::support::{STUDY, TestServer, study_with};

#[tokio::test]
async fn shadow_decisions_are_only_in_the_log() {
    let server = TestServer::new();
    let shadow = json!({"shadow": ["q-learning", "feedbal:width=paper"]});
    let watched = server.new_study("watched", &study_with(shadow)).await;
    let plain = server.new_study("plain", STUDY).await;
    for request in COMMANDS.iter() {
        let (one, other) = (
            watched.send_command(*request).await,
            plain.send_command(*request).await,
        );
        assert!(one.status.is_success(), "{}", one.text);
        assert!(!one.text.contains("q-learning") || request.1.starts_with(':'));
        // Shadow learners do not change the decision.
        for field in "action estimate runner_up certificate explored as_of".split(' ') {
            let pointer = format!("/{field}");
            assert_eq!(one.at(&pointer), other.at(&pointer), "{request:?} {field}");
        }
    }
    let estimates = plain.estimates().await.at("/estimates");
    assert_eq!(watched.estimates().await.at("/estimates"), estimates);
    for kind in ["opened", "told", "step_amended"] {
        for event in watched.events(kind).await {
            if event["data"].get("decision").is_none() {
                continue;
            }
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
    watched.assert_consistent().await;

    // Roles that read the log see the shadow learners, operators do not.
    let path = watched.path("");
    for (token, sees) in [
        (&server.admin, true),
        (&server.viewer, true),
        (&server.operator, false),
        (&server.blinded, false),
    ] {
        let view = server.call_as(token, "GET", &path, None).await.is(200);
        assert_eq!(view.text.contains("q-learning"), sees);
        assert_eq!(view.text.contains("shadow"), sees);
        let list = server.call_as(token, "GET", "/v1/studies", None).await;
        // Lists have no specifications.
        assert!(!list.is(200).text.contains("q-learning"));
    }
}

#[tokio::test]
async fn not_too_many_of_them() {
    let server = TestServer::new();
    for (wrong, pointer) in [
        (json!("feedbal"), "/shadow"),
        (json!({}), "/shadow"),
        (json!(vec!["feedbal"; 17]), "/shadow"),
        (json!([7]), "/shadow/0"),
    ] {
        let spec = study_with(json!({ "shadow": wrong }));
        let answer = server.put("/v1/studies/clinic", &spec).await;
        answer.expect_error_at(400, pointer);
    }
}
