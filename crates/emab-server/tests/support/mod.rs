//! A service on a store of its own, called without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use emab_server::http::{App, Rates, app};
use emab_server::metrics::Metrics;
use emab_server::service::Service;
use emab_server::store::Backend;
use emab_server::store::sqlite::Sqlite;
use emab_server::tokens::{Role, TokenFile, Tokens};
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// A clinic: at most two tests, then the decision.
pub const CLINIC: &str = r#"{
    "horizon": 3,
    "states": ["unknown", "clear", "suspect"],
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "transition": "1 + f",
    "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
    "learner": "feedbal:width=sound"
}"#;

/// A service and who may call it.
#[allow(dead_code)] // each test file uses what it needs
pub struct Clinic {
    pub folder: TempDir,
    pub service: Arc<Service>,
    pub router: Router,
    pub tokens: TokenFile,
    pub admin: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub status: StatusCode,
    pub text: String,
    pub headers: axum::http::HeaderMap,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// The value at a JSON pointer.
    pub fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }
}

impl Clinic {
    /// With a SQLite store in a folder of its own.
    pub fn new() -> Clinic {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
        Clinic::over(folder, Arc::new(store))
    }

    pub fn over(folder: TempDir, backend: Arc<dyn Backend>) -> Clinic {
        let tokens = TokenFile::at(folder.path().join("tokens.json"));
        let admin = match tokens.create_first_admin().unwrap() {
            Some(secret) => secret.reveal().to_owned(),
            None => tokens
                .new_token("again", Role::Admin, None)
                .unwrap()
                .1
                .reveal()
                .to_owned(),
        };
        let metrics = Metrics::new();
        let service = Service::start(backend, metrics.clone()).unwrap();
        let watched = Tokens::watch(tokens.path()).unwrap();
        let router = app(App::new(service.clone(), watched, Rates::new(0), metrics));
        Clinic {
            folder,
            service,
            router,
            tokens,
            admin,
        }
    }

    /// A call with a token.
    pub async fn call_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Answer {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {token}"));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let body = body.map_or(Body::empty(), |body| Body::from(body.to_owned()));
        self.send(request.body(body).unwrap()).await
    }

    pub async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer {
            status,
            text,
            headers,
        }
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.call_as(&self.admin, "POST", path, Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &str) -> Answer {
        self.call_as(&self.admin, "PUT", path, Some(body)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call_as(&self.admin, "GET", path, None).await
    }

    /// What is known of an action: (count, mean).
    pub async fn known(
        &self,
        study: &str,
        step: u64,
        state: &str,
        action: &str,
    ) -> Option<(u64, f64)> {
        let estimates = self
            .get(&format!("/v1/studies/{study}/estimates"))
            .await
            .is(200);
        let rows = estimates.at("/estimates");
        let row =
            rows.as_array().unwrap().iter().find(|row| {
                row["step"] == step && row["state"] == state && row["action"] == action
            })?;
        Some((
            row["count"].as_u64().unwrap(),
            row["mean"].as_f64().unwrap(),
        ))
    }
}
