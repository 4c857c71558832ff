//! The metrics of the service.

use std::time::Duration;

use emab_server::app::{Metrics, health};

use super::{sentence, table};

pub fn page() -> (&'static str, &'static str, String) {
    let metrics = Metrics::default();
    // A metric with labels is written once it has a value.
    metrics.request(Some("/readyz"), "GET", 200, Duration::ZERO);
    let text = metrics.encode() + &health::text(&[]);
    let lines: Vec<&str> = text.lines().collect();
    let named = |word: &str| {
        let prefix = format!("# {word} ");
        let found = lines
            .iter()
            .filter_map(move |line| line.strip_prefix(&*prefix));
        let found: Vec<_> = found.filter_map(|rest| rest.split_once(' ')).collect();
        found
    };
    let types = named("TYPE");
    let rows = named("HELP").into_iter().map(|(name, help)| {
        let kind = types
            .iter()
            .find(|(of, _)| *of == name)
            .map_or("", |it| it.1);
        let sample = lines.iter().find(|line| line.starts_with(name));
        vec![
            format!(
                "`{}`",
                if kind == "counter" {
                    format!("{name}_total")
                } else {
                    name.into()
                }
            ),
            kind.into(),
            sample.map(|line| labels(line)).unwrap_or_default(),
            sentence(help),
        ]
    });
    (
        "Metrics",
        "What `GET /metrics` of the [decision service](../service.md) contains, in the text format of OpenMetrics. A histogram `NAME` has the \
         series `NAME_bucket`, `NAME_sum` and `NAME_count`. Metrics of studies (`emab_study_…`) have the label `study`, those of checks also \
         `check`. [alerts.yml](../alerts.yml) has alerts for Prometheus.",
        table(&["metric", "type", "labels", "meaning"], rows),
    )
}

/// The names of the labels of a sample, except for that of a bucket.
fn labels(sample: &str) -> String {
    let inside = sample
        .split_once('{')
        .and_then(|(_, rest)| rest.split_once('}'));
    let pairs = inside.map_or("", |it| it.0).split(',');
    let names = pairs.filter_map(|pair| Some(pair.split_once('=')?.0));
    let names: Vec<String> = names
        .filter(|it| *it != "le")
        .map(|it| format!("`{it}`"))
        .collect();
    names.join(", ")
}
