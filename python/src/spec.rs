//! What a learner may know, as Python sees it.

use std::sync::Arc;

use emab::Names;
use emab_problem::{Format, ProblemFile};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use crate::errors;
use crate::whole::index;

/// What a learner may know of a problem: horizon, states, actions, feedbacks, the transition and the mask.
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

    /// A step and a state that exist.
    fn place(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<(usize, usize)> {
        place(self.spec(), step, state)
    }
}

/// A step and a state that a specification has.
pub fn place(
    spec: &emab::Spec,
    step: &Bound<'_, PyAny>,
    state: &Bound<'_, PyAny>,
) -> PyResult<(usize, usize)> {
    let (step, state) = (index("step", step)?, index("state", state)?);
    check(spec, step, state)?;
    Ok((step, state))
}

/// Whether a specification has this step and this state.
pub fn check(spec: &emab::Spec, step: usize, state: usize) -> PyResult<()> {
    if !(1..=spec.horizon()).contains(&step) {
        return Err(out_of("step", step, 1, spec.horizon()));
    }
    if state >= spec.states().len() {
        return Err(out_of("state", state, 0, spec.states().len() - 1));
    }
    Ok(())
}

/// The most states that are listed by name.
const MOST_NAMES: usize = 10_000_000;

pub fn out_of(what: &str, got: usize, least: usize, most: usize) -> PyErr {
    PyIndexError::new_err(format!(
        "`{what}` must be from {least} to {most}, got {got}"
    ))
}

/// The names of a set, by number where it is only a count.
fn names(names: &Names) -> Vec<String> {
    (0..names.len())
        .map(|i| names.name(i).into_owned())
        .collect()
}

#[pymethods]
impl Spec {
    /// The specification in JSON, as [`Spec.to_json`] writes it.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Spec> {
        let file = ProblemFile::parse_as(Format::Json, "<spec>", text);
        Ok(Spec::new(Arc::new(file.map_err(|e| errors::read(&e))?)))
    }

    /// The problem file without the truth, as JSON.
    fn to_json(&self) -> String {
        self.file.spec_json()
    }

    /// The problem file without the truth, as a dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.import("json")?.call_method1("loads", (self.to_json(),))
    }

    /// What the problem is called.
    #[getter]
    fn name(&self) -> &str {
        self.file.name()
    }

    /// The step at which every episode has ended.
    #[getter]
    fn horizon(&self) -> usize {
        self.spec().horizon()
    }

    /// How many states there are.
    #[getter]
    fn n_states(&self) -> usize {
        self.spec().states().len()
    }

    /// How many continuation actions there are.
    #[getter]
    fn n_actions(&self) -> usize {
        self.spec().actions().len()
    }

    /// How many feedbacks there are.
    #[getter]
    fn n_feedbacks(&self) -> usize {
        self.spec().feedbacks().len()
    }

    /// The names of the states.
    #[getter]
    fn states(&self) -> PyResult<Vec<String>> {
        let states = self.spec().states();
        if states.len() > MOST_NAMES {
            return Err(errors::wrong(format!(
                "there are {} states, too many to list (at most {MOST_NAMES}); `n_states` counts them",
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

    /// The state that a feedback leads to.
    fn next(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
        feedback: &Bound<'_, PyAny>,
    ) -> PyResult<usize> {
        let (step, state) = self.place(step, state)?;
        let (action, feedback) = (index("action", action)?, index("feedback", feedback)?);
        let spec = self.spec();
        if action >= spec.actions().len() {
            return Err(out_of("action", action, 0, spec.actions().len() - 1));
        }
        if feedback >= spec.feedbacks().len() {
            return Err(out_of("feedback", feedback, 0, spec.feedbacks().len() - 1));
        }
        spec.next(step, state, action, feedback)
            .map_err(|error| errors::point(&self.file, &error))
    }

    /// The actions that may be taken, ``stop`` last: it always may.
    fn allowed(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let (step, state) = self.place(step, state)?;
        let spec = self.spec();
        let mut allowed = Vec::new();
        for a in 0..spec.actions().len() {
            let may = spec.check_allowed(step, state, a);
            if may.map_err(|error| errors::point(&self.file, &error))? {
                allowed.push(a);
            }
        }
        allowed.push(spec.actions().len());
        Ok(allowed)
    }

    /// The name of an action, by its number.
    fn action_name(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let action = index("action", action)?;
        let actions = self.spec().actions();
        match action.cmp(&actions.len()) {
            std::cmp::Ordering::Less => Ok(actions.name(action).into_owned()),
            std::cmp::Ordering::Equal => Ok("stop".into()),
            std::cmp::Ordering::Greater => Err(out_of("action", action, 0, actions.len())),
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

/// What it is, in a line.
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
