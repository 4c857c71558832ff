//! Problem files: the public type and its queries.

mod read;

use std::path::Path;
use std::sync::Arc;

use emab::conditions::Dropout;
use emab::conformance::{ReachSummary, check_problem, check_spec};
use emab::environment::ModelPhase;
use emab::learners::LearnerDefaults;
use emab::spec::PointError;
use emab::{Conditions, Model, Names, Problem, Scenario, Spec};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use crate::builtin::Builtin;
use crate::error::{Diagnostic, ReadError};
use crate::spanned::{SpannedValue, parse};
use crate::table::SharedTable;

use read::read;
pub use read::{FIELDS, is_problem, is_result, is_sweep, result_not};

/// Syntax of a problem file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// TOML.
    Toml,
    /// JSON.
    Json,
}

/// The ranges of observed costs and terminal rewards, where they are stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutcomeRange {
    /// The least and the most cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<[f64; 2]>,
    /// The least and the most terminal reward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward: Option<[f64; 2]>,
}

/// A well-formed problem file.
///
/// Quantities are checked when they are evaluated; [`ProblemFile::check`] evaluates them at every reachable pair.
#[derive(Clone, Debug)]
pub struct ProblemFile {
    file: String,
    text: Arc<str>,
    name: String,
    description: String,
    spec: Arc<Spec>,
    model: Option<Model>,
    conditions: Conditions,
    /// Models that replace the first one, each with the episode it begins at and its dropout.
    later: Vec<(u64, Model, Dropout)>,
    learning: LearnerDefaults,
    outcome_range: OutcomeRange,
    tree: Arc<SpannedValue>,
    canonical: String,
    hash: String,
    tables: Vec<(&'static str, SharedTable)>,
}

impl ProblemFile {
    /// Parses a text in the syntax of the file name's extension, `.toml` or `.json`.
    pub fn parse(file: &str, text: &str) -> Result<ProblemFile, ReadError> {
        let ending = Path::new(file).extension().and_then(|e| e.to_str());
        let format = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("toml") => Format::Toml,
            Some("json") => Format::Json,
            _ => {
                let message = "a problem file ends in .toml or .json";
                return Err(Diagnostic::without_span(message).in_file(file, &text.into()));
            }
        };
        ProblemFile::parse_as(format, file, text)
    }

    /// Parses a text of this format; errors name it `file`.
    pub fn parse_as(format: Format, file: &str, text: &str) -> Result<ProblemFile, ReadError> {
        let source: Arc<str> = text.into();
        parse(format, text)
            .and_then(|tree| read(file, &source, &tree.into(), None))
            .map_err(|diagnostic| match format {
                Format::Toml => diagnostic.in_file(file, &source),
                Format::Json => diagnostic.in_json().in_file(file, &source),
            })
    }

    /// The built-in problem of this name, if there is one.
    pub fn builtin(name: &str) -> Option<Result<ProblemFile, ReadError>> {
        let builtin = Builtin::all().find(|builtin| builtin.name == name)?;
        let file = format!("problems/{name}.toml");
        Some(ProblemFile::parse_as(Format::Toml, &file, builtin.text))
    }

    /// Name of the problem.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// One-line description; may be empty.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// What learners may use.
    pub fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    /// Whether the file has a `[model]`.
    pub fn has_model(&self) -> bool {
        self.model.is_some()
    }

    /// Defaults for learners.
    pub fn learning(&self) -> &LearnerDefaults {
        &self.learning
    }

    /// The ranges of observed values. Learners do not use them; the decision service rejects values outside.
    pub fn outcome_range(&self) -> OutcomeRange {
        self.outcome_range
    }

    /// Content of the file as JSON in canonical form, with the name.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The canonical JSON without `model` and `conditions`: what learners may use.
    pub fn spec_json(&self) -> String {
        let mut fields = self.tree.canonical_fields();
        fields.extend(to_raw_value(&self.name).map(|name| ("name".into(), name)));
        fields.remove("model");
        fields.remove("conditions");
        serde_json::to_string(&fields).unwrap_or_default()
    }

    /// The same problem without `model` and `conditions`.
    pub fn without_model(&self) -> Result<ProblemFile, ReadError> {
        ProblemFile::parse_as(Format::Json, "problem", &self.spec_json())
    }

    /// SHA-256, in hexadecimal, of the canonical content without name and description.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// The problem; fails if the file has no `[model]`.
    pub fn problem(&self) -> Result<Arc<Problem>, ReadError> {
        match &self.model {
            Some(model) => Ok(self.problem_of(model)),
            None => Err(Diagnostic::without_span(
                "this problem has no [model]: it can be studied live, not simulated or solved",
            )
            .help("state `feedback`, `cost` and `reward` in a table [model]")
            .in_file(&self.file, &self.text)),
        }
    }

    /// Conditions that the problem is simulated under.
    ///
    /// ```
    /// let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
    /// assert!(file.conditions().is_none());
    /// let conditions = file.conditions().with(["delay=20", "drift=p:0.4@5000"]).unwrap();
    /// let file = file.with_conditions(&conditions).unwrap();
    /// assert_eq!(file.scenario().phases[0].first, 5000);
    /// ```
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// The same file with these conditions instead of its own.
    pub fn with_conditions(&self, conditions: &Conditions) -> Result<ProblemFile, ReadError> {
        read(&self.file, &self.text, &self.tree, Some(conditions))
            .map_err(|diagnostic| diagnostic.in_file(&self.file, &self.text))
    }

    /// The conditions with the models that drift leads to.
    pub fn scenario(&self) -> Scenario {
        let phase = |(first, model, dropout): &(u64, Model, Dropout)| {
            let problem = self.problem_of(model);
            ModelPhase {
                first: *first,
                problem: match dropout.constant() {
                    Some(_) => problem,
                    None => Arc::new(problem.with_dropout(dropout.clone())),
                },
            }
        };
        Scenario {
            conditions: self.conditions.clone(),
            phases: self.later.iter().map(phase).collect(),
        }
    }

    fn problem_of(&self, model: &Model) -> Arc<Problem> {
        let (name, spec) = (self.name.clone(), self.spec.clone());
        Arc::new(Problem::new(name, spec, model.clone()))
    }

    /// Checks all quantities at every reachable pair, up to `limit` pairs, under every model of the drift; without a
    /// model, the quantities of the specification.
    pub fn check(&self, limit: usize) -> Result<ReachSummary, ReadError> {
        let reached = match self.problem() {
            Ok(problem) => {
                let dropout = self.conditions.dropout.clone();
                check_problem(&problem.with_dropout(dropout), limit)
            }
            Err(_) => check_spec(&self.spec, limit),
        }
        .map_err(|error| self.locate(&error))?;
        for phase in self.scenario().phases {
            check_problem(&phase.problem, limit).map_err(|error| ReadError {
                help: Some(
                    format!(
                        "this holds for the model from episode {} on, after `drift`",
                        phase.first
                    )
                    .into(),
                ),
                ..self.locate(&error)
            })?;
        }
        Ok(reached)
    }

    /// The error of a quantity at a point, with its place in the file.
    pub fn locate(&self, error: &PointError) -> ReadError {
        let span = error.span.clone().or_else(|| {
            let found = self.tables.iter().find(|(name, _)| *name == error.quantity);
            found.and_then(|(name, table)| {
                let node = self.tree.field(name);
                let within = |section| self.tree.field(section)?.field(name);
                let node = node.or_else(|| within("model"));
                let node = node.or_else(|| within("conditions"))?;
                Some(table.0.span(node, error.point))
            })
        });
        let point = error.point;
        let mut place = format!("t = {}", point.t);
        for (variable, index, names) in [
            ("x", Some(point.x), self.spec.states()),
            ("a", point.a, self.spec.actions()),
            ("f", point.f, self.spec.feedbacks()),
        ] {
            if let Some(i) = index {
                place += &format!(", {variable} = {}", index_and_name(i, names));
            }
        }
        let message = format!("`{}` is wrong at {place}", error.quantity);
        // Without a place, nothing shows the label.
        let Some(span) = span else {
            let message = format!("{message}: {}", error.what);
            return Diagnostic::without_span(message).in_file(&self.file, &self.text);
        };
        Diagnostic {
            span: Some(span),
            message,
            label: error.what.clone(),
            explains: true,
            help: None,
        }
        .in_file(&self.file, &self.text)
    }
}

fn index_and_name(i: usize, names: &Names) -> String {
    match names {
        Names::List(_) => format!("{i} ({})", names.name(i)),
        Names::Count(..) => i.to_string(),
    }
}
