//! What strangers send: not JSON, not true, not short, not theirs. It is refused with the right status, the place of the fault
//! and a stable type, never with 5xx, and nothing changes.
mod bodies;
mod body_limits;
mod credentials;
mod fields;
mod forged;
mod large_studies;
mod paths;
mod random;

use axum::body::Body;
use axum::http::Request;

use crate::support::{Answer, STUDY, TestServer};

/// Every call that writes or takes a body: method, address, and a body that would be taken. The first ones take JSON, then
/// comes the one that takes lines, then those that take nothing.
pub const CALLS: [(&str, &str, &str); 10] = [
    ("PUT", "/v1/studies/new", STUDY),
    ("POST", "/v1/studies/clinic/episodes", r#"{"id": "new"}"#),
    (
        "POST",
        "/v1/studies/clinic/episodes/open:tell",
        r#"{"step": 1, "action": "blood", "feedback": "positive", "reason": "x"}"#,
    ),
    (
        "POST",
        "/v1/studies/clinic/episodes/open:stop",
        r#"{"step": 1, "reason": "x"}"#,
    ),
    (
        "POST",
        "/v1/studies/clinic/episodes/open:abandon",
        r#"{"reason": "x"}"#,
    ),
    (
        "PUT",
        "/v1/studies/clinic/episodes/stopped/outcome",
        r#"{"costs": [0.5], "rewards": [0, 1], "final": false}"#,
    ),
    (
        "POST",
        "/v1/studies/clinic/episodes/known/outcome:amend",
        r#"{"costs": [0.25], "rewards": [null, 0.5], "reason": "x"}"#,
    ),
    (
        "POST",
        "/v1/studies/clinic:import",
        r#"{"id": "old", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}"#,
    ),
    ("POST", "/v1/studies/clinic/episodes/open:ask", ""),
    ("POST", "/v1/studies/clinic:close", ""),
];

/// Those that take JSON.
pub const JSON: std::ops::Range<usize> = 0..7;
/// The one that takes lines.
pub const LINES: usize = 7;
/// Those that take nothing.
pub const EMPTY: std::ops::Range<usize> = 8..10;

/// A service where each of these calls would be carried out.
pub struct Fixture {
    /// The service.
    pub server: TestServer,
    before: String,
}

impl Fixture {
    /// A new one.
    pub async fn new() -> Fixture {
        let server = TestServer::new();
        let client = server.new_study("clinic", STUDY).await;
        client.open("open").await.is(201);
        client.open("stopped").await.is(201);
        client.tell("stopped", 1, "blood", "positive").await.is(200);
        client.stop("stopped", 2).await.is(200);
        client
            .full_episode("known", &[("blood", "positive")], &[0.5], &[0.0, 1.0])
            .await;
        let before = server.get("/v1/studies").await.is(200).text;
        Fixture { server, before }
    }

    /// A request with a token and these headers.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {}", self.server.admin));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.server.send(request.body(body.into()).unwrap()).await
    }

    /// A request whose body is said to be JSON.
    pub async fn json(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send(method, path, &headers, body).await
    }

    /// All studies are as they were: their number, and the number and hash of their last events.
    #[track_caller]
    pub fn assert_unchanged(&self) -> impl Future<Output = ()> + '_ {
        let fixture = std::panic::Location::caller();
        async move {
            let now = self.server.get("/v1/studies").await.is(200).text;
            assert_eq!(now, self.before, "at {fixture}");
        }
    }
}

/// Each call is one that would be carried out; otherwise the other tests would show nothing.
#[tokio::test]
async fn the_good_calls_are_good() {
    for (method, path, body) in CALLS {
        let fixture = Fixture::new().await;
        let answer = fixture.json(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        if !path.ends_with(":ask") {
            assert_ne!(
                fixture.server.get("/v1/studies").await.text,
                fixture.before,
                "{path}"
            );
        }
    }
}
