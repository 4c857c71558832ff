//! The same seed gives the same bytes: for any threads, any split and any interruption.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/interrupted.rs"]
mod interrupted;

use std::sync::atomic::AtomicBool;

use common::{experiment, finish};
use emab_sim::{Control, Experiment, State};

/// All results as text, without the time they took.
fn bytes(experiment: &Experiment, state: &State) -> String {
    let mut results = experiment.results(state);
    results.iter_mut().for_each(|result| result.seconds = 0.0);
    serde_json::to_string(&results).unwrap()
}

fn whole(experiment: &Experiment, threads: usize) -> String {
    let mut state = experiment.state();
    finish(experiment, &mut state, threads);
    bytes(experiment, &state)
}

#[test]
fn threads_leave_no_trace() {
    let learners = ["feedbal:ties=random", "ucb1v", "random"];
    let experiment = experiment("tutoring", &learners, 37, 300, &[10, 100]);
    let one = whole(&experiment, 1);
    for threads in [2, 3, 16] {
        assert_eq!(whole(&experiment, threads), one);
    }
}

#[test]
fn interruptions_leave_no_trace() {
    let experiment = experiment("resource", &["feedbal", "ucb1"], 40, 4000, &[100, 1000]);
    let uninterrupted = whole(&experiment, 2);
    let state = interrupted::interrupted(&experiment);
    assert_eq!(bytes(&experiment, &state), uninterrupted);
}

#[test]
fn a_state_of_another_experiment_is_refused() {
    let small = experiment("resource", &["feedbal"], 3, 10, &[]);
    let large = experiment("resource", &["feedbal"], 5, 10, &[]);
    let mut state = large.state();
    finish(&large, &mut state, 1);
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads: 1,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let error = small.run(&mut state, &mut control).unwrap_err().to_string();
    assert_eq!(
        error,
        "the saved state is not of this experiment: it has more runs"
    );
}

#[test]
fn seeds_and_runs_differ() {
    let mut first = experiment("resource", &["feedbal"], 1, 200, &[]);
    let one = whole(&first, 1);
    first.seed = 2;
    assert_ne!(whole(&first, 1), one);
}
