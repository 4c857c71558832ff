//! What could be earned if the truth were known, and what the theorems say: documents, as the command prints them.

use emab::learners::{FIXED_WORK, LearnerConfig};
use emab::oracle::Solution;
use emab::theory::Bounds;
use pyo3::prelude::*;

use crate::errors;
use crate::problem::Problem;

/// The document of ``emab solve --json``, but for the problem's name and hash.
#[pyfunction]
pub fn solve(py: Python<'_>, problem: &Problem) -> PyResult<String> {
    let truth = problem.problem()?;
    let solution = py.detach(|| Solution::of(truth, FIXED_WORK));
    let solution = solution.map_err(|error| errors::oracle(&problem.file, error))?;
    serde_json::to_string(&solution).map_err(errors::wrong)
}

/// The document of ``emab bounds --json``, for FeedBAL as it is given.
#[pyfunction]
pub fn bounds(py: Python<'_>, problem: &Problem, learner: &str, episodes: u64) -> PyResult<String> {
    let truth = problem.problem()?;
    let wrong = |error| errors::learner(&problem.file, error);
    let told = LearnerConfig::parse(learner, problem.file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .and_then(|config| config.feedbal())
        .map_err(wrong)?;
    let bounds = py.detach(|| Bounds::new(truth, &told, episodes));
    let bounds = bounds.map_err(|error| errors::oracle(&problem.file, error))?;
    serde_json::to_string(&bounds).map_err(errors::wrong)
}
