//! Roles: permissions and visible fields.

use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use emab_server::tokens::{NewToken, TokenStore};

use crate::support::every_command::COMMANDS;
use crate::support::study::{StudyClient, clinic};
use crate::support::{Answer, Call, STUDY, request, requests};

/// Every operation of a study.
static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| requests(TEXT));

const TEXT: &str = r#"
PUT - STUDY
GET -
POST :close
POST :reopen {"reason": "a"}
POST :pause {"reason": "b"}
POST :resume {"reason": "c"}
GET /estimates
GET /policy
POST /episodes {"id": "p1"}
GET /episodes
GET /episodes/p1
POST /episodes/p1:ask
POST /episodes/p1:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "a"}
POST /episodes/p1:stop {"step": 2, "reason": "b"}
POST /episodes/p1:abandon {"reason": "c"}
PUT /episodes/p1/outcome {}
POST /episodes/p1/outcome:amend {"reason": "d"}
POST /episodes/p1/steps/1:amend {"feedback": "negative", "reason": "e"}
POST /episodes/p1:void {"reason": "f"}
GET /episodes/p1/decisions/1:replay
GET /events
GET :export
GET /decisions
GET /decisions?format=csv
GET /episodes?format=csv
GET /estimates?format=csv
DELETE -
POST :import {"id": "q", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}
GET /health
"#;

async fn call(client: &StudyClient, token: &str, (method, rest, body): Call) -> Answer {
    let body = Some(body).filter(|body| !body.is_empty());
    let path = client.path(rest);
    client.server.call_as(token, method, &path, body).await
}

/// `R`: read, `A`: act, `M`: amend, `P`: read the policy, `L`: read the log; without a letter: admins only.
#[tokio::test]
async fn each_role_has_its_permissions() {
    let client = clinic().await;
    let server = &client.server;
    client.open("p1").await.is(201);
    let mut seq = client.seq().await;
    let needs = [
        "", "R", "", "", "", "", "L", "P", "A", "R", "R", "A", "A", "A", "A", "A", "M", "M", "M",
        "L", "L", "L", "R", "R", "R", "L", "", "", "P",
    ];
    for (call_, need) in CALLS.iter().zip(needs) {
        for (token, may) in [
            (&server.operator, "RAMP"),
            (&server.viewer, "RLP"),
            (&server.blinded, "RA"),
        ] {
            let answer = call(&client, token, *call_).await;
            if !need.is_empty() && may.contains(need) {
                assert_ne!(answer.status.as_u16(), 403, "{call_:?}");
                seq = client.seq().await;
            } else {
                answer.expect_error(403);
                assert_eq!(client.seq().await, seq, "{call_:?} is not carried out");
            }
        }
    }
    // Metrics.
    for (token, status) in [
        (&server.admin, 200),
        (&server.viewer, 200),
        (&server.operator, 403),
        (&server.blinded, 403),
    ] {
        let answer = server.call_as(token, "GET", "/metrics", None).await;
        answer.is(status);
    }
}

/// Fields that compare actions.
const COMPARES: &str = "estimate runner_up certificate explored withheld mean upper index";

#[tokio::test]
async fn a_blinded_token_sees_the_recommended_action_only() {
    let client = clinic().await;
    let server = &client.server;
    client.episode("a", "blood positive 0", &[0.0, 1.0]).await;
    client.episode("b", "scan positive 0", &[0.0, 0.5]).await;
    let seen = client.open("p1").await.is(201);
    assert!(seen.at("/certificate").is_number());
    let blind = |answer: Answer| {
        let answer = answer.is(200);
        for word in COMPARES.split(' ') {
            assert!(!answer.text.contains(word), "{word}: {}", answer.text);
        }
        answer
    };
    let open = blind(call(&client, &server.blinded, CALLS[8]).await);
    let fields = open.json();
    let fields: BTreeSet<&str> = fields.as_object().unwrap().keys().map(|f| &**f).collect();
    let expected = "action as_of at episode state step study";
    assert_eq!(fields, expected.split(' ').collect());
    assert_eq!(open.at("/action"), seen.at("/action"));
    let ask = blind(call(&client, &server.blinded, CALLS[11]).await);
    assert_eq!(ask.text, open.text);
    blind(call(&client, &server.blinded, CALLS[12]).await);
    let read = blind(call(&client, &server.blinded, CALLS[10]).await);
    assert_eq!(read.at("/steps/0/decision"), open.json());
    for i in [9, 13, 15] {
        blind(call(&client, &server.blinded, CALLS[i]).await);
    }
    // Errors contain nothing more.
    let wrong = r#"{"step": 9, "action": 0, "feedback": 0}"#;
    let wrong = ("POST", "/episodes/p1:tell", wrong);
    let refused = call(&client, &server.blinded, wrong).await;
    let refused = refused.expect_error(409);
    for word in COMPARES.split(' ') {
        assert!(!refused.text.contains(word), "{}", refused.text);
    }
    let past = ("GET", "/estimates?as_of=1", "");
    let answer = call(&client, &server.blinded, past).await;
    answer.expect_error(403);
    let stream = [("accept", "text/event-stream")];
    let path = client.path("/events");
    let request = request(&server.blinded, "GET", &path, &stream, "");
    server.send(request).await.expect_error(403);
}

#[tokio::test]
async fn a_token_of_another_study_is_forbidden() {
    let client = clinic().await;
    let server = &client.server;
    client.send_all().await;
    server.new_study("zebra", STUDY).await;
    let head = client.view().await.text;
    for each in CALLS.iter() {
        let answer = call(&client, &server.elsewhere, *each).await;
        answer.expect_error(403);
    }
    assert_eq!(client.view().await.text, head);
    // The existence of other studies is not disclosed.
    let path = "/v1/studies/no-such-study";
    let unknown = server.call_as(&server.elsewhere, "GET", path, None).await;
    unknown.expect_error(403);
    let list = server.call_as(&server.elsewhere, "GET", "/v1/studies", None);
    assert_eq!(list.await.is(200).at("/studies"), serde_json::json!([]));
    let path = "/v1/studies/elsewhere";
    let own = server.call_as(&server.elsewhere, "PUT", path, Some(STUDY));
    own.await.is(201);
    for page in ["/v1/studies", "/v1/studies?limit=1"] {
        let list = server.call_as(&server.elsewhere, "GET", page, None).await;
        let list = list.is(200);
        assert_eq!(list.at("/studies/0/study"), "elsewhere");
        assert!(!list.text.contains("\"clinic\""), "{}", list.text);
        assert!(!list.text.contains("zebra"), "{}", list.text);
    }
}

#[tokio::test]
async fn a_revoked_token_is_rejected_within_two_seconds() {
    let client = clinic().await;
    let server = &client.server;
    call(&client, &server.operator, COMMANDS[0]).await.is(201);
    server.tokens.revoke("operator").unwrap();
    let start = Instant::now();
    loop {
        let answer = call(&client, &server.operator, COMMANDS[0]).await;
        if answer.status.as_u16() == 401 {
            let answer = answer.expect_error(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(client.seq().await, 2);
    // Other tokens stay valid.
    call(&client, &server.blinded, COMMANDS[0]).await.is(200);
}

/// Events name the token by its id, never by its secret.
#[tokio::test]
async fn no_secret_in_the_log() {
    let client = clinic().await;
    let server = &client.server;
    call(&client, &server.operator, COMMANDS[0]).await.is(201);
    let ids: Vec<_> = server.tokens.list().unwrap();
    let id = |name: &str| ids.iter().find(|t| t.name == name).unwrap().id.clone();
    assert_eq!(client.events("created").await[0]["by"], id("admin"));
    assert_eq!(client.events("opened").await[0]["by"], id("operator"));
    let export = client.export().await;
    for secret in [&server.admin, &server.operator] {
        assert!(!export.contains(secret.as_str()));
    }
}

/// Estimates could be computed from outcomes, so a blinded token sees none, not even in an error.
#[tokio::test]
async fn a_blinded_token_sees_no_outcome() {
    let client = clinic().await;
    let server = &client.server;
    let script = r#"
        open p1
        stop p1 1
        outcome p1 {"costs": [], "rewards": [0.8125]}
    "#;
    client.run(script).await;
    let role = emab_server::tokens::Role::Blinded;
    let (_, secret) = server
        .tokens
        .new_token(&NewToken::new("nurse", role))
        .unwrap();
    for seen in [
        ("GET", "/episodes", ""),
        ("GET", "/episodes/p1", ""),
        (
            "PUT",
            "/episodes/p1/outcome",
            r#"{"costs": [], "rewards": [0.5]}"#,
        ),
        ("POST", "/episodes/p1:stop", r#"{"step": 1}"#),
    ] {
        let answer = call(&client, secret.reveal(), seen).await;
        assert!(answer.status.as_u16() < 500);
        assert!(!answer.text.contains("0.8125"), "{seen:?}: {}", answer.text);
        assert_eq!(answer.at("/outcome"), serde_json::Value::Null);
    }
}

#[tokio::test]
async fn a_blinded_token_cannot_test_guesses() {
    let client = clinic().await;
    let server = &client.server;
    let script = r#"
        open p1
        tell p1 1 blood positive
        stop p1 2
        outcome p1 {"rewards": [null, 0.8125]}
    "#;
    client.run(script).await;
    let put = async |body| {
        call(
            &client,
            &server.blinded,
            ("PUT", "/episodes/p1/outcome", body),
        )
        .await
    };
    let right = put(r#"{"rewards": [null, 0.8125]}"#)
        .await
        .expect_error(409);
    for guess in [
        r#"{"rewards": [null, 0.5]}"#,
        r#"{"rewards": [0, 0.8125]}"#,
        r#"{"rewards": [null, 0.8125], "final": true}"#,
        r#"{"rewards": [null, 0.8125], "request": "r1"}"#,
    ] {
        assert_eq!(put(guess).await.text, right.text, "{guess}");
    }
    // Without a value of another token, the same content is accepted.
    client
        .outcome("p1", r#"{"rewards": [null, null]}"#)
        .await
        .is(200);
    for _ in 0..2 {
        put(r#"{"rewards": [null, null]}"#).await.is(200);
    }
    // Its own values, also after a correction by another token.
    let own = r#"{"costs": [0.25]}"#;
    put(own).await.is(200);
    put(own).await.is(200);
    put(r#"{"costs": [0.5]}"#).await.expect_error(409);
    client
        .amend("p1", r#"{"costs": [0.5], "reason": "mistyped"}"#)
        .await
        .is(200);
    put(own).await.is(200);
    let right = put(r#"{"costs": [0.5], "rewards": [1, null]}"#)
        .await
        .expect_error(409);
    let wrong = put(r#"{"costs": [0.75], "rewards": [1, null]}"#).await;
    assert_eq!(wrong.text, right.text);
    // A correction to the same value counts as one to another value.
    put(r#"{"rewards": [0.5, null]}"#).await.is(200);
    let same = r#"{"rewards": [0.5, null], "reason": "as it was"}"#;
    client.amend("p1", same).await.is(200);
    let final_value = r#"{"rewards": [0.5, null], "final": true}"#;
    put(final_value).await.expect_error(409);
    for path in ["", "/episodes/p1"] {
        let seen = call(&client, &server.blinded, ("GET", path, ""))
            .await
            .is(200);
        for field in ["\"hash\"", "\"previous\"", "\"spec_hash\""] {
            assert!(!seen.text.contains(field), "{}", seen.text);
        }
    }
    client.assert_consistent().await;
}
