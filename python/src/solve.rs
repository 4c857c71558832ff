//! The oracle and the bounds of the theorems, as the JSON documents of the command.

use emab::learners::{LearnerConfig, MAX_FIXED_OUTCOMES};
use emab::oracle::{OracleError, Solution};
use emab::theory::{Bounds, LowerBound, Target};
use pyo3::prelude::*;

use crate::errors;
use crate::integers::unsigned;
use crate::problem::Problem;
use crate::progress::interruptible;
use crate::tables::{Cells, bounds_cells};

/// The largest number of entries of a policy.
const MOST_ENTRIES: usize = 20_000_000;

/// The document of ``emab solve --json`` without the name and hash of the problem.
#[pyfunction]
pub fn solve(py: Python<'_>, problem: &Problem) -> PyResult<String> {
    let truth = problem.problem()?;
    let spec = truth.spec();
    let entries = spec.horizon().saturating_mul(spec.states().len());
    if entries > MOST_ENTRIES {
        return Err(errors::invalid(format!(
            "the policies have {entries} entries, one for each step and state, too many for lists (at most \
             {MOST_ENTRIES}); the command `emab solve --json` streams them"
        )));
    }
    let document = interruptible(py, || {
        let solution = Solution::of(truth, MAX_FIXED_OUTCOMES)?;
        Ok::<_, OracleError>(serde_json::to_string(&solution))
    })?;
    let document = document.map_err(errors::of(&problem.file))?;
    document.map_err(errors::invalid)
}

/// The document of ``emab bounds --json`` for FeedBAL with these parameters, and the cells of its table.
#[pyfunction]
pub fn bounds(
    py: Python<'_>,
    problem: &Problem,
    learner: &str,
    episodes: &Bound<'_, PyAny>,
) -> PyResult<(String, Cells)> {
    let episodes = unsigned("episodes", episodes)?;
    if episodes == 0 {
        return Err(errors::invalid("`episodes` must be at least 1, got 0"));
    }
    let truth = problem.problem()?;
    let invalid = errors::of(&problem.file);
    let parameters = LearnerConfig::parse(learner, problem.file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .and_then(|config| config.feedbal_parameters())
        .map_err(invalid)?;
    let bounds = interruptible(py, move || Bounds::new(truth, &parameters, episodes))?;
    let bounds = bounds.map_err(errors::of(&problem.file))?;
    let document = serde_json::to_string(&bounds).map_err(errors::invalid)?;
    Ok((document, bounds_cells(&bounds)))
}

/// The part ``lower`` of the document of ``emab bounds --lower --json``.
#[pyfunction]
pub fn lower_bound(
    py: Python<'_>,
    problem: &Problem,
    episodes: &Bound<'_, PyAny>,
    target: &str,
    least_cost: Option<f64>,
) -> PyResult<String> {
    let episodes = unsigned("episodes", episodes)?;
    if episodes == 0 {
        return Err(errors::invalid("`episodes` must be at least 1, got 0"));
    }
    let target = match target {
        "benchmark" => Target::Benchmark,
        "optimal" => Target::Optimal,
        other => {
            let why = format!("`target` must be \"benchmark\" or \"optimal\", got \"{other}\"");
            return Err(errors::invalid(why));
        }
    };
    let least_cost = least_cost.unwrap_or(f64::NEG_INFINITY);
    if least_cost.is_nan() {
        return Err(errors::invalid("`least_cost` must be a number, got nan"));
    }
    let truth = problem.problem()?;
    let lower = interruptible(py, move || {
        let bound = LowerBound::new(truth, target, least_cost)?;
        Ok::<_, OracleError>(serde_json::to_string(&bound.evaluate(episodes)))
    })?;
    let document = lower.map_err(errors::of(&problem.file))?;
    document.map_err(errors::invalid)
}
