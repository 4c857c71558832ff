//! The sweep file (TOML).

use std::collections::HashSet;
use std::path::Path;

use crate::experiment::{BuildError, CheckpointError, check_checkpoints, log_spaced};
use serde::Deserialize;
use thiserror::Error;
use toml::Table;

use super::cell::Value;

/// Why a sweep is invalid or failed.
#[derive(Debug, Error)]
pub enum SweepError {
    /// The file is not valid TOML, or not a sweep: its name, and the cause with its position.
    #[error("{0}: {1}")]
    File(String, Box<toml::de::Error>),
    /// A value is invalid: the file, the value's name, and the rule it violates.
    #[error("{0}: `{1}` {2}")]
    Value(String, String, String),
    /// The checkpoints of a file are invalid.
    #[error("{0}: `checkpoints`: {1}")]
    Checkpoints(String, CheckpointError),
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
///     episodes = 1000
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    problem: String,
    learners: Option<Vec<String>>,
    episodes: Option<u64>,
    runs: Option<u64>,
    seed: Option<u64>,
    checkpoints: Option<Vec<u64>>,
    grid: Option<Table>,
    cell: Option<Vec<Table>>,
}

/// Evenly spaced values between two ends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    from: f64,
    to: f64,
    steps: u32,
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scale {
    #[default]
    Linear,
    Log,
}

/// The most values of one parameter.
const MOST_VALUES: u32 = 100_000;

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
        let raw: Raw =
            toml::from_str(text).map_err(|error| SweepError::File(file.into(), Box::new(error)))?;
        let reader = Reader { file };
        let at_least_one = |key: &str, n: u64| match n {
            0 => Err(reader.wrong(key, "must be at least 1, got 0")),
            n => Ok(n),
        };
        let episodes = at_least_one("episodes", raw.episodes.unwrap_or(10_000))?;
        let checkpoints = match raw.checkpoints {
            None => log_spaced(episodes),
            Some(at) => check_checkpoints(at, episodes)
                .map_err(|error| SweepError::Checkpoints(file.into(), error))?,
        };
        let learners = raw.learners.unwrap_or_else(|| vec!["feedbal".into()]);
        if learners.is_empty() {
            return Err(reader.wrong("learners", "is empty; name at least one learner"));
        }
        let mut grid = Vec::new();
        for (key, value) in reader.keys("grid", raw.grid.as_ref().unwrap_or(&Table::new()))? {
            let values = reader.values(&key, &value)?;
            grid.push((key, values));
        }
        let mut list = Vec::new();
        for table in raw.cell.iter().flatten() {
            let keys = reader.keys("cell", table)?;
            let one = |(key, value): (Key, toml::Value)| {
                let value = reader.value(&key, &value)?;
                Ok((key, value))
            };
            list.push(keys.into_iter().map(one).collect::<Result<_, _>>()?);
        }
        Ok(SweepFile {
            file: file.into(),
            problem: raw.problem,
            learners,
            episodes,
            runs: at_least_one("runs", raw.runs.unwrap_or(100))?,
            seed: raw.seed.unwrap_or(1),
            checkpoints,
            grid,
            list,
        })
    }

    pub(super) fn wrong(&self, key: impl ToString, what: impl Into<String>) -> SweepError {
        Reader { file: &self.file }.wrong(key, what)
    }
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, key: impl ToString, what: impl Into<String>) -> SweepError {
        SweepError::Value(self.file.into(), key.to_string(), what.into())
    }

    /// The parameters of a table; nested tables of a problem are paths into its file.
    fn keys(&self, place: &str, table: &Table) -> Result<Vec<(Key, toml::Value)>, SweepError> {
        let mut keys = Vec::new();
        for (whose, values) in table {
            let inside = match (whose.as_str(), values) {
                ("learner" | "problem", toml::Value::Table(inside)) => inside,
                _ => {
                    return Err(self.wrong(
                        format!("{place}.{whose}"),
                        "belongs neither to a learner nor to a problem; write learner.NAME or problem.NAME",
                    ));
                }
            };
            for (name, value) in inside {
                if whose == "learner" {
                    keys.push((Key::Learner(name.clone()), value.clone()));
                } else {
                    self.paths(vec![name.clone()], value, &mut keys);
                }
            }
        }
        let mut seen = HashSet::new();
        if let Some((key, _)) = keys.iter().find(|(key, _)| !seen.insert(key.to_string())) {
            return Err(self.wrong(key, "is given twice, by its name and by its path"));
        }
        Ok(keys)
    }

    fn paths(&self, path: Vec<String>, value: &toml::Value, keys: &mut Vec<(Key, toml::Value)>) {
        match value {
            // A range, even an incomplete one, is a value and not a path.
            toml::Value::Table(inside)
                if !inside.is_empty()
                    && !["from", "to"].iter().any(|k| inside.contains_key(*k)) =>
            {
                for (name, value) in inside {
                    let mut longer = path.clone();
                    longer.push(name.clone());
                    self.paths(longer, value, keys);
                }
            }
            value => {
                // A parameter is identified by its name alone.
                let path = match path.as_slice() {
                    [first, name] if first == "parameters" => vec![name.clone()],
                    _ => path,
                };
                keys.push((Key::Problem(path), value.clone()));
            }
        }
    }

    fn value(&self, key: &Key, value: &toml::Value) -> Result<Value, SweepError> {
        let what = match value {
            // A comma would start another parameter.
            toml::Value::String(text) if matches!(key, Key::Learner(_)) && text.contains(',') => {
                format!("must be one value, without commas, got `{text}`")
            }
            toml::Value::String(text) => return Ok(Value::Text(text.clone())),
            toml::Value::Boolean(flag) => return Ok(Value::Text(flag.to_string())),
            // Larger integers have no exact floating-point value.
            toml::Value::Integer(n) if n.unsigned_abs() <= 1 << 53 => {
                return Ok(Value::Number(*n as f64));
            }
            toml::Value::Float(n) if n.is_finite() => return Ok(Value::Number(*n)),
            toml::Value::Integer(n) => format!("must be a whole number of at most 2^53, got {n}"),
            toml::Value::Float(n) => format!("must be finite, got {n}"),
            other => {
                let kind = other.type_str();
                format!("must be a number or a text, got a value of type {kind}")
            }
        };
        Err(self.wrong(key, what))
    }

    fn values(&self, key: &Key, value: &toml::Value) -> Result<Vec<Value>, SweepError> {
        let values: Vec<Value> = match value {
            toml::Value::Array(values) => {
                let values = values.iter().map(|value| self.value(key, value));
                values.collect::<Result<_, _>>()?
            }
            toml::Value::Table(_) => self.span(key, value)?,
            single => vec![self.value(key, single)?],
        };
        if values.is_empty() {
            return Err(self.wrong(key, "has no values"));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = values.iter().find(|value| !seen.insert(value.to_string())) {
            return Err(self.wrong(key, format!("has {twice} twice")));
        }
        Ok(values)
    }

    fn span(&self, key: &Key, value: &toml::Value) -> Result<Vec<Value>, SweepError> {
        let wrong = |what: String| self.wrong(key, what);
        let span = Span::deserialize(value.clone()).map_err(|error| {
            let message = error.message();
            wrong(format!(
                "must be a list, or {{ from = A, to = B, steps = N, scale = \"linear\" or \"log\" }}: {message}"
            ))
        })?;
        let (from, to, steps) = (span.from, span.to, span.steps);
        if !(from.is_finite() && to.is_finite() && (2..=MOST_VALUES).contains(&steps)) {
            return Err(wrong(format!(
                "must go from a number to a number in 2 to {MOST_VALUES} steps, got {from} to {to} in {steps}"
            )));
        }
        let last = f64::from(steps - 1);
        let at = |i: u32| {
            let share = f64::from(i) / last;
            match span.scale {
                // The ends are exact.
                _ if i == 0 => from,
                _ if i == steps - 1 => to,
                Scale::Linear => rounded(from + (to - from) * share),
                Scale::Log => rounded(from * libm::pow(to / from, share)),
            }
        };
        if matches!(span.scale, Scale::Log) && !(from > 0.0 && to > 0.0) {
            return Err(wrong(format!(
                "needs ends above 0 on a log scale, got {from} to {to}"
            )));
        }
        let values: Vec<f64> = (0..steps).map(at).collect();
        if values.iter().any(|value| !value.is_finite()) {
            return Err(wrong(format!(
                "has ends too far apart to be divided, got {from} to {to}"
            )));
        }
        Ok(values.into_iter().map(Value::Number).collect())
    }
}

/// Rounds to twelve digits, so that the values have short decimal forms.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}
