//! What the service counts, as Prometheus reads it.
//!
//! Every label is one of a few words fixed beforehand: nothing that a client sends can make a new series.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::{Family, MetricConstructor};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The content type of what [`Metrics::encode`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Route templates are those of the program, so there are few; a mistake that passes paths instead must not fill memory.
const ROUTES: usize = 256;

/// Seconds: an answer from memory takes some 50 us, a commit some ms, a disk in trouble seconds.
const SECONDS: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// Writes that share one commit.
const GROUPS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Call {
    route: Arc<str>,
    method: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: Arc<str>,
}

#[derive(Clone)]
struct Latency;

impl MetricConstructor<Histogram> for Latency {
    fn new_metric(&self) -> Histogram {
        Histogram::new(SECONDS)
    }
}

/// Everything that is counted. A clone counts into the same numbers.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    routes: RwLock<HashSet<Arc<str>>>,
    requests: Family<Call, Counter>,
    latency: Family<Route, Histogram, Latency>,
    refused_tokens: Counter,
    rate_limited: Counter,
    writes: Counter,
    groups: Histogram,
    commits: Histogram,
    events: Counter,
    store_errors: Counter,
    connections: Gauge,
    queue: Gauge,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Metrics {
        let mut registry = Registry::with_prefix("emab");
        let requests = Family::default();
        let latency = Family::new_with_constructor(Latency);
        let refused_tokens = Counter::default();
        let rate_limited = Counter::default();
        let writes = Counter::default();
        let groups = Histogram::new(GROUPS);
        let commits = Histogram::new(SECONDS);
        let events = Counter::default();
        let store_errors = Counter::default();
        let connections = Gauge::default();
        let queue = Gauge::default();

        let r = &mut registry;
        r.register("requests", "Requests answered", requests.clone());
        r.register_with_unit(
            "request_duration",
            "From the head of a request to the head of its answer",
            Unit::Seconds,
            latency.clone(),
        );
        let text = "Requests refused for a token that is missing, malformed, unknown or revoked";
        r.register("refused_tokens", text, refused_tokens.clone());
        let text = "Requests refused for coming too fast";
        r.register("rate_limited", text, rate_limited.clone());
        let text = "Writes acknowledged: on disk, and said so";
        r.register("writes_acknowledged", text, writes.clone());
        r.register("group_size", "Writes in one commit", groups.clone());
        r.register_with_unit(
            "commit_duration",
            "Time that one commit took",
            Unit::Seconds,
            commits.clone(),
        );
        r.register("events_appended", "Events in the log", events.clone());
        let text = "Times that the store failed";
        r.register("store_errors", text, store_errors.clone());
        r.register("open_connections", "Connections", connections.clone());
        r.register("queue_length", "Writes that wait", queue.clone());

        Metrics(Arc::new(Inner {
            registry,
            routes: RwLock::default(),
            requests,
            latency,
            refused_tokens,
            rate_limited,
            writes,
            groups,
            commits,
            events,
            store_errors,
            connections,
            queue,
        }))
    }

    /// One request answered; `route` is the template (`/v1/studies/{study}`), `None` where there is no such route.
    pub fn request(
        &self,
        route: Option<&str>,
        method: &Method,
        status: StatusCode,
        took: Duration,
    ) {
        let route = self.route(route.unwrap_or("unmatched"));
        let call = Call {
            route: Arc::clone(&route),
            method: method_label(method),
            status: status_label(status),
        };
        self.0.requests.get_or_create(&call).inc();
        let latency = self.0.latency.get_or_create(&Route { route });
        latency.observe(took.as_secs_f64());
    }

    /// The label of a route: itself, or `other` once there are more than a program has.
    fn route(&self, route: &str) -> Arc<str> {
        let known = self.0.routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = known.get(route) {
            return Arc::clone(route);
        }
        drop(known);
        let mut known = self
            .0
            .routes
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ROUTES {
            return "other".into();
        }
        let route: Arc<str> = route.into();
        known.insert(Arc::clone(&route));
        route
    }

    /// One request refused for its token: missing, malformed, unknown or revoked.
    pub fn refused_token(&self) {
        self.0.refused_tokens.inc();
    }

    /// One request refused for coming too fast.
    pub fn rate_limited(&self) {
        self.0.rate_limited.inc();
    }

    /// One commit: how many writes shared it, how many events it appended, how long it took.
    pub fn commit(&self, writes: u64, events: u64, took: Duration) {
        self.0.writes.inc_by(writes);
        self.0.events.inc_by(events);
        self.0.groups.observe(writes as f64);
        self.0.commits.observe(took.as_secs_f64());
    }

    /// The store failed once.
    pub fn store_error(&self) {
        self.0.store_errors.inc();
    }

    /// So many more requests wait to be written, or so many less.
    pub fn waiting(&self, change: i64) {
        self.0.queue.inc_by(change);
    }

    /// A connection is open until what this returns is dropped.
    pub fn connection(&self) -> OpenConnection {
        self.0.connections.inc();
        OpenConnection(self.clone())
    }

    /// All of it as text, for `/metrics`; see [`CONTENT_TYPE`].
    pub fn encode(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail; if a metric itself could, the others would still be there.
        if text::encode(&mut out, &self.0.registry).is_err() {
            tracing::error!("metrics could not be written whole");
        }
        out
    }
}

/// Counts as an open connection until it is dropped.
#[derive(Debug)]
pub struct OpenConnection(Metrics);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.0.connections.dec();
    }
}

/// A client may send any word as a method.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

fn status_label(status: StatusCode) -> &'static str {
    match status.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[track_caller]
    fn has(text: &str, line: &str) {
        assert!(
            text.lines().any(|l| l == line),
            "{line:?} is not in\n{text}"
        );
    }

    #[test]
    fn what_is_recorded_is_in_the_text() {
        let metrics = Metrics::new();
        metrics.request(
            Some("/v1/studies/{study}"),
            &Method::PUT,
            StatusCode::CREATED,
            2 * MS,
        );
        metrics.commit(3, 5, 2 * MS);
        metrics.commit(1, 1, 2 * MS);
        metrics.store_error();
        metrics.refused_token();
        metrics.rate_limited();
        metrics.waiting(7);
        let open = metrics.connection();
        let text = metrics.encode();
        for line in [
            "emab_requests_total{route=\"/v1/studies/{study}\",method=\"PUT\",status=\"2xx\"} 1",
            "emab_request_duration_seconds_count{route=\"/v1/studies/{study}\"} 1",
            "emab_request_duration_seconds_bucket{le=\"0.001\",route=\"/v1/studies/{study}\"} 0",
            "emab_request_duration_seconds_bucket{le=\"0.0025\",route=\"/v1/studies/{study}\"} 1",
            "emab_writes_acknowledged_total 4",
            "emab_events_appended_total 6",
            "emab_group_size_bucket{le=\"1.0\"} 1",
            "emab_group_size_bucket{le=\"4.0\"} 2",
            "emab_commit_duration_seconds_count 2",
            "emab_store_errors_total 1",
            "emab_refused_tokens_total 1",
            "emab_rate_limited_total 1",
            "emab_open_connections 1",
            "emab_queue_length 7",
        ] {
            has(&text, line);
        }
        assert!(text.ends_with("# EOF\n"));
        drop(open);
        has(&metrics.encode(), "emab_open_connections 0");
    }

    #[test]
    fn strange_methods_and_many_routes_make_no_new_series() {
        let metrics = Metrics::new();
        for i in 0..10_000 {
            let path = format!("/{i}");
            let method = Method::from_bytes(format!("M{i}").as_bytes()).unwrap();
            metrics.request(Some(&path), &method, StatusCode::OK, MS);
        }
        let text = metrics.encode();
        for name in [
            "emab_requests_total{",
            "emab_request_duration_seconds_count{",
        ] {
            let series = text.lines().filter(|line| line.starts_with(name)).count();
            assert_eq!(series, ROUTES + 1, "{name}");
        }
        has(
            &text,
            "emab_requests_total{route=\"other\",method=\"other\",status=\"2xx\"} 9744",
        );
    }
}
