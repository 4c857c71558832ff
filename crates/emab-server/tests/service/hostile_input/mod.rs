//! Hostile input: rejected with the right status, a pointer to the error and a stable type, never with 5xx, and without a change.
//! Schemathesis (tests/schemathesis) sends generated requests; it checks statuses, not pointers, texts or the methods in `Allow`.
mod bodies;
mod body_limits;
mod credentials;
mod error_words;
mod fields;
mod forged;
mod large_studies;
mod paths;
mod random;

use std::sync::{Arc, LazyLock};

use axum::body::Body;

use crate::support::study::clinic;
use crate::support::{Answer, Call, TestServer, request, requests};

/// Every call that writes or takes a body, with a body that is accepted: seven that take JSON, one that takes lines, two that take
/// no body.
pub static CALLS: LazyLock<Vec<Call>> = LazyLock::new(|| requests(TEXT));

const TEXT: &str = r#"
PUT /v1/studies/new STUDY
POST /v1/studies/clinic/episodes {"id": "new"}
POST /v1/studies/clinic/episodes/open:tell {"step": 1, "action": "blood", "feedback": "positive", "reason": "x"}
POST /v1/studies/clinic/episodes/open:stop {"step": 1, "reason": "x"}
POST /v1/studies/clinic/episodes/open:abandon {"reason": "x"}
PUT /v1/studies/clinic/episodes/stopped/outcome {"costs": [0.5], "rewards": [0, 1], "final": false}
POST /v1/studies/clinic/episodes/known/outcome:amend {"costs": [0.25], "rewards": [null, 0.5], "reason": "x"}
POST /v1/studies/clinic:import {"id": "old", "actions": ["scan"], "feedbacks": ["positive"], "costs": [0.5], "rewards": [0, 1]}
POST /v1/studies/clinic/episodes/open:ask
POST /v1/studies/clinic:close
"#;

/// The calls that take JSON.
pub const JSON: std::ops::Range<usize> = 0..7;
/// The call that takes lines.
pub const LINES: usize = 7;
/// The calls without a body.
pub const EMPTY: std::ops::Range<usize> = 8..10;

/// A service that accepts each of these calls.
pub struct Fixture {
    /// The service.
    pub server: Arc<TestServer>,
    before: String,
}

impl Fixture {
    /// A new one.
    pub async fn new() -> Fixture {
        let client = clinic().await;
        let script = r#"
            open open
            open stopped
            tell stopped 1 blood positive
            stop stopped 2
            open known
            tell known 1 blood positive
            stop known 2
            outcome known {"costs": [0.5], "rewards": [0, 1]}
        "#;
        client.run(script).await;
        let server = client.server;
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
        let request = request(&self.server.admin, method, path, headers, body);
        self.server.send(request).await
    }

    /// A request with the content type JSON.
    pub async fn json(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let headers = [("content-type", "application/json")];
        self.send(method, path, &headers, body).await
    }

    /// Asserts that a GET gets an error of this status.
    pub async fn no_get(&self, path: &str, status: u16) {
        let answer = self.send("GET", path, &[], "").await;
        answer.expect_error(status);
    }

    /// Asserts that a JSON request gets an error of this status; returns it.
    pub async fn refuses(
        &self,
        status: u16,
        method: &str,
        path: &str,
        body: impl Into<Body>,
    ) -> Answer {
        let answer = self.json(method, path, body).await;
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text);
        answer.expect_error(status)
    }

    /// Asserts that no study has a new event.
    #[track_caller]
    pub fn assert_unchanged(&self) -> impl Future<Output = ()> + '_ {
        let fixture = std::panic::Location::caller();
        async move {
            let now = self.server.get("/v1/studies").await.is(200).text;
            assert_eq!(now, self.before, "at {fixture}");
        }
    }
}

#[tokio::test]
async fn every_call_of_the_table_is_accepted_as_it_stands() {
    for &(method, path, body) in CALLS.iter() {
        let fixture = Fixture::new().await;
        let answer = fixture.json(method, path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        if !path.ends_with(":ask") {
            let after = fixture.server.get("/v1/studies").await.text;
            assert_ne!(after, fixture.before, "{path}");
        }
    }
}
