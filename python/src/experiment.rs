//! Experiments: all runs, or a shard that is merged later.

use std::sync::Arc;

use emab_problem::ProblemFile;
use emab_sim::{Control, Finish, LearnerSource, Shard, State};
use pyo3::prelude::*;

use crate::device::open_device;
use crate::errors;
use crate::integers::{index, unsigned};
use crate::lists::{List, MOST, collect};
use crate::problem::Problem;
use crate::progress::{Interrupt, Progress};
use crate::runs::{self, RunArrays};
use crate::user_learner;

/// Runs of learners on a problem; the public function is :func:`emab.run`.
///
/// A learner is a text as on the command line, or a label and a factory that creates a user-defined learner from a
/// :class:`Spec` and a seed (two integers).
#[pyclass(module = "emab._emab")]
pub struct Experiment {
    inner: emab_sim::Experiment,
    file: Arc<ProblemFile>,
    interrupt: Arc<Interrupt>,
    state: State,
    #[pyo3(get)]
    notes: Vec<String>,
    /// What the processor played instead of the device of the last run, and why.
    #[pyo3(get)]
    device_notices: Vec<String>,
}

#[derive(FromPyObject)]
pub enum LearnerArgument {
    #[pyo3(transparent)]
    Line(String),
    #[pyo3(transparent)]
    UserDefined((String, Py<PyAny>)),
}

#[pymethods]
impl Experiment {
    // Python passes them by name.
    #[allow(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (problem, learners, *, episodes, runs, seed, checkpoints = None, record_at = None, shard = None))]
    fn new(
        py: Python<'_>,
        problem: &Problem,
        learners: List<LearnerArgument>,
        episodes: &Bound<'_, PyAny>,
        runs: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        checkpoints: Option<&Bound<'_, PyAny>>,
        record_at: Option<&Bound<'_, PyAny>>,
        shard: Option<&str>,
    ) -> PyResult<Experiment> {
        let (episodes, runs) = (unsigned("episodes", episodes)?, unsigned("runs", runs)?);
        let seed = unsigned("seed", seed)?;
        let list = |name: &'static str, all: Option<&Bound<'_, PyAny>>| {
            let entry = |n: Bound<'_, PyAny>| unsigned(name, &n);
            all.map(|all| collect(Some(name), all, MOST, entry))
                .transpose()
        };
        let checkpoints = list("checkpoints", checkpoints)?;
        let record_at = list("record_at", record_at)?.unwrap_or_default();
        let file = problem.file.clone();
        let interrupt = Arc::new(Interrupt::default());
        let learners = learners.0.into_iter().map(|argument| match argument {
            LearnerArgument::Line(text) => LearnerSource::Text(text),
            LearnerArgument::UserDefined((label, factory)) => {
                user_learner::config(&label, factory, file.clone(), interrupt.clone()).into()
            }
        });
        let shard: Shard = shard
            .map_or(Ok(Shard::WHOLE), str::parse)
            .map_err(errors::invalid)?;
        let mut builder = emab_sim::Experiment::builder(&*file)
            .learners(learners)
            .episodes(episodes)
            .runs(runs)
            .seed(seed)
            .record_runs(record_at)
            .shard(shard);
        if let Some(mut at) = checkpoints {
            at.push(episodes);
            builder = builder.checkpoints(at);
        }
        let inner = py.detach(|| builder.build());
        let inner = inner.map_err(errors::of_build(&file))?;
        let notes = py.detach(|| inner.warnings()).map_err(errors::of(&file))?;
        Ok(Experiment {
            state: inner.state(),
            inner,
            file,
            interrupt,
            notes,
            device_notices: Vec::new(),
        })
    }

    /// Do the remaining runs and return whether all are done; ``watch(done, total)`` is called a few times per second, in
    /// episodes.
    #[pyo3(signature = (threads = None, watch = None, device = "cpu"))]
    fn run(
        &mut self,
        py: Python<'_>,
        threads: Option<&Bound<'_, PyAny>>,
        watch: Option<Py<PyAny>>,
        device: &str,
    ) -> PyResult<bool> {
        let device = py.detach(|| open_device(device))?;
        let threads = threads.map_or(Ok(0), |threads| index("threads", threads))?;
        let report = Progress {
            callback: watch,
            interrupt: self.interrupt.clone(),
        };
        let (inner, state, stop) = (&self.inner, &mut self.state, &self.interrupt.stop);
        let finish = py.detach(|| {
            let watch = &mut |progress: emab_sim::Progress, _: Option<&State>| {
                report.report(progress.done, progress.total);
            };
            inner.run(
                state,
                &mut Control {
                    threads,
                    device: device.clone(),
                    stop,
                    watch,
                },
            )
        });
        self.device_notices = device.take_notices();
        self.interrupt.take()?;
        let finish = finish.map_err(errors::of(&self.file))?;
        Ok(finish == Finish::Complete)
    }

    /// Return the runs done so far as JSON, to be merged.
    fn state(&self) -> PyResult<String> {
        serde_json::to_string(&self.state).map_err(errors::invalid)
    }

    /// Merge the runs of another shard of the same experiment.
    fn merge(&mut self, state: &str) -> PyResult<()> {
        let other: State = serde_json::from_str(state).map_err(|error| {
            errors::invalid(format!("this is not the state of an experiment: {error}"))
        })?;
        self.inner
            .merge(&mut self.state, &other)
            .map_err(errors::of(&self.file))
    }

    /// The episodes at which single runs are recorded.
    #[getter]
    fn recorded_episodes(&self) -> Vec<u64> {
        self.inner.recorded_episodes().to_vec()
    }

    /// Return the single runs of each learner: their numbers, regret and gain by run and recorded episode, and whether each is
    /// stuck.
    fn runs<'py>(&self, py: Python<'py>) -> Vec<RunArrays<'py>> {
        let episodes = self.inner.recorded_episodes().len();
        let learners = self.state.learners.iter();
        learners
            .map(|learner| runs::arrays(py, &learner.records, episodes))
            .collect()
    }

    /// Whether all runs are done.
    #[getter]
    fn is_complete(&self) -> bool {
        self.inner.is_complete(&self.state)
    }

    /// Return the document of ``emab run --json``.
    fn document(&self, py: Python<'_>) -> PyResult<String> {
        let result = py.detach(|| self.inner.document(&self.state, self.file.hash()));
        let result = result.map_err(errors::of(&self.file))?;
        let text = serde_json::to_string_pretty(&result).map_err(errors::invalid)?;
        Ok(text + "\n")
    }
}
