//! What strangers send: not JSON, not true, not short, not theirs. It is refused with the right status, the place of the fault
//! and a stable type, never with 5xx, and nothing changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../edge/mod.rs"]
mod edge;
#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod bodies;
mod fields;
mod forged;
mod heavy;
mod random;
mod sizes;
mod tokens;

use axum::body::Body;
use axum::http::Request;

use support::{Answer, CLINIC, Clinic};

/// Every call that writes or takes a body: method, address, and a body that would be taken. The first ones take JSON, then
/// comes the one that takes lines, then those that take nothing.
pub const CALLS: [(&str, &str, &str); 10] = [
    ("PUT", "/v1/studies/new", CLINIC),
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
pub struct Place {
    /// The service.
    pub clinic: Clinic,
    before: String,
}

impl Place {
    /// A new one.
    pub async fn new() -> Place {
        let clinic = Clinic::new();
        let desk = clinic.desk("clinic", CLINIC).await;
        desk.open("open").await.is(201);
        desk.open("stopped").await.is(201);
        desk.tell("stopped", 1, "blood", "positive").await.is(200);
        desk.stop("stopped", 2).await.is(200);
        desk.patient("known", &[("blood", "positive")], &[0.5], &[0.0, 1.0])
            .await;
        let before = clinic.get("/v1/studies").await.is(200).text;
        Place { clinic, before }
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
            .header("authorization", format!("Bearer {}", self.clinic.admin));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.clinic.send(request.body(body.into()).unwrap()).await
    }

    /// A request whose body is said to be JSON.
    pub async fn json(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send(method, path, &headers, body).await
    }

    /// All studies are as they were: their number, and the number and hash of their last events.
    #[track_caller]
    pub fn unchanged(&self) -> impl Future<Output = ()> + '_ {
        let place = std::panic::Location::caller();
        async move {
            let now = self.clinic.get("/v1/studies").await.is(200).text;
            assert_eq!(now, self.before, "at {place}");
        }
    }
}

/// Each call is one that would be carried out; otherwise the other tests would show nothing.
#[tokio::test]
async fn the_good_calls_are_good() {
    for (method, path, body) in CALLS {
        let place = Place::new().await;
        let answer = place.json(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        if !path.ends_with(":ask") {
            assert_ne!(
                place.clinic.get("/v1/studies").await.text,
                place.before,
                "{path}"
            );
        }
    }
}
