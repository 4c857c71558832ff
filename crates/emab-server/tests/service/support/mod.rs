//! A service with a SQLite store, called without a socket.
#![allow(dead_code)] // each test file uses what it needs

pub mod documented;
pub mod every_command;
pub mod held_loader;
pub mod script;
pub mod socket;
pub mod study;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use emab_server::app::checkpoint::Checkpoints;
use emab_server::app::metrics::Metrics;
use emab_server::app::service::Service;
use emab_server::console;
use emab_server::http::{App, Rates};
use emab_server::store::Backend;
use emab_server::store::sqlite::Sqlite;
use emab_server::tokens::{NewToken, Role, TokenFile, TokenStore, TokenTable, Tokens};
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

/// A study with two tests and horizon 3.
pub const STUDY: &str = r#"{
    "horizon": 3,
    "states": ["unknown", "clear", "suspect"],
    "actions": ["blood", "scan"],
    "feedbacks": ["negative", "positive"],
    "transition": "1 + f",
    "learning": {"sigma2": 0.25, "delta": 0.05, "reward_range": [0, 1]},
    "learner": "feedbal:width=sound"
}"#;

/// The study with some fields set.
pub fn study_with(fields: Value) -> String {
    let mut spec: Value = serde_json::from_str(STUDY).unwrap();
    for (name, value) in fields.as_object().unwrap() {
        spec[name] = value.clone();
    }
    spec.to_string()
}

/// The study with another learner.
pub fn study_of(learner: &str) -> String {
    study_with(serde_json::json!({ "learner": learner }))
}

/// Method, path and body of a request.
pub type Call = (&'static str, &'static str, &'static str);

/// Requests, one a line; `-` is an empty path and `STUDY` stands for [`STUDY`].
pub fn requests(text: &'static str) -> Vec<Call> {
    let request = |line: &'static str| {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().unwrap_or("");
        let (method, path, body) = (next(), next(), next());
        let body = if body == "STUDY" { STUDY } else { body };
        (method, if path == "-" { "" } else { path }, body)
    };
    text.trim().lines().map(str::trim).map(request).collect()
}

/// A service and one token of each role.
pub struct TestServer {
    pub folder: TempDir,
    pub service: Arc<Service>,
    pub app: App,
    pub router: Router,
    pub tokens: TokenFile,
    pub admin: String,
    pub operator: String,
    pub viewer: String,
    pub blinded: String,
    /// An admin of the study `elsewhere` only.
    pub elsewhere: String,
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

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.map_or("", |value| value.to_str().unwrap())
    }

    #[track_caller]
    pub fn is(self, status: u16) -> Answer {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        self
    }

    /// Asserts an error of this status: problem details with a stable type.
    #[track_caller]
    pub fn expect_error(self, status: u16) -> Answer {
        let answer = self.is(status);
        let content_type = answer.header("content-type");
        assert_eq!(content_type, "application/problem+json", "{}", answer.text);
        let kind = (answer.at("/type"), answer.at("/title"));
        let known = emab_server::http::error::KINDS
            .iter()
            .any(|(kinds, s, title)| *s == status && kind == ((*kinds).into(), (*title).into()));
        assert!(known, "{}", answer.text);
        assert_eq!(answer.at("/status"), status);
        let detail = answer.at("/detail");
        let detail = detail.as_str().unwrap();
        assert!(!detail.is_empty());
        // The words of parsers stay inside.
        for phrase in PARSER_PHRASES {
            assert!(!detail.contains(phrase), "`{phrase}` in {}", answer.text);
        }
        answer
    }

    /// Asserts the values of fields; a name such as `estimate/count` is a path.
    #[track_caller]
    pub fn has(self, fields: Value) -> Answer {
        for (name, value) in fields.as_object().unwrap() {
            let found = self.at(&format!("/{name}"));
            assert_eq!(found, *value, "{name} of {}", self.text);
        }
        self
    }

    /// Asserts that the error's detail contains a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Answer {
        let detail = self.at("/detail");
        assert!(detail.as_str().unwrap().contains(text), "{detail}");
        self
    }

    /// Asserts an error with this pointer.
    #[track_caller]
    pub fn expect_error_at(self, status: u16, pointer: &str) -> Answer {
        let answer = self.expect_error(status);
        assert_eq!(answer.at("/pointer"), pointer, "{}", answer.text);
        answer
    }
}

/// What serde and its formats say, and the service does not.
const PARSER_PHRASES: [&str; 21] = [
    "invalid type",
    "invalid value",
    "invalid length",
    "missing field",
    "duplicate field",
    "unknown variant",
    ", expected u",
    ", expected f64",
    ", expected struct",
    ", expected a string",
    ", expected a sequence",
    ", expected a map",
    "expected one of",
    "expected value",
    "expected `",
    "expected ident",
    " at line ",
    " column ",
    "EOF while",
    "Failed to deserialize",
    "struct ",
];

/// A file with one token of each role, and their secrets. Every service gets a copy: creating tokens is slow.
static TOKENS: LazyLock<(Vec<u8>, [String; 5])> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::at(folder.path().join("tokens.json"));
    let tokens = [
        ("admin", Role::Admin, None),
        ("operator", Role::Operator, None),
        ("viewer", Role::Viewer, None),
        ("blinded", Role::Blinded, None),
        ("elsewhere", Role::Admin, Some(["elsewhere"])),
    ];
    let secrets = tokens.map(|(name, role, studies)| {
        let mut new = NewToken::new(name, role);
        new.studies = studies.map(|names: [&str; 1]| names.map(String::from).into());
        let (_, secret) = file.new_token(&new).unwrap();
        secret.reveal().to_owned()
    });
    (std::fs::read(file.path()).unwrap(), secrets)
});

/// A request with a token and these headers.
pub fn request(
    token: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    request = request.header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body.into()).unwrap()
}

impl TestServer {
    /// With a SQLite store in a temporary folder.
    pub fn new() -> Arc<TestServer> {
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
        TestServer::over(folder, Arc::new(store))
    }

    /// Without checkpoints, which are written at any time.
    pub fn over(folder: TempDir, backend: Arc<dyn Backend>) -> Arc<TestServer> {
        TestServer::with(folder, backend, Metrics::default(), None)
    }

    pub fn with(
        folder: TempDir,
        backend: Arc<dyn Backend>,
        metrics: Metrics,
        checkpoints: Option<Checkpoints>,
    ) -> Arc<TestServer> {
        let tokens = TokenFile::at(folder.path().join("tokens.json"));
        let (bytes, secrets) = &*TOKENS;
        std::fs::write(tokens.path(), bytes).unwrap();
        std::fs::set_permissions(tokens.path(), Permissions::from_mode(0o600)).unwrap();
        let [admin, operator, viewer, blinded, elsewhere] = secrets.clone();
        let watched = match backend.tokens().unwrap() {
            Some(rows) => {
                let table = TokenTable::new(rows);
                table.import(&tokens).unwrap();
                let reading = backend.tokens().unwrap().unwrap();
                Tokens::look_up(reading, table)
            }
            None => Tokens::watch(tokens.path()),
        };
        let service = Service::start(backend, metrics.clone(), checkpoints).unwrap();
        let parts = App::new(service.clone(), watched.unwrap(), Rates::new(0), metrics);
        let router = console::app(parts.clone());
        Arc::new(TestServer {
            folder,
            service,
            app: parts,
            router,
            tokens,
            admin,
            operator,
            viewer,
            blinded,
            elsewhere,
        })
    }

    /// The same store opened again by a new service; every client of the earlier one is dropped before.
    pub fn restarted(self: Arc<Self>) -> Arc<TestServer> {
        self.service.finish();
        let server = Arc::into_inner(self).unwrap();
        let folder = server.folder;
        drop((server.service, server.app, server.router));
        // Threads of the earlier service may hold the file for a moment longer.
        let file = folder.path().join("studies.db");
        let mut store = Sqlite::open(&file);
        for _ in 0..500 {
            if store.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
            store = Sqlite::open(&file);
        }
        TestServer::over(folder, Arc::new(store.unwrap()))
    }

    /// The store's file.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("studies.db")
    }

    /// A call with a token.
    pub async fn call_as(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: Option<&str>,
    ) -> Answer {
        let headers = body.map(|_| ("content-type", "application/json"));
        let body = body.unwrap_or("").to_owned();
        let request = request(token, method, path, headers.as_slice(), body);
        self.send(request).await
    }

    /// Sends any request and asserts that its answer is documented.
    pub async fn send(&self, request: Request<Body>) -> Answer {
        let (status, headers, bytes) = self.send_for_bytes(request).await;
        Answer {
            status,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
            headers,
        }
    }

    /// The same, for an answer that is not text.
    pub async fn send_for_bytes(
        &self,
        request: Request<Body>,
    ) -> (StatusCode, axum::http::HeaderMap, bytes::Bytes) {
        let (method, path) = (request.method().to_string(), request.uri().to_string());
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        let kind = headers["content-type"].to_str().unwrap();
        documented::check(&method, &path, status.as_u16(), kind);
        (status, headers, bytes)
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
}
