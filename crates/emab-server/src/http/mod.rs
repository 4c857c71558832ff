//! The HTTP API: routes, authentication, request and response types, OpenAPI. It contains no rules of a study.
//!
//! - `auth`: every request is authenticated by the extractor `auth::Caller`.
//! - [`error`]: maps rejections and failures to statuses and problem types.
//! - Limits: body sizes in `body`, the request timeout below, rates in [`rate_limit`], connections in [`crate::transport`].

pub(crate) mod auth;
pub(crate) mod body;
pub(crate) mod call;
mod checkpoint;
pub mod docs_page;
mod episodes;
pub mod error;
mod evaluation;
pub(crate) mod events;
mod health;
mod import;
mod lines;
mod openapi;
mod operations;
mod policy_page;
pub mod rate_limit;
pub(crate) mod response;
pub(crate) mod studies;
pub(crate) mod tables;
pub mod view;

use std::net::IpAddr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use emab::input::{did_you_mean, nearest};
use tower::util::{MapRequest, MapResponse};
use utoipa::openapi::RefOr;
use utoipa::openapi::path::Paths;
use utoipa::openapi::schema::Schema;
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::app::audits::Audits;
use crate::app::health::HealthCache;
use crate::app::permits::TokenPermits;
use crate::app::policy_map::EarlierPolicies;
use crate::app::progress::ProgressCache;
use crate::app::{Metrics, Service, with_caller};
use crate::domain::is_name;
use crate::tokens::{Token, Tokens};

use auth::Known;
use error::ApiError;
use rate_limit::RateLimiter;

pub use auth::{Peer, PersonHeader};
pub use body::SlowBody;
pub use openapi::document;

/// The time limit of a request; streamed bodies have their own.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The largest numbers of open event streams: of a token, and all.
const STREAMS: (usize, usize) = (8, 64);
/// The largest numbers of open pages that wait for changes: of a token, and all.
const PAGES: (usize, usize) = (64, 1_024);
/// How long a person stays signed in, unless it is set.
pub const SESSION: Duration = Duration::from_secs(12 * 3_600);
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
    /// The audits that people start.
    pub audits: Audits,
    /// Policies at earlier events.
    pub policies: EarlierPolicies,
    /// Parts of the progress of studies.
    pub progress: ProgressCache,
    /// Whether browsers reach the service by TLS, its own or that of a proxy.
    pub tls: bool,
    /// How long a person stays signed in.
    pub session: Duration,
    /// Permits for open pages that wait for changes.
    pub pages: Arc<TokenPermits>,
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
            audits: Audits::default(),
            policies: EarlierPolicies::default(),
            progress: ProgressCache::default(),
            tls: false,
            session: SESSION,
            pages: Arc::new(TokenPermits::new(PAGES.0, PAGES.1, 0)),
            streams: Arc::new(TokenPermits::new(STREAMS.0, STREAMS.1, 0)),
            imports: Arc::new(TokenPermits::new(IMPORTS.0, IMPORTS.1, 0)),
        }
    }

    /// Ends all event streams, which would keep the service from stopping.
    pub fn end_streams(&self) {
        self.streams.close();
        self.pages.close();
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
        .with(routes!(evaluation::evaluation))
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

/// The router of the API and of other pages, which share its limits, metrics and log.
pub fn app(app: App, pages: Router<App>) -> Router {
    let inner = api_routes()
        .router
        .merge(pages)
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), watch))
        .with_state(app);
    // Layers run after routing, so the path is rewritten around the router.
    let inner = MapRequest::new(inner, |mut request: Request<Body>| {
        split_verb(&mut request);
        request
    });
    Router::new().fallback_service(MapResponse::new(inner, name_methods))
}

/// Names the methods of the path in the error for another one. The router knows them after its layers.
fn name_methods(answer: Response) -> Response {
    let allowed = answer.headers().get(header::ALLOW).cloned();
    let (StatusCode::METHOD_NOT_ALLOWED, Some(allowed)) = (answer.status(), allowed) else {
        return answer;
    };
    let methods = allowed.to_str().unwrap_or_default().replace(',', ", ");
    let what =
        format!("this path supports {methods} and no other method; GET /docs lists the calls");
    let mut answer = ApiError::method(what).into_response();
    answer.headers_mut().insert(header::ALLOW, allowed);
    answer
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
async fn watch(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let (caller, study) = (Known::default(), study_of(request.uri().path()));
    request.extensions_mut().insert(caller.clone());
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
    let answer = async {
        let answer = next.run(request).await;
        suggest_study(&app, caller.0.get(), study, answer).await
    };
    let answer = tokio::time::timeout(limit, with_caller("", answer));
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

/// The study that a path names.
fn study_of(path: &str) -> Option<String> {
    let name = path.strip_prefix("/v1/studies/")?.split('/').next()?;
    is_name(name).then(|| name.to_owned())
}

/// Adds a suggestion to the answer that there is no such study: a study that the caller may see.
async fn suggest_study(
    app: &App,
    caller: Option<&Arc<Token>>,
    study: Option<String>,
    answer: Response,
) -> Response {
    let (StatusCode::NOT_FOUND, Some(caller), Some(study)) = (answer.status(), caller, study)
    else {
        return answer;
    };
    let (bound, name) = (caller.studies.clone(), study.clone());
    let found = app.service.read(move |store| {
        if store.head(&name)?.is_some() {
            return Ok(String::new());
        }
        let mut names = Vec::new();
        match bound {
            None => names.extend(store.heads("", 1_000)?.into_iter().map(|head| head.name)),
            Some(bound) => {
                for own in bound {
                    names.extend(store.head(&own)?.map(|head| head.name));
                }
            }
        }
        Ok(did_you_mean(&name, names.iter().map(String::as_str)))
    });
    match found.await {
        Ok(near) if !near.is_empty() => {
            ApiError::not_found(format!("there is no study `{study}`{near}")).into_response()
        }
        _ => answer,
    }
}

async fn no_such_path(request: Request) -> ApiError {
    let near = near_path(request.uri().path());
    let near = near.map_or(String::new(), |near| format!(" (did you mean {near}?)"));
    ApiError::not_found(format!("no such path{near}; GET /docs lists the calls"))
}

/// The path of a call that differs from this one in one segment, if that is nearly the same.
fn near_path(path: &str) -> Option<String> {
    static PATHS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let paths = api_routes().paths.paths;
        paths.keys().map(|path| inner_path(path)).collect()
    });
    let given: Vec<&str> = path.split('/').collect();
    PATHS.iter().find_map(|known| {
        let known: Vec<&str> = known.split('/').collect();
        let differ = |(one, other): &(&&str, &&str)| !one.starts_with('{') && one != other;
        let mut differing = known.iter().zip(&given).filter(differ);
        let (segment, wrong) = differing.next()?;
        let alone = differing.next().is_none() && known.len() == given.len();
        nearest(wrong, [*segment]).filter(|_| alone)?;
        // The names in the path are those of the request, if they are names.
        let path = known.iter().zip(&given).map(|(known, given)| {
            let name = known.starts_with('{') && is_name(given);
            if name { *given } else { *known }
        });
        let path: Vec<&str> = path.collect();
        Some(format!("`{}`", path.join("/").replace("/~", ":")))
    })
}

/// [`name_methods`] replaces its text.
async fn no_such_method() -> ApiError {
    ApiError::method("this path does not support the method; GET /docs lists the calls")
}
