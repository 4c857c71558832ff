//! Many runs, as Python sees them: the whole of it, or a shard that is merged elsewhere.

use std::sync::Arc;

use emab_problem::ProblemFile;
use emab_sim::{BuildError, Control, Finish, LearnerSource, Shard, State};
use pyo3::prelude::*;

use crate::errors;
use crate::own;
use crate::problem::Problem;
use crate::watch::{Trouble, Watch};
use crate::whole::{index, whole};

/// Learners on a problem, many runs each. :func:`emab.run` is what people use.
///
/// A learner is a line as on the command line, or a pair of a label and a factory that makes a learner of one's own from
/// a :class:`Spec` and a seed (two integers).
#[pyclass(module = "emab._emab")]
pub struct Experiment {
    inner: emab_sim::Experiment,
    file: Arc<ProblemFile>,
    trouble: Arc<Trouble>,
    state: State,
    #[pyo3(get)]
    notes: Vec<String>,
}

#[derive(FromPyObject)]
pub enum Asked {
    #[pyo3(transparent)]
    Line(String),
    #[pyo3(transparent)]
    Own((String, Py<PyAny>)),
}

#[pymethods]
impl Experiment {
    // Python names them all.
    #[allow(clippy::too_many_arguments)]
    #[new]
    #[pyo3(signature = (problem, learners, *, episodes, runs, seed, checkpoints = None, shard = None))]
    fn new(
        py: Python<'_>,
        problem: &Problem,
        learners: Vec<Asked>,
        episodes: &Bound<'_, PyAny>,
        runs: &Bound<'_, PyAny>,
        seed: &Bound<'_, PyAny>,
        checkpoints: Option<Vec<Bound<'_, PyAny>>>,
        shard: Option<&str>,
    ) -> PyResult<Experiment> {
        let (episodes, runs) = (whole("episodes", episodes)?, whole("runs", runs)?);
        let seed = whole("seed", seed)?;
        let checkpoints: Option<Vec<u64>> = checkpoints
            .map(|all| all.iter().map(|n| whole("checkpoints", n)).collect())
            .transpose()?;
        let file = problem.file.clone();
        let trouble = Arc::new(Trouble::default());
        let learners = learners.into_iter().map(|asked| match asked {
            Asked::Line(text) => LearnerSource::Text(text),
            Asked::Own((label, factory)) => {
                own::config(&label, factory, file.clone(), trouble.clone()).into()
            }
        });
        let shard: Shard = shard
            .map_or(Ok(Shard::WHOLE), str::parse)
            .map_err(errors::wrong)?;
        let mut builder = emab_sim::Experiment::builder(&*file)
            .learners(learners)
            .episodes(episodes)
            .runs(runs)
            .seed(seed)
            .shard(shard);
        if let Some(mut at) = checkpoints {
            at.push(episodes);
            builder = builder.checkpoints(at);
        }
        let inner = py.detach(|| builder.build()).map_err(|error| match error {
            BuildError::Checkpoints(error) => errors::wrong(format!("`checkpoints`: {error}")),
            other => errors::build(&file, other),
        })?;
        let notes = py
            .detach(|| inner.warnings())
            .map_err(|error| errors::simulation(&file, error))?;
        Ok(Experiment {
            state: inner.state(),
            inner,
            file,
            trouble,
            notes,
        })
    }

    /// Do the runs that are not done; ``watch(done, total)`` is called a few times a second, in episodes.
    #[pyo3(signature = (threads = None, watch = None))]
    fn run(
        &mut self,
        py: Python<'_>,
        threads: Option<&Bound<'_, PyAny>>,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        let threads = threads.map_or(Ok(0), |threads| index("threads", threads))?;
        let watch = Watch {
            callback: watch,
            trouble: self.trouble.clone(),
        };
        let Experiment {
            inner,
            state,
            trouble,
            ..
        } = self;
        let finish = py.detach(|| {
            inner.run(
                state,
                &mut Control {
                    threads,
                    stop: &trouble.stop,
                    watch: &mut |progress, _| watch.look(progress.done, progress.total),
                },
            )
        });
        self.trouble.take()?;
        let finish = finish.map_err(|error| errors::simulation(&self.file, error))?;
        Ok(finish == Finish::Complete)
    }

    /// What is done so far, to be merged elsewhere.
    fn state(&self) -> PyResult<String> {
        serde_json::to_string(&self.state).map_err(errors::wrong)
    }

    /// Take in what another shard of the same experiment did.
    fn merge(&mut self, state: &str) -> PyResult<()> {
        let other: State = serde_json::from_str(state).map_err(|error| {
            errors::wrong(format!("this is no state of an experiment: {error}"))
        })?;
        self.inner
            .merge(&mut self.state, &other)
            .map_err(|error| errors::simulation(&self.file, error))
    }

    /// Whether all runs are done.
    #[getter]
    fn is_complete(&self) -> bool {
        self.inner.is_complete(&self.state)
    }

    /// The document that ``emab run --json`` prints.
    fn document(&self, py: Python<'_>) -> PyResult<String> {
        let result = py.detach(|| self.inner.document(&self.state, self.file.hash()));
        let result = result.map_err(|error| errors::simulation(&self.file, error))?;
        let text = serde_json::to_string_pretty(&result).map_err(errors::wrong)?;
        Ok(text + "\n")
    }
}
