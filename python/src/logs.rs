//! Logs of decisions: replay, evaluation and fitted models, as the JSON documents of the commands.

use std::sync::Arc;

use emab::learners::LearnerConfig;
use emab_episodes::validate_episode;
use emab_logs::assumptions::Stated;
use emab_logs::evaluate::Settings;
use emab_logs::fit::MOST_DRAWS;
use emab_logs::policy::check_problem;
use emab_logs::read::{COLUMNS, LogError, TableLog};
use emab_logs::{FittedModel, LoggedEpisode, Policy, Pooling, evaluate, evaluate_named};
use emab_problem::{OutcomeRange, ProblemFile};
use emab_server::log_source::{LogSource, SourceError, source_name};
use emab_tables::Cell;
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use crate::episode::Episode;
use crate::errors;
use crate::experiment::LearnerArgument;
use crate::integers::unsigned;
use crate::learner::Learner;
use crate::lists::{List, MOST};
use crate::problem::Problem;
use crate::progress::{Interrupt, interruptible};
use crate::user_learner;

/// The width of tables in texts.
const WIDTH: usize = 100;

/// What a call states beside the log: the ranges of expected rewards and costs, and the variance proxy of the noise.
type StatedTuple = (Option<(f64, f64)>, Option<(f64, f64)>, Option<f64>);

fn stated((reward_range, cost_range, sigma2): StatedTuple) -> Stated {
    Stated {
        reward_range,
        cost_range,
        sigma2,
    }
}

/// A log of decisions on a problem.
#[pyclass(frozen, module = "emab._emab")]
pub struct DecisionLog {
    log: Arc<emab_logs::DecisionLog>,
}

impl DecisionLog {
    fn of(log: emab_logs::DecisionLog) -> DecisionLog {
        DecisionLog { log: Arc::new(log) }
    }
}

fn json(document: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(document).map_err(errors::invalid)
}

#[pymethods]
impl DecisionLog {
    /// Read a log from a file, a store or a service.
    #[staticmethod]
    fn read(
        py: Python<'_>,
        place: String,
        study: Option<String>,
        problem: Option<&Problem>,
    ) -> PyResult<DecisionLog> {
        let problem = problem.map(|problem| ProblemFile::clone(&problem.file));
        let log = interruptible(py, move || {
            LogSource {
                place: &place,
                study: study.as_deref(),
                problem,
                progress: &mut |_| {},
            }
            .read()
        })?;
        log.map(DecisionLog::of).map_err(|error| match error {
            SourceError::Input(what) => errors::invalid(what),
            SourceError::System(what) => PyOSError::new_err(what),
        })
    }

    /// The names of the columns that a table of decisions may have; the first six are required.
    #[staticmethod]
    fn columns() -> Vec<&'static str> {
        COLUMNS.to_vec()
    }

    /// A log from the columns of a table, each by its name.
    #[staticmethod]
    fn of_columns(
        problem: &Problem,
        columns: Vec<(String, Vec<Bound<'_, PyAny>>)>,
    ) -> PyResult<DecisionLog> {
        let mut table = TableLog::new(ProblemFile::clone(&problem.file));
        let found = COLUMNS.map(|name| columns.iter().find(|(it, _)| it == name));
        let has = found.map(|it| it.is_some());
        let rows = columns.iter().map(|(_, values)| values.len()).max();
        for row in 0..rows.unwrap_or(0) {
            let cells = found.iter().map(|column| match column {
                Some((_, values)) => values.get(row).map_or(Ok(Cell::Missing), cell),
                None => Ok(Cell::Missing),
            });
            let cells = cells.collect::<PyResult<Vec<Cell<'_>>>>()?;
            table
                .row(row as u64 + 1, &cells)
                .map_err(|error: LogError| errors::invalid(error))?;
        }
        table
            .finish(&has)
            .map(DecisionLog::of)
            .map_err(errors::invalid)
    }

    /// A log of past episodes, in their order.
    #[staticmethod]
    fn of_episodes(problem: &Problem, episodes: List<Py<Episode>, MOST>) -> PyResult<DecisionLog> {
        let mut past = Vec::new();
        for (i, episode) in (0_u64..).zip(&episodes.0) {
            let episode = episode.get();
            episode.check_lengths()?;
            let valid = validate_episode(problem.file.spec(), episode.inner.clone());
            let wrong = |what: String| errors::invalid(format!("episode {i}: {what}"));
            let id = format!("episode-{i}");
            past.push(LoggedEpisode::past(id, valid.map_err(wrong)?, i));
        }
        let file = ProblemFile::clone(&problem.file);
        let log = emab_logs::DecisionLog::new(file, OutcomeRange::default(), past);
        Ok(DecisionLog::of(log))
    }

    /// The learner that recommended, if the log says so.
    #[getter]
    fn learner(&self) -> Option<&str> {
        self.log.learner.as_deref()
    }

    /// Fail if a learner is of another problem.
    fn check_learner(&self, learner: &Learner) -> PyResult<()> {
        check_problem(learner.file()?.spec(), self.log.spec()).map_err(errors::invalid)
    }

    /// The reachable steps and states.
    fn pairs(&self) -> PyResult<Vec<(usize, usize)>> {
        const LIMIT: usize = 100_000;
        let reachable = self.log.spec().reachable(LIMIT);
        let reachable = reachable.map_err(errors::point(&self.log.file))?;
        match reachable.complete {
            true => Ok(reachable.pairs),
            false => Err(errors::invalid(format!(
                "more than {LIMIT} step-state pairs are reachable, too many to ask a policy for its choices"
            ))),
        }
    }

    /// The name of an action, of which the one after the last is ``stop``.
    fn action_name(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let (index, actions) = (unsigned("action", action)?, self.log.spec().actions());
        match usize::try_from(index).ok() {
            Some(a) if a < actions.len() => Ok(actions.name(a).into_owned()),
            Some(a) if a == actions.len() => Ok("stop".into()),
            _ => Err(errors::invalid(format!(
                "the policy takes action {index}: actions are 0 to {}, and {} is `stop`",
                actions.len() - 1,
                actions.len()
            ))),
        }
    }

    /// How a log is called in files that are made from it.
    #[staticmethod]
    fn source_name(place: &str, study: Option<&str>) -> String {
        source_name(place, study)
    }

    /// The document of ``emab replay --json``, and its text.
    fn replay(
        &self,
        py: Python<'_>,
        learners: List<LearnerArgument>,
        seed: &Bound<'_, PyAny>,
    ) -> PyResult<(String, String)> {
        let seed = unsigned("seed", seed)?;
        let log = self.log.clone();
        let invalid = errors::of(&self.log.file);
        let counts = log.counts();
        let (file, interrupt) = (Arc::new(log.file.clone()), Arc::new(Interrupt::default()));
        let configs = learners.0.into_iter().map(|argument| match argument {
            LearnerArgument::Line(text) => LearnerConfig::parse(&text, log.file.learning())
                .and_then(|config| config.for_episodes(counts.learned.max(1))),
            LearnerArgument::UserDefined((label, factory)) => {
                let (file, interrupt) = (file.clone(), interrupt.clone());
                Ok(user_learner::config(&label, factory, file, interrupt))
            }
        });
        let configs = configs.collect::<Result<Vec<_>, _>>().map_err(&invalid)?;
        let stopped = interrupt.clone();
        let replays = interruptible(py, move || {
            let wanted = configs.iter().take_while(|_| !stopped.is_stopped());
            let replays = wanted.map(|config| emab_logs::replay(&log, config, seed));
            replays.collect::<Result<Vec<_>, _>>()
        });
        // After Ctrl-C the work goes on, but calls no learner any more.
        let replays = replays.inspect_err(|_| interrupt.cancel())?;
        interrupt.take()?;
        let replays = replays.map_err(&invalid)?;
        let text = emab_report::replay_text(&replays, &counts, WIDTH);
        let document = serde_json::json!({ "learners": replays, "log": counts });
        Ok((json(&document)?, text))
    }

    /// The document of ``emab evaluate --json``, and its text. The policy is a name and, unless the name says all, a document.
    #[pyo3(signature = (policy, *, confidence, by, from_log, stated))]
    fn evaluate(
        &self,
        py: Python<'_>,
        policy: (String, Option<String>),
        confidence: f64,
        by: &str,
        from_log: bool,
        stated: StatedTuple,
    ) -> PyResult<(String, String)> {
        let pooling = match by {
            "state" => Pooling::State,
            "path" => Pooling::Path,
            other => {
                let what = format!("`by` must be \"state\" or \"path\", got {other:?}");
                return Err(errors::invalid(what));
            }
        };
        let settings = Settings {
            confidence,
            pooling,
            stated: self::stated(stated),
        };
        let (policy, document) = policy;
        let log = self.log.clone();
        let evaluated = interruptible(py, move || match document {
            None => evaluate_named(&log, &policy, from_log, &settings),
            Some(document) => {
                let mut chosen = Policy::read(&policy, &document, None, log.spec())?;
                chosen.from_log |= from_log;
                evaluate(&log, &mut chosen, &settings)
            }
        })?;
        let evaluated = evaluated.map_err(errors::invalid)?;
        let text = emab_report::evaluation_text(&evaluated, WIDTH);
        Ok((json(&evaluated)?, text))
    }

    /// The fitted problem file, and those of plausible models, in TOML.
    fn fit(
        &self,
        py: Python<'_>,
        source: String,
        draws: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        stated: StatedTuple,
    ) -> PyResult<(String, Vec<String>)> {
        let (draws, seed) = (unsigned("draws", draws)?, unsigned("seed", seed)?);
        if draws > MOST_DRAWS {
            let what = format!("`draws` is {MOST_DRAWS} at most, got {draws}");
            return Err(errors::invalid(what));
        }
        let stated = self::stated(stated);
        let log = self.log.clone();
        let fitted = interruptible(py, move || {
            let model = FittedModel::of(&log, &stated)?;
            let drawn = (1..=draws).map(|number| {
                let drawn = model.draw(seed, number);
                drawn.draw_toml(&source, seed, number)
            });
            let drawn = drawn.collect();
            Ok::<_, emab_logs::fit::FitError>((model.toml(&source), drawn))
        })?;
        fitted.map_err(errors::invalid)
    }
}

/// A value of a column.
fn cell<'a>(value: &'a Bound<'_, PyAny>) -> PyResult<Cell<'a>> {
    if value.is_none() {
        return Ok(Cell::Missing);
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Cell::Boolean(value.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Cell::text(text.to_string_lossy().into_owned()));
    }
    if value.is_instance_of::<PyInt>()
        && let Ok(count) = value.extract::<u64>()
    {
        return Ok(Cell::Count(count));
    }
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        let number: f64 = value.extract()?;
        // Data frames have NaN for what is missing, also among texts.
        return Ok(match number.is_nan() {
            true => Cell::Missing,
            false => Cell::Number(number),
        });
    }
    // Such as pandas.NA and NumPy's numbers.
    match value.extract::<f64>() {
        Ok(number) if number.is_nan() => Ok(Cell::Missing),
        Ok(number) => Ok(Cell::Number(number)),
        Err(_) if value.get_type().name()? == "NAType" => Ok(Cell::Missing),
        Err(_) => Ok(Cell::text(value.str()?.to_string_lossy().into_owned())),
    }
}
