//! The problem of a result: sizes, values and its file.

use emab::{Names, Spec};
use emab_sim::background::ProblemSummary;
use emab_sim::results::ReferenceValues;
use serde_json::Value;

use super::count;
use crate::document::Block;
use crate::policy::sequence_text;
use crate::run_table::confidence;
use crate::text_table::number;

/// Names that are listed; of more there are only these and the count.
const LISTED: usize = 8;
/// Characters of a field of the problem file in the excerpt.
const EXCERPT: usize = 240;
/// Bytes of a problem file that is included as a whole.
const WHOLE: usize = 20_000;

/// The fields of a problem file in the order of its documentation; others follow.
const FIELDS: [&str; 10] = [
    "horizon",
    "states",
    "actions",
    "feedbacks",
    "start",
    "transition",
    "allowed",
    "parameters",
    "model",
    "learning",
];

/// `values` are those of the result, which hold under its conditions.
pub(super) fn blocks(problem: &ProblemSummary, values: Option<&ReferenceValues>) -> Vec<Block> {
    let file = &problem.file;
    let spec = file.spec();
    let mut blocks = vec![Block::Heading("Problem".into())];
    if !file.description().is_empty() {
        blocks.push(Block::Text(file.description().into()));
    }
    let pairs = number(problem.reached.pairs as f64);
    let pairs = match problem.reached.complete {
        true => pairs,
        false => format!("more than {pairs}"),
    };
    let mut facts = vec![
        ("name", file.name().to_owned()),
        ("hash", format!("`{}`", file.hash())),
        ("steps", number(spec.horizon() as f64)),
        ("states", names(spec.states())),
        ("actions", format!("{}; and stop", names(spec.actions()))),
        ("feedbacks", names(spec.feedbacks())),
        ("starts in", starts(spec)),
        ("reachable pairs", pairs),
        ("K of the paper", number(spec.k())),
    ];
    if !file.conditions().is_none() {
        facts.push(("conditions", format!("`{}`", file.conditions())));
    }
    facts.extend(value_facts(problem, values));
    let facts = facts.into_iter().map(|(name, value)| (name.into(), value));
    blocks.push(Block::Facts(facts.collect()));
    blocks.extend(file_blocks(file.canonical()));
    blocks
}

fn names(names: &Names) -> String {
    let n = names.len();
    let Names::List(_) = names else {
        return number(n as f64);
    };
    let first: Vec<_> = (0..n.min(LISTED)).map(|i| names.name(i)).collect();
    let more = if n > LISTED { ", …" } else { "" };
    format!("{}: {}{more}", number(n as f64), first.join(", "))
}

fn starts(spec: &Spec) -> String {
    let name = |x: &usize| spec.states().name(*x).into_owned();
    match spec.starts() {
        [one] => name(one),
        several if several.len() <= LISTED => {
            let all: Vec<String> = several.iter().map(name).collect();
            all.join(", ")
        }
        several => count(several.len() as u64, "state"),
    }
}

fn value_facts(
    problem: &ProblemSummary,
    values: Option<&ReferenceValues>,
) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(values) = values {
        facts.push((
            "benchmark",
            match values.benchmark_stderr {
                0.0 => number(values.benchmark_value),
                stderr => format!(
                    "{} (estimated)",
                    confidence(values.benchmark_value, stderr, u64::MAX)
                ),
            },
        ));
        facts.extend(
            values
                .optimal_value
                .map(|value| ("optimal policy", number(value))),
        );
    }
    let Some(solution) = &problem.solution else {
        return facts;
    };
    if values.is_none() {
        facts.push(("benchmark", number(solution.benchmark_value)));
        facts.push(("optimal policy", number(solution.optimal_value)));
    }
    let under = match problem.file.conditions().is_none() {
        true => "",
        false => " without conditions",
    };
    let spec = problem.file.spec();
    let sequence = |fixed: &emab::oracle::FixedSequence| {
        let names = sequence_text(&fixed.names(spec));
        format!("{}{under}: {names}", number(fixed.value))
    };
    facts.push((
        "best fixed sequence",
        match &solution.best_fixed {
            Some(fixed) => sequence(fixed),
            None => "too many sequences to compare".into(),
        },
    ));
    facts.push(("best repeated action", sequence(&solution.best_repeated)));
    facts
}

/// The problem file: its fields, and the whole of it if it is small.
fn file_blocks(canonical: &str) -> Vec<Block> {
    let Ok(Value::Object(fields)) = serde_json::from_str(canonical) else {
        return Vec::new();
    };
    let mut names: Vec<&String> = fields.keys().collect();
    names.retain(|name| !["name", "description"].contains(&name.as_str()));
    let place = |name: &str| FIELDS.iter().position(|field| *field == name);
    names.sort_by_key(|name| place(name).unwrap_or(FIELDS.len()));
    let mut rows = Vec::new();
    for name in names {
        match &fields[name] {
            Value::Object(inner) => {
                let inner = inner.iter();
                rows.extend(
                    inner.map(|(field, value)| vec![format!("{name}.{field}"), excerpt(value)]),
                );
            }
            value => rows.push(vec![name.clone(), excerpt(value)]),
        }
    }
    let mut blocks = vec![Block::Details {
        summary: "Fields of the problem file".into(),
        blocks: vec![Block::table(vec!["field", "value"], rows)],
    }];
    if canonical.len() <= WHOLE {
        blocks.push(Block::Details {
            summary: "The problem file as JSON, to save as problem.json".into(),
            blocks: vec![Block::Code(canonical.into())],
        });
    }
    blocks
}

/// The value of a field as code, cut if it is long.
fn excerpt(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = text.replace('`', "'");
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
