//! Tokens: who may do what, and who sees what.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Request;

use crate::support::week::WEEK;
use crate::support::{Answer, CLINIC, Clinic};

/// Every call of the service under a study: method, rest of the address, body.
const CALLS: &[(&str, &str, &str)] = &[
    ("PUT", "", CLINIC),
    ("GET", "", ""),
    ("POST", ":close", ""),
    ("GET", "/estimates", ""),
    ("POST", "/episodes", r#"{"id": "p1"}"#),
    ("GET", "/episodes", ""),
    ("GET", "/episodes/p1", ""),
    ("POST", "/episodes/p1:ask", ""),
    (
        "POST",
        "/episodes/p1:tell",
        r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "a"}"#,
    ),
    ("POST", "/episodes/p1:stop", r#"{"step": 2, "reason": "b"}"#),
    ("POST", "/episodes/p1:abandon", r#"{"reason": "c"}"#),
    ("PUT", "/episodes/p1/outcome", "{}"),
    ("POST", "/episodes/p1/outcome:amend", r#"{"reason": "d"}"#),
    ("GET", "/episodes/p1/decisions/1:replay", ""),
    ("GET", "/events", ""),
    ("GET", ":export", ""),
    (
        "POST",
        ":import",
        r#"{"id": "q", "actions": [], "feedbacks": [], "costs": [], "rewards": [1]}"#,
    ),
];

async fn call(clinic: &Clinic, token: &str, (method, rest, body): (&str, &str, &str)) -> Answer {
    let body = Some(body).filter(|body| !body.is_empty());
    let path = format!("/v1/studies/clinic{rest}");
    clinic.call_as(token, method, &path, body).await
}

/// An `R` may read, an `A` may act, an `L` may read the log: the rest is 403.
#[tokio::test]
async fn each_role_does_its_own() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    let needs = [
        "", "R", "", "L", "A", "R", "R", "A", "A", "A", "A", "A", "M", "L", "L", "L", "",
    ];
    for (call_, need) in CALLS.iter().zip(needs) {
        for (token, may) in [
            (&clinic.operator, "RAM"),
            (&clinic.viewer, "RL"),
            (&clinic.blinded, "RA"),
        ] {
            let answer = call(&clinic, token, *call_).await;
            if !need.is_empty() && may.contains(need) {
                assert_ne!(answer.status.as_u16(), 403, "{call_:?}");
            } else {
                answer.refuses(403);
            }
        }
    }
    // The metrics are for those who operate the service.
    for (token, status) in [
        (&clinic.admin, 200),
        (&clinic.viewer, 200),
        (&clinic.operator, 403),
        (&clinic.blinded, 403),
    ] {
        clinic
            .call_as(token, "GET", "/metrics", None)
            .await
            .is(status);
    }
}

#[tokio::test]
async fn a_viewer_changes_nothing() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.open("p1").await.is(201);
    let seq = desk.seq().await;
    for write in CALLS.iter().filter(|(method, _, _)| *method != "GET") {
        call(&clinic, &clinic.viewer, *write).await.refuses(403);
    }
    assert_eq!(desk.seq().await, seq);
}

/// Words by which actions could be compared.
const COMPARES: [&str; 8] = [
    "estimate",
    "runner_up",
    "certificate",
    "explored",
    "withheld",
    "mean",
    "upper",
    "index",
];

#[tokio::test]
async fn whoever_is_blinded_sees_the_action_only() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.patient("a", &[("blood", "positive")], &[0.0], &[0.0, 1.0])
        .await;
    desk.patient("b", &[("scan", "positive")], &[0.0], &[0.0, 0.5])
        .await;
    let seen = desk.open("p1").await.is(201);
    assert!(seen.at("/certificate").is_number());
    let blind = |answer: Answer| {
        let answer = answer.is(200);
        for word in COMPARES {
            assert!(!answer.text.contains(word), "{word}: {}", answer.text);
        }
        answer
    };
    let open = call(&clinic, &clinic.blinded, CALLS[4]).await;
    let open = blind(open);
    let fields = open.json();
    let mut fields: Vec<&str> = fields.as_object().unwrap().keys().map(|f| &**f).collect();
    fields.sort_unstable();
    let expected = [
        "action",
        "as_of",
        "episode",
        "previous",
        "spec_hash",
        "state",
        "step",
        "study",
    ];
    assert_eq!(fields, expected);
    assert_eq!(open.at("/action"), seen.at("/action"));
    let ask = blind(call(&clinic, &clinic.blinded, CALLS[7]).await);
    assert_eq!(ask.text, open.text);
    blind(call(&clinic, &clinic.blinded, CALLS[8]).await);
    let read = blind(call(&clinic, &clinic.blinded, CALLS[6]).await);
    assert_eq!(read.at("/steps/0/decision"), open.json());
    blind(call(&clinic, &clinic.blinded, CALLS[5]).await);
    blind(call(&clinic, &clinic.blinded, CALLS[9]).await);
    blind(call(&clinic, &clinic.blinded, CALLS[11]).await);
    // A refusal says nothing more.
    let refused = call(
        &clinic,
        &clinic.blinded,
        (
            "POST",
            "/episodes/p1:tell",
            r#"{"step": 9, "action": 0, "feedback": 0}"#,
        ),
    );
    let refused = refused.await.refuses(409);
    for word in COMPARES {
        assert!(!refused.text.contains(word), "{}", refused.text);
    }
    for rest in [
        "/estimates",
        "/estimates?as_of=1",
        "/events",
        ":export",
        "/episodes/p1/decisions/1:replay",
    ] {
        call(&clinic, &clinic.blinded, ("GET", rest, ""))
            .await
            .refuses(403);
    }
    // Nor does it help to ask for a stream.
    let request = Request::get("/v1/studies/clinic/events")
        .header("authorization", format!("Bearer {}", clinic.blinded))
        .header("accept", "text/event-stream");
    clinic
        .send(request.body(Body::empty()).unwrap())
        .await
        .refuses(403);
}

#[tokio::test]
async fn a_token_of_another_study() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    desk.week().await;
    clinic.desk("zebra", CLINIC).await;
    let head = desk.view().await.text;
    for each in CALLS {
        call(&clinic, &clinic.elsewhere, *each).await.refuses(403);
    }
    assert_eq!(desk.view().await.text, head);
    // Whether others are there is not told either.
    let path = "/v1/studies/no-such-study";
    let unknown = clinic.call_as(&clinic.elsewhere, "GET", path, None).await;
    unknown.refuses(403);
    let list = clinic.call_as(&clinic.elsewhere, "GET", "/v1/studies", None);
    assert_eq!(list.await.is(200).at("/studies"), serde_json::json!([]));
    let path = "/v1/studies/elsewhere";
    let own = clinic.call_as(&clinic.elsewhere, "PUT", path, Some(CLINIC));
    own.await.is(201);
    for page in ["/v1/studies", "/v1/studies?limit=1"] {
        let list = clinic.call_as(&clinic.elsewhere, "GET", page, None).await;
        let list = list.is(200);
        assert_eq!(list.at("/studies/0/study"), "elsewhere");
        assert!(!list.text.contains("\"clinic\""), "{}", list.text);
        assert!(!list.text.contains("zebra"), "{}", list.text);
    }
}

#[tokio::test]
async fn a_revoked_token_is_out_within_two_seconds() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    call(&clinic, &clinic.operator, WEEK[0]).await.is(201);
    clinic.tokens.revoke("operator").unwrap();
    let start = Instant::now();
    loop {
        let answer = call(&clinic, &clinic.operator, WEEK[0]).await;
        if answer.status.as_u16() == 401 {
            let answer = answer.refuses(401);
            assert_eq!(answer.header("www-authenticate"), "Bearer");
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(desk.seq().await, 2);
    // Others stay.
    call(&clinic, &clinic.blinded, WEEK[0]).await.is(200);
}

/// Events name the token by its id, never by its secret.
#[tokio::test]
async fn no_secret_in_the_log() {
    let clinic = Clinic::new();
    let desk = clinic.desk("clinic", CLINIC).await;
    call(&clinic, &clinic.operator, WEEK[0]).await.is(201);
    let ids: Vec<_> = clinic.tokens.list().unwrap();
    let id = |name: &str| ids.iter().find(|t| t.name() == name).unwrap().id();
    assert_eq!(desk.events("created").await[0]["by"], id("admin"));
    assert_eq!(desk.events("opened").await[0]["by"], id("operator"));
    let export = desk.export().await;
    for secret in [&clinic.admin, &clinic.operator] {
        assert!(!export.contains(secret.as_str()));
    }
}
