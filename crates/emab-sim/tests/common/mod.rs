//! Experiments on the problems that come with the program.

use std::sync::atomic::AtomicBool;

use emab::learners::LearnerConfig;
use emab_problem::ProblemFile;
use emab_sim::{Control, Experiment, Finish, Shard, State, check_checkpoints};

pub fn experiment(
    problem: &str,
    learners: &[&str],
    runs: u64,
    episodes: u64,
    at: &[u64],
) -> Experiment {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    Experiment {
        circumstances: Default::default(),
        problem: file.problem().unwrap(),
        learners: learners
            .iter()
            .map(|text| LearnerConfig::parse(text, file.learning()).unwrap())
            .collect(),
        episodes,
        runs,
        seed: 1,
        checkpoints: check_checkpoints(at.to_vec(), episodes).unwrap(),
        places: false,
        shard: Shard::WHOLE,
    }
}

/// Runs all that is not done.
pub fn finish(experiment: &Experiment, state: &mut State, threads: usize) {
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    assert_eq!(
        experiment.run(state, &mut control).unwrap(),
        Finish::Complete
    );
}
