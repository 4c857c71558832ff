//! Prometheus metrics.
//!
//! Every label has a fixed set of values: no request can create a new series.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The content type of what [`Metrics::encode`] returns.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The largest number of routes: a bug that passes paths instead of templates must not fill the memory.
const ROUTES: usize = 256;

/// Buckets in seconds: a response from memory takes about 50 us, a commit some ms, a failing disk seconds.
const SECONDS: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// Buckets for the number of writes in one commit.
const GROUPS: [f64; 10] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Call {
    route: Arc<str>,
    method: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct Route {
    route: Arc<str>,
}

/// The metrics; clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Series>);

macro_rules! series {
    ($($name:ident: $kind:ty = $new:expr, $registered:literal $([$unit:ident])? $help:literal;)*) => {
        pub struct Series {
            registry: Registry,
            routes: RwLock<HashSet<Arc<str>>>,
            $(#[doc = $help] pub $name: $kind,)*
        }

        impl Default for Metrics {
            fn default() -> Metrics {
                let mut registry = Registry::with_prefix("emab");
                $(let $name: $kind = $new;
                let unit: Option<Unit> = None$(.or(Some(Unit::$unit)))?;
                match unit {
                    Some(unit) => registry.register_with_unit($registered, $help, unit, $name.clone()),
                    None => registry.register($registered, $help, $name.clone()),
                })*
                Metrics(Arc::new(Series { registry, routes: RwLock::default(), $($name,)* }))
            }
        }
    };
}

series! {
    requests: Family<Call, Counter> = Family::default(), "requests" "Requests answered";
    latency: Family<Route, Histogram, fn() -> Histogram> = Family::new_with_constructor(|| Histogram::new(SECONDS)),
        "request_duration" [Seconds] "Time from the request head to the response head";
    groups: Histogram = Histogram::new(GROUPS), "group_size" "Writes in one commit";
    commits: Histogram = Histogram::new(SECONDS), "commit_duration" [Seconds] "Duration of a commit";
    refused_tokens: Counter = Counter::default(), "refused_tokens"
        "Requests rejected because the token is missing, malformed, unknown, revoked or expired";
    tokens_unreadable: Counter = Counter::default(), "tokens_unreadable"
        "Requests rejected because the token file or the table of tokens cannot be read";
    rate_limited: Counter = Counter::default(), "rate_limited" "Requests rejected by the rate limit";
    writes: Counter = Counter::default(), "writes_acknowledged" "Writes acknowledged after their commit";
    events: Counter = Counter::default(), "events_appended" "Events appended to the log";
    store_errors: Counter = Counter::default(), "store_errors" "Failures of the store";
    connections: Gauge = Gauge::default(), "open_connections" "Open connections";
    queue: Gauge = Gauge::default(), "queue_length" "Writes queued";
    checkpoint_file_errors: Counter = Counter::default(), "checkpoint_file_errors"
        "Failed writes to the file of checkpoints";
    dropped_log_lines: Counter = Counter::default(), "log_lines_dropped"
        "Log lines that were not written because the reader of the log is too slow";
}

impl std::ops::Deref for Metrics {
    type Target = Series;

    fn deref(&self) -> &Series {
        &self.0
    }
}

impl Metrics {
    /// Counts a response. `route` is the template (`/v1/studies/{study}`), `None` if no route matched.
    pub fn request(&self, route: Option<&str>, method: &str, status: u16, took: Duration) {
        let route = self.route(route.unwrap_or("unmatched"));
        let call = Call {
            route: Arc::clone(&route),
            method: method_label(method),
            status: status_label(status),
        };
        self.requests.get_or_create(&call).inc();
        let latency = self.latency.get_or_create(&Route { route });
        latency.observe(took.as_secs_f64());
    }

    /// The label of a route: the route, or `other` beyond the limit.
    fn route(&self, route: &str) -> Arc<str> {
        let known = self.routes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(route) = known.get(route) {
            return Arc::clone(route);
        }
        drop(known);
        let mut known = self.routes.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= ROUTES {
            return "other".into();
        }
        let route: Arc<str> = route.into();
        known.insert(Arc::clone(&route));
        route
    }

    pub fn commit(&self, writes: u64, events: u64, took: Duration) {
        self.writes.inc_by(writes);
        self.events.inc_by(events);
        self.groups.observe(writes as f64);
        self.commits.observe(took.as_secs_f64());
    }

    /// Counts an open connection until the returned guard is dropped.
    pub fn connection(&self) -> OpenConnection {
        self.connections.inc();
        OpenConnection(self.connections.clone())
    }

    /// The metrics as text, of type [`CONTENT_TYPE`].
    pub fn encode(&self) -> String {
        let mut out = String::new();
        if text::encode(&mut out, &self.registry).is_err() {
            tracing::error!("the metrics could not be encoded");
        }
        out
    }
}

/// An open connection, counted until the guard is dropped.
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Clients may send any method.
fn method_label(method: &str) -> &'static str {
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let found = known.into_iter().find(|known| *known == method);
    found.unwrap_or("other")
}

fn status_label(status: u16) -> &'static str {
    match status / 100 {
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
    fn encodes_what_was_counted() {
        let metrics = Metrics::default();
        metrics.request(Some("/v1/studies/{study}"), "PUT", 201, 2 * MS);
        metrics.commit(3, 5, 2 * MS);
        metrics.commit(1, 1, 2 * MS);
        metrics.store_errors.inc();
        metrics.refused_tokens.inc();
        metrics.rate_limited.inc();
        metrics.queue.inc_by(7);
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
    fn unknown_methods_and_many_routes_create_no_new_series() {
        let metrics = Metrics::default();
        for i in 0..10_000 {
            let path = format!("/{i}");
            metrics.request(Some(&path), &format!("M{i}"), 200, MS);
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
