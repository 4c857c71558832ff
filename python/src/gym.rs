//! What Gymnasium steps: one environment, and many at once. `emab.gym` makes environments of them.
//!
//! `step` and `reset` are here and not in Python because they are all that a loop spends its time in. Seeds come from
//! Python: `_seed` is Gymnasium's part of `reset`.

use emab::environment::{StepResult, VecEnvironment};
use emab::{Action, PlayError};
use emab_problem::ProblemFile;
use numpy::ndarray::{Array2, Dim};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

use crate::episode::Episode;
use crate::errors;
use crate::problem::Problem;
use crate::whole::index;

/// The most environments at once: each has some kilobytes of draws at hand.
const MOST: usize = 1 << 20;

/// Episodes of a problem, and what is done where an action is not allowed.
struct Stage {
    file: Arc<ProblemFile>,
    walks: VecEnvironment,
    /// The number of `stop`.
    stop: usize,
    /// Whether an action that is not allowed is an error, and does not end the episode.
    strict: bool,
}

/// What one action came to.
struct Outcome {
    walked: StepResult,
    /// Whether something else was asked for that is not allowed.
    refused: bool,
}

impl Stage {
    fn new(problem: &Problem, count: usize, strict: bool) -> PyResult<Stage> {
        let file = problem.file.clone();
        let conditions = file.conditions();
        let mut others = conditions.clone();
        others.dropout = emab::conditions::Probability::default();
        if !others.is_none() {
            return Err(errors::wrong(format!(
                "`{}` is played under conditions ({others}) that an environment cannot have: of those, it knows dropout \
                 alone; leave the others out, or play it with emab.run",
                file.name(),
            )));
        }
        let truth = Arc::new(problem.problem()?.with_dropout(conditions.dropout));
        let stop = truth.spec().actions().len();
        let walks =
            VecEnvironment::new(truth, count).map_err(|error| errors::oracle(&file, error))?;
        Ok(Stage {
            file,
            walks,
            stop,
            strict,
        })
    }

    #[inline]
    fn action(&self, number: i64) -> PyResult<Action> {
        match usize::try_from(number) {
            Ok(a) if a < self.stop => Ok(Action::Continue(a)),
            Ok(a) if a == self.stop => Ok(Action::Stop),
            _ => Err(errors::wrong(format!(
                "`action` must be from 0 to {} (`stop`), got {number}",
                self.stop
            ))),
        }
    }

    #[inline]
    fn step(&mut self, i: usize, action: Action) -> PyResult<Outcome> {
        let (walked, refused) = match self.walks.step(i, action) {
            Err(PlayError::NotAllowed { .. }) if !self.strict => {
                (self.walks.step(i, Action::Stop), true)
            }
            walked => (walked, false),
        };
        let walked = walked.map_err(|error| self.trouble(error))?;
        Ok(Outcome { walked, refused })
    }

    #[cold]
    fn trouble(&self, error: PlayError) -> PyErr {
        match error {
            PlayError::Oracle(error) => errors::oracle(&self.file, error),
            PlayError::NoEpisode => {
                PyRuntimeError::new_err("there is no episode under way: call reset()")
            }
            PlayError::NotAllowed { t, x, action } => {
                let spec = self.file.spec();
                let name = match action {
                    Action::Continue(a) => spec.actions().name(a),
                    Action::Stop => "stop".into(),
                };
                PyValueError::new_err(format!(
                    "the action `{name}` is not allowed at step {t} in state `{}`: \
                     info[\"action_mask\"] tells which are",
                    spec.states().name(x)
                ))
            }
        }
    }

    /// Step and state of number `i`.
    #[inline]
    fn at(&self, i: usize) -> [i64; 2] {
        let (pairs, pair) = (self.walks.pairs(), self.walks.pair(i));
        [pairs.step(pair) as i64, pairs.state(pair) as i64]
    }

    /// Which actions number `i` may take: `mask` has one place each, `stop` is last and already there.
    #[inline]
    fn mask(&self, i: usize, mask: &mut [i8]) {
        let (pairs, pair) = (self.walks.pairs(), self.walks.pair(i));
        for (a, may) in mask[..self.stop].iter_mut().enumerate() {
            *may = i8::from(pairs.allows(pair, a));
        }
    }

    /// The episode of number `i` as a learner is shown it: people who leave do not tell their rewards.
    fn revealed(&self, i: usize) -> Episode {
        let mut inner = self.walks.episode(i);
        if self.walks.dropped_out(i) {
            inner.rewards.clear();
        }
        Episode { inner }
    }
}

type Seen<'py, O> = (Bound<'py, O>, Bound<'py, PyDict>);
type Stepped<'py, O, R, B> = (Bound<'py, O>, R, B, B, Bound<'py, PyDict>);
type Array<'py, T> = Bound<'py, PyArray1<T>>;
type SteppedMany<'py> = Stepped<'py, PyArray2<i64>, Array<'py, f64>, Array<'py, bool>>;

/// One environment; ``emab.gym.Env`` is what people use.
#[pyclass(subclass, module = "emab._emab")]
pub struct EnvCore {
    stage: Stage,
    seeded: bool,
}

impl EnvCore {
    fn seen<'py>(&self, py: Python<'py>) -> PyResult<Seen<'py, PyArray1<i64>>> {
        let info = PyDict::new(py);
        let mut mask = vec![1; self.stage.stop + 1];
        self.stage.mask(0, &mut mask);
        info.set_item(intern!(py, "action_mask"), PyArray1::from_slice(py, &mask))?;
        Ok((PyArray1::from_slice(py, &self.stage.at(0)), info))
    }
}

#[pymethods]
impl EnvCore {
    #[new]
    fn new(problem: &Problem, strict: bool) -> PyResult<EnvCore> {
        Ok(EnvCore {
            stage: Stage::new(problem, 1, strict)?,
            seeded: false,
        })
    }

    /// The problem.
    #[getter]
    fn problem(&self) -> Problem {
        Problem {
            file: self.stage.file.clone(),
        }
    }

    /// Begin an episode. A seed restarts the random streams, those of run ``options["run"]`` (0 when left out): with
    /// the same seed and run, `emab.run` meets the same chance. Without a seed the streams go on.
    #[pyo3(signature = (*, seed = None, options = None))]
    fn reset<'py>(
        slf: &Bound<'py, Self>,
        seed: Option<Bound<'py, PyAny>>,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Seen<'py, PyArray1<i64>>> {
        let py = slf.py();
        if seed.is_some() || !slf.borrow().seeded {
            let asked = (seed, options);
            let (seed, run) = slf.call_method1(intern!(py, "_seed"), asked)?.extract()?;
            let mut this = slf.borrow_mut();
            this.stage.walks.restart(0, seed, run);
            this.seeded = true;
        }
        let mut this = slf.borrow_mut();
        this.stage.walks.begin(0);
        this.seen(py)
    }

    /// Take an action.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        action: i64,
    ) -> PyResult<Stepped<'py, PyArray1<i64>, f64, bool>> {
        let action = self.stage.action(action)?;
        let Outcome { walked, refused } = self.stage.step(0, action)?;
        let (seen, info) = self.seen(py)?;
        if walked.over {
            let episode = self.stage.revealed(0);
            info.set_item(intern!(py, "costs"), &episode.inner.costs)?;
            info.set_item(intern!(py, "rewards"), &episode.inner.rewards)?;
            info.set_item(intern!(py, "revealed"), episode)?;
            if refused {
                info.set_item(intern!(py, "not_allowed"), true)?;
            }
            if self.stage.walks.dropped_out(0) {
                info.set_item(intern!(py, "left"), true)?;
            }
        }
        Ok((seen, walked.earned, walked.over, false, info))
    }

    /// The episode as far as it went, and whether it is over.
    fn _so_far(&self) -> (Episode, bool) {
        let inner = self.stage.walks.episode(0);
        (Episode { inner }, self.stage.walks.is_over(0))
    }
}

/// Many environments of one problem; ``emab.gym.VectorEnv`` is what people use.
#[pyclass(subclass, module = "emab._emab")]
pub struct VectorCore {
    stage: Stage,
    seeded: bool,
    /// Those whose episode ended in the last step.
    ended: Vec<usize>,
    costs: Sheets,
    rewards: Sheets,
}

/// Tables that were handed out and may be used again once nobody else holds them: most of theirs is NaN, and writing
/// that anew would be a fifth of a step. Two of them, since whoever loops holds the last while asking for the next.
#[derive(Default)]
struct Sheets {
    sheets: Vec<Sheet>,
}

struct Sheet {
    array: Py<PyArray2<f64>>,
    /// What Python counts while nobody else holds it.
    alone: usize,
    /// The rows that are not NaN alone.
    written: Vec<usize>,
}

/// How many hold something, and this question.
fn holders(array: &Bound<'_, PyArray2<f64>>) -> PyResult<usize> {
    let py = array.py();
    let count = py
        .import(intern!(py, "sys"))?
        .call_method1(intern!(py, "getrefcount"), (array,))?;
    count.extract()
}

impl Sheets {
    /// A table of NaN but for these rows.
    fn table<'py, V: Iterator<Item = f64>>(
        &mut self,
        py: Python<'py>,
        shape: (usize, usize),
        rows: &[usize],
        row: impl Fn(usize) -> V,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut place = None;
        for (i, Sheet { array, alone, .. }) in self.sheets.iter().enumerate() {
            let array = array.bind(py);
            if array.dims() == Dim([shape.0, shape.1]) && holders(array)? == *alone {
                place = Some(i);
            }
        }
        let place = match place {
            Some(place) => place,
            None => {
                // Both are held, or of another shape: the older one is given up.
                self.sheets.truncate(1);
                let array = Array2::from_elem(shape, f64::NAN).into_pyarray(py);
                let array = array.unbind();
                let alone = holders(array.bind(py))?;
                let written = Vec::new();
                self.sheets.insert(
                    0,
                    Sheet {
                        array,
                        alone,
                        written,
                    },
                );
                0
            }
        };
        let sheet = &mut self.sheets[place];
        let array = sheet.array.bind(py).clone();
        {
            let mut values = array.try_readwrite().map_err(errors::wrong)?;
            let values = values.as_slice_mut().map_err(errors::wrong)?;
            for i in sheet.written.drain(..) {
                values[i * shape.1..(i + 1) * shape.1].fill(f64::NAN);
            }
            for &i in rows {
                let to = &mut values[i * shape.1..(i + 1) * shape.1];
                to.iter_mut()
                    .zip(row(i))
                    .for_each(|(to, value)| *to = value);
            }
        }
        sheet.written.extend_from_slice(rows);
        Ok(array)
    }
}

impl VectorCore {
    fn seen<'py>(&self, py: Python<'py>) -> PyResult<Seen<'py, PyArray2<i64>>> {
        let (stage, count) = (&self.stage, self.stage.walks.len());
        let mut at = Vec::with_capacity(2 * count);
        let mut mask = vec![1; (stage.stop + 1) * count];
        for (i, mask) in mask.chunks_exact_mut(stage.stop + 1).enumerate() {
            at.extend_from_slice(&stage.at(i));
            stage.mask(i, mask);
        }
        let info = PyDict::new(py);
        info.set_item(
            intern!(py, "action_mask"),
            table(count, mask)?.into_pyarray(py),
        )?;
        info.set_item(
            intern!(py, "_action_mask"),
            vec![true; count].into_pyarray(py),
        )?;
        Ok((table(count, at)?.into_pyarray(py), info))
    }

    /// Whether all actions can be taken: asked before the first is, so that an error changes nothing.
    fn check(&self, py: Python<'_>, numbers: &[i64]) -> PyResult<()> {
        let Stage { walks, strict, .. } = &self.stage;
        for (i, &number) in numbers.iter().enumerate() {
            let action = self.stage.action(number);
            let action = action.map_err(|error| at_place(py, i, &error))?;
            if let Action::Continue(a) = action
                && *strict
                && !walks.is_over(i)
                && !walks.pairs().allows(walks.pair(i), a)
            {
                let [t, x] = self.stage.at(i).map(|index| index as usize);
                let error = self.stage.trouble(PlayError::NotAllowed { t, x, action });
                return Err(at_place(py, i, &error));
            }
        }
        Ok(())
    }

    /// What the episodes that ended revealed, one row each, NaN where there is nothing.
    fn reveal(&mut self, py: Python<'_>, info: &Bound<'_, PyDict>) -> PyResult<()> {
        let (walks, count) = (&self.stage.walks, self.stage.walks.len());
        let steps = |&i: &usize| walks.rewards(i).len();
        let longest = self.ended.iter().map(steps).max().unwrap_or(1);
        let shown = |i: usize| if walks.dropped_out(i) { 0 } else { usize::MAX };
        let costs = self
            .costs
            .table(py, (count, longest - 1), &self.ended, |i| walks.costs(i))?;
        let rewards = self.rewards.table(py, (count, longest), &self.ended, |i| {
            walks.rewards(i).take(shown(i))
        })?;
        info.set_item(intern!(py, "costs"), costs)?;
        info.set_item(intern!(py, "_costs"), self.which(py, |_| true))?;
        info.set_item(intern!(py, "rewards"), rewards)?;
        info.set_item(intern!(py, "_rewards"), self.which(py, |_| true))?;
        if self.ended.iter().any(|&i| walks.dropped_out(i)) {
            info.set_item(
                intern!(py, "left"),
                self.which(py, |i| walks.dropped_out(i)),
            )?;
            info.set_item(
                intern!(py, "_left"),
                self.which(py, |i| walks.dropped_out(i)),
            )?;
        }
        Ok(())
    }

    /// Those of the ended ones of which this holds.
    fn which<'py>(&self, py: Python<'py>, holds: impl Fn(usize) -> bool) -> Array<'py, bool> {
        let mut which = vec![false; self.stage.walks.len()];
        for &i in &self.ended {
            which[i] = holds(i);
        }
        which.into_pyarray(py)
    }
}

/// Rows of equal length.
fn table<T>(rows: usize, values: Vec<T>) -> PyResult<Array2<T>> {
    let columns = values.len() / rows;
    Array2::from_shape_vec((rows, columns), values).map_err(errors::wrong)
}

#[pymethods]
impl VectorCore {
    #[new]
    fn new(problem: &Problem, count: &Bound<'_, PyAny>, strict: bool) -> PyResult<VectorCore> {
        let count = index("num_envs", count)?;
        if !(1..=MOST).contains(&count) {
            return Err(errors::wrong(format!(
                "`num_envs` must be from 1 to {MOST}, got {count}"
            )));
        }
        Ok(VectorCore {
            stage: Stage::new(problem, count, strict)?,
            seeded: false,
            ended: Vec::new(),
            costs: Sheets::default(),
            rewards: Sheets::default(),
        })
    }

    /// The problem.
    #[getter]
    fn problem(&self) -> Problem {
        Problem {
            file: self.stage.file.clone(),
        }
    }

    /// Begin an episode everywhere. Seeds are one for all, and then environment ``i`` has ``seed + i``, or one each.
    #[pyo3(signature = (*, seed = None, options = None))]
    fn reset<'py>(
        slf: &Bound<'py, Self>,
        seed: Option<Bound<'py, PyAny>>,
        options: Option<Bound<'py, PyDict>>,
    ) -> PyResult<Seen<'py, PyArray2<i64>>> {
        let py = slf.py();
        if let Some(options) = &options
            && options.contains("reset_mask")?
        {
            return Err(errors::wrong(
                "`reset_mask` is for environments that do not begin anew by themselves; these do",
            ));
        }
        if seed.is_some() || !slf.borrow().seeded {
            let asked = (seed, options);
            let seeds = slf.call_method1(intern!(py, "_seed"), asked)?;
            let (seeds, run): (Vec<Option<u64>>, u64) = seeds.extract()?;
            let mut this = slf.borrow_mut();
            for (i, seed) in seeds.into_iter().enumerate() {
                if let Some(seed) = seed {
                    this.stage.walks.restart(i, seed, run);
                }
            }
            this.seeded = true;
        }
        let mut this = slf.borrow_mut();
        this.ended.clear();
        for i in 0..this.stage.walks.len() {
            this.stage.walks.begin(i);
        }
        this.seen(py)
    }

    /// Take an action in each; where the episode ended in the last step, begin another instead.
    fn step<'py>(
        &mut self,
        py: Python<'py>,
        actions: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<SteppedMany<'py>> {
        let count = self.stage.walks.len();
        let actions = actions.as_slice().map_err(errors::wrong)?;
        if actions.len() != count {
            return Err(errors::wrong(format!(
                "`actions` must be {count}, one for each environment, got {}",
                actions.len()
            )));
        }
        if !self.seeded {
            return Err(self.stage.trouble(PlayError::NoEpisode));
        }
        self.check(py, actions)?;
        let (mut earned, mut over) = (vec![0.0; count], vec![false; count]);
        let (mut ended, mut refused) = (Vec::new(), Vec::new());
        for (i, &action) in actions.iter().enumerate() {
            if self.stage.walks.is_over(i) {
                self.stage.walks.begin(i);
                continue;
            }
            let action = self.stage.action(action)?;
            let outcome = self.stage.step(i, action)?;
            earned[i] = outcome.walked.earned;
            over[i] = outcome.walked.over;
            if over[i] {
                ended.push(i);
            }
            if outcome.refused {
                refused.push(i);
            }
        }
        self.ended = ended;
        let (seen, info) = self.seen(py)?;
        if !self.ended.is_empty() {
            self.reveal(py, &info)?;
        }
        if !refused.is_empty() {
            let flags = self.which(py, |i| refused.binary_search(&i).is_ok());
            info.set_item(intern!(py, "_not_allowed"), flags.call_method0("copy")?)?;
            info.set_item(intern!(py, "not_allowed"), flags)?;
        }
        Ok((
            seen,
            earned.into_pyarray(py),
            over.into_pyarray(py),
            vec![false; count].into_pyarray(py),
            info,
        ))
    }

    /// The episodes that ended in the last step, by environment.
    fn revealed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(py);
        for &i in &self.ended {
            all.set_item(i, self.stage.revealed(i))?;
        }
        Ok(all)
    }
}

/// The same error, with where it was.
#[cold]
fn at_place(py: Python<'_>, i: usize, error: &PyErr) -> PyErr {
    let words = format!("environment {i}: {}", error.value(py));
    PyErr::from_type(error.get_type(py), words)
}
