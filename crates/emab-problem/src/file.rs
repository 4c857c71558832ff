//! From the tree of a problem file to a specification, a model and defaults for learners.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use emab::conformance::{ReachSummary, check_problem, check_spec};
use emab::environment::ModelPhase;
use emab::learners::{LearnerDefaults, nearest};
use emab::spec::{PointError, format_number};
use emab::{
    Conditions, Delta, FeedbackSpread, Model, Names, Noise, Problem, Scenario, Sigma2, Spec,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::builtin::BUILTIN;
use crate::conditions::{canonical, conditions, later_scopes, place_of};
use crate::error::{Mistake, ReadError};
use crate::expression::Scope;
use crate::node::{Key, Kind, Node, parse_json, parse_toml};
use crate::table::{Dimension, Reading, SharedTable, Table};

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// A problem file that was read and is well-formed.
///
/// Its quantities are checked where they are met; [`ProblemFile::check`] meets all that can be reached.
#[derive(Clone, Debug)]
pub struct ProblemFile {
    file: String,
    text: Arc<str>,
    name: String,
    description: String,
    spec: Arc<Spec>,
    model: Option<Model>,
    conditions: Conditions,
    /// The models that follow, by the first episode they hold in.
    later: Vec<(u64, Model)>,
    learning: LearnerDefaults,
    tree: Arc<Node>,
    canonical: String,
    hash: String,
    tables: Vec<(&'static str, SharedTable)>,
}

/// Fields of the file and of its tables, for reading and for the schema's test.
pub(crate) const FIELDS: [&str; 13] = [
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
pub(crate) const MODEL_FIELDS: [&str; 5] =
    ["feedback", "cost", "reward", "cost_noise", "reward_noise"];
pub(crate) const LEARNING_FIELDS: [&str; 6] = [
    "delta",
    "sigma2",
    "sigma2_cost",
    "sigma2_reward",
    "feedback_spread",
    "reward_range",
];

impl ProblemFile {
    /// Reads a file by its ending: `.toml` or `.json`.
    pub fn parse(file: &str, text: &str) -> Result<ProblemFile, ReadError> {
        let ending = Path::new(file)
            .extension()
            .and_then(|e| e.to_str())
            .map(str::to_ascii_lowercase);
        let format = match ending.as_deref() {
            Some("toml") => Format::Toml,
            Some("json") => Format::Json,
            _ => {
                return Err(Mistake {
                    span: None,
                    message: "a problem file ends in .toml or .json".into(),
                    label: String::new(),
                    help: None,
                }
                .in_file(file, &text.into()));
            }
        };
        ProblemFile::parse_as(format, file, text)
    }

    /// Reads a text of this format; `file` is what errors call it.
    pub fn parse_as(format: Format, file: &str, text: &str) -> Result<ProblemFile, ReadError> {
        let source: Arc<str> = text.into();
        let tree = match format {
            Format::Toml => parse_toml(text),
            Format::Json => parse_json(text),
        };
        tree.and_then(|tree| read(file, &source, &tree.into(), None))
            .map_err(|mistake| mistake.in_file(file, &source))
    }

    /// A problem that comes with the program, if there is one of that name.
    pub fn builtin(name: &str) -> Option<Result<ProblemFile, ReadError>> {
        let builtin = BUILTIN.iter().find(|builtin| builtin.name == name)?;
        let file = format!("problems/{name}.toml");
        Some(ProblemFile::parse_as(Format::Toml, &file, builtin.text))
    }

    /// What the problem is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is about, in a line; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What learners may know.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// Whether the truth is stated.
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Defaults for learners.
    pub fn learning(&self) -> &LearnerDefaults {
        &self.learning
    }

    /// Everything the file says as JSON, its name included, whichever way it was written.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The SHA-256, in hexadecimal, of all that makes the problem what it is: its name and description do not count.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The problem; an error if the file has no `model`.
    pub fn problem(&self) -> Result<Arc<Problem>, ReadError> {
        match &self.model {
            Some(model) => Ok(self.problem_of(model)),
            None => Err(Mistake {
                span: None,
                message:
                    "this problem has no [model]: it can be studied live, not simulated or solved"
                        .into(),
                label: String::new(),
                help: Some("state `feedback`, `cost` and `reward` in a table [model]".into()),
            }
            .in_file(&self.file, &self.text)),
        }
    }

    /// What the problem is to be played under.
    ///
    /// ```
    /// let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
    /// assert!(file.conditions().is_none());
    /// let conditions = file.conditions().with(["delay=20", "drift=p:0.4@5000"]).unwrap();
    /// let file = file.with_conditions(&conditions).unwrap();
    /// assert_eq!(file.circumstances().phases[0].first, 5000);
    /// ```
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The same file with these conditions in place of those that it states.
    pub fn with_conditions(&self, conditions: &Conditions) -> Result<ProblemFile, ReadError> {
        read(&self.file, &self.text, &self.tree, Some(conditions))
            .map_err(|mistake| mistake.in_file(&self.file, &self.text))
    }

    /// What the problem is to be played under, with the laws that its drift leads to.
    pub fn circumstances(&self) -> Scenario {
        let law = |(first, model): &(u64, Model)| ModelPhase {
            first: *first,
            problem: self.problem_of(model),
        };
        Scenario {
            conditions: self.conditions.clone(),
            phases: self.later.iter().map(law).collect(),
        }
    }

    fn problem_of(&self, model: &Model) -> Arc<Problem> {
        let (name, spec) = (self.name.clone(), self.spec.clone());
        Arc::new(Problem::new(name, spec, model.clone()))
    }

    /// Checks every pair that can be reached, until there are more than `limit` of them; without a model, what the
    /// specification says of them. All of that under each of its laws.
    pub fn check(&self, limit: usize) -> Result<ReachSummary, ReadError> {
        let reached = match self.problem() {
            Ok(problem) => check_problem(&problem, limit),
            Err(_) => check_spec(&self.spec, limit),
        }
        .map_err(|error| self.locate(&error))?;
        for law in self.circumstances().phases {
            check_problem(&law.problem, limit).map_err(|error| ReadError {
                help: Some(format!(
                    "this is under the law of episode {} on, after `drift`",
                    law.first
                )),
                ..self.locate(&error)
            })?;
        }
        Ok(reached)
    }

    /// A quantity that breaks a rule at a point, with its line in the file.
    pub fn locate(&self, error: &PointError) -> ReadError {
        let span = error.span.clone().or_else(|| {
            let found = self.tables.iter().find(|(name, _)| *name == error.quantity);
            found.map(|(_, table)| table.0.span(error.point))
        });
        let point = error.point;
        let mut place = format!(
            "t = {}, x = {}",
            point.t,
            named(point.x, self.spec.states())
        );
        if let Some(a) = point.a {
            place += &format!(", a = {}", named(a, self.spec.actions()));
        }
        if let Some(f) = point.f {
            place += &format!(", f = {}", named(f, self.spec.feedbacks()));
        }
        Mistake {
            span,
            message: format!("`{}` is wrong at {place}", error.quantity),
            label: error.what.clone(),
            help: None,
        }
        .in_file(&self.file, &self.text)
    }
}

/// Keeps a table for whoever asks where its entries stand.
fn keep(
    tables: &mut Vec<(&'static str, SharedTable)>,
    name: &'static str,
    table: Table,
) -> SharedTable {
    let shared = SharedTable(Arc::new(table));
    tables.push((name, shared.clone()));
    shared
}

fn named(i: usize, names: &Names) -> String {
    match names {
        Names::List(_) => format!("{i} ({})", names.name(i)),
        Names::Count(..) => i.to_string(),
    }
}

/// A table's entries, by name, with an error for those that nobody knows.
pub(crate) struct Fields<'a> {
    entries: &'a [(Key, Node)],
    place: &'static str,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(
        node: &'a Node,
        place: &'static str,
        known: &[&str],
    ) -> Result<Fields<'a>, Mistake> {
        let Kind::Table(entries) = &node.kind else {
            let message = format!("{place} must be a table");
            return Err(Mistake::at(
                &node.span,
                message,
                format!("got {}", node.what()),
            ));
        };
        for (key, _) in entries {
            if !known.contains(&key.name.as_str()) {
                let mistake = Mistake::at(
                    &key.span,
                    format!("unknown field `{}` in {place}", key.name),
                    "not known",
                );
                return Err(match nearest(&key.name, known.iter().copied()) {
                    Some(near) => mistake.help(format!("did you mean `{near}`?")),
                    None => mistake.help(format!("there are `{}`", known.join("`, `"))),
                });
            }
        }
        Ok(Fields { entries, place })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Node> {
        let (_, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        Some(node)
    }

    fn need(&self, name: &str) -> Result<&'a Node, Mistake> {
        self.get(name).ok_or_else(|| Mistake {
            span: None,
            message: format!("{} has no `{name}`, which must be given", self.place),
            label: String::new(),
            help: None,
        })
    }
}

/// Reads a tree; `given` conditions take the place of those that it states.
fn read(
    file: &str,
    source: &Arc<str>,
    tree: &Arc<Node>,
    given: Option<&Conditions>,
) -> Result<ProblemFile, Mistake> {
    let top = Fields::of(tree, "a problem file", &FIELDS)?;
    let stem = Path::new(file)
        .file_stem()
        .and_then(|s| s.to_str())
        .unwrap_or("problem");
    let name = top
        .get("name")
        .map_or(Ok(stem.to_owned()), |node| text(node, "name"))?;
    let description = top
        .get("description")
        .map_or(Ok(String::new()), |node| text(node, "description"))?;

    let mut scope = Scope::default();
    let horizon = count(top.need("horizon")?, "horizon")?;
    let states = names(top.need("states")?, "states", "")?;
    let actions = names(top.need("actions")?, "actions", "a")?;
    let feedbacks = names(top.need("feedbacks")?, "feedbacks", "")?;
    let parameters = match top.get("parameters") {
        Some(node) => parameters(node)?,
        None => Vec::new(),
    };
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
            if is_parameter(&top, name) {
                let message = format!("`{name}` in `{node}` is also a parameter");
                return Err(Mistake::at(
                    &top.need(node)?.span,
                    message,
                    "names must differ",
                ));
            }
            scope.add(name, i as f64);
        }
    }
    let sizes = [
        Dimension {
            variable: 0,
            length: horizon.saturating_sub(1),
            name: "steps",
        },
        Dimension {
            variable: 1,
            length: states.len(),
            name: "states",
        },
        Dimension {
            variable: 2,
            length: actions.len(),
            name: "actions",
        },
        Dimension {
            variable: 3,
            length: feedbacks.len(),
            name: "feedbacks",
        },
    ];
    let reading = |quantity, variables| reading_in(source, &scope, quantity, variables);
    let mut tables = Vec::new();
    let spec = Spec::new(horizon, states, actions, feedbacks).map_err(|error| {
        let emab::spec::SpecError::Size { field, .. } = error else {
            return unplaced(error.to_string());
        };
        place_in(&top, field, error.to_string())
    })?;
    let node = top.need("transition")?;
    let transition = Table::read(node, &sizes, &reading("transition", &["t", "x", "a", "f"]))?;
    let mut spec = spec.transition(keep(&mut tables, "transition", transition));
    if let Some(node) = top.get("allowed") {
        let allowed = Table::read(node, &sizes[..3], &reading("allowed", &["t", "x", "a"]))?;
        spec = spec.allowed(keep(&mut tables, "allowed", allowed));
    }
    if let Some(node) = top.get("start") {
        let x = match &node.kind {
            Kind::Text(name) => position(spec.states(), name).ok_or_else(|| {
                let message = format!("no state is called `{name}`");
                let mistake = Mistake::at(&node.span, message, "unknown state");
                match spec.states() {
                    Names::List(list) => match nearest(name, list.iter().map(String::as_str)) {
                        Some(near) => mistake.help(format!("did you mean `{near}`?")),
                        None => mistake,
                    },
                    Names::Count(..) => mistake.help("the states have no names: give its index"),
                }
            })?,
            _ => count(node, "start")?,
        };
        spec = spec
            .start_at(x)
            .map_err(|e| Mistake::at(&node.span, e.to_string(), "no such state"))?;
    }

    let model = top
        .get("model")
        .map(|node| model(node, &sizes, &reading, &mut tables))
        .transpose()?;
    let stated = top.get("conditions");
    let conditions = match (given, stated) {
        (Some(given), _) => given.clone(),
        (None, Some(node)) => conditions(node)?,
        (None, None) => Conditions::default(),
    };
    let place = |change| place_of(stated.filter(|_| given.is_none()), change);
    let scopes = later_scopes(&conditions, &scope, &parameters, &place)?;
    check_still(&top, &sizes, source, &scope, &conditions)?;
    let mut later = Vec::new();
    if let Some(node) = top.get("model") {
        for (first, scope) in &scopes {
            let reading = |quantity, variables| reading_in(source, scope, quantity, variables);
            // Entries stand where those of the first law stand.
            let model = self::model(node, &sizes, &reading, &mut Vec::new())?;
            later.push((*first, model));
        }
    }
    let learning = top
        .get("learning")
        .map(learning)
        .transpose()?
        .unwrap_or_default();
    let mut all = tree.canonical();
    if let Value::Object(all) = &mut all {
        // However they were stated, and wherever: what is kept makes the same results.
        all.remove("conditions");
        all.extend(canonical(&conditions).map(|value| ("conditions".into(), value)));
    }
    let mut canonical = all;
    let mut hashed = canonical.clone();
    if let (Value::Object(all), Value::Object(hashed)) = (&mut canonical, &mut hashed) {
        // What it is called makes no other problem of it; kept, it makes the same results.
        all.insert("name".into(), Value::from(name.as_str()));
        hashed.remove("name");
        hashed.remove("description");
    }
    let hash = Sha256::digest(hashed.to_string().as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let canonical = canonical.to_string();
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
        tree: tree.clone(),
        canonical,
        hash,
        tables,
    })
}

fn reading_in<'a>(
    source: &'a str,
    scope: &'a Scope,
    quantity: &'static str,
    variables: &'a [&'a str],
) -> Reading<'a> {
    Reading {
        source,
        scope,
        quantity,
        variables,
        booleans: quantity == "allowed",
    }
}

/// Whether what learners know stays as it is while parameters drift: read without them, it must still make sense.
fn check_still(
    top: &Fields<'_>,
    sizes: &[Dimension; 4],
    source: &str,
    scope: &Scope,
    conditions: &Conditions,
) -> Result<(), Mistake> {
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
            let reading = reading_in(source, &without, quantity, variables);
            Table::read(node, sizes, &reading).map_err(|mistake| Mistake {
                message: format!("`{quantity}` uses `{name}`, which drifts"),
                label: "learners know this and are told of no change".into(),
                help: Some("let parameters drift that [model] alone uses".into()),
                ..mistake
            })?;
        }
    }
    Ok(())
}

fn model<'a>(
    node: &Node,
    sizes: &[Dimension; 4],
    reading: &impl Fn(&'static str, &'a [&'a str]) -> Reading<'a>,
    tables: &mut Vec<(&'static str, SharedTable)>,
) -> Result<Model, Mistake> {
    let fields = Fields::of(node, "[model]", &MODEL_FIELDS)?;
    let law = fields.need("feedback")?;
    // A flat list is one entry a feedback; a nested one is [t][x][a][f].
    let flat = matches!(&law.kind, Kind::Array(items) if items.iter().all(|i| !matches!(i.kind, Kind::Array(_))));
    let dimensions = if flat { &sizes[3..] } else { &sizes[..] };
    if let (true, Kind::Array(items)) = (flat, &law.kind)
        && items.len() != sizes[3].length
    {
        let message = format!("`feedback` lists {} probabilities", items.len());
        let label = format!(
            "expected {}, one for each of the feedbacks",
            sizes[3].length
        );
        return Err(Mistake::at(&law.span, message, label));
    }
    let feedback = Table::read(law, dimensions, &reading("feedback", &["t", "x", "a", "f"]))?;

    let node = fields.need("reward")?;
    let steps = Dimension {
        length: sizes[0].length + 1,
        ..sizes[0]
    };
    let reward = Table::read(node, &[steps, sizes[1]], &reading("reward", &["t", "x"]))?;

    let feedback = keep(tables, "feedback", feedback);
    let mut model = Model::new(feedback, keep(tables, "reward", reward));
    if let Some(node) = fields.get("cost") {
        let cost = Table::read(node, &sizes[..3], &reading("cost", &["t", "x", "a"]))?;
        model = model.cost(keep(tables, "cost", cost));
    }
    let of = |name| fields.get(name).map_or(Ok(Noise::None), noise);
    Ok(model.noise(of("cost_noise")?, of("reward_noise")?))
}

fn noise(node: &Node) -> Result<Noise, Mistake> {
    let Kind::Table(entries) = &node.kind else {
        let message = "a noise is a table such as { kind = \"normal\", variance = 0.1 }";
        return Err(Mistake::at(
            &node.span,
            message,
            format!("got {}", node.what()),
        ));
    };
    let kind = Fields {
        entries,
        place: "this noise",
    };
    let named = text(kind.need("kind")?, "kind")?;
    let takes: &[&str] = match named.as_str() {
        "none" | "bernoulli" => &["kind"],
        "normal" => &["kind", "variance"],
        "uniform" => &["kind", "half_width"],
        _ => {
            let message = format!("unknown noise `{named}`");
            let label = "expected none, normal, uniform or bernoulli";
            return Err(Mistake::at(&kind.need("kind")?.span, message, label));
        }
    };
    let fields = Fields::of(node, "this noise", takes)?;
    let parameter = |name| -> Result<(f64, &Range<usize>), Mistake> {
        let node = fields.get(name).ok_or_else(|| {
            Mistake::at(
                &node.span,
                format!("noise `{named}` needs a `{name}`"),
                "not given here",
            )
        })?;
        Ok((number(node, name)?, &node.span))
    };
    let built = match named.as_str() {
        "normal" => parameter("variance").map(|(v, span)| (Noise::normal(v), span))?,
        "uniform" => parameter("half_width").map(|(v, span)| (Noise::uniform(v), span))?,
        "bernoulli" => return Ok(Noise::Bernoulli),
        _ => return Ok(Noise::None),
    };
    built
        .0
        .map_err(|error| Mistake::at(built.1, error.to_string(), "out of range"))
}

fn learning(node: &Node) -> Result<LearnerDefaults, Mistake> {
    let fields = Fields::of(node, "[learning]", &LEARNING_FIELDS)?;
    let get = |name| {
        fields
            .get(name)
            .map(|node| Ok((number(node, name)?, node)))
            .transpose()
    };
    let wrong = |node: &Node, message: String| Mistake::at(&node.span, message, "out of range");
    let mut learning = LearnerDefaults::default();
    if let Some((value, node)) = get("delta")? {
        learning.delta = Some(Delta::new(value).map_err(|e| wrong(node, e.to_string()))?);
    }
    for (name, place) in [
        ("sigma2", &mut learning.sigma2),
        ("sigma2_cost", &mut learning.sigma2_cost),
        ("sigma2_reward", &mut learning.sigma2_reward),
    ] {
        if let Some((value, node)) = get(name)? {
            *place = Some(Sigma2::named(name, value).map_err(|e| wrong(node, e.to_string()))?);
        }
    }
    if let Some((value, node)) = get("feedback_spread")? {
        let spread = FeedbackSpread::new(value).map_err(|e| wrong(node, e.to_string()))?;
        learning.feedback_spread = Some(spread);
    }
    if let Some(node) = fields.get("reward_range") {
        let range = match &node.kind {
            Kind::Array(ends) if ends.len() == 2 => (
                number(&ends[0], "reward_range")?,
                number(&ends[1], "reward_range")?,
            ),
            _ => {
                let message =
                    "`reward_range` must be a list of two numbers, the least and the most reward";
                return Err(Mistake::at(
                    &node.span,
                    message,
                    format!("got {}", node.what()),
                ));
            }
        };
        if range.0 > range.1 {
            let message = format!("`reward_range` must rise, got [{}, {}]", range.0, range.1);
            return Err(wrong(node, message));
        }
        learning.reward_range = Some(range);
    }
    Ok(learning)
}

fn parameters(node: &Node) -> Result<Vec<(String, f64)>, Mistake> {
    let Kind::Table(entries) = &node.kind else {
        return Err(Mistake::at(
            &node.span,
            "[parameters] must be a table",
            format!("got {}", node.what()),
        ));
    };
    let mut parameters = Vec::new();
    for (key, node) in entries {
        if Scope::reserved(&key.name) {
            let message = format!("a parameter cannot be called `{}`", key.name);
            return Err(Mistake::at(
                &key.span,
                message,
                "this name has a meaning in expressions",
            ));
        }
        let identifier = key
            .name
            .starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && key
                .name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !identifier {
            let message = format!("a parameter cannot be called `{}`", key.name);
            return Err(Mistake::at(
                &key.span,
                message,
                "expected letters, digits and _, a letter first",
            ));
        }
        parameters.push((key.name.clone(), number(node, &key.name)?));
    }
    Ok(parameters)
}

fn is_parameter(top: &Fields<'_>, name: &str) -> bool {
    let Some(Kind::Table(entries)) = top.get("parameters").map(|node| &node.kind) else {
        return false;
    };
    entries.iter().any(|(key, _)| key.name == name)
}

pub(crate) fn text(node: &Node, field: &str) -> Result<String, Mistake> {
    match &node.kind {
        Kind::Text(text) if text.chars().any(char::is_control) => {
            let message =
                format!("`{field}` must not hold line breaks or other control characters");
            Err(Mistake::at(&node.span, message, "this text"))
        }
        Kind::Text(text) => Ok(text.clone()),
        _ => Err(Mistake::at(
            &node.span,
            format!("`{field}` must be a text"),
            format!("got {}", node.what()),
        )),
    }
}

pub(crate) fn number(node: &Node, field: &str) -> Result<f64, Mistake> {
    match node.kind {
        Kind::Number(value) => Ok(value),
        _ => {
            let message = format!("`{field}` must be a number");
            Err(Mistake::at(
                &node.span,
                message,
                format!("got {}", node.what()),
            ))
        }
    }
}

fn count(node: &Node, field: &str) -> Result<usize, Mistake> {
    match node.kind {
        // Beyond 2^53 a float is no count any more; the limits are far below.
        Kind::Number(value) if value.fract() == 0.0 && (0.0..9e15).contains(&value) => {
            Ok(value as usize)
        }
        Kind::Number(value) => {
            let least = usize::from(field != "start");
            let message = format!(
                "`{field}` must be a whole number of at least {least}, got {}",
                format_number(value)
            );
            Err(Mistake::at(&node.span, message, "out of range"))
        }
        _ => {
            let message = format!("`{field}` must be a whole number");
            Err(Mistake::at(
                &node.span,
                message,
                format!("got {}", node.what()),
            ))
        }
    }
}

fn names(node: &Node, field: &str, prefix: &'static str) -> Result<Names, Mistake> {
    let Kind::Array(items) = &node.kind else {
        if let Kind::Number(_) = node.kind {
            return Ok(Names::Count(count(node, field)?, prefix));
        }
        let message = format!("`{field}` must be a count or a list of names");
        return Err(Mistake::at(
            &node.span,
            message,
            format!("got {}", node.what()),
        ));
    };
    let mut list: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for item in items {
        let name = text(item, field)?;
        let wrong = |message: &str| {
            Err(Mistake::at(
                &item.span,
                format!("`{field}`: {message}"),
                "this name",
            ))
        };
        if name == "stop" && field == "actions" {
            return wrong("`stop` always exists and is never listed");
        }
        if name.is_empty() || name.contains('\'') || name.chars().any(char::is_control) {
            return wrong("a name must not be empty nor hold quotes or control characters");
        }
        if !seen.insert(name.clone()) {
            return wrong(&format!("`{name}` is listed twice"));
        }
        list.push(name);
    }
    Ok(Names::List(list))
}

fn position(names: &Names, name: &str) -> Option<usize> {
    match names {
        Names::List(list) => list.iter().position(|known| known == name),
        Names::Count(..) => None,
    }
}

fn place_in(top: &Fields<'_>, field: &str, message: String) -> Mistake {
    match top.get(field) {
        Some(node) => Mistake::at(&node.span, message, "out of range"),
        None => unplaced(message),
    }
}

fn unplaced(message: String) -> Mistake {
    Mistake {
        span: None,
        message,
        label: String::new(),
        help: None,
    }
}
