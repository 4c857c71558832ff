//! The table `[conditions]` of a problem file: what the problem is played under, see `docs/conditions.md`.

use std::ops::Range;

use emab::conditions::{Delay, Drift, Probability};
use emab::learners::nearest;
use emab::spec::format_number;
use emab::{Conditions, ParameterError};
use serde_json::Value;

use crate::error::Mistake;
use crate::expression::Scope;
use crate::file::{Fields, number, text};
use crate::node::{Kind, Node};

pub(crate) const CONDITION_FIELDS: [&str; 5] = ["delay", "dropout", "lost", "override", "drift"];
const DRIFT_FIELDS: [&str; 5] = ["parameter", "to", "at", "from", "until"];

/// The most laws that a problem may drift through: each is solved.
const MOST_LAWS: usize = 1000;

/// Reads the table.
pub(crate) fn conditions(node: &Node) -> Result<Conditions, Mistake> {
    let fields = Fields::of(node, "[conditions]", &CONDITION_FIELDS)?;
    let mut conditions = Conditions::default();
    if let Some(node) = fields.get("delay") {
        conditions.delay = delay(node)?;
    }
    for (name, place) in [
        ("dropout", &mut conditions.dropout),
        ("lost", &mut conditions.lost),
        ("override", &mut conditions.overrides),
    ] {
        if let Some(node) = fields.get(name) {
            *place =
                Probability::new(name, number(node, name)?).map_err(|error| wrong(node, &error))?;
        }
    }
    if let Some(node) = fields.get("drift") {
        let items = changes(node)?;
        for node in items {
            conditions.drift.push(change(node)?);
        }
        conditions
            .check_drift()
            .map_err(|(i, error)| wrong(&items[i], &error))?;
    }
    Ok(conditions)
}

fn wrong(node: &Node, error: &ParameterError) -> Mistake {
    Mistake::at(&node.span, error.to_string(), "out of range")
}

fn delay(node: &Node) -> Result<Delay, Mistake> {
    if let Kind::Number(_) = node.kind {
        return Ok(Delay::Fixed(whole(node, "delay", 0)?));
    }
    let Kind::Table(_) = &node.kind else {
        let message = "`delay` must be a number of episodes, or a table such as { kind = \"geometric\", mean = 20 }";
        return Err(Mistake::at(
            &node.span,
            message,
            format!("got {}", node.what()),
        ));
    };
    let all = Fields::of(node, "this delay", &["kind", "episodes", "mean", "size"])?;
    let Some(kind) = all.get("kind") else {
        let message = "a delay needs a `kind`: fixed, geometric or batches";
        return Err(Mistake::at(&node.span, message, "not given here"));
    };
    let named = text(kind, "kind")?;
    let takes = match named.as_str() {
        "fixed" => "episodes",
        "geometric" => "mean",
        "batches" => "size",
        _ => {
            let message = format!("unknown delay `{named}`");
            let label = "expected fixed, geometric or batches";
            return Err(Mistake::at(&kind.span, message, label));
        }
    };
    let fields = Fields::of(node, "this delay", &["kind", takes])?;
    let value = fields.get(takes).ok_or_else(|| {
        let message = format!("delay `{named}` needs `{takes}`");
        Mistake::at(&node.span, message, "not given here")
    })?;
    match takes {
        "episodes" => Ok(Delay::Fixed(whole(value, takes, 0)?)),
        "mean" => Delay::geometric(number(value, takes)?).map_err(|error| wrong(value, &error)),
        _ => Delay::batches(whole(value, takes, 1)?).map_err(|error| wrong(value, &error)),
    }
}

/// The changes that `drift` lists.
fn changes(node: &Node) -> Result<&[Node], Mistake> {
    match &node.kind {
        Kind::Array(items) => Ok(items),
        _ => {
            let message =
                "`drift` must be a list such as [{ parameter = \"p\", to = 0.4, at = 5000 }]";
            let label = format!("got {}", node.what());
            Err(Mistake::at(&node.span, message, label))
        }
    }
}

fn change(node: &Node) -> Result<Drift, Mistake> {
    let fields = Fields::of(node, "this change", &DRIFT_FIELDS)?;
    let need = |name: &str| {
        fields.get(name).ok_or_else(|| {
            let message = format!("a change needs `{name}`");
            Mistake::at(&node.span, message, "not given here")
        })
    };
    let parameter = text(need("parameter")?, "parameter")?;
    let to = number(need("to")?, "to")?;
    let built = match (fields.get("at"), fields.get("from"), fields.get("until")) {
        (Some(at), None, None) => Drift::at(parameter, to, whole(at, "at", 2)?),
        (None, Some(from), Some(until)) => {
            let (from, until) = (whole(from, "from", 1)?, whole(until, "until", 2)?);
            Drift::between(parameter, to, from, until)
        }
        _ => {
            let message = "a change has either `at`, or both `from` and `until`";
            return Err(Mistake::at(&node.span, message, "this change"));
        }
    };
    built.map_err(|error| wrong(node, &error))
}

/// An episode, or a number of them.
fn whole(node: &Node, field: &str, least: u64) -> Result<u64, Mistake> {
    let value = number(node, field)?;
    if value.fract() == 0.0 && (least as f64..9e15).contains(&value) {
        return Ok(value as u64);
    }
    let message = format!(
        "`{field}` must be a whole number of at least {least}, got {}",
        format_number(value)
    );
    Err(Mistake::at(&node.span, message, "out of range"))
}

/// Where the name of the parameter of a change stands, if the table states it.
pub(crate) fn place_of(node: Option<&Node>, change: usize) -> Option<Range<usize>> {
    let fields = Fields::of(node?, "[conditions]", &CONDITION_FIELDS).ok()?;
    let change = changes(fields.get("drift")?).ok()?.get(change)?;
    let fields = Fields::of(change, "this change", &DRIFT_FIELDS).ok()?;
    Some(fields.get("parameter")?.span.clone())
}

/// The values that names have from an episode on, by its number: one entry for each law that follows the first.
pub(crate) fn later_scopes(
    conditions: &Conditions,
    scope: &Scope,
    parameters: &[(String, f64)],
    place: &dyn Fn(usize) -> Option<Range<usize>>,
) -> Result<Vec<(u64, Scope)>, Mistake> {
    let value = |name: &str| {
        let found = parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    };
    for (i, change) in conditions.drift.iter().enumerate() {
        let name = change.parameter();
        if value(name).is_none() {
            let near = nearest(name, parameters.iter().map(|(name, _)| name.as_str()));
            return Err(Mistake {
                span: place(i),
                message: format!("`{name}` drifts and is none of the [parameters]"),
                label: "no such parameter".into(),
                help: near.map(|near| format!("did you mean `{near}`?")),
            });
        }
    }
    let drift_phases = conditions.drift_phases(|name| value(name).unwrap_or(f64::NAN));
    if drift_phases.len() > MOST_LAWS {
        return Err(Mistake {
            span: place(0),
            message: format!(
                "at most {MOST_LAWS} changes of the law are supported, got {}",
                drift_phases.len()
            ),
            label: "too many changes".into(),
            help: Some(format!(
                "a change along a line counts {}, one at an episode counts 1",
                Drift::STEPS
            )),
        });
    }
    let scopes = drift_phases.into_iter().map(|(first, values)| {
        let mut scope = scope.clone();
        for (name, value) in values {
            scope.set(&name, value);
        }
        (first, scope)
    });
    Ok(scopes.collect())
}

/// As the canonical form of a file has them, whichever way they were stated.
pub(crate) fn canonical(conditions: &Conditions) -> Option<Value> {
    if conditions.is_none() {
        return None;
    }
    let mut value = serde_json::to_value(conditions).ok()?;
    whole_numbers(&mut value);
    Some(value)
}

/// 1.0 and 1 are the same number, and are written the same.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(n) = number.as_f64()
                && n.fract() == 0.0
                && n.abs() < 9e15
            {
                *value = Value::from(n as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(entries) => entries.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
