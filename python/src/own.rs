//! Learners written in Python, played by the engine.
//!
//! A factory makes a new one before every run. What it raises is kept with its traceback, the run goes on with `stop`
//! until the engine notices, and whoever began the work gets the exception.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use emab::learners::LearnerConfig;
use emab::{Action, Learner, Spec, Stream};
use emab_problem::ProblemFile;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::episode::Episode;
use crate::spec::Spec as PySpec;
use crate::watch::Trouble;

/// A factory as a learner that the engine can play.
pub fn config(
    label: &str,
    factory: Py<PyAny>,
    file: Arc<ProblemFile>,
    trouble: Arc<Trouble>,
) -> LearnerConfig {
    let factory = Arc::new(factory);
    let called: Arc<str> = label.into();
    LearnerConfig::user_defined(label, move |spec| {
        Ok(Box::new(Own {
            label: called.clone(),
            factory: factory.clone(),
            file: file.clone(),
            spec: spec.clone(),
            learner: None,
            trouble: trouble.clone(),
        }))
    })
    // A thread that is new to Python is given a state at every call, and loses it after: ten times the call itself.
    // Attached once, it keeps it, and others run while it does not call.
    .with_thread_context(|work| Python::attach(|py| py.detach(work)))
}

struct Own {
    label: Arc<str>,
    factory: Arc<Py<PyAny>>,
    file: Arc<ProblemFile>,
    spec: Arc<Spec>,
    /// None where it could not be made, or raised.
    learner: Option<Py<PyAny>>,
    trouble: Arc<Trouble>,
}

impl Own {
    /// Calls Python; after an exception never again. The exception is given a note that says whose it is.
    fn call<T>(
        &mut self,
        what: impl FnOnce(Python<'_>, &Py<PyAny>, &Spec) -> PyResult<T>,
    ) -> Option<T> {
        // Whoever is slow must not keep everybody from stopping.
        if self.trouble.stop.load(Ordering::Relaxed) {
            return None;
        }
        let learner = self.learner.as_ref()?;
        let called = Python::attach(|py| {
            what(py, learner, &self.spec).inspect_err(|error| self.note(py, error))
        });
        match called {
            Ok(value) => Some(value),
            Err(error) => {
                self.trouble.keep(error);
                self.learner = None;
                None
            }
        }
    }

    /// Says whose exception it is; before Python 3.11 there are no notes.
    fn note(&self, py: Python<'_>, error: &PyErr) {
        let words = format!("in the learner `{}`", self.label);
        error.value(py).call_method1("add_note", (words,)).ok();
    }
}

impl Learner for Own {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        // Nothing else is possible there: nobody need know.
        if t >= self.spec.horizon() {
            return Action::Stop;
        }
        self.call(|py, learner, spec| {
            let chosen = learner.call_method1(py, "choose", (t, x))?;
            action(chosen.bind(py), spec, t, x)
        })
        .unwrap_or(Action::Stop)
    }

    fn learn(&mut self, episode: &emab::Episode) {
        self.call(|py, learner, _| {
            let inner = episode.clone();
            learner.call_method1(py, "learn", (Episode { inner },))
        });
    }

    fn reset(&mut self, mut stream: Stream) {
        if self.trouble.stop.load(Ordering::Relaxed) {
            self.learner = None;
            return;
        }
        let made = Python::attach(|py| {
            let spec = PySpec::new(self.file.clone());
            // Two words are enough for any generator's seed sequence.
            let seed = (stream.bits(), stream.bits());
            let made = self.factory.call1(py, (spec, seed));
            made.inspect_err(|error| self.note(py, error))
        });
        match made {
            Ok(learner) => self.learner = Some(learner),
            Err(error) => {
                self.trouble.keep(error);
                self.learner = None;
            }
        }
    }
}

/// What somebody chose: the number of an action, or its name.
pub fn action(chosen: &Bound<'_, PyAny>, spec: &Spec, t: usize, x: usize) -> PyResult<Action> {
    let actions = spec.actions();
    let number = if let Ok(number) = chosen.extract::<i64>() {
        // What is negative is beyond all actions, too.
        usize::try_from(number).unwrap_or(usize::MAX)
    } else if let Ok(name) = chosen.extract::<String>() {
        let named = (0..actions.len()).find(|&a| actions.name(a) == name.as_str());
        match named {
            Some(a) => a,
            None if name == "stop" => actions.len(),
            None => {
                return Err(PyValueError::new_err(format!(
                    "there is no action `{name}`, chosen at t = {t}, x = {x}"
                )));
            }
        }
    } else {
        return Err(PyTypeError::new_err(format!(
            "`choose` must return the number or the name of an action, got {} at t = {t}, x = {x}",
            chosen.repr()?
        )));
    };
    match number.cmp(&actions.len()) {
        std::cmp::Ordering::Equal => Ok(Action::Stop),
        std::cmp::Ordering::Less if spec.is_allowed(t, x, number) => Ok(Action::Continue(number)),
        std::cmp::Ordering::Less => Err(PyValueError::new_err(format!(
            "action {number} ({}) is not allowed at t = {t}, x = {x}",
            actions.name(number)
        ))),
        std::cmp::Ordering::Greater => Err(PyValueError::new_err(format!(
            "there is no action {}, chosen at t = {t}, x = {x}: they are 0 to {}, the last being stop",
            chosen.repr()?,
            actions.len()
        ))),
    }
}
