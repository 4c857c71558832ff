//! User-defined learners: Python objects that the engine calls.
//!
//! A factory creates a new learner before every run. An exception is kept with its traceback; the run continues with
//! `stop` until the engine sees the stop flag, and the caller then receives the exception.

use std::cmp::Ordering;
use std::sync::Arc;

use emab::learners::LearnerConfig;
use emab::{Action, Learner, Spec, Stream};
use emab_problem::ProblemFile;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::episode::Episode;
use crate::progress::Interrupt;
use crate::spec::Spec as PySpec;

/// The configuration of a learner that a Python factory creates.
pub fn config(
    label: &str,
    factory: Py<PyAny>,
    file: Arc<ProblemFile>,
    interrupt: Arc<Interrupt>,
) -> LearnerConfig {
    let factory = Arc::new(factory);
    let name: Arc<str> = label.into();
    LearnerConfig::user_defined(label, move |spec| {
        Ok(Box::new(UserLearner {
            label: name.clone(),
            factory: factory.clone(),
            file: file.clone(),
            spec: spec.clone(),
            learner: None,
            counts_pending: false,
            interrupt: interrupt.clone(),
        }))
    })
    // Python creates and drops a thread state at every call from an unknown thread, which takes ten times as long as the
    // call itself. A thread that is attached once keeps its state, and is detached between calls so that others run.
    .with_thread_context(|work| Python::attach(|py| py.detach(work)))
}

struct UserLearner {
    label: Arc<str>,
    factory: Arc<Py<PyAny>>,
    file: Arc<ProblemFile>,
    spec: Arc<Spec>,
    /// None if the factory or the learner raised an exception.
    learner: Option<Py<PyAny>>,
    /// Whether it has the optional methods `announce` and `settle`.
    counts_pending: bool,
    interrupt: Arc<Interrupt>,
}

impl UserLearner {
    /// Call Python with the learner, unless an exception was raised before.
    fn call<T>(
        &mut self,
        function: impl FnOnce(Python<'_>, &Py<PyAny>, &Spec) -> PyResult<T>,
    ) -> Option<T> {
        let learner = self.learner.take()?;
        let value = self.attach(|py| function(py, &learner, &self.spec))?;
        self.learner = Some(learner);
        Some(value)
    }

    /// Attach to Python; None after an interrupt or an exception, which gets a note with the label of the learner.
    fn attach<T>(&self, function: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        // A slow learner must not delay an interrupt.
        if !self.interrupt.may_call() {
            return None;
        }
        let called = Python::attach(|py| function(py).inspect_err(|error| self.note(py, error)));
        called.map_err(|error| self.interrupt.raise(error)).ok()
    }

    /// Add the label of the learner to an exception. Python has notes since 3.11.
    fn note(&self, py: Python<'_>, error: &PyErr) {
        let note = format!("in the learner `{}`", self.label);
        error.value(py).call_method1("add_note", (note,)).ok();
    }
}

impl Learner for UserLearner {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        // At the horizon only `stop` is possible.
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

    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        if self.counts_pending {
            self.call(|py, learner, spec| {
                let action = match action {
                    Action::Continue(a) => a,
                    Action::Stop => spec.actions().len(),
                };
                learner.call_method1(py, "announce", (episode, t, x, action))
            });
        }
    }

    fn settle(&mut self, episode: u64) {
        if self.counts_pending {
            self.call(|py, learner, _| learner.call_method1(py, "settle", (episode,)));
        }
    }

    fn counts_pending(&self) -> bool {
        self.counts_pending
    }

    fn reset(&mut self, mut stream: Stream) {
        let created = self.attach(|py| {
            let spec = PySpec::new(self.file.clone());
            // 128 bits are enough for any seed sequence.
            let seed = (stream.bits(), stream.bits());
            let learner = self.factory.call1(py, (spec, seed))?;
            let both =
                learner.bind(py).hasattr("announce")? && learner.bind(py).hasattr("settle")?;
            Ok((learner, both))
        });
        self.counts_pending = created.as_ref().is_some_and(|(_, both)| *both);
        self.learner = created.map(|(learner, _)| learner);
    }
}

/// The action that a learner returned, by number or name; an error if it does not exist or is not allowed.
pub fn action(chosen: &Bound<'_, PyAny>, spec: &Spec, t: usize, x: usize) -> PyResult<Action> {
    let actions = spec.actions();
    let invalid = |text: String| PyValueError::new_err(text);
    let place = || format!("t = {t}, x = {}", spec.states().name(x));
    let number = if let Ok(number) = chosen.extract::<i64>() {
        // A negative number is out of range, too.
        usize::try_from(number).unwrap_or(usize::MAX)
    } else if let Ok(name) = chosen.extract::<String>() {
        let named = (0..actions.len()).find(|&a| actions.name(a) == name.as_str());
        let stop = (name == "stop").then_some(actions.len());
        let unknown = || {
            invalid(format!(
                "there is no action `{name}`, chosen at {}{}",
                place(),
                actions.instead_of(&name)
            ))
        };
        named.or(stop).ok_or_else(unknown)?
    } else {
        return Err(PyTypeError::new_err(format!(
            "`choose` must return the number or the name of an action, got {} at {}",
            chosen.repr()?,
            place()
        )));
    };
    match number.cmp(&actions.len()) {
        Ordering::Equal => Ok(Action::Stop),
        Ordering::Less if spec.is_allowed(t, x, number) => Ok(Action::Continue(number)),
        Ordering::Less => Err(invalid(format!(
            "action {number} ({}) is not allowed at {}",
            actions.name(number),
            place()
        ))),
        Ordering::Greater => Err(invalid(format!(
            "there is no action {}, chosen at {}: they are 0 to {}, the last being stop",
            chosen.repr()?,
            place(),
            actions.len()
        ))),
    }
}
