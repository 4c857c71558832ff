//! Experiments on the problems that come with the program.

use std::sync::atomic::{AtomicBool, Ordering};

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

/// The state in the end, of an experiment that was interrupted at least once and taken up as from a file.
#[allow(dead_code)] // Not every file of tests interrupts.
pub fn interrupted(experiment: &Experiment) -> State {
    // Whatever the machine: where all was over before the first stop, it comes sooner.
    for milliseconds in [60, 30, 15, 7, 3, 1] {
        let mut state = experiment.state();
        for stops in 0..10_000 {
            let stop = AtomicBool::new(false);
            let finish = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
                    stop.store(true, Ordering::Relaxed);
                });
                let mut control = Control {
                    threads: 2,
                    stop: &stop,
                    watch: &mut |_, _| {},
                };
                experiment.run(&mut state, &mut control).unwrap()
            });
            if finish == Finish::Complete {
                if stops > 0 {
                    return state;
                }
                break;
            }
            state = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        }
    }
    panic!("it was never interrupted, or no run ever ended")
}
