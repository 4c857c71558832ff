//! The sweep file (TOML, or JSON if its name ends in .json).

use std::collections::HashSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use emab::input::parse_count;
use emab_problem::document::{
    Diagnostic, Fields, SpannedKey, SpannedValue, ValueKind, is_problem, is_result, number, parse,
    result_not, text,
};
use emab_problem::{Format, ReadError};
use thiserror::Error;

use super::cell::Value;
use crate::experiment::{BuildError, check_checkpoints, log_spaced};

/// Why a sweep is invalid or failed.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The file is invalid, or a value in it does not suit the learners.
    #[error(transparent)]
    File(Box<ReadError>),
    /// The problem is invalid, by itself or with the values of a cell.
    #[error(transparent)]
    Problem(Box<ReadError>),
    /// A cell cannot be built or run.
    #[error("{0}: {1}")]
    Cell(String, BuildError),
}

/// A parsed sweep file.
///
/// ```
/// let file = emab_sim::compare::sweep::SweepFile::parse("sweep.toml", r#"
///     problem  = "resource"
///     learners = ["feedbal", "ucb1v"]
///     episodes = 1e3
///     runs     = 20
///
///     [grid]
///     problem.p      = [0.4, 0.8]
///     learner.sigma2 = { from = 0.05, to = 0.2, steps = 3, scale = "log" }
/// "#).unwrap();
/// assert_eq!(file.episodes, 1000);
/// ```
#[derive(Clone, Debug)]
pub struct SweepFile {
    /// Its name in errors.
    pub file: String,
    /// The name of a built-in problem, or a path relative to this file.
    pub problem: String,
    /// The learners, as on the command line.
    pub learners: Vec<String>,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs of a cell.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// The episodes at which regret is recorded.
    pub checkpoints: Vec<u64>,
    /// The varied parameters with their values: every combination is a cell.
    pub(crate) grid: Vec<(Key, Vec<Value>)>,
    /// Further cells.
    pub(crate) list: Vec<Vec<(Key, Value)>>,
    text: Arc<str>,
    /// Where the values of the parameters stand in the text.
    places: Vec<(String, Range<usize>)>,
}

/// A varied parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A learner's parameter.
    Learner(String),
    /// A value in the problem file.
    Problem(Vec<String>),
}

impl std::fmt::Display for Key {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Key::Learner(name) => write!(out, "learner.{name}"),
            Key::Problem(path) => write!(out, "problem.{}", path.join(".")),
        }
    }
}

const FIELDS: [&str; 8] = [
    "problem",
    "learners",
    "episodes",
    "runs",
    "seed",
    "checkpoints",
    "grid",
    "cell",
];

/// The most values of one parameter.
const MOST_VALUES: u64 = 100_000;
/// The largest integer up to which a double represents every integer.
const EXACT: u64 = 1 << 53;

impl SweepFile {
    /// The problem's path relative to the current directory; in the file it is relative to the file.
    pub fn problem_beside(&self) -> String {
        let path = Path::new(&self.problem);
        let is_file = path.extension().is_some() && path.is_relative();
        match Path::new(&self.file).parent().filter(|_| is_file) {
            Some(parent) => parent.join(path).display().to_string(),
            None => self.problem.clone(),
        }
    }

    /// Parses the text of a file; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<SweepFile, SweepError> {
        let ending = Path::new(file).extension().and_then(|e| e.to_str());
        let format = match ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json")) {
            true => Format::Json,
            false => Format::Toml,
        };
        let read = parse(format, text).and_then(|tree| Reader { file, text }.read(&tree));
        read.map_err(|error| SweepError::File(Box::new(error.in_file(file, &text.into()))))
    }

    /// The error that the values of a parameter, or of a table of them, are wrong.
    pub(super) fn wrong(&self, key: impl ToString, what: impl std::fmt::Display) -> SweepError {
        let key = key.to_string();
        SweepError::File(Box::new(self.error_at(&key, format!("`{key}` {what}"))))
    }

    /// An error at the values of a parameter.
    pub(super) fn error_at(&self, key: &str, message: String) -> ReadError {
        let place = self.places.iter().find(|(name, _)| name == key);
        let error = match place {
            Some((_, span)) => Diagnostic::at(span, message, "these values"),
            None => Diagnostic::without_span(message),
        };
        error.in_file(&self.file, &self.text)
    }
}

/// A varied parameter with its place, and its value.
type Entry<'a> = (Key, Range<usize>, &'a SpannedValue);

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn read(&self, tree: &SpannedValue) -> Result<SweepFile, Diagnostic> {
        let file = self.file;
        if is_result(tree) {
            return Err(result_not("a sweep file"));
        }
        if is_problem(tree) {
            let message = "this is a problem file, and a sweep file is needed";
            let help = format!(
                "`emab run {file}` runs learners on it; a sweep file names it as problem = \"{file}\""
            );
            return Err(Diagnostic::without_span(message).help(help));
        }
        let top = Fields::of(tree, "a sweep file", &FIELDS)?;
        let problem = text(top.need("problem")?, "problem")?;
        let count = |field: &str, least: u64, default: u64| {
            let node = top.get(field);
            node.map_or(Ok(default), |node| self.count(node, field, least))
        };
        let episodes = count("episodes", 1, 10_000)?;
        let runs = count("runs", 1, 100)?;
        let seed = count("seed", 0, 1)?;
        let checkpoints = match top.get("checkpoints") {
            None => log_spaced(episodes),
            Some(node) => {
                let items = list(node, "checkpoints", "episodes")?.iter();
                let at = items.map(|item| self.count(item, "checkpoints", 1));
                let at = at.collect::<Result<Vec<u64>, _>>()?;
                check_checkpoints(at, episodes)
                    .map_err(|error| node.out_of_range(format!("`checkpoints`: {error}")))?
            }
        };
        let learners = match top.get("learners") {
            None => vec!["feedbal".into()],
            Some(node) => {
                let items = list(node, "learners", "learners")?.iter();
                let names = items.map(|item| text(item, "learners"));
                let names = names.collect::<Result<Vec<String>, _>>()?;
                if names.is_empty() {
                    let message = "`learners` is empty; name at least one learner";
                    return Err(Diagnostic::at(&node.span, message, "empty"));
                }
                names
            }
        };
        let (mut grid, mut places) = (Vec::new(), Vec::new());
        if let Some(node) = top.get("grid") {
            for entry in self.entries("grid", node)? {
                let values = self.values(&entry)?;
                places.push((entry.0.to_string(), entry.2.span.clone()));
                grid.push((entry.0, values));
            }
        }
        let cells = top.get("cell").map(|node| list(node, "cell", "tables"));
        let mut cells_read = Vec::new();
        for table in cells.transpose()?.into_iter().flatten() {
            let entries = self.entries("cell", table)?.into_iter();
            let one = |entry: Entry<'_>| {
                let value = self.value(&entry.0, entry.2)?;
                places.push((entry.0.to_string(), entry.2.span.clone()));
                Ok((entry.0, value))
            };
            cells_read.push(entries.map(one).collect::<Result<_, Diagnostic>>()?);
        }
        Ok(SweepFile {
            file: file.into(),
            problem,
            learners,
            episodes,
            runs,
            seed,
            checkpoints,
            grid,
            list: cells_read,
            text: self.text.into(),
            places,
        })
    }

    /// A whole number, read from the text: a double has not all digits of a seed.
    fn count(&self, node: &SpannedValue, field: &str, least: u64) -> Result<u64, Diagnostic> {
        let rule = format!("`{field}` must be a whole number of at least {least}");
        let ValueKind::Number(value) = node.kind else {
            return Err(node.wrong_type(rule));
        };
        let written = self.text.get(node.span.clone()).unwrap_or("");
        let count = parse_count(written).or_else(|why| {
            // TOML has hexadecimal integers.
            let exact = value.fract() == 0.0 && (0.0..EXACT as f64).contains(&value);
            let other = exact && why == "is not a number";
            other.then_some(value as u64).ok_or(why)
        });
        match count {
            Ok(count) if count >= least => Ok(count),
            Ok(_) => Err(node.out_of_range(format!("{rule}, got {written}"))),
            Err(why) => Err(Diagnostic::at(
                &node.span,
                format!("{rule}, got {written}"),
                why,
            )),
        }
    }

    /// The parameters of a table; nested tables of a problem are paths into its file.
    fn entries<'a>(
        &self,
        place: &str,
        node: &'a SpannedValue,
    ) -> Result<Vec<Entry<'a>>, Diagnostic> {
        let ValueKind::Table(table) = &node.kind else {
            return Err(node.wrong_type(format!("`{place}` must be a table of parameters")));
        };
        let mut entries = Vec::new();
        for (whose, values) in table {
            let inside = match (whose.name.as_str(), &values.kind) {
                ("learner" | "problem", ValueKind::Table(inside)) => inside,
                _ => {
                    let name = &whose.name;
                    let message = format!(
                        "`{place}.{name}` belongs neither to a learner nor to a problem; write learner.NAME or problem.NAME"
                    );
                    let error = Diagnostic::at(&whose.span, message, "whose parameter?");
                    return Err(error.suggest(name, ["learner", "problem"]));
                }
            };
            for (name, value) in inside {
                if whose.name == "learner" {
                    entries.push((Key::Learner(name.name.clone()), name.span.clone(), value));
                } else {
                    paths(vec![name.name.clone()], name, value, &mut entries);
                }
            }
        }
        let mut seen = HashSet::new();
        let twice = entries
            .iter()
            .find(|(key, ..)| !seen.insert(key.to_string()));
        if let Some((key, span, _)) = twice {
            let message = format!("`{key}` is given twice, by its name and by its path");
            return Err(Diagnostic::at(span, message, "the second time"));
        }
        Ok(entries)
    }

    fn value(&self, key: &Key, node: &SpannedValue) -> Result<Value, Diagnostic> {
        match &node.kind {
            // A comma would start another parameter.
            ValueKind::Text(text) if matches!(key, Key::Learner(_)) && text.contains(',') => {
                let message = format!("`{key}` must be one value, without commas, got `{text}`");
                Err(Diagnostic::at(&node.span, message, "several values"))
            }
            ValueKind::Text(text) => Ok(Value::Text(text.clone())),
            ValueKind::Bool(flag) => Ok(Value::Text(flag.to_string())),
            ValueKind::Number(value) => {
                let written = self.text.get(node.span.clone()).unwrap_or("");
                let is_integer = !written.contains(['.', 'e', 'E']);
                let digits = parse_count(written.trim_start_matches('-'));
                let beyond = digits.map_or(value.abs() > EXACT as f64, |n| n > EXACT);
                if is_integer && beyond {
                    let message =
                        format!("`{key}` must be a whole number of at most 2^53, got {written}");
                    return Err(node.out_of_range(message));
                }
                Ok(Value::Number(*value))
            }
            _ => Err(node.wrong_type(format!("`{key}` must be a number or a text"))),
        }
    }

    fn values(&self, (key, span, node): &Entry<'_>) -> Result<Vec<Value>, Diagnostic> {
        let values: Vec<Value> = match &node.kind {
            ValueKind::Array(items) => {
                let values = items.iter().map(|item| self.value(key, item));
                values.collect::<Result<_, _>>()?
            }
            ValueKind::Table(_) => self.range(key, node)?,
            _ => vec![self.value(key, node)?],
        };
        if values.is_empty() {
            let message = format!("`{key}` has no values");
            return Err(Diagnostic::at(&node.span, message, "empty"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = values.iter().find(|value| !seen.insert(value.to_string())) {
            let message = format!("`{key}` has {twice} twice");
            return Err(Diagnostic::at(span, message, "remove one of them"));
        }
        Ok(values)
    }

    /// Evenly spaced values between two ends.
    fn range(&self, key: &Key, node: &SpannedValue) -> Result<Vec<Value>, Diagnostic> {
        const FORM: &str =
            "a range is { from = A, to = B, steps = N, scale = \"linear\" or \"log\" }";
        let fields = Fields::of(node, "a range of values", &["from", "to", "steps", "scale"])?;
        let need = |name: &str| {
            fields.get(name).ok_or_else(|| {
                let message = format!("the range of `{key}` has no `{name}`");
                Diagnostic::at(&node.span, message, "not given here").help(FORM)
            })
        };
        let end = |name: &str| number(need(name)?, name);
        let (from, to) = (end("from")?, end("to")?);
        let steps = self.count(need("steps")?, "steps", 2)?;
        let wrong = |message: String| Err(Diagnostic::at(&node.span, message, "this range"));
        if steps > MOST_VALUES {
            return wrong(format!(
                "`{key}` must have 2 to {MOST_VALUES} steps, got {steps}"
            ));
        }
        let is_log = match fields.get("scale").map(|node| (node, text(node, "scale"))) {
            None => false,
            Some((node, scale)) => match scale?.as_str() {
                "linear" => false,
                "log" => true,
                other => {
                    let message = format!("`scale` must be `linear` or `log`, got `{other}`");
                    let error = Diagnostic::at(&node.span, message, "unknown scale");
                    return Err(error.suggest(other, ["linear", "log"]));
                }
            },
        };
        if is_log && !(from > 0.0 && to > 0.0) {
            return wrong(format!(
                "`{key}` needs ends above 0 on a log scale, got {from} to {to}"
            ));
        }
        let last = (steps - 1) as f64;
        let at = |i: u64| {
            let share = i as f64 / last;
            match is_log {
                // The ends are exact.
                _ if i == 0 => from,
                _ if i == steps - 1 => to,
                false => rounded(from + (to - from) * share),
                true => rounded(from * libm::pow(to / from, share)),
            }
        };
        let values: Vec<f64> = (0..steps).map(at).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return wrong(format!(
                "`{key}` has ends too far apart to be divided, got {from} to {to}"
            ));
        }
        Ok(values.into_iter().map(Value::Number).collect())
    }
}

fn list<'a>(
    node: &'a SpannedValue,
    field: &str,
    of: &str,
) -> Result<&'a [SpannedValue], Diagnostic> {
    match &node.kind {
        ValueKind::Array(items) => Ok(items),
        _ => Err(node.wrong_type(format!("`{field}` must be a list of {of}"))),
    }
}

fn paths<'a>(
    path: Vec<String>,
    key: &SpannedKey,
    node: &'a SpannedValue,
    entries: &mut Vec<Entry<'a>>,
) {
    match &node.kind {
        // A range, even an incomplete one, is a value and not a path.
        ValueKind::Table(inside)
            if !inside.is_empty() && node.field("from").is_none() && node.field("to").is_none() =>
        {
            for (name, value) in inside {
                let mut longer = path.clone();
                longer.push(name.name.clone());
                paths(longer, name, value, entries);
            }
        }
        _ => {
            // A parameter is identified by its name alone.
            let path = match path.as_slice() {
                [first, name] if first == "parameters" => vec![name.clone()],
                _ => path,
            };
            entries.push((Key::Problem(path), key.span.clone(), node));
        }
    }
}

/// Rounds to twelve digits, so that the values have short decimal forms.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}
