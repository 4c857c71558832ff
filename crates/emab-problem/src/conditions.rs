//! Section `[conditions]` of a problem file, see `docs/conditions.md`.

use std::ops::Range;

use std::sync::Arc;

use emab::conditions::{Delay, Drift, Dropout, DropoutText, Missing, Probability};
use emab::spec::QuantityError;
use emab::spec::format_number;
use emab::{Conditions, Quantity};
use serde_json::Value;

use crate::error::Diagnostic;
use crate::expression::SymbolTable;
use crate::fields::{Fields, number, text};
use crate::spanned::{SpannedValue, ValueKind};
use crate::table::{Dimension, QuantityContext, SharedTable, Table};

const DRIFT_FIELDS: [&str; 5] = ["parameter", "to", "at", "from", "until"];

/// Most models that drift may lead to: each is solved.
const MAX_MODELS: usize = 1000;

/// Reads the section.
pub(crate) fn conditions(node: &SpannedValue) -> Result<Conditions, Diagnostic> {
    let fields = Fields::of(node, "[conditions]", &Conditions::KEYS)?;
    let mut conditions = Conditions::default();
    if let Some(node) = fields.get("delay") {
        conditions.delay = delay(node)?;
    }
    if let Some(node) = fields.get("open") {
        let open = Conditions::open(integer(node, "open", 1)?);
        conditions.open = open.map_err(|error| node.out_of_range(error))?;
    }
    if let Some(node) = fields.get("dropout") {
        let dropout = Dropout::try_from(dropout_text(node)?);
        conditions.dropout = dropout.map_err(|error| node.out_of_range(error))?;
    }
    for (name, place) in [
        ("lost", &mut conditions.lost),
        ("override", &mut conditions.overrides),
    ] {
        if let Some(node) = fields.get(name) {
            let probability = Probability::new(name, number(node, name)?);
            *place = probability.map_err(|error| node.out_of_range(error))?;
        }
    }
    for (name, place) in [
        ("missing_costs", &mut conditions.missing_costs),
        ("missing_rewards", &mut conditions.missing_rewards),
    ] {
        if let Some(node) = fields.get(name) {
            *place = missing(node, name)?;
        }
    }
    if let Some(node) = fields.get("drift") {
        let items = changes(node)?;
        for node in items {
            conditions.drift.push(change(node)?);
        }
        conditions
            .check_drift()
            .map_err(|(i, error)| items[i].out_of_range(error))?;
    }
    Ok(conditions)
}

fn delay(node: &SpannedValue) -> Result<Delay, Diagnostic> {
    if let ValueKind::Number(_) = node.kind {
        return Ok(Delay::Fixed(integer(node, "delay", 0)?));
    }
    let ValueKind::Table(_) = &node.kind else {
        let message = "`delay` must be a number of episodes, or a table such as { kind = \"geometric\", mean = 20 }";
        return Err(node.wrong_type(message));
    };
    let all = Fields::of(node, "this delay", &["kind", "episodes", "mean", "size"])?;
    let Some(kind) = all.get("kind") else {
        let message = "a delay needs a `kind`: fixed, geometric or batches";
        return Err(Diagnostic::at(&node.span, message, "not given here"));
    };
    let named = text(kind, "kind")?;
    let kinds = [
        ("fixed", "episodes"),
        ("geometric", "mean"),
        ("batches", "size"),
    ];
    let Some((_, takes)) = kinds.into_iter().find(|(known, _)| *known == named) else {
        let message = format!("unknown delay `{named}`");
        let label = "must be fixed, geometric or batches";
        let names = kinds.map(|(name, _)| name);
        return Err(Diagnostic::explained(&kind.span, message, label).suggest(&named, names));
    };
    let fields = Fields::of(node, "this delay", &["kind", takes])?;
    let value = fields.get(takes).ok_or_else(|| {
        let message = format!("delay `{named}` needs `{takes}`");
        Diagnostic::at(&node.span, message, "not given here")
    })?;
    match takes {
        "episodes" => Ok(Delay::Fixed(integer(value, takes, 0)?)),
        "mean" => Delay::geometric(number(value, takes)?).map_err(|e| value.out_of_range(e)),
        _ => Delay::batches(integer(value, takes, 1)?).map_err(|e| value.out_of_range(e)),
    }
}

/// A number, an expression or an array; the last two are compiled by [`compile_dropout`].
fn dropout_text(node: &SpannedValue) -> Result<DropoutText, Diagnostic> {
    match &node.kind {
        ValueKind::Number(value) => Ok(DropoutText::Number(*value)),
        ValueKind::Text(_) => Ok(DropoutText::Expression(text(node, "dropout")?)),
        ValueKind::Array(items) => {
            let items = items.iter().map(dropout_text);
            Ok(DropoutText::Array(items.collect::<Result<_, _>>()?))
        }
        _ => Err(node.wrong_type("`dropout` must be a number, an expression or an array")),
    }
}

/// A dropout with its function, if it varies; `stated` is its value in the file, if it is stated there.
pub(crate) fn compile_dropout(
    dropout: &Dropout,
    stated: Option<&SpannedValue>,
    sizes: &[Dimension],
    context: &QuantityContext<'_>,
    keep: impl FnOnce(Table) -> SharedTable,
) -> Result<Dropout, Diagnostic> {
    if dropout.constant().is_some() {
        return Ok(dropout.clone());
    }
    let text = dropout.text();
    // A flat list has one entry per feedback; a nested one is [t][x][a][f].
    let nested = |item: &DropoutText| matches!(item, DropoutText::Array(_));
    let sizes = match text {
        DropoutText::Array(items) if !items.iter().any(nested) => &sizes[sizes.len() - 1..],
        _ => sizes,
    };
    let stated = stated.filter(|node| dropout_text(node).is_ok_and(|found| found == *text));
    let function: Arc<dyn Quantity> = match stated {
        Some(node) => Arc::new(keep(Table::read(node, sizes, context)?)),
        None => {
            let table = Table::read(&without_place(text), sizes, context);
            let table = table.map_err(|error| {
                let message = format!("{}: {}", error.message, error.label);
                Diagnostic {
                    help: error.help,
                    ..Diagnostic::without_span(message)
                }
            })?;
            Arc::new(Unplaced(SharedTable(Arc::new(table)), text.clone()))
        }
    };
    Ok(Dropout::compiled(text.clone(), function))
}

/// A function that is not in the file: its errors show it.
struct Unplaced(SharedTable, DropoutText);

impl Quantity for Unplaced {
    fn at(&self, t: usize, x: usize, a: usize, f: usize) -> Result<f64, QuantityError> {
        self.0.at(t, x, a, f).map_err(|error| QuantityError {
            message: format!("{} in `{}`", error.message, self.1),
            span: None,
        })
    }
}

fn without_place(text: &DropoutText) -> SpannedValue {
    let kind = match text {
        DropoutText::Number(value) => ValueKind::Number(*value),
        DropoutText::Expression(text) => ValueKind::Text(text.clone()),
        DropoutText::Array(items) => ValueKind::Array(items.iter().map(without_place).collect()),
    };
    SpannedValue { span: 0..0, kind }
}

/// One probability, or one for each feedback.
fn missing(node: &SpannedValue, name: &str) -> Result<Missing, Diagnostic> {
    let each = match &node.kind {
        ValueKind::Array(items) => items,
        _ => std::slice::from_ref(node),
    };
    let probabilities = each.iter().map(|node| match node.kind {
        ValueKind::Number(value) => Ok(value),
        _ => Err(node.wrong_type(format!(
            "`{name}` must be a number, or a list of numbers, one for each feedback"
        ))),
    });
    let probabilities = probabilities.collect::<Result<Vec<f64>, _>>()?;
    Missing::new(name, &probabilities).map_err(|error| node.out_of_range(error))
}

/// Checks that missing values have one probability, or one for each feedback.
pub(crate) fn check_missing(
    conditions: &Conditions,
    feedbacks: usize,
    node: Option<&SpannedValue>,
) -> Result<(), Diagnostic> {
    conditions
        .check_missing(feedbacks)
        .map_err(|(name, error)| {
            let fields =
                node.and_then(|node| Fields::of(node, "[conditions]", &Conditions::KEYS).ok());
            match fields.as_ref().and_then(|fields| fields.get(name)) {
                Some(node) => node.out_of_range(error),
                None => Diagnostic::without_span(error.to_string()),
            }
        })
}

/// Entries of `drift`.
fn changes(node: &SpannedValue) -> Result<&[SpannedValue], Diagnostic> {
    match &node.kind {
        ValueKind::Array(items) => Ok(items),
        _ => {
            let message =
                "`drift` must be a list such as [{ parameter = \"p\", to = 0.4, at = 5000 }]";
            Err(node.wrong_type(message))
        }
    }
}

fn change(node: &SpannedValue) -> Result<Drift, Diagnostic> {
    let fields = Fields::of(node, "this change", &DRIFT_FIELDS)?;
    let need = |name: &str| {
        fields.get(name).ok_or_else(|| {
            let message = format!("a change needs `{name}`");
            Diagnostic::at(&node.span, message, "not given here")
        })
    };
    let parameter = text(need("parameter")?, "parameter")?;
    let to = number(need("to")?, "to")?;
    let built = match (fields.get("at"), fields.get("from"), fields.get("until")) {
        (Some(at), None, None) => Drift::at(parameter, to, integer(at, "at", 2)?),
        (None, Some(from), Some(until)) => {
            let (from, until) = (integer(from, "from", 1)?, integer(until, "until", 2)?);
            Drift::between(parameter, to, from, until)
        }
        _ => {
            let message = "a change has either `at`, or both `from` and `until`";
            return Err(Diagnostic::at(&node.span, message, "this change"));
        }
    };
    built.map_err(|error| node.out_of_range(error))
}

/// An episode, or a number of episodes.
fn integer(node: &SpannedValue, field: &str, least: u64) -> Result<u64, Diagnostic> {
    let value = number(node, field)?;
    if value.fract() == 0.0 && (least as f64..9e15).contains(&value) {
        return Ok(value as u64);
    }
    let message = format!(
        "`{field}` must be a whole number from {least} to 9e15, got {}",
        format_number(value)
    );
    Err(node.out_of_range(message))
}

/// Place of the parameter's name in a change, if the file states it.
pub(crate) fn place_of(node: Option<&SpannedValue>, change: usize) -> Option<Range<usize>> {
    let fields = Fields::of(node?, "[conditions]", &Conditions::KEYS).ok()?;
    let change = changes(fields.get("drift")?).ok()?.get(change)?;
    let fields = Fields::of(change, "this change", &DRIFT_FIELDS).ok()?;
    Some(fields.get("parameter")?.span.clone())
}

/// Values of the names from an episode on: one entry for each model after the first.
pub(crate) fn later_scopes(
    conditions: &Conditions,
    scope: &SymbolTable,
    parameters: &[(String, f64)],
    place: &dyn Fn(usize) -> Option<Range<usize>>,
) -> Result<Vec<(u64, SymbolTable)>, Diagnostic> {
    let value = |name: &str| {
        let found = parameters.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| *value)
    };
    for (i, change) in conditions.drift.iter().enumerate() {
        let name = change.parameter();
        if value(name).is_none() {
            let message = format!("`{name}` drifts and is not among the [parameters]");
            let unknown = Diagnostic {
                span: place(i),
                ..Diagnostic::at(&(0..0), message, "no such parameter")
            };
            return Err(unknown.suggest(name, parameters.iter().map(|(name, _)| name.as_str())));
        }
    }
    let phases = conditions.drift_phases(|name| value(name).unwrap_or(f64::NAN));
    if phases.len() > MAX_MODELS {
        return Err(Diagnostic {
            span: place(0),
            message: format!(
                "at most {MAX_MODELS} changes of the model are supported, got {}",
                phases.len()
            ),
            label: "too many changes".into(),
            explains: false,
            help: Some(format!(
                "a linear change counts {}, a change at one episode counts 1",
                Drift::STEPS
            )),
        });
    }
    let scopes = phases.into_iter().map(|(first, values)| {
        let mut scope = scope.clone();
        for (name, value) in values {
            scope.set(&name, value);
        }
        (first, scope)
    });
    Ok(scopes.collect())
}

/// Canonical JSON of the conditions.
pub(crate) fn canonical(conditions: &Conditions) -> Option<Value> {
    if conditions.is_none() {
        return None;
    }
    let mut value = serde_json::to_value(conditions).ok()?;
    whole_numbers(&mut value);
    Some(value)
}

/// Writes 1.0 as 1.
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
