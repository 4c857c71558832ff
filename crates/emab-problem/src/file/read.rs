//! Reads the sections of a problem file: from the parsed document to a specification, a model, conditions and defaults
//! for learners.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use emab::input::counted;
use emab::learners::LearnerDefaults;
use emab::spec::SpecError;
use emab::{Conditions, Delta, FeedbackSpread, Model, Names, Noise, Quantity, Sigma2, Spec};
use serde_json::value::to_raw_value;

use super::{OutcomeRange, ProblemFile};
use crate::conditions::{check_missing, compile_dropout, conditions, later_scopes, place_of};
use crate::error::Diagnostic;
use crate::expression::SymbolTable;
use crate::fields::{Fields, count, names, number, text};
use crate::hash::sha256_hex;
use crate::spanned::{SpannedValue, ValueKind};
use crate::table::{Dimension, QuantityContext, SharedTable, Table};

/// Fields of a problem file.
pub const FIELDS: [&str; 13] = [
    "name",
    "description",
    "horizon",
    "states",
    "actions",
    "feedbacks",
    "start",
    "transition",
    "allowed",
    "parameters",
    "model",
    "conditions",
    "learning",
];
/// Fields of its sections.
const MODEL_FIELDS: [&str; 6] = [
    "start",
    "feedback",
    "cost",
    "reward",
    "cost_noise",
    "reward_noise",
];
const LEARNING_FIELDS: [&str; 7] = [
    "delta",
    "sigma2",
    "sigma2_cost",
    "sigma2_reward",
    "feedback_spread",
    "reward_range",
    "outcome_range",
];

/// Fields that only a sweep file has.
const SWEEP_FIELDS: [&str; 4] = ["problem", "learners", "grid", "cell"];

/// Whether a document is meant as a problem file: it has the fields that define a problem.
pub fn is_problem(document: &SpannedValue) -> bool {
    let required = ["horizon", "states", "actions", "feedbacks", "transition"];
    let has = |name: &&&str| document.field(name).is_some();
    required.iter().filter(has).count() >= 2
}

/// Whether a document is meant as a sweep file.
pub fn is_sweep(document: &SpannedValue) -> bool {
    let has = |name: &&str| document.field(name).is_some();
    !is_problem(document) && SWEEP_FIELDS.iter().any(has)
}

/// Whether a document is a result that emab wrote: a run, an arena, a sweep, or a shard of one.
pub fn is_result(document: &SpannedValue) -> bool {
    let has = |name: &str| document.field(name).is_some();
    let part = ["problem_hash", "problems", "cells"].into_iter().any(has);
    !is_problem(document) && (has("version") && part || has("sha256") && has("body"))
}

/// The error that a file is a result, where another file is needed.
pub fn result_not(needed: &str) -> Diagnostic {
    let message = format!("this is a result of emab, and {needed} is needed");
    let help = "`emab report` and `emab plot` read the folder of a result; in that of a run, problem.json is its problem";
    Diagnostic::without_span(message).help(help)
}

/// Reads a document; `given` conditions replace those in the file.
pub(super) fn read(
    file: &str,
    source: &Arc<str>,
    tree: &Arc<SpannedValue>,
    given: Option<&Conditions>,
) -> Result<ProblemFile, Diagnostic> {
    if is_result(tree) {
        return Err(result_not("a problem file"));
    }
    if is_sweep(tree) {
        let message = "this is a sweep file, and a problem file is needed";
        let problem = tree.field("problem").map(|node| &node.kind);
        let help = match problem {
            Some(ValueKind::Text(name)) => {
                format!("`emab sweep {file}` runs it; its problem is `{name}`")
            }
            _ => format!("`emab sweep {file}` runs it"),
        };
        return Err(Diagnostic::without_span(message).help(help));
    }
    let top = Fields::of(tree, "a problem file", &FIELDS)?;
    let stem = Path::new(file).file_stem().and_then(|s| s.to_str());
    let text_or = |field, default: &str| {
        let node = top.get(field);
        node.map_or(Ok(default.to_owned()), |node| text(node, field))
    };
    let name = text_or("name", stem.unwrap_or("problem"))?;
    let description = text_or("description", "")?;

    let mut scope = SymbolTable::default();
    let horizon = count(top.need("horizon")?, "horizon", 1..=Spec::MAX_HORIZON)?;
    let states = names(top.need("states")?, "states", "")?;
    let actions = names(top.need("actions")?, "actions", "a")?;
    let feedbacks = names(top.need("feedbacks")?, "feedbacks", "")?;
    let parameters = top.get("parameters").map_or(Ok(Vec::new()), parameters)?;
    for (name, value) in &parameters {
        scope.add(name, *value);
    }
    for (names, node) in [
        (&states, "states"),
        (&actions, "actions"),
        (&feedbacks, "feedbacks"),
    ] {
        let Names::List(list) = names else { continue };
        for (i, name) in list.iter().enumerate() {
            if parameters.iter().any(|(known, _)| known == name) {
                let message = format!("`{name}` in `{node}` is also a parameter");
                let span = &top.need(node)?.span;
                return Err(Diagnostic::explained(span, message, "names must differ"));
            }
            scope.add(name, i as f64);
        }
    }
    let dimension = |variable, length, name| Dimension {
        variable,
        length,
        name,
    };
    let sizes = [
        dimension(0, horizon.saturating_sub(1), "steps"),
        dimension(1, states.len(), "states"),
        dimension(2, actions.len(), "actions"),
        dimension(3, feedbacks.len(), "feedbacks"),
    ];
    let context = |quantity, variables| context_for(source, &scope, quantity, variables);
    let mut tables = Vec::new();
    let spec = Spec::new(horizon, states, actions, feedbacks).map_err(|error| {
        let SpecError::Size { field, .. } = error else {
            return Diagnostic::without_span(error.to_string());
        };
        match top.get(field) {
            Some(node) => node.out_of_range(error),
            None => Diagnostic::without_span(error.to_string()),
        }
    })?;
    let node = top.need("transition")?;
    let transition = Table::read(node, &sizes, &context("transition", &["t", "x", "a", "f"]))?;
    let mut spec = spec.transition(keep(&mut tables, "transition", transition));
    if let Some(node) = top.get("allowed") {
        let allowed = Table::read(node, &sizes[..3], &context("allowed", &["t", "x", "a"]))?;
        spec = spec.allowed(keep(&mut tables, "allowed", allowed));
    }
    if let Some(node) = top.get("start") {
        spec = start(node, spec)?;
    }

    let starts = (top.get("start"), &spec);
    let model = top.get("model");
    let model = model.map(|node| self::model(node, starts, &sizes, &context, &mut tables));
    let model = model.transpose()?;
    let stated = top.get("conditions");
    let mut conditions = match (given, stated) {
        (Some(given), _) => given.clone(),
        (None, Some(node)) => conditions(node)?,
        (None, None) => Conditions::default(),
    };
    let dropout_node = stated.and_then(|node| node.field("dropout"));
    let stated = stated.filter(|_| given.is_none());
    check_missing(&conditions, spec.feedbacks().len(), stated)?;
    let place = |change| place_of(stated, change);
    let scopes = later_scopes(&conditions, &scope, &parameters, &place)?;
    check_spec_is_fixed(&top, &sizes, source, &scope, &conditions)?;
    let written = conditions.dropout.clone();
    let quantity = context("dropout", &["t", "x", "a", "f"]);
    let place = |table| keep(&mut tables, "dropout", table);
    conditions.dropout = compile_dropout(&written, dropout_node, &sizes, &quantity, place)?;
    let mut later = Vec::new();
    if let Some(node) = top.get("model") {
        for (first, scope) in &scopes {
            let context = |quantity, variables| context_for(source, scope, quantity, variables);
            // Entries have the places of the first model.
            let model = self::model(node, starts, &sizes, &context, &mut Vec::new())?;
            let quantity = context("dropout", &["t", "x", "a", "f"]);
            let place = |table| keep(&mut Vec::new(), "dropout", table);
            let dropout = compile_dropout(&written, dropout_node, &sizes, &quantity, place)?;
            later.push((*first, model, dropout));
        }
    }
    let none = || Ok(Default::default());
    let (learning, outcome_range) = top.get("learning").map_or_else(none, learning)?;
    let broken = |error: serde_json::Error| Diagnostic::without_span(error.to_string());
    let mut fields = tree.canonical_fields();
    // Conditions from elsewhere give the same canonical form as those of the file.
    fields.remove("conditions");
    if let Some(conditions) = crate::conditions::canonical(&conditions) {
        let conditions = to_raw_value(&conditions).map_err(broken)?;
        fields.insert("conditions".into(), conditions);
    }
    // The name is kept and does not count for the hash.
    let description_field = fields.remove("description");
    fields.remove("name");
    let hash = sha256_hex(serde_json::to_string(&fields).map_err(broken)?.as_bytes());
    fields.extend(description_field.map(|text| ("description".into(), text)));
    fields.insert("name".into(), to_raw_value(&name).map_err(broken)?);
    let canonical = serde_json::to_string(&fields).map_err(broken)?;
    Ok(ProblemFile {
        file: file.into(),
        text: source.clone(),
        name,
        description,
        spec: Arc::new(spec),
        model,
        conditions,
        later,
        learning,
        outcome_range,
        tree: tree.clone(),
        canonical,
        hash,
        tables,
    })
}

/// Records a table, so that errors can point at its entries.
fn keep(
    tables: &mut Vec<(&'static str, SharedTable)>,
    name: &'static str,
    table: Table,
) -> SharedTable {
    let shared = SharedTable(Arc::new(table));
    tables.push((name, shared.clone()));
    shared
}

fn context_for<'a>(
    source: &'a str,
    scope: &'a SymbolTable,
    quantity: &'static str,
    variables: &'a [&'a str],
) -> QuantityContext<'a> {
    QuantityContext {
        source,
        scope,
        quantity,
        variables,
        booleans: quantity == "allowed",
        expressions: RefCell::default(),
    }
}

/// Checks that the specification does not use parameters that drift: it must parse without them.
fn check_spec_is_fixed(
    top: &Fields<'_>,
    sizes: &[Dimension; 4],
    source: &str,
    scope: &SymbolTable,
    conditions: &Conditions,
) -> Result<(), Diagnostic> {
    for change in &conditions.drift {
        let name = change.parameter();
        let mut without = scope.clone();
        without.remove(name);
        for (quantity, sizes, variables) in [
            ("transition", &sizes[..], &["t", "x", "a", "f"][..]),
            ("allowed", &sizes[..3], &["t", "x", "a"]),
        ] {
            let Some(node) = top.get(quantity) else {
                continue;
            };
            let context = context_for(source, &without, quantity, variables);
            Table::read(node, sizes, &context).map_err(|diagnostic| Diagnostic {
                message: format!("`{quantity}` uses `{name}`, which drifts"),
                label: "learners rely on it for all episodes".into(),
                explains: true,
                help: Some("let parameters drift that [model] alone uses".into()),
                ..diagnostic
            })?;
        }
    }
    Ok(())
}

/// Reads a state or a list of states.
fn start(node: &SpannedValue, spec: Spec) -> Result<Spec, Diagnostic> {
    let nodes = match &node.kind {
        ValueKind::Array(items) => items,
        _ => std::slice::from_ref(node),
    };
    let states = nodes.iter().map(|node| match &node.kind {
        ValueKind::Text(name) => {
            let message = format!("no state is called `{name}`");
            let unknown = Diagnostic::at(&node.span, message, "unknown state");
            let Names::List(list) = spec.states() else {
                return Err(unknown.help("the states have no names: give its index"));
            };
            let known = list.iter().position(|known| known == name);
            known.ok_or_else(|| {
                let near = unknown.clone().suggest(name, list.iter().map(String::as_str));
                match near.help {
                    Some(_) => near,
                    None => unknown.help(format!("the states are {}", few(list))),
                }
            })
        }
        ValueKind::Number(_) => count(node, "start", 0..=spec.states().len() - 1),
        _ => {
            let message = "`start` must be a state, or a list of states";
            let help = "give the name or the index of a state; the probabilities of several are the list `start` in [model]";
            Err(node.wrong_type(message).help(help))
        }
    });
    let states = states.collect::<Result<Vec<usize>, _>>()?;
    let names = spec.states().clone();
    spec.start_in(&states[..]).map_err(|error| {
        let (wrong, label, message) = match error {
            SpecError::Start { got, .. } => (Some(got), "no such state", error.to_string()),
            SpecError::RepeatedStart { got } => {
                let name = names.name(got);
                let message = format!("`start` must list each state once, got `{name}` twice");
                (Some(got), "remove one", message)
            }
            _ => {
                let label = "list the states that an episode may begin in";
                (None, label, error.to_string())
            }
        };
        // The later one of two.
        let at = wrong.and_then(|wrong| states.iter().rposition(|&x| x == wrong));
        let span = &at.map_or(node, |i| &nodes[i]).span;
        Diagnostic::explained(span, message, label)
    })
}

/// The first of these names, in backquotes.
fn few(names: &[String]) -> String {
    let shown = names.iter().take(8).map(|name| format!("`{name}`"));
    let more = if names.len() > 8 { ", …" } else { "" };
    format!("{}{more}", shown.collect::<Vec<_>>().join(", "))
}

/// Reads the probabilities of the start states; none where there is one and none is given.
fn start_distribution(
    node: Option<&SpannedValue>,
    (listed, spec): (Option<&SpannedValue>, &Spec),
    context: &QuantityContext<'_>,
) -> Result<Vec<f64>, Diagnostic> {
    let starts = spec.starts();
    let Some(node) = node else {
        let several = listed.filter(|_| starts.len() > 1);
        return several.map_or(Ok(Vec::new()), |listed| {
            let message = "[model] has no `start`, the probability of each of these states";
            let label = format!("{} states", starts.len());
            let help = "add a list of probabilities to [model], such as start = [0.7, 0.3]";
            Err(Diagnostic::at(&listed.span, message, label).help(help))
        });
    };
    if !listed.is_some_and(|listed| matches!(listed.kind, ValueKind::Array(_))) {
        let message = "`start` in [model] gives the probabilities of a list of states, and there is no such list";
        let help = "list the states in the field `start` before [model], or remove this one";
        return Err(Diagnostic::at(&node.span, message, "not used").help(help));
    }
    let items = match &node.kind {
        ValueKind::Array(items) if items.len() == starts.len() => items,
        _ => {
            let message = format!(
                "`start` in [model] must be a list of {} probabilities, one for each state of `start`",
                starts.len()
            );
            return Err(match &node.kind {
                ValueKind::Array(items) => {
                    let label = format!("this list has {}", counted(items.len(), "entry"));
                    let help = format!(
                        "the field `start` before [model] lists {} states",
                        starts.len()
                    );
                    Diagnostic::explained(&node.span, message, label).help(help)
                }
                _ => node.wrong_type(message),
            });
        }
    };
    let probability = |item: &SpannedValue| {
        let entry = SharedTable(Arc::new(Table::read(item, &[], context)?));
        entry.at(1, 0, 0, 0).map_err(|fault| {
            let span = fault.span.unwrap_or(item.span.clone());
            Diagnostic::explained(&span, "`start` in [model] is wrong", fault.message)
        })
    };
    let probabilities: Vec<f64> = items.iter().map(probability).collect::<Result<_, _>>()?;
    spec.check_start_distribution(&probabilities)
        .map_err(|error| {
            // A single wrong entry is pointed at; a wrong sum is that of all.
            let within = |p: f64| (0.0..=1.0).contains(&p);
            let wrong = probabilities.iter().position(|&p| !within(p));
            let span = &wrong.map_or(node, |i| &items[i]).span;
            Diagnostic::explained(span, "`start` in [model] is wrong", error.what)
        })?;
    Ok(probabilities)
}

fn model<'a>(
    node: &SpannedValue,
    starts: (Option<&SpannedValue>, &Spec),
    sizes: &[Dimension; 4],
    context: &impl Fn(&'static str, &'a [&'a str]) -> QuantityContext<'a>,
    tables: &mut Vec<(&'static str, SharedTable)>,
) -> Result<Model, Diagnostic> {
    let fields = Fields::of(node, "[model]", &MODEL_FIELDS)?;
    let probabilities = fields.need("feedback")?;
    // A flat list has one entry per feedback; a nested one is [t][x][a][f].
    let flat = matches!(&probabilities.kind, ValueKind::Array(items) if items.iter().all(|i| !matches!(i.kind, ValueKind::Array(_))));
    let dimensions = if flat { &sizes[3..] } else { &sizes[..] };
    if let (true, ValueKind::Array(items)) = (flat, &probabilities.kind)
        && items.len() != sizes[3].length
    {
        let found = counted(items.len(), "probability");
        let message = format!("`feedback` lists {found}");
        let label = format!(
            "expected {}, one for each of the feedbacks",
            sizes[3].length
        );
        return Err(Diagnostic::explained(&probabilities.span, message, label));
    }
    let feedback = Table::read(
        probabilities,
        dimensions,
        &context("feedback", &["t", "x", "a", "f"]),
    )?;

    let node = fields.need("reward")?;
    let steps = Dimension {
        length: sizes[0].length + 1,
        ..sizes[0]
    };
    let reward = Table::read(node, &[steps, sizes[1]], &context("reward", &["t", "x"]))?;

    let feedback = keep(tables, "feedback", feedback);
    let start = start_distribution(fields.get("start"), starts, &context("start", &[]))?;
    let mut model = Model::new(feedback, keep(tables, "reward", reward)).start(start);
    if let Some(node) = fields.get("cost") {
        let cost = Table::read(node, &sizes[..3], &context("cost", &["t", "x", "a"]))?;
        model = model.cost(keep(tables, "cost", cost));
    }
    let of = |name| fields.get(name).map_or(Ok(Noise::None), noise);
    Ok(model.noise(of("cost_noise")?, of("reward_noise")?))
}

fn noise(node: &SpannedValue) -> Result<Noise, Diagnostic> {
    let ValueKind::Table(_) = &node.kind else {
        let message = "a noise is a table such as { kind = \"normal\", variance = 0.1 }";
        return Err(node.wrong_type(message));
    };
    let all = Fields::of(node, "this noise", &["kind", "variance", "half_width"])?;
    let named = text(all.need("kind")?, "kind")?;
    let takes: &[&str] = match named.as_str() {
        "none" | "bernoulli" => &["kind"],
        "normal" => &["kind", "variance"],
        "uniform" => &["kind", "half_width"],
        _ => {
            let message = format!("unknown noise `{named}`");
            let label = "must be none, normal, uniform or bernoulli";
            let kinds = ["none", "normal", "uniform", "bernoulli"];
            let span = &all.need("kind")?.span;
            return Err(Diagnostic::explained(span, message, label).suggest(&named, kinds));
        }
    };
    let fields = Fields::of(node, "this noise", takes)?;
    let parameter = |name| -> Result<(f64, &SpannedValue), Diagnostic> {
        let node = fields.get(name).ok_or_else(|| {
            let message = format!("noise `{named}` needs a `{name}`");
            Diagnostic::at(&node.span, message, "not given here")
        })?;
        Ok((number(node, name)?, node))
    };
    let (built, node) = match named.as_str() {
        "normal" => parameter("variance").map(|(v, node)| (Noise::normal(v), node))?,
        "uniform" => parameter("half_width").map(|(v, node)| (Noise::uniform(v), node))?,
        "bernoulli" => return Ok(Noise::Bernoulli),
        _ => return Ok(Noise::None),
    };
    built.map_err(|error| node.out_of_range(error))
}

fn learning(node: &SpannedValue) -> Result<(LearnerDefaults, OutcomeRange), Diagnostic> {
    let fields = Fields::of(node, "[learning]", &LEARNING_FIELDS)?;
    let get = |name| {
        let node = fields.get(name);
        node.map(|node| Ok((number(node, name)?, node))).transpose()
    };
    let mut learning = LearnerDefaults::default();
    if let Some((value, node)) = get("delta")? {
        learning.delta = Some(Delta::new(value).map_err(|e| node.out_of_range(e))?);
    }
    for (name, place) in [
        ("sigma2", &mut learning.sigma2),
        ("sigma2_cost", &mut learning.sigma2_cost),
        ("sigma2_reward", &mut learning.sigma2_reward),
    ] {
        if let Some((value, node)) = get(name)? {
            *place = Some(Sigma2::named(name, value).map_err(|e| node.out_of_range(e))?);
        }
    }
    if let Some((value, node)) = get("feedback_spread")? {
        let spread = FeedbackSpread::new(value).map_err(|e| node.out_of_range(e))?;
        learning.feedback_spread = Some(spread);
    }
    if let Some(node) = fields.get("reward_range") {
        let [least, most] = range(node, "reward_range")?;
        learning.reward_range = Some((least, most));
    }
    let mut outcome_range = OutcomeRange::default();
    if let Some(node) = fields.get("outcome_range") {
        let fields = Fields::of(node, "`outcome_range`", &["cost", "reward"])?;
        let get = |name| fields.get(name).map(|node| range(node, name)).transpose();
        let (cost, reward) = (get("cost")?, get("reward")?);
        if cost.is_none() && reward.is_none() {
            let message =
                "`outcome_range` must have `reward` or `cost`, such as { reward = [0, 1] }";
            return Err(node.wrong_type(message));
        }
        outcome_range = OutcomeRange { cost, reward };
    }
    Ok((learning, outcome_range))
}

/// The least and the most value.
fn range(node: &SpannedValue, field: &str) -> Result<[f64; 2], Diagnostic> {
    let ends = match &node.kind {
        ValueKind::Array(ends) if ends.len() == 2 => ends,
        _ => {
            let message =
                format!("`{field}` must be a list of two numbers, the least and the most");
            return Err(node.wrong_type(message));
        }
    };
    let [least, most] = [number(&ends[0], field)?, number(&ends[1], field)?];
    if least > most {
        let message = format!("`{field}` must rise, got [{least}, {most}]");
        return Err(node.out_of_range(message));
    }
    Ok([least, most])
}

fn parameters(node: &SpannedValue) -> Result<Vec<(String, f64)>, Diagnostic> {
    let ValueKind::Table(entries) = &node.kind else {
        return Err(node.wrong_type("[parameters] must be a table"));
    };
    let mut parameters = Vec::new();
    for (key, node) in entries {
        let name = &key.name;
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let wrong = if SymbolTable::reserved(name) {
            Some("this name has a meaning in expressions")
        } else if !name.chars().all(letter) || !name.starts_with(|c: char| !c.is_ascii_digit()) {
            Some("expected letters, digits and _, a letter first")
        } else {
            None
        };
        if let Some(label) = wrong {
            let message = format!("a parameter cannot be called `{name}`");
            return Err(Diagnostic::explained(&key.span, message, label));
        }
        parameters.push((name.clone(), number(node, name)?));
    }
    Ok(parameters)
}
