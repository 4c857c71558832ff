//! What could be earned if the truth were known, and what the theorems say: documents, as the command prints them.

use emab::learners::{LearnerConfig, MAX_FIXED_OUTCOMES};
use emab::oracle::Solution;
use emab::theory::Bounds;
use pyo3::prelude::*;

use crate::errors;
use crate::problem::Problem;
use crate::whole::whole;

/// The most entries of a policy.
const MOST_ENTRIES: usize = 20_000_000;

/// The document of ``emab solve --json``, but for the problem's name and hash.
#[pyfunction]
pub fn solve(py: Python<'_>, problem: &Problem) -> PyResult<String> {
    let truth = problem.problem()?;
    let spec = truth.spec();
    let entries = spec.horizon().saturating_mul(spec.states().len());
    if entries > MOST_ENTRIES {
        return Err(errors::wrong(format!(
            "the policies have {entries} entries, one for each step and state, too many for lists (at most \
             {MOST_ENTRIES}); the command `emab solve --json` writes them as it goes"
        )));
    }
    let solution = py.detach(|| Solution::of(truth, MAX_FIXED_OUTCOMES));
    let solution = solution.map_err(|error| errors::oracle(&problem.file, error))?;
    serde_json::to_string(&solution).map_err(errors::wrong)
}

/// The document of ``emab bounds --json``, for FeedBAL as it is given.
#[pyfunction]
pub fn bounds(
    py: Python<'_>,
    problem: &Problem,
    learner: &str,
    episodes: &Bound<'_, PyAny>,
) -> PyResult<String> {
    let episodes = whole("episodes", episodes)?;
    if episodes == 0 {
        return Err(errors::wrong("`episodes` must be at least 1, got 0"));
    }
    let truth = problem.problem()?;
    let wrong = |error| errors::learner(&problem.file, error);
    let told = LearnerConfig::parse(learner, problem.file.learning())
        .and_then(|config| config.for_episodes(episodes))
        .and_then(|config| config.feedbal_parameters())
        .map_err(wrong)?;
    let bounds = py.detach(|| Bounds::new(truth, &told, episodes));
    let bounds = bounds.map_err(|error| errors::oracle(&problem.file, error))?;
    serde_json::to_string(&bounds).map_err(errors::wrong)
}
