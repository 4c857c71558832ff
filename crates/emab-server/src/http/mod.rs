//! The calls of the service over HTTP: who may, what is asked, what is answered. No rule of a study stands here.

mod answer;
mod auth;
mod body;
mod docs_page;
mod episodes;
mod import;
mod log;
mod openapi;
mod operations;
mod path;
mod query;
pub mod rate_limit;
mod studies;
pub mod view;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tokio::sync::Semaphore;
use tower::util::MapRequest;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Paths;
use utoipa::openapi::schema::Schema;
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::app::metrics::Metrics;
use crate::app::service::Service;
use crate::domain::error::ApiError;
use crate::http::rate_limit::Rate;
use crate::tokens::Tokens;

pub use openapi::document;

/// How long a request may take, but for those that stream.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What every call has at hand.
#[derive(Clone)]
pub struct App {
    /// The service.
    pub service: Arc<Service>,
    /// Who may call.
    pub tokens: Tokens,
    /// How often.
    pub rates: Arc<Rates>,
    /// What is counted.
    pub metrics: Metrics,
    /// Event streams that may be open.
    streams: Arc<Semaphore>,
    /// Imports that may be under way.
    imports: Arc<Semaphore>,
}

/// How often somebody may call.
pub struct Rates {
    /// By token.
    pub calls: Rate<String>,
    /// Failed authentications, by peer.
    pub failures: Rate<IpAddr>,
}

impl Rates {
    /// So many calls a second for each token; 0 is no limit.
    pub fn new(per_second: u32) -> Rates {
        Rates {
            calls: Rate::new(per_second, per_second),
            failures: Rate::new(10, 20),
        }
    }
}

impl App {
    /// The parts together.
    pub fn new(service: Arc<Service>, tokens: Tokens, rates: Rates, metrics: Metrics) -> App {
        App {
            service,
            tokens,
            rates: Arc::new(rates),
            metrics,
            streams: Arc::new(Semaphore::new(64)),
            imports: Arc::new(Semaphore::new(2)),
        }
    }

    /// Ends all streams of events: whoever listens would keep the service from stopping.
    pub fn end_streams(&self) {
        self.streams.close();
    }
}

/// Calls, with their documentation: each function says both once.
#[derive(Default)]
struct Calls {
    router: Router<App>,
    paths: Paths,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Calls {
    fn with(mut self, (schemas, paths, methods): UtoipaMethodRouter<App>) -> Calls {
        for path in paths.paths.keys() {
            self.router = self.router.route(&inner_path(path), methods.clone());
        }
        for (path, item) in paths.paths {
            match self.paths.paths.get_mut(&path) {
                Some(there) => there.merge_operations(item),
                None => {
                    self.paths.paths.insert(path, item);
                }
            }
        }
        self.schemas.extend(schemas);
        self
    }
}

fn calls() -> Calls {
    Calls::default()
        .with(routes!(studies::list))
        .with(routes!(studies::create))
        .with(routes!(studies::read))
        .with(routes!(studies::close))
        .with(routes!(studies::estimates))
        .with(routes!(episodes::open))
        .with(routes!(episodes::list))
        .with(routes!(episodes::read))
        .with(routes!(episodes::ask))
        .with(routes!(episodes::tell))
        .with(routes!(episodes::stop))
        .with(routes!(episodes::abandon))
        .with(routes!(episodes::reveal))
        .with(routes!(episodes::amend))
        .with(routes!(episodes::replay))
        .with(routes!(log::events))
        .with(routes!(log::export))
        .with(routes!(import::import))
        .with(routes!(operations::livez))
        .with(routes!(operations::readyz))
        .with(routes!(operations::metrics))
        .with(routes!(operations::openapi))
        .with(routes!(operations::docs))
}

/// The service as a router, to be served by [`crate::transport`] or called in tests without a socket.
pub fn app(app: App) -> Router {
    let inner = calls()
        .router
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), watch))
        .with_state(app);
    // Routes are found before layers are run, so the path is rewritten around the router.
    Router::new().fallback_service(MapRequest::new(inner, |mut request: Request<Body>| {
        split_verb(&mut request);
        request
    }))
}

/// `…/{episode}:ask` as the router has it: it takes no text after a parameter.
fn inner_path(path: &str) -> String {
    path.replace(':', "/~")
}

/// Brings the verb of `…/p1:ask` into a segment of its own; names have no colon in them.
fn split_verb(request: &mut Request<Body>) {
    let path = request.uri().path();
    // Nobody else writes it so: a call has one address.
    if path.contains("/~") {
        let nowhere = axum::http::Uri::from_static("/~");
        *request.uri_mut() = nowhere;
        return;
    }
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let last = path[start..].replace("%3A", ":").replace("%3a", ":");
    let Some((name, verb)) = last.rsplit_once(':') else {
        return;
    };
    let mut target = format!("{}{name}/~{verb}", &path[..start]);
    if let Some(query) = request.uri().query() {
        target = format!("{target}?{query}");
    }
    if let Ok(uri) = target.parse() {
        *request.uri_mut() = uri;
    }
}

/// Bounds the time of a request, counts it and logs it.
async fn watch(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map(|path| path.as_str().replace("/~", ":"));
    // An import takes as long as its sender does; it has limits of its own.
    let limit = if route
        .as_deref()
        .is_some_and(|route| route.ends_with(":import"))
    {
        Duration::from_secs(24 * 3600)
    } else {
        TIMEOUT
    };
    let late = || {
        ApiError::unavailable(
            "it took too long; it may or may not have been recorded: the same request is harmless",
        )
        .retry(1)
        .into_response()
    };
    let answer = tokio::time::timeout(limit, next.run(request));
    let answer = answer.await.unwrap_or_else(|_| late());
    let (status, took) = (answer.status(), begun.elapsed());
    app.metrics.request(route.as_deref(), &method, status, took);
    let ms = took.as_millis() as u64;
    if status.is_server_error() {
        tracing::warn!(%method, route, status = status.as_u16(), ms, "request");
    } else {
        tracing::debug!(%method, route, status = status.as_u16(), ms, "request");
    }
    answer
}

async fn no_such_path() -> ApiError {
    ApiError::not_found("there is nothing at this address; GET /docs lists what there is")
}

async fn no_such_method() -> ApiError {
    ApiError::method("this address has no such method; GET /docs lists what there is")
}
