//! Problems. Each has the form of a problem file, so that it can be pickled, hashed and saved.

use std::path::PathBuf;
use std::sync::Arc;

use emab_problem::{Builtin, Format, ProblemFile};
use pyo3::prelude::*;

use crate::errors;
use crate::folder::write_file;
use crate::lists::List;
use crate::spec::{Spec, continuation, describe, hash, step_and_state};

/// A problem: its specification (``spec``), which learners may see, and its model, unless it is for live studies only.
///
/// Created by :func:`emab.load` and :func:`emab.problem`.
///
/// >>> problem = emab.load("resource")
/// >>> problem
/// Problem('resource collection', horizon=10, states=10, actions=['cont'], feedbacks=2)
/// >>> problem.reward(step=3, state=2)
/// 1.62
#[pyclass(frozen, module = "emab")]
pub struct Problem {
    pub file: Arc<ProblemFile>,
}

impl Problem {
    fn of(file: ProblemFile) -> Problem {
        Problem {
            file: Arc::new(file),
        }
    }

    /// The problem with its model; an error if it has none.
    pub fn problem(&self) -> PyResult<Arc<emab::Problem>> {
        self.file.problem().map_err(|error| errors::read(&error))
    }

    fn parse(format: Format, file: &str, text: &str) -> PyResult<Problem> {
        let parsed = ProblemFile::parse_as(format, file, text);
        parsed
            .map(Problem::of)
            .map_err(|error| errors::read(&error))
    }
}

#[pymethods]
impl Problem {
    /// A built-in problem by its name, or a problem in a file (``.toml`` or ``.json``).
    #[staticmethod]
    fn find(name: &str) -> PyResult<Problem> {
        let found = ProblemFile::find(name);
        found.map(Problem::of).map_err(errors::find)
    }

    /// Parse a problem in JSON; ``file`` is its name in errors.
    #[staticmethod]
    #[pyo3(signature = (text, file = "<problem>"))]
    fn from_json(text: &str, file: &str) -> PyResult<Problem> {
        Problem::parse(Format::Json, file, text)
    }

    /// Parse a problem in TOML.
    #[staticmethod]
    #[pyo3(signature = (text, file = "<problem>"))]
    fn from_toml(text: &str, file: &str) -> PyResult<Problem> {
        Problem::parse(Format::Toml, file, text)
    }

    /// The problem file, as JSON.
    fn to_json(&self) -> &str {
        self.file.canonical()
    }

    /// The problem file, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// Write the problem to a ``.json`` file, which the command line and the service read. A file with another content is a
    /// ``FileExistsError``, and ``force`` replaces it.
    #[pyo3(signature = (path, *, force = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        if path.extension().is_none_or(|ending| ending != "json") {
            return Err(errors::invalid(format!(
                "a problem is saved as JSON: the file must end in .json, got {}",
                path.display()
            )));
        }
        write_file(
            py,
            &path,
            self.file.canonical().as_bytes(),
            "problem",
            force,
        )
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        self.file.name()
    }

    /// The description, one line; may be empty.
    #[getter]
    fn description(&self) -> &str {
        self.file.description()
    }

    /// The SHA-256 of the problem, as in results.
    #[getter]
    fn hash(&self) -> &str {
        self.file.hash()
    }

    /// Whether it has a model. Without one, it can be used in live studies and not simulated.
    #[getter]
    fn has_model(&self) -> bool {
        self.file.has_model()
    }

    /// The part that learners may see.
    #[getter]
    fn spec(&self) -> Spec {
        Spec::new(self.file.clone())
    }

    /// The conditions of its runs, as on the command line; empty without conditions.
    #[getter]
    fn conditions(&self) -> String {
        self.file.conditions().to_string()
    }

    /// Return the same problem under these conditions, such as ``["delay=20", "dropout=0.1"]``.
    fn with_conditions(&self, conditions: List<String>) -> PyResult<Problem> {
        let texts = conditions.0.iter().map(String::as_str);
        let conditions = self
            .file
            .conditions()
            .with(texts)
            .map_err(errors::invalid)?;
        let changed = self.file.with_conditions(&conditions);
        changed
            .map(Problem::of)
            .map_err(|error| errors::read(&error))
    }

    /// Check every reachable pair, up to ``limit`` of them, and return their number.
    #[pyo3(signature = (limit = 1_000_000))]
    fn check(&self, py: Python<'_>, limit: u64) -> PyResult<usize> {
        let limit = usize::try_from(limit)?;
        let reached = py.detach(|| self.file.check(limit));
        Ok(reached.map_err(|error| errors::read(&error))?.pairs)
    }

    /// The probability of each start state, in the order of ``spec.starts``.
    ///
    /// >>> emab.load("screening-risk").start_probabilities
    /// [0.6, 0.3, 0.1]
    #[getter]
    fn start_probabilities(&self) -> PyResult<Vec<f64>> {
        let problem = self.problem()?;
        let probabilities = problem.start_distribution();
        Ok(probabilities.map_err(errors::point(&self.file))?.to_vec())
    }

    /// Return the probability of each feedback.
    fn feedback(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<f64>> {
        let spec = self.file.spec();
        let (step, state) = step_and_state(spec, step, state)?;
        let action = continuation(spec, action)?;
        let mut probabilities = vec![0.0; spec.feedbacks().len()];
        self.problem()?
            .feedback_distribution(step, state, action, &mut probabilities)
            .map_err(errors::point(&self.file))?;
        Ok(probabilities)
    }

    /// Return the expected cost of an action.
    fn cost(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<f64> {
        let (step, state) = step_and_state(self.file.spec(), step, state)?;
        let action = continuation(self.file.spec(), action)?;
        self.problem()?
            .cost(step, state, action)
            .map_err(errors::point(&self.file))
    }

    /// Return the expected terminal reward.
    fn reward(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<f64> {
        let (step, state) = step_and_state(self.file.spec(), step, state)?;
        self.problem()?
            .reward(step, state)
            .map_err(errors::point(&self.file))
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let make = slf.get_type().getattr("from_json")?;
        Ok((make.unbind(), (slf.get().to_json().to_owned(),)))
    }

    fn __eq__(&self, other: &Problem) -> bool {
        self.file.canonical() == other.file.canonical()
    }

    fn __hash__(&self) -> u64 {
        hash(self.file.canonical())
    }

    fn __repr__(&self) -> String {
        describe("Problem", &self.file)
    }
}

/// The built-in problems: name and file.
#[pyfunction]
pub fn builtin() -> Vec<(&'static str, &'static str)> {
    let all = Builtin::all();
    all.map(|builtin| (builtin.name, builtin.text)).collect()
}
