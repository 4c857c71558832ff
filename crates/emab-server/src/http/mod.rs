//! The HTTP API: routes, authentication, request and response types, OpenAPI. It contains no rules of a study.
//!
//! - `auth`: every request is authenticated by the extractor `auth::Caller`.
//! - [`error`]: maps rejections and failures to statuses and problem types.
//! - Limits: body sizes in `body`, the request timeout below, rates in [`rate_limit`], connections in [`crate::transport`].

mod auth;
mod body;
mod call;
mod checkpoint;
mod docs_page;
mod episodes;
pub mod error;
mod events;
mod health;
mod import;
mod lines;
mod openapi;
mod operations;
mod policy_page;
pub mod rate_limit;
mod response;
mod studies;
mod tables;
pub mod view;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use tower::util::MapRequest;
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Paths;
use utoipa::openapi::schema::Schema;
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::app::health::HealthCache;
use crate::app::permits::TokenPermits;
use crate::app::{Metrics, Service, with_caller};
use crate::tokens::Tokens;

use error::ApiError;
use rate_limit::RateLimiter;

pub use auth::{Peer, PersonHeader};
pub use body::SlowBody;
pub use openapi::document;

/// The time limit of a request; streamed bodies have their own.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest numbers of open event streams: of a token, and all.
const STREAMS: (usize, usize) = (8, 64);
/// The largest numbers of running imports: of a token, and all.
const IMPORTS: (usize, usize) = (1, 4);

/// The state that every handler shares.
#[derive(Clone)]
pub struct App {
    pub service: Arc<Service>,
    pub tokens: Tokens,
    pub rates: Arc<Rates>,
    pub metrics: Metrics,
    /// The header of a trusted proxy, if there is one.
    pub person_header: Option<Arc<PersonHeader>>,
    /// The health of studies for the metrics.
    pub health: HealthCache,
    /// Permits for open event streams.
    streams: Arc<TokenPermits>,
    /// Permits for running imports.
    imports: Arc<TokenPermits>,
}

pub struct Rates {
    /// Requests of each token.
    pub calls: RateLimiter<String>,
    /// Failed authentications from each network.
    pub failures: RateLimiter<IpAddr>,
}

impl Rates {
    /// Limits each token to this many requests per second; 0 is no limit.
    pub fn new(per_second: u32) -> Rates {
        Rates {
            calls: RateLimiter::new(per_second, per_second),
            failures: RateLimiter::new(10, 20),
        }
    }
}

impl App {
    pub fn new(service: Arc<Service>, tokens: Tokens, rates: Rates, metrics: Metrics) -> App {
        App {
            service,
            tokens,
            rates: Arc::new(rates),
            metrics,
            person_header: None,
            health: HealthCache::default(),
            streams: Arc::new(TokenPermits::new(STREAMS.0, STREAMS.1, 0)),
            imports: Arc::new(TokenPermits::new(IMPORTS.0, IMPORTS.1, 0)),
        }
    }

    /// Ends all event streams, which would keep the service from stopping.
    pub fn end_streams(&self) {
        self.streams.close();
    }
}

/// Routes with their documentation.
#[derive(Default)]
struct Routes {
    router: Router<App>,
    paths: Paths,
    schemas: Vec<(String, RefOr<Schema>)>,
}

impl Routes {
    fn with(mut self, (schemas, paths, methods): UtoipaMethodRouter<App>) -> Routes {
        for path in paths.paths.keys() {
            self.router = self.router.route(&inner_path(path), methods.clone());
        }
        for (path, item) in paths.paths {
            let there = self.paths.paths.entry(path).or_default();
            there.merge_operations(item);
        }
        self.schemas.extend(schemas);
        self
    }
}

fn api_routes() -> Routes {
    Routes::default()
        .with(routes!(studies::list))
        .with(routes!(studies::create))
        .with(routes!(studies::read))
        .with(routes!(studies::close))
        .with(routes!(studies::reopen))
        .with(routes!(studies::pause))
        .with(routes!(studies::resume))
        .with(routes!(studies::discard))
        .with(routes!(studies::estimates))
        .with(routes!(studies::policy))
        .with(routes!(health::health))
        .with(routes!(tables::decisions))
        .with(routes!(tables::codebook))
        .with(routes!(episodes::open))
        .with(routes!(episodes::list))
        .with(routes!(episodes::read))
        .with(routes!(episodes::ask))
        .with(routes!(episodes::tell))
        .with(routes!(episodes::stop))
        .with(routes!(episodes::abandon))
        .with(routes!(episodes::give_outcome))
        .with(routes!(episodes::amend))
        .with(routes!(episodes::amend_step))
        .with(routes!(episodes::void))
        .with(routes!(episodes::replay))
        .with(routes!(events::events))
        .with(routes!(events::export))
        .with(routes!(checkpoint::checkpoint))
        .with(routes!(import::import))
        .with(routes!(operations::livez))
        .with(routes!(operations::readyz))
        .with(routes!(operations::metrics))
        .with(routes!(operations::openapi))
        .with(routes!(operations::docs))
}

/// The router. [`crate::transport`] serves it; tests call it without a socket.
pub fn app(app: App) -> Router {
    let inner = api_routes()
        .router
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), watch))
        .with_state(app);
    // Layers run after routing, so the path is rewritten around the router.
    Router::new().fallback_service(MapRequest::new(inner, |mut request: Request<Body>| {
        split_verb(&mut request);
        request
    }))
}

/// The router's form of `…/{episode}:ask`: it allows no text after a parameter.
fn inner_path(path: &str) -> String {
    path.replace(':', "/~")
}

/// Moves the verb of `…/p1:ask` into its own segment; names contain no colon.
fn split_verb(request: &mut Request<Body>) {
    let path = request.uri().path();
    // A call has one address only.
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

/// Limits the time of a request, counts it and logs it.
async fn watch(State(app): State<App>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map(|path| path.as_str().replace("/~", ":"));
    // An import takes as long as its body; it has its own limits.
    let limit = match &route {
        Some(route) if route.ends_with(":import") => Duration::from_secs(24 * 3600),
        _ => TIMEOUT,
    };
    let late = || {
        ApiError::unavailable(
            "the request took too long; it may or may not have been recorded: repeat it, repeating is harmless",
        )
        .retry(1)
        .into_response()
    };
    // The caller is known once the request is authenticated.
    let answer = tokio::time::timeout(limit, with_caller("", next.run(request)));
    let answer = answer.await.unwrap_or_else(|_| late());
    let (status, took) = (answer.status(), begun.elapsed());
    app.metrics
        .request(route.as_deref(), method.as_str(), status.as_u16(), took);
    let ms = took.as_millis() as u64;
    if status.is_server_error() {
        tracing::warn!(%method, route, status = status.as_u16(), ms, "request");
    } else {
        tracing::debug!(%method, route, status = status.as_u16(), ms, "request");
    }
    answer
}

async fn no_such_path() -> ApiError {
    ApiError::not_found("no such path; GET /docs lists the calls")
}

async fn no_such_method() -> ApiError {
    ApiError::method("this path does not support the method; GET /docs lists the calls")
}
