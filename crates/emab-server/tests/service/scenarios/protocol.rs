//! The initial protocol of a study.

use serde_json::{Value, json};

use crate::support::{TestServer, study_with};

fn with(protocol: Value) -> String {
    study_with(json!({ "protocol": protocol }))
}

#[tokio::test]
async fn the_first_episodes_follow_a_sequence() {
    let protocol = json!({"first": 2, "sequence": ["scan", "blood"]});
    let client = TestServer::new().new_study("clinic", &with(protocol)).await;
    let script = r#"
        open p1 -> {"action": "scan", "decided_by": "protocol", "explored": true}
        open p2 -> {"action": "scan", "decided_by": "protocol"}
        // Without observations FeedBAL stops.
        open p3 -> {"action": "stop", "decided_by": "learner"}
        POST /episodes/p1:tell {"step": 1, "action": "scan", "feedback": "positive"} -> {"action": "blood", "decided_by": "protocol"}
        // Another action than that of the protocol is an override.
        POST /episodes/p1:tell {"step": 2, "action": "scan", "feedback": "positive"} -> 422 /reason ~ `blood` was recommended
        tell p1 2 scan positive -> {"action": "stop"}
        POST /episodes/p1:stop {"step": 3}
        POST /episodes/p2:tell {"step": 1, "action": "scan", "feedback": "negative"}
        amend-step p2 1 {"feedback": "positive", "reason": "read wrongly"}
        ask p2 -> {"state": "suspect", "action": "blood", "decided_by": "protocol"}
        GET /episodes/p2/decisions/2:replay -> {"equal": true}
        outcome p1 {"costs": [0, 0], "rewards": [0, 1, 1]}
    "#;
    client.run(script).await;
    // A voided episode leaves the numbers of the others as they are.
    client.run("void p1 a test").await;
    client.run(r#"open p4 -> {"decided_by": "learner"}"#).await;
    client.assert_consistent().await;
    // A second installation restores it to the same state.
    let other = TestServer::new().study("clinic");
    other.import(&client.export_file().await).await.is(200);
    assert_eq!(
        other.view().await.at("/hash"),
        client.view().await.at("/hash")
    );
    other.assert_consistent().await;
}

#[tokio::test]
async fn pairs_without_observations_follow_a_policy() {
    let protocol = json!({"unobserved": true, "policy": [
        {"step": 1, "state": "unknown", "action": "blood"}, {"step": 2, "state": "suspect", "action": "stop"}]});
    let client = TestServer::new().new_study("clinic", &with(protocol)).await;
    let script = r#"
        open p1 -> {"action": "blood", "decided_by": "protocol", "certificate": null}
        tell p1 1 blood positive -> {"state": "suspect", "action": "stop", "decided_by": "protocol"}
        open p2 -> {"decided_by": "protocol"}
        // The policy has no row for it.
        tell p2 1 blood negative -> {"state": "clear", "decided_by": "learner"}
        stop p1 2
        outcome p1 {"costs": [0], "rewards": [0, 1]}
        open p3 -> {"decided_by": "learner"}
    "#;
    client.run(script).await;
    client.assert_consistent().await;
}

#[tokio::test]
async fn invalid_protocols_name_the_place() {
    let server = TestServer::new();
    let row = |step: u64, state: &str, action: &str| json!({"step": step, "state": state, "action": action});
    let policy = |rows: Value| json!({"first": 1, "policy": rows});
    let cases = [
        (json!({"sequence": []}), 422, "/protocol", "`first`"),
        (json!({"first": 1}), 422, "/protocol", "either"),
        (
            json!({"first": 1, "sequence": [], "policy": []}),
            422,
            "/protocol",
            "either",
        ),
        (
            json!({"first": 1, "sequence": ["cut"]}),
            422,
            "/protocol/sequence/0",
            "`cut`",
        ),
        (
            json!({"first": 1, "sequence": ["scan", "scan", "scan"]}),
            422,
            "/protocol/sequence",
            "at most 2",
        ),
        (
            json!({"first": -1, "sequence": []}),
            400,
            "/protocol/first",
            "first",
        ),
        (
            json!({"first": 1, "sequnce": []}),
            400,
            "/protocol/sequnce",
            "sequnce",
        ),
        (json!([1]), 400, "/protocol", "object"),
        (
            policy(json!([row(4, "clear", "scan")])),
            422,
            "/protocol/policy/0/step",
            "horizon 3",
        ),
        (
            policy(json!([row(3, "clear", "scan")])),
            422,
            "/protocol/policy/0/action",
            "not allowed",
        ),
        (
            policy(json!([row(1, "ill", "scan")])),
            422,
            "/protocol/policy/0/state",
            "`ill`",
        ),
        (
            policy(json!([row(2, "clear", "scan"), row(2, "clear", "stop")])),
            422,
            "/protocol/policy/1/state",
            "earlier row",
        ),
    ];
    for (protocol, status, pointer, words) in cases {
        let answer = server.put("/v1/studies/s", &with(protocol.clone())).await;
        println!("{protocol}");
        answer.expect_error_at(status, pointer).says(words);
    }
}
