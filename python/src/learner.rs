//! Learners for the user's own loop.
//!
//! A learner keeps the episodes that it learned from, so that it can be pickled and saved. Reading it replays them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emab::learners::{Access, LearnerConfig, LearnerDefaults, LearnerError, ParameterValue};
use emab::{Action, Role, Stream};
use emab_episodes::{SavedEntry, SavedLearner, validate_episode};
use emab_problem::ProblemFile;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::episode::Episode;
use crate::errors;
use crate::folder::write_file;
use crate::integers::unsigned;
use crate::lists;
use crate::problem::Problem;
use crate::spec::{Spec, check_step_and_state, step_and_state};
use crate::user_learner;

/// The estimated gain of one action at one step and state.
#[pyclass(frozen, get_all, module = "emab")]
pub struct Estimate {
    /// The number of observations.
    count: u64,
    /// The sample mean; 0 before the first observation.
    mean: f64,
    /// The confidence width, under the parameters of the learner.
    width: f64,
    /// The index, which is compared with those of the other actions.
    index: f64,
}

#[pymethods]
impl Estimate {
    fn __repr__(&self) -> String {
        let (count, mean, width) = (self.count, self.mean, self.width);
        format!(
            "Estimate(count={count}, mean={mean}, width={width}, index={})",
            self.index
        )
    }
}

/// The problem of a learner, with or without its model.
#[derive(FromPyObject)]
pub enum SpecOrProblem<'py> {
    #[pyo3(transparent)]
    Spec(Bound<'py, Spec>),
    #[pyo3(transparent)]
    Problem(Bound<'py, Problem>),
}

/// A learner by its command-line text, such as ``"feedbal:sigma2=0.2"``. With a :class:`Spec` it is ready for your own
/// loop; without, it is a setting for :func:`emab.run`. Each learner also has a class, such as :class:`emab.FeedBAL`.
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
    instance: Option<Instance>,
}

/// A learner that has a problem.
struct Instance {
    /// The problem; with its model only for learners that may see it.
    file: Arc<ProblemFile>,
    config: LearnerConfig,
    inner: Mutex<LearnerState>,
}

struct LearnerState {
    learner: Box<dyn emab::Learner + Send>,
    past: Vec<SavedEntry>,
    learned: u64,
}

impl Learner {
    fn instance(&self) -> PyResult<&Instance> {
        self.instance.as_ref().ok_or_else(|| {
            PyRuntimeError::new_err(format!(
                "this learner has no problem: pass one, as in Learner('{}', problem.spec)",
                self.text
            ))
        })
    }

    /// Its problem.
    pub fn file(&self) -> PyResult<&ProblemFile> {
        Ok(&self.instance()?.file)
    }

    fn saved(&self) -> PyResult<SavedLearner> {
        let instance = self.instance()?;
        if !self.remember {
            return Err(PyRuntimeError::new_err(
                "this learner was created with remember=False: its episodes were not kept, so that it cannot be saved",
            ));
        }
        Ok(SavedLearner {
            file: (*instance.file).clone(),
            learner: self.text.clone(),
            seed: self.seed,
            entries: instance.lock().past.clone(),
        })
    }

    /// The content of its file.
    fn bytes(&self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let saved = self.saved()?;
        let mut bytes = Vec::new();
        py.detach(|| saved.write(&mut bytes))
            .map_err(errors::invalid)?;
        Ok(bytes)
    }
}

impl Instance {
    fn of(argument: SpecOrProblem<'_>, text: &str, seed: u64) -> PyResult<Instance> {
        let without_model = |file: &ProblemFile| {
            let file = file.without_model().map_err(errors::invalid);
            file.map(Arc::new)
        };
        let mut file = match argument {
            SpecOrProblem::Spec(spec) => without_model(&spec.get().file)?,
            SpecOrProblem::Problem(problem) => problem.get().file.clone(),
        };
        let config = LearnerConfig::parse(text, file.learning()).map_err(errors::of(&file))?;
        // A learner that may not see the model does not get it.
        if config.entry().access == Access::Spec {
            file = without_model(&file)?;
        }
        Instance::new(file.clone(), config, seed).map_err(errors::of(&file))
    }

    fn new(
        file: Arc<ProblemFile>,
        config: LearnerConfig,
        seed: u64,
    ) -> Result<Instance, LearnerError> {
        let mut learner = config.build(file.spec(), file.problem().ok().as_ref())?;
        learner.reset(Stream::new(seed, 0, Role::Learner));
        let inner = Mutex::new(LearnerState {
            learner,
            past: Vec::new(),
            learned: 0,
        });
        Ok(Instance {
            file,
            config,
            inner,
        })
    }

    fn lock(&self) -> MutexGuard<'_, LearnerState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LearnerState {
    fn choose(&mut self, instance: &Instance, remember: bool, step: usize, state: usize) -> usize {
        if remember && SavedLearner::records_queries(&instance.config) {
            self.past.push(SavedEntry::Query(step, state));
        }
        match self.learner.choose(step, state) {
            Action::Continue(a) => a,
            Action::Stop => instance.file.spec().actions().len(),
        }
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
        spec: Option<SpecOrProblem<'_>>,
        seed: Option<&Bound<'_, PyAny>>,
        remember: bool,
        trained: Option<&[u8]>,
    ) -> PyResult<Learner> {
        let seed = seed.map_or(Ok(0), |seed| unsigned("seed", seed))?;
        if let Some(trained) = trained {
            let trained = SavedLearner::read(trained)
                .map_err(|error| errors::invalid(format!("{text}: {error}")))?;
            return Learner::restore(&text, &trained);
        }
        let instance = match spec {
            Some(spec) => Some(Instance::of(spec, &text, seed)?),
            // An unknown name or an invalid parameter fails here, not in a later run.
            None => parse_setting(&text).map(|_| None)?,
        };
        Ok(Learner {
            text,
            seed,
            remember,
            instance,
        })
    }

    /// Return the number of the action to take; ``spec.stop`` is stop. The state is a number or a name.
    fn choose(&self, step: &Bound<'_, PyAny>, state: &Bound<'_, PyAny>) -> PyResult<usize> {
        let instance = self.instance()?;
        let (step, state) = step_and_state(instance.file.spec(), step, state)?;
        Ok(instance.lock().choose(instance, self.remember, step, state))
    }

    /// Return the actions to take at many steps and states.
    fn choose_batch<'py>(
        &self,
        py: Python<'py>,
        steps: &Bound<'py, PyAny>,
        states: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let instance = self.instance()?;
        let (steps, states) = (integers(steps)?, integers(states)?);
        let (steps, states) = (steps.as_array(), states.as_array());
        if steps.len() != states.len() {
            return Err(errors::invalid(format!(
                "there are {} steps and {} states; both must have the same length",
                steps.len(),
                states.len()
            )));
        }
        let index = |what, value: i64| {
            let negative =
                |_| errors::invalid(format!("`{what}` must not be negative, got {value}"));
            usize::try_from(value).map_err(negative)
        };
        let mut inner = instance.lock();
        let mut actions = lists::empty(steps.len())?;
        for (&step, &state) in steps.iter().zip(states.iter()) {
            let (step, state) = (index("step", step)?, index("state", state)?);
            check_step_and_state(instance.file.spec(), step, state)?;
            actions.push(inner.choose(instance, self.remember, step, state) as i64);
        }
        Ok(actions.into_pyarray(py))
    }

    /// Learn from an episode. Its actions need not be those that the learner chose.
    fn learn(&self, episode: &Episode) -> PyResult<()> {
        let instance = self.instance()?;
        let valid = validate_episode(instance.file.spec(), episode.inner.clone())
            .map_err(errors::invalid)?;
        episode.check_lengths()?;
        instance.lock().learn(self.remember, valid);
        Ok(())
    }

    /// Announce a choice of an episode whose outcome is not known yet, so that later choices allow for it. Episodes are
    /// numbered in the order in which they begin; a second announcement for the same step replaces the first.
    ///
    /// Only ``feedbal-pooled`` and ``feedbal:pending=true`` use it. Choices in flight are not saved.
    ///
    /// >>> learner = emab.FeedBALPooled(emab.load("treatment").spec)
    /// >>> [learner.choose(1, 2), learner.announce(0, 1, 2, 0), learner.choose(1, 2)]
    /// [0, None, 1]
    /// >>> learner.settle(0)
    /// >>> learner.choose(1, 2)
    /// 0
    fn announce(
        &self,
        episode: &Bound<'_, PyAny>,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let instance = self.instance()?;
        let episode = unsigned("episode", episode)?;
        let (step, state) = step_and_state(instance.file.spec(), step, state)?;
        let action = user_learner::action(action, instance.file.spec(), step, state)?;
        let mut inner = instance.lock();
        inner.learner.announce(episode, step, state, action);
        Ok(())
    }

    /// The choices of an episode are no longer in flight: call it before :meth:`learn`, or when the outcome is lost.
    fn settle(&self, episode: &Bound<'_, PyAny>) -> PyResult<()> {
        let episode = unsigned("episode", episode)?;
        self.instance()?.lock().learner.settle(episode);
        Ok(())
    }

    /// Return the estimate of an action, if the learner keeps estimates.
    fn estimate(
        &self,
        step: &Bound<'_, PyAny>,
        state: &Bound<'_, PyAny>,
        action: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Estimate>> {
        let instance = self.instance()?;
        let (step, state) = step_and_state(instance.file.spec(), step, state)?;
        let action = user_learner::action(action, instance.file.spec(), step, state)?;
        let estimate = instance.lock().learner.estimate(step, state, action);
        Ok(estimate.map(|estimate| Estimate {
            count: estimate.count,
            mean: estimate.mean,
            width: estimate.width,
            index: estimate.index,
        }))
    }

    /// The number of episodes that it learned from.
    #[getter]
    fn learned(&self) -> u64 {
        let instance = self.instance.as_ref();
        instance.map_or(0, |instance| instance.lock().learned)
    }

    /// The learner as on the command line.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// All parameters: those of the call, of ``[learning]`` in the problem, and defaults.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let settings = PyDict::new(py);
        let config = match &self.instance {
            Some(instance) => instance.config.clone(),
            None => parse_setting(&self.text)?,
        };
        for (name, value) in config.parameters() {
            match value {
                ParameterValue::Number(number) => settings.set_item(name, number)?,
                ParameterValue::Word(word) => settings.set_item(name, word)?,
            }
        }
        Ok(settings)
    }

    /// The specification of its problem; None for a setting.
    #[getter]
    fn spec(&self) -> Option<Spec> {
        let instance = self.instance.as_ref()?;
        Some(Spec::new(instance.file.clone()))
    }

    /// Write it to a file, with all episodes: ``emab policy`` reads it, and the decision service imports it. A file with
    /// another content is a ``FileExistsError``, and ``force`` replaces it.
    #[pyo3(signature = (path, *, force = false))]
    fn save(&self, py: Python<'_>, path: PathBuf, force: bool) -> PyResult<()> {
        write_file(py, &path, &self.bytes(py)?, "learner", force)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Py<PyAny>)> {
        let (py, this) = (slf.py(), slf.get());
        let module = py.import("emab._learner")?;
        let (restore, state) = if this.instance.is_none() {
            ("_setting", PyString::new(py, &this.text).into_any())
        } else {
            ("_trained", PyBytes::new(py, &this.bytes(py)?).into_any())
        };
        let arguments = (slf.get_type(), state).into_pyobject(py)?;
        Ok((module.getattr(restore)?, arguments.into_any().unbind()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let this = slf.get();
        let class = slf.get_type().name()?;
        let (text, learned) = (&this.text, this.learned());
        let name = this.instance.as_ref().map(|instance| instance.file.name());
        Ok(match name {
            None => format!("{class}('{text}')"),
            Some(name) => format!("{class}('{text}', '{name}', learned={learned})"),
        })
    }
}

impl Learner {
    /// Replay a saved learner; errors name the file.
    fn restore(name: &str, saved: &SavedLearner) -> PyResult<Learner> {
        let file = Arc::new(saved.file.clone());
        let instance = LearnerConfig::parse(&saved.learner, file.learning())
            .and_then(|config| Instance::new(file, config, saved.seed))
            .map_err(|error| errors::invalid(format!("{name}: line 1: {error}")))?;
        for entry in &saved.entries {
            match entry {
                SavedEntry::Query(t, x) => {
                    instance.lock().choose(&instance, true, *t, *x);
                }
                SavedEntry::Episode(episode) => instance.lock().learn(true, episode.clone()),
            }
        }
        Ok(Learner {
            text: saved.learner.clone(),
            seed: saved.seed,
            remember: true,
            instance: Some(instance),
        })
    }
}

/// The configuration of a learner without a problem.
fn parse_setting(text: &str) -> PyResult<LearnerConfig> {
    LearnerConfig::parse(text, &LearnerDefaults::default()).map_err(errors::invalid)
}

/// Integers from an array or anything that NumPy converts to one.
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
