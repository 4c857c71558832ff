//! The regret of single runs: the same in every loop and on any number of threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::atomic::AtomicBool;

use super::{Control, Experiment, State};
use crate::engine::Loop;
use crate::engine::simd::Level;
use crate::results::Measured;

fn experiment() -> Experiment {
    let file = emab_problem::ProblemFile::builtin("coverage");
    Experiment::builder(file.unwrap().unwrap().problem().unwrap())
        .learners(["feedbal", "td-lambda"])
        .episodes(50)
        .runs(7)
        .seed(3)
        .checkpoints(vec![10])
        .build()
        .unwrap()
}

fn run(experiment: &Experiment, threads: usize, by: Loop) -> State {
    let mut state = experiment.state();
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    experiment.run_with(&mut state, &mut control, by).unwrap();
    state
}

#[test]
fn final_regrets_do_not_depend_on_loop_or_threads() {
    let experiment = experiment();
    let finals = |state: &State| -> Vec<Vec<f64>> {
        let learners = state.learners.iter();
        learners.map(|learner| learner.finals().unwrap()).collect()
    };
    let reference = run(&experiment, 1, Loop::Reference);
    for threads in [1, 3] {
        let state = run(&experiment, threads, Loop::PairedRuns(Level::best()));
        for (one, other) in finals(&state).iter().zip(&finals(&reference)) {
            // The fast loop sums from counts.
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
            assert!(one.len() == 7 && one.iter().zip(other).all(near));
        }
        assert_eq!(
            finals(&state),
            finals(&run(&experiment, 2, Loop::PairedRuns(Level::best())))
        );
        for (learner, result) in state.learners.iter().zip(experiment.results(&state)) {
            let measured = Measured::of(learner.finals().unwrap());
            let last = result.curve.last().unwrap();
            assert_eq!((measured.mean, measured.stderr), (last.regret, last.stderr));
        }
    }
}

#[test]
fn merged_shards_have_final_regrets_and_a_saved_state_has_none() {
    let whole = experiment();
    let part = |shard: &str| Experiment {
        shard: shard.parse().unwrap(),
        ..whole.clone()
    };
    let by = Loop::PairedRuns(Level::best());
    let mut state = run(&part("2/2"), 1, by);
    whole.merge(&mut state, &run(&part("1/2"), 1, by)).unwrap();
    let finals = |state: &State| state.learners[1].finals();
    assert_eq!(finals(&state), finals(&run(&whole, 1, by)));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(finals(&serde_json::from_str(&text).unwrap()), None);
}
