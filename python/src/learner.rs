//! A learner for one's own loop, as Python sees it.
//!
//! It remembers what it learned from, so that it can be pickled and saved: whoever reads that learns it again.

use std::io::BufWriter;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emab::learners::{
    Access, CATALOGUE, LearnerConfig, LearnerDefaults, LearnerError, ParameterValue,
};
use emab::{Action, Role, Stream};
use emab_log::{SavedEntry, SavedLearner, validate_episode};
use emab_problem::ProblemFile;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyOSError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::episode::Episode;
use crate::errors;
use crate::own;
use crate::problem::Problem;
use crate::spec::{Spec, check, place};
use crate::whole::whole;

/// What a learner knows of the gain of one action at one step in one state.
#[pyclass(frozen, get_all, module = "emab")]
pub struct Estimate {
    /// How often it was observed.
    count: u64,
    /// The estimate, a sample mean; 0 before the first observation.
    mean: f64,
    /// How far the estimate may be from the truth, by what the learner was told.
    width: f64,
    /// The index that is compared with those of the other actions.
    index: f64,
}

#[pymethods]
impl Estimate {
    fn __repr__(&self) -> String {
        let Estimate {
            count,
            mean,
            width,
            index,
        } = self;
        format!("Estimate(count={count}, mean={mean}, width={width}, index={index})")
    }
}

/// Where a learner is to learn.
#[derive(FromPyObject)]
pub enum Where<'py> {
    #[pyo3(transparent)]
    Spec(Bound<'py, Spec>),
    #[pyo3(transparent)]
    Problem(Bound<'py, Problem>),
}

/// A learner by its line, such as ``"feedbal:sigma2=0.2"``: with a :class:`Spec`, for one's own loop; without, a setting
/// for :func:`emab.run`. A class for each, such as :class:`emab.FeedBAL`, is easier to read.
///
/// >>> problem = emab.load("resource")
/// >>> learner = emab.Learner("feedbal:sigma2=0.2", problem.spec)
/// >>> learner.spec.action_name(learner.choose(step=1, state=0))
/// 'stop'
/// >>> learner.learn(emab.Episode(actions=[0], feedbacks=[1], costs=[0.0], rewards=[0.0, 0.9]))
/// >>> learner.estimate(step=1, state=0, action=0).mean
/// 0.9
#[pyclass(subclass, frozen, module = "emab")]
pub struct Learner {
    text: String,
    seed: u64,
    remember: bool,
    seat: Option<Seat>,
}

struct Seat {
    /// The problem, with its truth only where the learner was given it.
    file: Arc<ProblemFile>,
    config: LearnerConfig,
    mind: Mutex<Mind>,
}

struct Mind {
    learner: Box<dyn emab::Learner + Send>,
    past: Vec<SavedEntry>,
    learned: u64,
}

impl Learner {
    fn seat(&self) -> PyResult<&Seat> {
        self.seat.as_ref().ok_or_else(|| {
            PyRuntimeError::new_err(format!(
                "this learner has no problem to learn on: give it one, as in Learner('{}', problem.spec)",
                self.text
            ))
        })
    }

    fn trained(&self) -> PyResult<SavedLearner> {
        let seat = self.seat()?;
        if !self.remember {
            return Err(PyRuntimeError::new_err(
                "this learner was made with remember=False: what it learned from was not kept, and so it cannot be saved",
            ));
        }
        Ok(SavedLearner {
            file: (*seat.file).clone(),
            learner: self.text.clone(),
            seed: self.seed,
            entries: seat.mind().past.clone(),
        })
    }
}

impl Seat {
    fn new(file: Arc<ProblemFile>, config: LearnerConfig, seed: u64) -> Result<Seat, LearnerError> {
        let truth = file.problem().ok();
        let learner = config.build(file.spec(), truth.as_ref())?;
        let mut mind = Mind {
            learner,
            past: Vec::new(),
            learned: 0,
        };
        mind.learner.reset(Stream::new(seed, 0, Role::Learner));
        Ok(Seat {
            file,
            config,
            mind: Mutex::new(mind),
        })
    }

    fn mind(&self) -> MutexGuard<'_, Mind> {
        self.mind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self, action: Action) -> usize {
        match action {
            Action::Continue(a) => a,
            Action::Stop => self.file.spec().actions().len(),
        }
    }
}

impl Mind {
    fn choose(&mut self, seat: &Seat, remember: bool, step: usize, state: usize) -> usize {
        if remember && SavedLearner::records_queries(&seat.config) {
            self.past.push(SavedEntry::Query(step, state));
        }
        seat.number(self.learner.choose(step, state))
    }

    fn learn(&mut self, remember: bool, episode: emab::Episode) {
        self.learner.learn(&episode);
        self.learned += 1;
        if remember {
            self.past.push(SavedEntry::Episode(episode));
        }
    }
}

#[pymethods]
impl Learner {
    #[new]
    #[pyo3(signature = (text, spec = None, *, seed = None, remember = true, trained = None))]
    fn new(
        text: String,
        spec: Option<Where<'_>>,
        seed: Option<&Bound<'_, PyAny>>,
        remember: bool,
        trained: Option<&[u8]>,
    ) -> PyResult<Learner> {
        let seed = seed.map_or(Ok(0), |seed| whole("seed", seed))?;
        if let Some(trained) = trained {
            let trained = SavedLearner::read(trained)
                .map_err(|error| errors::wrong(format!("{text}: {error}")))?;
            return Learner::again(&text, &trained);
        }
        let seat = match spec {
            None => {
                // A name or a setting that cannot be is named here and now.
                LearnerConfig::parse(&text, &LearnerDefaults::default()).map_err(errors::wrong)?;
                None
            }
            Some(place) => {
                let file = match place {
                    Where::Spec(spec) => {
                        let spec = spec.get().file.without_model().map_err(errors::wrong)?;
                        Arc::new(spec)
                    }
                    Where::Problem(problem) => problem.get().file.clone(),
                };
                let config = LearnerConfig::parse(&text, file.learning())
                    .map_err(|error| errors::learner(&file, error))?;
                // Whoever may not see the truth is not given it.
                let file = match config.entry().access {
                    Access::Spec => Arc::new(file.without_model().map_err(errors::wrong)?),
                    _ => file,
                };
                let seat = Seat::new(file.clone(), config, seed);
                Some(seat.map_err(|error| errors::learner(&file, error))?)
            }
        };
        Ok(Learner {
            text,
            seed,
            remember,
            seat,
        })
    }

    /// The action to take, by its number; ``spec.stop`` is stop.
    fn choose(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<usize> {
        let seat = self.seat()?;
        let (step, state) = place(seat.file.spec(), step, state)?;
        Ok(seat.mind().choose(seat, self.remember, step, state))
    }

    /// The actions to take at many steps and states at once.
    fn choose_batch<'py>(
        &self,
        py: Python<'py>,
        steps: &Bound<'py, PyAny>,
        states: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let seat = self.seat()?;
        let (steps, states) = (integers(steps)?, integers(states)?);
        let (steps, states) = (steps.as_array(), states.as_array());
        if steps.len() != states.len() {
            return Err(errors::wrong(format!(
                "there are {} steps and {} states; there must be as many of both",
                steps.len(),
                states.len()
            )));
        }
        let index = |what, value: i64| {
            usize::try_from(value)
                .map_err(|_| errors::wrong(format!("`{what}` must not be negative, got {value}")))
        };
        let mut mind = seat.mind();
        let mut actions = Vec::with_capacity(steps.len());
        for (&step, &state) in steps.iter().zip(states.iter()) {
            let (step, state) = (index("step", step)?, index("state", state)?);
            check(seat.file.spec(), step, state)?;
            actions.push(mind.choose(seat, self.remember, step, state) as i64);
        }
        Ok(actions.into_pyarray(py))
    }

    /// Learn from an episode; the actions in it count, whoever chose them.
    fn learn(&self, episode: &Episode) -> PyResult<()> {
        let seat = self.seat()?;
        let episode =
            validate_episode(seat.file.spec(), episode.inner.clone()).map_err(errors::wrong)?;
        seat.mind().learn(self.remember, episode);
        Ok(())
    }

    /// What it knows of an action, if it is a learner that keeps estimates.
    fn estimate(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Estimate>> {
        let seat = self.seat()?;
        let (step, state) = place(seat.file.spec(), step, state)?;
        let action = own::action(action, seat.file.spec(), step, state)?;
        let estimate = seat.mind().learner.estimate(step, state, action);
        Ok(estimate.map(|estimate| Estimate {
            count: estimate.count,
            mean: estimate.mean,
            width: estimate.width,
            index: estimate.index,
        }))
    }

    /// How many episodes it has learned from.
    #[getter]
    fn learned(&self) -> u64 {
        self.seat.as_ref().map_or(0, |seat| seat.mind().learned)
    }

    /// The learner as on the command line.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// All its parameters, where it has a problem: those of the call, of the problem's ``[learning]``, and defaults.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        let parsed;
        let config = match &self.seat {
            Some(seat) => &seat.config,
            None => {
                parsed = LearnerConfig::parse(&self.text, &LearnerDefaults::default())
                    .map_err(errors::wrong)?;
                &parsed
            }
        };
        for (name, value) in config.parameters() {
            match value {
                ParameterValue::Number(number) => settings.set_item(name, number)?,
                ParameterValue::Word(word) => settings.set_item(name, word)?,
            }
        }
        Ok(settings)
    }

    /// What it may know of its problem; none where it is but a setting.
    #[getter]
    fn spec(&self) -> Option<Spec> {
        let seat = self.seat.as_ref()?;
        Some(Spec::new(seat.file.clone()))
    }

    /// Write it to a file, with all it learned from: ``emab policy`` shows it, and the decision service imports it.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let trained = self.trained()?;
        let failed = |error: &dyn std::fmt::Display| {
            PyOSError::new_err(format!("cannot write {}: {error}", path.display()))
        };
        py.detach(|| {
            let file = std::fs::File::create(&path).map_err(|error| failed(&error))?;
            let mut out = BufWriter::new(file);
            trained.write(&mut out).map_err(|error| failed(&error))?;
            std::io::Write::flush(&mut out).map_err(|error| failed(&error))
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Py<PyAny>)> {
        let (py, this) = (slf.py(), slf.get());
        let module = py.import("emab._learner")?;
        if this.seat.is_none() {
            let arguments = (slf.get_type(), &this.text);
            return Ok((
                module.getattr("_setting")?,
                arguments.into_pyobject(py)?.into_any().unbind(),
            ));
        }
        let mut bytes = Vec::new();
        this.trained()?.write(&mut bytes).map_err(errors::wrong)?;
        let arguments = (slf.get_type(), PyBytes::new(py, &bytes));
        Ok((
            module.getattr("_trained")?,
            arguments.into_pyobject(py)?.into_any().unbind(),
        ))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let class = slf.get_type().name()?;
        Ok(match &this.seat {
            None => format!("{class}('{}')", this.text),
            Some(seat) => format!(
                "{class}('{}', '{}', learned={})",
                this.text,
                seat.file.name(),
                this.learned()
            ),
        })
    }
}

impl Learner {
    /// The learner of a file, which errors call by its name.
    fn again(name: &str, trained: &SavedLearner) -> PyResult<Learner> {
        let file = Arc::new(trained.file.clone());
        let seat = LearnerConfig::parse(&trained.learner, file.learning())
            .and_then(|config| Seat::new(file, config, trained.seed))
            .map_err(|error| errors::wrong(format!("{name}: line 1: {error}")))?;
        {
            let mut mind = seat.mind();
            for happened in &trained.entries {
                match happened {
                    SavedEntry::Query(t, x) => {
                        mind.choose(&seat, true, *t, *x);
                    }
                    SavedEntry::Episode(episode) => mind.learn(true, episode.clone()),
                }
            }
        }
        Ok(Learner {
            text: trained.learner.clone(),
            seed: trained.seed,
            remember: true,
            seat: Some(seat),
        })
    }
}

/// Whole numbers in an array, a list, or whatever NumPy makes an array of.
fn integers<'py>(values: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, i64>> {
    if let Ok(array) = values.extract() {
        return Ok(array);
    }
    let py = values.py();
    let casting = PyDict::new(py);
    casting.set_item("casting", "same_kind")?;
    let array = py.import("numpy")?.call_method1("asarray", (values,))?;
    array
        .call_method("astype", ("int64",), Some(&casting))?
        .extract()
}

/// The learners there are: name, title, what it does, and its parameters with their defaults.
#[pyfunction]
pub fn catalogue() -> PyResult<String> {
    let entries: Vec<serde_json::Value> = CATALOGUE
        .iter()
        .map(|entry| {
            serde_json::json!({
                "name": entry.name, "title": entry.title, "about": entry.about, "reference": entry.reference,
                "sees": entry.access, "parameters": entry.parameters,
            })
        })
        .collect();
    serde_json::to_string(&entries).map_err(errors::wrong)
}
