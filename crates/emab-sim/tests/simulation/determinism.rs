//! The same seed gives the same bytes, for any number of threads, any shards and any interruption.

use emab_sim::{Experiment, State};

use crate::common::{builder, experiment, finish, run};
use crate::interrupted::interrupted;

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
fn results_do_not_depend_on_threads() {
    let learners = ["feedbal:ties=random", "ucb1v", "random"];
    let experiment = experiment("tutoring", &learners, (37, 300), &[10, 100]);
    let one = whole(&experiment, 1);
    for threads in [2, 3, 16] {
        assert_eq!(whole(&experiment, threads), one);
    }
}

#[test]
fn results_do_not_depend_on_interruptions() {
    let experiment = experiment("resource", &["feedbal", "ucb1"], (40, 4000), &[100, 1000]);
    let uninterrupted = whole(&experiment, 2);
    let state = interrupted(&experiment);
    assert_eq!(bytes(&experiment, &state), uninterrupted);
}

#[test]
fn rejects_a_state_of_another_experiment() {
    let small = experiment("resource", &["feedbal"], (3, 10), &[]);
    let large = experiment("resource", &["feedbal"], (5, 10), &[]);
    let mut state = large.state();
    finish(&large, &mut state, 1);
    let error = run(&small, &mut state, 1).unwrap_err().to_string();
    assert_eq!(
        error,
        "the saved state does not belong to this experiment: it has more runs"
    );
}

#[test]
fn results_depend_on_the_seed() {
    let of_seed = |seed| {
        let builder = builder("resource", &["feedbal"], (1, 200), &[]);
        whole(&builder.seed(seed).build().unwrap(), 1)
    };
    assert_ne!(of_seed(1), of_seed(2));
}
