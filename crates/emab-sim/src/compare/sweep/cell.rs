//! The cells of a sweep and their results.

use std::collections::{HashMap, HashSet};
use std::fmt;

use emab::Conditions;
use emab::input::{did_you_mean, nearest};
use emab::learners::LearnerConfig;
use emab_problem::{Format, ProblemFile, ReadError, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::file::{Key, SweepError, SweepFile};
use crate::VERSION;
use crate::compare::cell::Cell;
use crate::experiment::{BuildError, CHECKED_PAIRS, Control};
use crate::results::{LearnerResult, ReferenceValues};
use crate::shard::Shard;

/// The value of a varied parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text, such as a choice or an expression.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(out, "{number}"),
            Value::Text(text) => out.write_str(text),
        }
    }
}

/// A sweep file with its problem: the list of cells.
pub struct Sweep {
    /// The sweep file.
    pub file: SweepFile,
    /// The cells, ordered by learner, then by grid with the last parameter changing fastest, then by list.
    pub cells: Vec<SweepCell>,
    /// The names of the varied parameters, in the order of the file.
    pub varied: Vec<String>,
}

/// One combination of a sweep: a learner on a problem, with the varied values.
#[derive(Clone)]
pub struct SweepCell {
    /// Its number, from 1.
    pub number: u64,
    /// The varied parameters with their values; parameters that the learner does not have are left out.
    pub values: Vec<(String, Value)>,
    /// The learner as the file names it.
    pub base: String,
    /// Identifies the cell among those of all sweeps.
    pub key: String,
    /// The learner on the problem with these values. Its seed depends on the sweep's seed and on the cell alone.
    cell: Cell,
}

/// The most cells.
const MOST_CELLS: usize = 1_000_000;

impl Sweep {
    /// The cells of a sweep file. Fails if a learner or a value is invalid, or if a parameter belongs to no learner.
    pub fn new(file: SweepFile, problem: &ProblemFile) -> Result<Sweep, SweepError> {
        let mut cells: Vec<SweepCell> = Vec::new();
        let mut keys = HashSet::new();
        let mut used: Vec<&Key> = Vec::new();
        for learner in &file.learners {
            let base = LearnerConfig::parse(learner, problem.learning());
            let base = base.map_err(|error| failed(&file.file, error.into()))?;
            let has = |key: &Key| match key {
                Key::Learner(name) => base.entry().parameters.iter().any(|p| p.name == name),
                Key::Problem(_) => true,
            };
            let grid: Vec<_> = file.grid.iter().filter(|(key, _)| has(key)).collect();
            used.extend(grid.iter().map(|(key, _)| key));
            let count = grid.iter().try_fold(1_usize, |product, (_, values)| {
                let more = product.checked_mul(values.len());
                more.filter(|n| *n <= MOST_CELLS)
            });
            let count = match count.ok_or_else(|| file.wrong("grid", too_many()))? {
                // Without a grid there is only the list.
                _ if file.grid.is_empty() && !file.list.is_empty() => 0,
                count => count,
            };
            let combinations = (0..count).map(|mut number| {
                let mut values = Vec::new();
                for (key, all) in grid.iter().rev() {
                    values.push((key, &all[number % all.len()]));
                    number /= all.len();
                }
                values.reverse();
                values
            });
            let listed = file.list.iter().map(|values| {
                let own = values.iter().filter(|(key, _)| has(key));
                own.map(|(key, value)| (key, value)).collect()
            });
            for values in combinations.chain(listed) {
                used.extend(values.iter().map(|(key, _)| *key));
                let cell = SweepCell::new(&file, problem, learner, &values)?;
                // Cells that differ only in parameters that the learner lacks are the same cell.
                if keys.insert(cell.key.clone()) {
                    let number = cells.len() as u64 + 1;
                    cells.push(SweepCell { number, ..cell });
                }
                if cells.len() > MOST_CELLS {
                    return Err(file.wrong("grid", too_many()));
                }
            }
        }
        let listed = file.list.iter().flatten().map(|(key, _)| key);
        let all: Vec<&Key> = file.grid.iter().map(|(key, _)| key).chain(listed).collect();
        if let Some(key) = all.iter().find(|key| !used.contains(key)) {
            let known = file.learners.iter().flat_map(|learner| {
                let config = LearnerConfig::parse(learner, problem.learning()).ok();
                config.map_or(&[][..], |config| config.entry().parameters)
            });
            let near = match key {
                Key::Learner(name) => did_you_mean(name, known.map(|parameter| parameter.name)),
                Key::Problem(_) => String::new(),
            };
            return Err(file.wrong(
                key,
                format!("is a parameter of none of the learners{near}; `emab learners` lists them"),
            ));
        }
        let mut varied: Vec<String> = Vec::new();
        for name in all.into_iter().map(Key::to_string) {
            if !varied.contains(&name) {
                varied.push(name);
            }
        }
        Ok(Sweep {
            file,
            cells,
            varied,
        })
    }

    /// Checks before any cell runs that the problem of each is valid and that its learner can be built. `problem` is that of the
    /// file.
    pub fn check(&self, problem: &ProblemFile) -> Result<(), SweepError> {
        for cell in &self.cells {
            cell.cell.check().map_err(|error| match error {
                BuildError::Problem(error) => {
                    let values = cell.values.iter().map(|(key, value)| (key.as_str(), value));
                    invalid_problem(&self.file, problem, values, &error)
                }
                other => failed(&cell.describe(), other),
            })?;
        }
        Ok(())
    }

    /// The notes and warnings of [`Experiment::warnings`](crate::Experiment::warnings) for all cells. Warnings of a learner that
    /// differ in numbers only are one, with the first of their cells.
    pub fn warnings(&self) -> Result<Vec<String>, SweepError> {
        // By problem: its variation is found once for all learners on it.
        let mut problems: Vec<(&str, Vec<&SweepCell>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for cell in &self.cells {
            let hash = cell.cell.problem.hash();
            let place = *places.entry(hash).or_insert_with(|| {
                problems.push((hash, Vec::new()));
                problems.len() - 1
            });
            problems[place].1.push(cell);
        }
        let mut found: Vec<(u64, &SweepCell, String)> = Vec::new();
        for (_, cells) in problems {
            let Some(first) = cells.first() else { continue };
            let wrong = |error: BuildError| failed(&first.describe(), error);
            let problem = first.cell.problem.problem().map_err(|e| wrong(e.into()))?;
            let configs: Vec<LearnerConfig> =
                cells.iter().map(|cell| cell.cell.learner.clone()).collect();
            let conditions = first.cell.problem.conditions();
            let warnings =
                crate::soundness::unsound_by_learner(&problem, conditions, None, &configs)
                    .map_err(|error| wrong(crate::SimError::from(error).into()))?;
            for (cell, words) in cells.iter().zip(warnings) {
                let assumed = crate::soundness::assumed_words(&cell.cell.learner);
                let unsound = words.iter().map(|one| one.line(&cell.cell.learner));
                let all = assumed.into_iter().chain(unsound);
                found.extend(all.map(|words| (cell.number, *cell, words)));
            }
        }
        found.sort_by_key(|(number, ..)| *number);
        let mut kinds: Vec<(String, &SweepCell, String, usize)> = Vec::new();
        for (_, cell, words) in found {
            // The label has the values of the cell, which its description repeats.
            let words = words.replacen(&format!("{}: ", cell.cell.learner.label()), "", 1);
            let digits = |c: char| c.is_ascii_digit() || "., ".contains(c);
            let kind = format!("{} {}", cell.base, words.replace(digits, ""));
            match kinds.iter_mut().find(|(known, ..)| *known == kind) {
                Some((.., count)) => *count += 1,
                None => kinds.push((kind, cell, words, 1)),
            }
        }
        let text = |(_, cell, words, count): (String, &SweepCell, String, usize)| {
            let (level, words) = words.split_once(": ").unwrap_or(("warning", &words));
            let more = match count {
                1 => String::new(),
                2 => "; 1 more cell has the same warning with other numbers".into(),
                n => format!(
                    "; {} more cells have the same warning with other numbers",
                    n - 1
                ),
            };
            format!("{level}: {}: {words}{more}", cell.describe())
        };
        Ok(kinds.into_iter().map(text).collect())
    }

    /// The cells of a shard: every N-th, because neighbours take a similar time.
    pub fn share(&self, shard: Shard) -> impl Iterator<Item = &SweepCell> {
        let mine = move |cell: &&SweepCell| (cell.number - 1) % shard.of() == shard.number() - 1;
        self.cells.iter().filter(mine)
    }

    /// The document of all cells: what `emab sweep --json` prints.
    pub fn document(&self, cells: &[SweepCellResult]) -> serde_json::Value {
        serde_json::json!({
            "version": VERSION,
            "seed": self.file.seed,
            "runs": self.file.runs,
            "episodes": self.file.episodes,
            "varied": self.varied,
            "cells": cells,
        })
    }

    /// The SHA-256 of everything that defines the sweep.
    pub fn hash(&self) -> String {
        let keys: Vec<&str> = self.cells.iter().map(|cell| cell.key.as_str()).collect();
        hex(&digest(&["sweep", &keys.join(" "), &self.varied.join(" ")]))
    }
}

fn too_many() -> String {
    format!("makes more than {MOST_CELLS} cells")
}

fn failed(cell: &str, error: BuildError) -> SweepError {
    SweepError::Cell(cell.into(), error)
}

/// The error of a problem with the values of a cell. A problem that is invalid by itself is reported at its own place.
fn invalid_problem<'a>(
    file: &SweepFile,
    problem: &ProblemFile,
    values: impl Iterator<Item = (&'a str, &'a Value)>,
    error: &ReadError,
) -> SweepError {
    let own = problem.problem().map(|_| problem.check(CHECKED_PAIRS));
    if let Err(own) | Ok(Err(own)) = own {
        return SweepError::Problem(Box::new(own));
    }
    let varied: Vec<_> = values
        .filter(|(key, _)| key.starts_with("problem."))
        .collect();
    let shown = varied.iter().map(|(key, value)| format!("{key} = {value}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let message = format!("the problem with {shown} is invalid: {}", error.sentence());
    let key = varied.first().map_or("", |(key, _)| key);
    SweepError::Problem(Box::new(file.error_at(key, message)))
}

fn digest(parts: &[&str]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        // Lengths first, so that different lists of parts cannot give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().into()
}

impl SweepCell {
    fn new(
        file: &SweepFile,
        problem: &ProblemFile,
        learner: &str,
        values: &[(&Key, &Value)],
    ) -> Result<SweepCell, SweepError> {
        let named: Vec<(String, Value)> = values
            .iter()
            .map(|(key, value)| (key.to_string(), (*value).clone()))
            .collect();
        let place = format!("{}: {learner} with {}", file.file, described(&named));
        let problem = with_values(file, problem, values)?;
        let base = learner.to_owned();
        let mut text = base.clone();
        for (key, value) in values {
            if let Key::Learner(name) = key {
                text.push(if text.contains(':') { ',' } else { ':' });
                text += &format!("{name}={value}");
            }
        }
        let learner = LearnerConfig::parse(&text, problem.learning())
            .and_then(|config| config.for_episodes(file.episodes))
            .map_err(|error| failed(&place, error.into()))?;
        let parameters: Vec<String> = learner
            .parameters()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let what = format!("{}:{}", learner.entry().name, parameters.join(","));
        let seed = file.seed.to_string();
        let own = digest(&["cell", &seed, problem.hash(), &what]);
        let [a, b, c, d, e, f, g, h, ..] = own;
        let asked = format!("{} {} {:?}", file.episodes, file.runs, file.checkpoints);
        Ok(SweepCell {
            number: 0,
            values: named,
            base,
            key: hex(&digest(&[&hex(&own), &asked, learner.label()])),
            cell: Cell {
                problem,
                learner,
                episodes: file.episodes,
                runs: file.runs,
                shard: Shard::WHOLE,
                seed: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
                checkpoints: file.checkpoints.clone(),
                recorded: None,
            },
        })
    }

    /// The cell as text, for messages.
    pub fn describe(&self) -> String {
        let values = match described(&self.values) {
            none if none.is_empty() => none,
            values => format!("; {values}"),
        };
        format!(
            "cell {} ({}{values})",
            self.number,
            self.cell.learner.label()
        )
    }

    /// Runs the cell; none if it was stopped.
    pub fn run(&self, control: &mut Control<'_>) -> Result<Option<SweepCellResult>, SweepError> {
        self.try_run(control)
            .map_err(|error| failed(&self.describe(), error))
    }

    fn try_run(&self, control: &mut Control<'_>) -> Result<Option<SweepCellResult>, BuildError> {
        let experiment = self.cell.experiment(None)?;
        let Some(state) = Cell::run(&experiment, control)? else {
            return Ok(None);
        };
        let reference = experiment.reference_values()?;
        let result = experiment.results(&state).pop();
        Ok(result.map(|result| SweepCellResult {
            number: self.number,
            key: self.key.clone(),
            seed: self.cell.seed,
            base: self.base.clone(),
            values: self.values.clone(),
            problem_hash: self.cell.problem.hash().into(),
            result: result.against_optimum(&reference),
            reference,
        }))
    }
}

/// Values as text, for messages.
fn described(values: &[(String, Value)]) -> String {
    let each = values
        .iter()
        .map(|(name, value)| format!("{name} = {value}"));
    each.collect::<Vec<_>>().join(", ")
}

/// The problem file with the values of a cell.
fn with_values(
    file: &SweepFile,
    problem: &ProblemFile,
    values: &[(&Key, &Value)],
) -> Result<ProblemFile, SweepError> {
    let mut document: serde_json::Value = serde_json::from_str(problem.canonical())
        .map_err(|error| file.wrong("problem", format!("cannot be converted to JSON: {error}")))?;
    let mut changed = false;
    for (key, value) in values {
        let Key::Problem(path) = key else { continue };
        let value = serde_json::json!(value);
        add_condition(&mut document, path);
        let Some(found) = find(&mut document, path) else {
            let parameters = document.get("parameters").and_then(|p| p.as_object());
            let names = parameters.map(|p| p.keys().cloned().collect::<Vec<_>>());
            let names = names.unwrap_or_default();
            let near = match nearest_path(&document, path, &names) {
                Some(near) => format!(" (did you mean `problem.{near}`?)"),
                None => String::new(),
            };
            let names = names.join(", ");
            return Err(file.wrong(
                key,
                format!(
                    "is not in the problem{near}: it must be one of its [parameters] ({names}), or a path to a value in \
                     its file such as problem.horizon or problem.model.reward_noise.variance"
                ),
            ));
        };
        let kind = match found {
            serde_json::Value::Array(_) => "a list",
            serde_json::Value::Object(_) => "a table",
            _ => "",
        };
        if !kind.is_empty() {
            let what = format!("is {kind} in the problem, and a sweep replaces single values only");
            return Err(file.wrong(key, what));
        }
        // An integer is written without a decimal point: 10.0 states would be rejected.
        *found = match value.as_f64() {
            Some(n) if n.fract() == 0.0 && n.abs() < 9e15 => serde_json::json!(n as i64),
            _ => value,
        };
        changed = true;
    }
    if !changed {
        return Ok(problem.clone());
    }
    let changed = ProblemFile::parse_as(Format::Json, &file.problem, &document.to_string());
    changed.map_err(|error| {
        let names: Vec<String> = values.iter().map(|(key, _)| key.to_string()).collect();
        let values = names
            .iter()
            .zip(values)
            .map(|(key, (_, value))| (key.as_str(), *value));
        invalid_problem(file, problem, values, &error)
    })
}

/// Adds a condition that the problem does not set, so that it can be varied: a value of its own, without effect at 0.
fn add_condition(document: &mut serde_json::Value, path: &[String]) {
    let [section, name] = path else { return };
    if section == "conditions" && name != "drift" && Conditions::KEYS.contains(&name.as_str()) {
        let conditions = &mut document["conditions"];
        if conditions.get(name).is_none() {
            conditions[name] = serde_json::Value::Null;
        }
    }
}

/// Finds a value in a problem file: a parameter by its name, any value by its path.
fn find<'a>(
    document: &'a mut serde_json::Value,
    path: &[String],
) -> Option<&'a mut serde_json::Value> {
    let is_parameter = |document: &serde_json::Value| {
        let parameters = document.get("parameters");
        parameters.is_some_and(|parameters| parameters.get(&path[0]).is_some())
    };
    let mut at = if path.len() == 1 && is_parameter(document) {
        document.get_mut("parameters")?
    } else {
        document
    };
    for name in path {
        at = at.get_mut(name)?;
    }
    Some(at)
}

/// The path to a value that is nearest to one that does not exist: a parameter, or a value in the table that the path leads to.
fn nearest_path(
    document: &serde_json::Value,
    path: &[String],
    parameters: &[String],
) -> Option<String> {
    let (last, above) = path.split_last()?;
    if above == ["conditions"] {
        let near = nearest(last, Conditions::KEYS)?;
        return Some(format!("conditions.{near}"));
    }
    let mut at = document;
    for name in above {
        at = at.get(name)?;
    }
    let is_value = |value: &serde_json::Value| !value.is_object() && !value.is_array();
    let inside = at.as_object()?.iter().filter(|(_, value)| is_value(value));
    let mut names: Vec<&str> = inside.map(|(name, _)| name.as_str()).collect();
    if above.is_empty() {
        names.extend(parameters.iter().map(String::as_str));
    }
    let near = nearest(last, names)?;
    let above = above.iter().map(|name| format!("{name}."));
    Some(format!("{}{near}", above.collect::<String>()))
}

/// The result of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepCellResult {
    /// The cell's number.
    pub number: u64,
    /// Its key; see [`SweepCell::key`].
    pub key: String,
    /// Its seed.
    pub seed: u64,
    /// The learner as the file names it.
    pub base: String,
    /// The varied parameters with their values.
    pub values: Vec<(String, Value)>,
    /// The problem's hash.
    pub problem_hash: String,
    /// The values of the benchmark and of the optimal policy.
    #[serde(flatten)]
    pub reference: ReferenceValues,
    /// The learner's result.
    pub result: LearnerResult,
}

impl SweepCellResult {
    /// The value of a varied parameter, if the cell has it.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let found = self.values.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value)
    }
}
