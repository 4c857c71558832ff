//! The native part of the Gymnasium environments in `emab.gym`: one environment, and a vector of them.
//!
//! `step` and `reset` are native because a training loop spends its time in them. Seeds come from Python: `_seed` is
//! Gymnasium's part of `reset`.

use emab::environment::{StepResult, VecEnvironment};
use emab::oracle::Pair;
use emab::{Action, PlayError};
use emab_problem::ProblemFile;
use numpy::ndarray::Array2;
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySequence, PyString};
use std::sync::Arc;

use crate::array_pool::ArrayPool;
use crate::episode::Episode;
use crate::errors;
use crate::integers::index;
use crate::lists::{empty, filled};
use crate::problem::Problem;

/// The largest number of environments: each keeps some kilobytes of random draws.
const MAX_ENVIRONMENTS: usize = 1 << 20;

/// Environments of one problem, and their rule for actions that are not allowed.
struct Environments {
    file: Arc<ProblemFile>,
    inner: VecEnvironment,
    /// The number of `stop`.
    stop: usize,
    /// Whether an action that is not allowed is an error. Otherwise it ends the episode.
    strict: bool,
    /// Whether the random streams have begun.
    seeded: bool,
}

impl Environments {
    fn new(problem: &Problem, count: usize, strict: bool) -> PyResult<Environments> {
        let file = problem.file.clone();
        let conditions = file.conditions();
        let mut others = conditions.clone();
        others.dropout = emab::conditions::Dropout::default();
        if !others.is_none() {
            return Err(errors::invalid(format!(
                "`{}` has conditions ({others}) that an environment cannot have: it supports dropout only; remove the \
                 others, or use emab.run",
                file.name(),
            )));
        }
        let model = Arc::new(problem.problem()?.with_dropout(conditions.dropout.clone()));
        let stop = model.spec().actions().len();
        // `VecEnvironment` allocates without a check.
        empty::<u8>(VecEnvironment::size_of(count))?;
        let inner = VecEnvironment::new(model, count).map_err(errors::of(&file))?;
        Ok(Environments {
            file,
            inner,
            stop,
            strict,
            seeded: false,
        })
    }

    fn problem(&self) -> Problem {
        Problem {
            file: self.file.clone(),
        }
    }

    /// The start that an option of `reset` names, by name or index; none where it is drawn.
    fn start(&self, option: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Pair>> {
        let Some(option) = option.filter(|option| !option.is_none()) else {
            return Ok(None);
        };
        let spec = self.file.spec();
        let starts = spec.starts();
        let found = match option.extract::<String>() {
            Ok(name) => starts.iter().find(|&&x| spec.states().name(x) == name),
            Err(_) => {
                let x = index("start", option)?;
                starts.iter().find(|&&start| start == x)
            }
        };
        let Some(&x) = found else {
            let name = |x: &usize| format!("`{}` ({x})", spec.states().name(*x));
            let names: Vec<String> = starts.iter().take(8).map(name).collect();
            let more = if starts.len() > 8 { ", …" } else { "" };
            return Err(errors::invalid(format!(
                "the option `start` must be a start state, one of {}{more}; got {}",
                names.join(", "),
                option.repr()?
            )));
        };
        Ok(self.inner.pairs().find(1, x))
    }

    #[inline]
    fn action(&self, number: i64) -> PyResult<Action> {
        match usize::try_from(number) {
            Ok(a) if a < self.stop => Ok(Action::Continue(a)),
            Ok(a) if a == self.stop => Ok(Action::Stop),
            _ => Err(errors::invalid(format!(
                "`action` must be from 0 to {} (`stop`), got {number}",
                self.stop
            ))),
        }
    }

    /// The result of an action, and whether it was not allowed, so that `stop` was taken instead.
    #[inline]
    fn step(&mut self, i: usize, action: Action) -> PyResult<(StepResult, bool)> {
        let (step, not_allowed) = match self.inner.step(i, action) {
            Err(PlayError::NotAllowed { .. }) if !self.strict => {
                (self.inner.step(i, Action::Stop), true)
            }
            step => (step, false),
        };
        Ok((step.map_err(|error| self.error(error))?, not_allowed))
    }

    #[cold]
    fn error(&self, error: PlayError) -> PyErr {
        match error {
            PlayError::Oracle(error) => errors::of(&self.file)(error),
            PlayError::NoEpisode => {
                PyRuntimeError::new_err("there is no episode under way: call reset()")
            }
            PlayError::NotAllowed { t, x, action } => {
                let spec = self.file.spec();
                let (name, state) = (spec.action_name(action), spec.states().name(x));
                errors::invalid(format!(
                    "the action `{name}` is not allowed at step {t} in state `{state}`: \
                     info[\"action_mask\"] has the allowed ones"
                ))
            }
        }
    }

    /// Step and state of environment `i`.
    #[inline]
    fn at(&self, i: usize) -> [i64; 2] {
        let (pairs, pair) = (self.inner.pairs(), self.inner.pair(i));
        [pairs.step(pair) as i64, pairs.state(pair) as i64]
    }

    /// Write the allowed actions of environment `i`; the entry of `stop`, the last, is already set.
    #[inline]
    fn mask(&self, i: usize, mask: &mut [i8]) {
        let (pairs, pair) = (self.inner.pairs(), self.inner.pair(i));
        for (a, may) in mask[..self.stop].iter_mut().enumerate() {
            *may = i8::from(pairs.allows(pair, a));
        }
    }

    /// The episode of environment `i` as a learner sees it: after dropout the rewards are unknown.
    fn revealed(&self, i: usize) -> Episode {
        let mut inner = self.inner.episode(i);
        if self.inner.dropped_out(i) {
            inner.rewards.clear();
        }
        Episode { inner }
    }
}

type Observed<'py, O> = (Bound<'py, O>, Bound<'py, PyDict>);
type Stepped<'py, O, R, B> = (Bound<'py, O>, R, B, B, Bound<'py, PyDict>);
type Array<'py, T> = Bound<'py, PyArray1<T>>;
type SteppedMany<'py> = Stepped<'py, PyArray2<i64>, Array<'py, f64>, Array<'py, bool>>;

/// The option `start` of `reset`.
fn start_option<'py>(options: Option<&Bound<'py, PyDict>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    options.map_or(Ok(None), |options| options.get_item("start"))
}

/// One environment; the public class is ``emab.gym.Env``.
#[pyclass(subclass, module = "emab._emab")]
pub struct EnvCore {
    environments: Environments,
}

impl EnvCore {
    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Observed<'py, PyArray1<i64>>> {
        let info = PyDict::new(py);
        let mut mask = vec![1; self.environments.stop + 1];
        self.environments.mask(0, &mut mask);
        info.set_item(intern!(py, "action_mask"), PyArray1::from_slice(py, &mask))?;
        Ok((PyArray1::from_slice(py, &self.environments.at(0)), info))
    }
}

#[pymethods]
impl EnvCore {
    #[new]
    fn new(problem: &Problem, strict: bool) -> PyResult<EnvCore> {
        Ok(EnvCore {
            environments: Environments::new(problem, 1, strict)?,
        })
    }

    /// The problem.
    #[getter]
    fn problem(&self) -> Problem {
        self.environments.problem()
    }

    /// Begin an episode. A seed restarts the random streams of run ``options["run"]`` (default 0), which are those of
    /// `emab.run` with the same seed and run. Without a seed the streams continue. ``options["start"]`` is the state that the
    /// episode begins in, by name or index; it is drawn if left out.
    #[pyo3(signature = (*, seed = None, options = None))]
    fn reset<'py>(
        slf: &Bound<'py, Self>,
        seed: Option<Bound<'py, PyAny>>,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Observed<'py, PyArray1<i64>>> {
        let py = slf.py();
        let start = start_option(options.as_ref())?;
        let start = slf.borrow().environments.start(start.as_ref())?;
        if seed.is_some() || !slf.borrow().environments.seeded {
            let seeds = slf.call_method1(intern!(py, "_seed"), (seed, options))?;
            let (seed, run) = seeds.extract()?;
            let environments = &mut slf.borrow_mut().environments;
            environments.inner.restart(0, seed, run);
            environments.seeded = true;
        }
        let mut this = slf.borrow_mut();
        this.environments.inner.begin_in(0, start);
        this.observe(py)
    }

    /// Take an action.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        action: i64,
    ) -> PyResult<Stepped<'py, PyArray1<i64>, f64, bool>> {
        let action = self.environments.action(action)?;
        let (step, not_allowed) = self.environments.step(0, action)?;
        let (observed, info) = self.observe(py)?;
        if step.over {
            let episode = self.environments.revealed(0);
            info.set_item(intern!(py, "costs"), &episode.inner.costs)?;
            info.set_item(intern!(py, "rewards"), &episode.inner.rewards)?;
            info.set_item(intern!(py, "revealed"), episode)?;
            if not_allowed {
                info.set_item(intern!(py, "not_allowed"), true)?;
            }
            if self.environments.inner.dropped_out(0) {
                info.set_item(intern!(py, "left"), true)?;
            }
        }
        Ok((observed, step.earned, step.over, false, info))
    }

    /// The episode so far, and whether it is over.
    fn _so_far(&self) -> (Episode, bool) {
        let inner = self.environments.inner.episode(0);
        (Episode { inner }, self.environments.inner.is_over(0))
    }
}

/// A vector of environments of one problem; the public class is ``emab.gym.VectorEnv``.
#[pyclass(subclass, module = "emab._emab")]
pub struct VectorCore {
    environments: Environments,
    /// The environments whose episode ended in the last step.
    ended: Vec<usize>,
    costs: ArrayPool,
    rewards: ArrayPool,
}

impl VectorCore {
    fn observe<'py>(&self, py: Python<'py>) -> PyResult<Observed<'py, PyArray2<i64>>> {
        let (environments, count) = (&self.environments, self.environments.inner.len());
        let mut at = empty(2 * count)?;
        let mut mask = filled(1, (environments.stop + 1) * count)?;
        for (i, mask) in mask.chunks_exact_mut(environments.stop + 1).enumerate() {
            at.extend_from_slice(&environments.at(i));
            environments.mask(i, mask);
        }
        let info = PyDict::new(py);
        let everywhere = filled(true, count)?.into_pyarray(py);
        info.set_item(intern!(py, "action_mask"), table(py, count, mask)?)?;
        info.set_item(intern!(py, "_action_mask"), everywhere)?;
        Ok((table(py, count, at)?, info))
    }

    /// Check all actions before the first is taken, so that an error changes nothing.
    fn check(&self, py: Python<'_>, numbers: &[i64]) -> PyResult<()> {
        let Environments { inner, strict, .. } = &self.environments;
        for (i, &number) in numbers.iter().enumerate() {
            let action = self.environments.action(number);
            let action = action.map_err(|error| in_environment(py, i, &error))?;
            if let Action::Continue(a) = action
                && *strict
                && !inner.is_over(i)
                && !inner.pairs().allows(inner.pair(i), a)
            {
                let [t, x] = self.environments.at(i).map(|index| index as usize);
                let error = PlayError::NotAllowed { t, x, action };
                return Err(in_environment(py, i, &self.environments.error(error)));
            }
        }
        Ok(())
    }

    /// The starts that an option of `reset` names: one for all environments, or a list.
    fn starts(&self, option: Option<Bound<'_, PyAny>>) -> PyResult<Vec<Option<Pair>>> {
        let count = self.environments.inner.len();
        let list = option.as_ref().filter(|option| {
            let sequence = option.cast::<PySequence>();
            sequence.is_ok() && !option.is_instance_of::<PyString>()
        });
        let Some(list) = list else {
            let start = self.environments.start(option.as_ref())?;
            return Ok(vec![start; count]);
        };
        let length = list.len()?;
        if length != count {
            return Err(errors::invalid(format!(
                "the option `start` must be one state or {count} of them, one for each environment; got {length}"
            )));
        }
        let each = list.try_iter()?.enumerate().map(|(i, option)| {
            let start = self.environments.start(Some(&option?));
            start.map_err(|error| in_environment(list.py(), i, &error))
        });
        each.collect()
    }

    /// Add the costs and rewards of the ended episodes, one row each, padded with NaN.
    fn reveal(&mut self, py: Python<'_>, info: &Bound<'_, PyDict>) -> PyResult<()> {
        let (inner, count) = (&self.environments.inner, self.environments.inner.len());
        let steps = |&i: &usize| inner.rewards(i).len();
        let longest = self.ended.iter().map(steps).max().unwrap_or(1);
        let left = |i: usize| inner.dropped_out(i);
        let shown = |i: usize| if left(i) { 0 } else { usize::MAX };
        let (costs, rewards) = (&mut self.costs, &mut self.rewards);
        let costs = costs.table(py, (count, longest - 1), &self.ended, |i| inner.costs(i))?;
        let shown_rewards = |i| inner.rewards(i).take(shown(i));
        let rewards = rewards.table(py, (count, longest), &self.ended, shown_rewards)?;
        info.set_item(intern!(py, "costs"), costs)?;
        info.set_item(intern!(py, "_costs"), self.which(py, |_| true)?)?;
        info.set_item(intern!(py, "rewards"), rewards)?;
        info.set_item(intern!(py, "_rewards"), self.which(py, |_| true)?)?;
        if self.ended.iter().any(|&i| left(i)) {
            info.set_item(intern!(py, "left"), self.which(py, left)?)?;
            info.set_item(intern!(py, "_left"), self.which(py, left)?)?;
        }
        Ok(())
    }

    /// A flag for each environment: whether it ended and the condition holds.
    fn which<'py>(
        &self,
        py: Python<'py>,
        holds: impl Fn(usize) -> bool,
    ) -> PyResult<Array<'py, bool>> {
        let mut which = filled(false, self.environments.inner.len())?;
        for &i in &self.ended {
            which[i] = holds(i);
        }
        Ok(which.into_pyarray(py))
    }
}

/// Rows of equal length.
fn table<T: Element>(
    py: Python<'_>,
    rows: usize,
    values: Vec<T>,
) -> PyResult<Bound<'_, PyArray2<T>>> {
    let shape = (rows, values.len() / rows);
    let table = Array2::from_shape_vec(shape, values).map_err(errors::invalid)?;
    Ok(table.into_pyarray(py))
}

#[pymethods]
impl VectorCore {
    #[new]
    fn new(problem: &Problem, count: &Bound<'_, PyAny>, strict: bool) -> PyResult<VectorCore> {
        let count = index("num_envs", count)?;
        if !(1..=MAX_ENVIRONMENTS).contains(&count) {
            return Err(errors::invalid(format!(
                "`num_envs` must be from 1 to {MAX_ENVIRONMENTS}, got {count}"
            )));
        }
        Ok(VectorCore {
            environments: Environments::new(problem, count, strict)?,
            ended: Vec::new(),
            costs: ArrayPool::default(),
            rewards: ArrayPool::default(),
        })
    }

    /// The problem.
    #[getter]
    fn problem(&self) -> Problem {
        self.environments.problem()
    }

    /// Begin an episode in each environment. One seed gives environment ``i`` the seed ``seed + i``; a list has one each.
    /// ``options["start"]`` is the state that all of these episodes begin in, or a list with one each; None is a drawn one.
    #[pyo3(signature = (*, seed = None, options = None))]
    fn reset<'py>(
        slf: &Bound<'py, Self>,
        seed: Option<Bound<'py, PyAny>>,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Observed<'py, PyArray2<i64>>> {
        let py = slf.py();
        if let Some(options) = &options
            && options.contains("reset_mask")?
        {
            return Err(errors::invalid(
                "`reset_mask` is for environments without automatic reset; these have it",
            ));
        }
        let starts = slf.borrow().starts(start_option(options.as_ref())?)?;
        if seed.is_some() || !slf.borrow().environments.seeded {
            let seeds = slf.call_method1(intern!(py, "_seed"), (seed, options))?;
            let (seeds, run): (Vec<Option<u64>>, u64) = seeds.extract()?;
            let environments = &mut slf.borrow_mut().environments;
            for (i, seed) in seeds.into_iter().enumerate() {
                if let Some(seed) = seed {
                    environments.inner.restart(i, seed, run);
                }
            }
            environments.seeded = true;
        }
        let mut this = slf.borrow_mut();
        this.ended.clear();
        for (i, start) in starts.into_iter().enumerate() {
            this.environments.inner.begin_in(i, start);
        }
        this.observe(py)
    }

    /// Take an action in each environment. Where the last episode ended, begin the next one instead.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<SteppedMany<'py>> {
        let count = self.environments.inner.len();
        let actions = actions.as_slice().map_err(errors::invalid)?;
        if actions.len() != count {
            return Err(errors::invalid(format!(
                "`actions` must be {count}, one for each environment, got {}",
                actions.len()
            )));
        }
        if !self.environments.seeded {
            return Err(self.environments.error(PlayError::NoEpisode));
        }
        self.check(py, actions)?;
        let (mut earned, mut over) = (filled(0.0, count)?, filled(false, count)?);
        let (mut ended, mut not_allowed) = (Vec::new(), Vec::new());
        for (i, &action) in actions.iter().enumerate() {
            if self.environments.inner.is_over(i) {
                self.environments.inner.begin(i);
                continue;
            }
            let action = self.environments.action(action)?;
            let (step, forbidden) = self.environments.step(i, action)?;
            (earned[i], over[i]) = (step.earned, step.over);
            ended.extend(step.over.then_some(i));
            not_allowed.extend(forbidden.then_some(i));
        }
        self.ended = ended;
        let (observed, info) = self.observe(py)?;
        if !self.ended.is_empty() {
            self.reveal(py, &info)?;
        }
        if !not_allowed.is_empty() {
            let flags = self.which(py, |i| not_allowed.binary_search(&i).is_ok())?;
            info.set_item(intern!(py, "_not_allowed"), flags.call_method0("copy")?)?;
            info.set_item(intern!(py, "not_allowed"), flags)?;
        }
        Ok((
            observed,
            earned.into_pyarray(py),
            over.into_pyarray(py),
            filled(false, count)?.into_pyarray(py),
            info,
        ))
    }

    /// Return the episodes that ended in the last step, by environment.
    fn revealed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for &i in &self.ended {
            all.set_item(i, self.environments.revealed(i))?;
        }
        Ok(all)
    }
}

/// The same error, with the number of the environment.
#[cold]
fn in_environment(py: Python<'_>, i: usize, error: &PyErr) -> PyErr {
    let message = format!("environment {i}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), message)
}
