//! Specifications: the part of a problem that learners may see.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use emab::Names;
use emab_problem::{Format, ProblemFile};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors;
use crate::integers::index;
use crate::lists;

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
}

/// A step, and a state by number or name; `IndexError` if the specification does not have their numbers, `ValueError` if it
/// does not have the name.
pub fn step_and_state(
    spec: &emab::Spec,
    step: &Bound<'_, PyAny>,
    state: &Bound<'_, PyAny>,
) -> PyResult<(usize, usize)> {
    let step = index("step", step)?;
    let state = match state.cast::<PyString>() {
        Ok(name) => named(spec.states(), "state", name.to_str()?)?,
        Err(_) => index("state", state)?,
    };
    check_step_and_state(spec, step, state)?;
    Ok((step, state))
}

pub fn check_step_and_state(spec: &emab::Spec, step: usize, state: usize) -> PyResult<()> {
    in_range("step", step, 1, spec.horizon())?;
    in_range("state", state, 0, spec.states().len() - 1)?;
    Ok(())
}

/// The number of a name; `ValueError` if it does not exist.
fn named(names: &Names, what: &str, name: &str) -> PyResult<usize> {
    let found = (0..names.len()).find(|&i| names.name(i) == name);
    found.ok_or_else(|| {
        errors::invalid(format!(
            "there is no {what} `{name}`{}",
            names.instead_of(name)
        ))
    })
}

/// The index of a continuation action; `IndexError` if it does not exist.
pub fn continuation(spec: &emab::Spec, action: &Bound<'_, PyAny>) -> PyResult<usize> {
    in_range(
        "action",
        index("action", action)?,
        0,
        spec.actions().len() - 1,
    )
}

fn in_range(name: &str, value: usize, least: usize, most: usize) -> PyResult<usize> {
    if !(least..=most).contains(&value) {
        return Err(PyIndexError::new_err(format!(
            "`{name}` must be from {least} to {most}, got {value}"
        )));
    }
    Ok(value)
}

/// The most states that are listed by name.
const MOST_NAMES: usize = 10_000_000;

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
        // Texts in Rust and in Python; both allocate without a check.
        lists::empty::<u8>(states.len() * 160)?;
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

    /// The state at step 1; an error if there are several, which ``starts`` has.
    #[getter]
    fn start(&self) -> PyResult<usize> {
        match self.spec().starts() {
            [one] => Ok(*one),
            several => Err(errors::invalid(format!(
                "an episode may begin in one of {} states: use `starts`",
                several.len()
            ))),
        }
    }

    /// The states that an episode can begin in, in the order of the problem file.
    ///
    /// >>> spec = emab.load("screening-risk").spec
    /// >>> [spec.states[state] for state in spec.starts]
    /// ['low_3', 'medium_3', 'high_3']
    #[getter]
    fn starts(&self) -> Vec<usize> {
        self.spec().starts().to_vec()
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
        let spec = self.spec();
        let (step, state) = step_and_state(spec, step, state)?;
        let action = continuation(spec, action)?;
        let feedback = index("feedback", feedback)?;
        let feedback = in_range("feedback", feedback, 0, spec.feedbacks().len() - 1)?;
        let next = spec.next(step, state, action, feedback);
        next.map_err(errors::point(&self.file))
    }

    /// Return the allowed actions, with ``stop`` last, which is always allowed.
    fn allowed(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let spec = self.spec();
        let (step, state) = step_and_state(spec, step, state)?;
        let mut allowed = Vec::new();
        for a in 0..spec.actions().len() {
            let is_allowed = spec.check_allowed(step, state, a);
            if is_allowed.map_err(errors::point(&self.file))? {
                allowed.push(a);
            }
        }
        allowed.push(spec.actions().len());
        Ok(allowed)
    }

    /// Return the name of an action.
    fn action_name(&self, action: &Bound<'_, PyAny>) -> PyResult<String> {
        let (action, stop) = (index("action", action)?, self.stop());
        Ok(match in_range("action", action, 0, stop)? {
            action if action == stop => "stop".into(),
            action => self.spec().actions().name(action).into_owned(),
        })
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        let make = slf.get_type().getattr("from_json")?;
        Ok((make.unbind(), (slf.get().to_json(),)))
    }

    fn __eq__(&self, other: &Spec) -> bool {
        self.to_json() == other.to_json()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.to_json())
    }

    fn __repr__(&self) -> String {
        describe("Spec", &self.file)
    }
}

pub fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
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
