//! Experiments on built-in problems.

use std::sync::atomic::AtomicBool;

use emab_problem::ProblemFile;
use emab_sim::{Control, Device, Experiment, ExperimentBuilder, Finish, SimError, State};

/// An experiment on a built-in problem: learners, runs and episodes, and checkpoints besides the last episode.
pub fn builder(
    problem: &str,
    learners: &[&str],
    size: (u64, u64),
    at: &[u64],
) -> ExperimentBuilder {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    builder_of(&file, learners, size, at)
}

/// The same on a problem file, with its scenario.
pub fn builder_of(
    file: &ProblemFile,
    learners: &[&str],
    (runs, episodes): (u64, u64),
    at: &[u64],
) -> ExperimentBuilder {
    Experiment::builder(file)
        .learners(learners.iter().copied())
        .runs(runs)
        .episodes(episodes)
        .checkpoints([at, &[episodes]].concat())
}

pub fn experiment(problem: &str, learners: &[&str], size: (u64, u64), at: &[u64]) -> Experiment {
    builder(problem, learners, size, at).build().unwrap()
}

/// Plays the runs that are not done.
pub fn run(experiment: &Experiment, state: &mut State, threads: usize) -> Result<Finish, SimError> {
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads,
        device: Device::processor(),
        stop: &stop,
        watch: &mut |_, _| {},
    };
    experiment.run(state, &mut control)
}

/// Plays all runs that are not done.
pub fn finish(experiment: &Experiment, state: &mut State, threads: usize) {
    assert_eq!(run(experiment, state, threads), Ok(Finish::Complete));
}
