//! Cells: one learner on one problem, the unit of arenas and sweeps.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::ConditionedEnvironment;
use emab::learners::LearnerConfig;
use emab_problem::ProblemFile;

use crate::experiment::{BuildError, CHECKED_PAIRS, Control, Experiment, Finish, State};

/// One learner on one problem. Cells with the same seed and problem use common random numbers.
#[derive(Clone)]
pub struct Cell {
    /// The problem, with its scenario.
    pub problem: ProblemFile,
    /// The learner.
    pub learner: LearnerConfig,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// The checkpoints; empty for the default.
    pub checkpoints: Vec<u64>,
    /// The episodes at which single runs are recorded, besides the last; none if they are not recorded.
    pub recorded: Option<Vec<u64>>,
}

impl Cell {
    /// Checks before it is run that the problem is valid and that the learner can be built.
    pub fn check(&self) -> Result<(), BuildError> {
        let problem = self.problem.problem()?;
        self.problem.check(CHECKED_PAIRS)?;
        self.learner.build(problem.spec(), Some(&problem))?;
        Ok(())
    }

    /// The experiment of this cell, on an environment that is solved already, if there is one.
    pub fn experiment(
        &self,
        environment: Option<Arc<ConditionedEnvironment>>,
    ) -> Result<Experiment, BuildError> {
        let mut builder = Experiment::builder(&self.problem)
            .learners([self.learner.clone()])
            .episodes(self.episodes)
            .runs(self.runs)
            .seed(self.seed)
            .checkpoints(self.checkpoints.clone());
        if let Some(at) = &self.recorded {
            builder = builder.record_runs(at.clone());
        }
        if let Some(environment) = environment {
            builder = builder.environment(environment);
        }
        builder.build()
    }

    /// Plays all runs of its experiment; none if it was stopped.
    pub(super) fn run(
        experiment: &Experiment,
        control: &mut Control<'_>,
    ) -> Result<Option<State>, BuildError> {
        let mut state = experiment.state();
        let finish = experiment.run(&mut state, control)?;
        Ok((finish == Finish::Complete).then_some(state))
    }
}

/// Threads, stop flag and progress callback of many cells.
pub struct CellControl<'a> {
    /// Threads; 0 means one per processor.
    pub threads: usize,
    /// Setting it to true stops within moments.
    pub stop: &'a AtomicBool,
    /// Called a few times a second with the number of the cell, from 1, and the episodes played in all cells so far.
    pub watch: &'a mut dyn FnMut(usize, u64),
}

/// Plays cells one after another until one is stopped or fails. `episodes` is the number of episodes of a cell; `run`
/// plays it, or finds its saved result.
pub fn run_cells<C, E>(
    cells: &[C],
    episodes: impl Fn(&C) -> u64,
    control: &mut CellControl<'_>,
    mut run: impl FnMut(&C, &mut Control<'_>) -> Result<Finish, E>,
) -> Result<Finish, E> {
    let mut before = 0_u64;
    for (i, cell) in cells.iter().enumerate() {
        let watch = &mut *control.watch;
        watch(i + 1, before);
        let mut control = Control {
            threads: control.threads,
            stop: control.stop,
            watch: &mut |progress, _| watch(i + 1, before.saturating_add(progress.done)),
        };
        if run(cell, &mut control)? == Finish::Stopped {
            return Ok(Finish::Stopped);
        }
        before = before.saturating_add(episodes(cell));
    }
    Ok(Finish::Complete)
}
