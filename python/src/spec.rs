//! Specifications: the part of a problem that learners may see.

use std::sync::Arc;

use emab::Names;
use emab_problem::{Format, ProblemFile};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::errors;
use crate::integers::index;

/// The part of a problem that learners may see: horizon, states, actions, feedbacks, transition and allowed actions.
///
/// Steps count from 1, everything else from 0. Continuation actions are ``0 … n_actions - 1``, and ``stop`` is
/// ``n_actions``.
///
/// >>> spec = emab.load("resource").spec
/// >>> spec.horizon, spec.actions, spec.stop
/// (10, ['cont'], 1)
/// >>> spec.next(step=1, state=0, action=0, feedback=1)
/// 1
#[pyclass(frozen, module = "emab")]
pub struct Spec {
    pub file: Arc<ProblemFile>,
}

impl Spec {
    pub fn new(file: Arc<ProblemFile>) -> Spec {
        Spec { file }
    }

    fn spec(&self) -> &emab::Spec {
        self.file.spec()
    }

    fn step_and_state(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
    ) -> PyResult<(usize, usize)> {
        step_and_state(self.spec(), step, state)
    }
}

/// A step and a state; an error if the specification does not have them.
pub fn step_and_state(
    spec: &emab::Spec,
    step: &Bound<'_, PyAny>,
    state: &Bound<'_, PyAny>,
) -> PyResult<(usize, usize)> {
    let (step, state) = (index("step", step)?, index("state", state)?);
    check_step_and_state(spec, step, state)?;
    Ok((step, state))
}

/// `IndexError` if a specification does not have this step or state.
pub fn check_step_and_state(spec: &emab::Spec, step: usize, state: usize) -> PyResult<()> {
    if !(1..=spec.horizon()).contains(&step) {
        return Err(out_of_range("step", step, 1, spec.horizon()));
    }
    if state >= spec.states().len() {
        return Err(out_of_range("state", state, 0, spec.states().len() - 1));
    }
    Ok(())
}

/// The most states that are listed by name.
const MOST_NAMES: usize = 10_000_000;

pub fn out_of_range(name: &str, got: usize, least: usize, most: usize) -> PyErr {
    PyIndexError::new_err(format!(
        "`{name}` must be from {least} to {most}, got {got}"
    ))
}

/// The names of all members of a set.
fn names(names: &Names) -> Vec<String> {
    (0..names.len())
        .map(|i| names.name(i).into_owned())
        .collect()
}

#[pymethods]
impl Spec {
    /// Read a specification from JSON, as ``to_json`` writes it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Spec> {
        let file = ProblemFile::parse_as(Format::Json, "<spec>", text);
        Ok(Spec::new(Arc::new(file.map_err(|e| errors::read(&e))?)))
    }

    /// The problem file without its model, as JSON.
    fn to_json(&self) -> String {
        self.file.spec_json()
    }

    /// The problem file without its model, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// The name of the problem.
    #[getter]
    fn name(&self) -> &str {
        self.file.name()
    }

    /// The last step: every episode stops there at the latest.
    #[getter]
    fn horizon(&self) -> usize {
        self.spec().horizon()
    }

    /// The number of states.
    #[getter]
    fn n_states(&self) -> usize {
        self.spec().states().len()
    }

    /// The number of continuation actions.
    #[getter]
    fn n_actions(&self) -> usize {
        self.spec().actions().len()
    }

    /// The number of feedbacks.
    #[getter]
    fn n_feedbacks(&self) -> usize {
        self.spec().feedbacks().len()
    }

    /// The names of the states.
    #[getter]
    fn states(&self) -> PyResult<Vec<String>> {
        let states = self.spec().states();
        if states.len() > MOST_NAMES {
            return Err(errors::invalid(format!(
                "there are {} states, too many to list (at most {MOST_NAMES}); `n_states` is their number",
                states.len()
            )));
        }
        Ok(names(states))
    }

    /// The names of the continuation actions.
    #[getter]
    fn actions(&self) -> Vec<String> {
        names(self.spec().actions())
    }

    /// The names of the feedbacks.
    #[getter]
    fn feedbacks(&self) -> Vec<String> {
        names(self.spec().feedbacks())
    }

    /// The state at step 1.
    #[getter]
    fn start(&self) -> usize {
        self.spec().start()
    }

    /// The number of the action ``stop``.
    #[getter]
    fn stop(&self) -> usize {
        self.spec().actions().len()
    }

    /// ``K``, the number of triplets as the paper counts them.
    #[getter]
    fn k(&self) -> f64 {
        self.spec().k()
    }

    /// Return the state that a feedback leads to.
    fn next(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        feedback: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let (step, state) = self.step_and_state(step, state)?;
        let (action, feedback) = (index("action", action)?, index("feedback", feedback)?);
        let spec = self.spec();
        if action >= spec.actions().len() {
            return Err(out_of_range("action", action, 0, spec.actions().len() - 1));
        }
        if feedback >= spec.feedbacks().len() {
            return Err(out_of_range(
                "feedback",
                feedback,
                0,
                spec.feedbacks().len() - 1,
            ));
        }
        spec.next(step, state, action, feedback)
            .map_err(|error| errors::point(&self.file, &error))
    }

    /// Return the allowed actions, with ``stop`` last, which is always allowed.
    fn allowed(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let (step, state) = self.step_and_state(step, state)?;
        let spec = self.spec();
        let mut allowed = Vec::new();
        for a in 0..spec.actions().len() {
            let is_allowed = spec.check_allowed(step, state, a);
            if is_allowed.map_err(|error| errors::point(&self.file, &error))? {
                allowed.push(a);
            }
        }
        allowed.push(spec.actions().len());
        Ok(allowed)
    }

    /// Return the name of an action.
    fn action_name(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let action = index("action", action)?;
        let actions = self.spec().actions();
        match action.cmp(&actions.len()) {
            std::cmp::Ordering::Less => Ok(actions.name(action).into_owned()),
            std::cmp::Ordering::Equal => Ok("stop".into()),
            std::cmp::Ordering::Greater => Err(out_of_range("action", action, 0, actions.len())),
        }
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let make = slf.get_type().getattr("from_json")?;
        Ok((make.unbind(), (slf.get().to_json(),)))
    }

    fn __eq__(&self, other: &Spec) -> PyResult<bool> {
        Ok(self.to_json() == other.to_json())
    }

    fn __hash__(&self) -> PyResult<u64> {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.to_json().hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __repr__(&self) -> String {
        describe("Spec", &self.file)
    }
}

/// The representation of a problem or its specification.
pub fn describe(class: &str, file: &ProblemFile) -> String {
    let set = |names: &Names| match names {
        Names::List(list) if list.len() <= 8 => format!("{list:?}").replace('"', "'"),
        other => other.len().to_string(),
    };
    let spec = file.spec();
    format!(
        "{class}('{}', horizon={}, states={}, actions={}, feedbacks={})",
        file.name(),
        spec.horizon(),
        set(spec.states()),
        set(spec.actions()),
        set(spec.feedbacks())
    )
}
