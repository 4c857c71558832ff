//! Runs under conditions: the same bytes for any threads and any interruption, and what is measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
#[path = "common/interrupted.rs"]
mod interrupted;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::Problem;
use emab::environment::ModelPhase;
use emab_problem::ProblemFile;
use emab_sim::{Control, Experiment, Shard, State};

fn under(texts: &[&str], problem: &str, learners: &[&str], runs: u64, episodes: u64) -> Experiment {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let conditions = file.conditions().with(texts.iter().copied()).unwrap();
    let file = file.with_conditions(&conditions).unwrap();
    Experiment {
        problem: file.problem().unwrap(),
        circumstances: file.scenario(),
        ..common::experiment(problem, learners, runs, episodes, &[])
    }
}

fn whole(experiment: &Experiment, threads: usize) -> State {
    let mut state = experiment.state();
    common::finish(experiment, &mut state, threads);
    timeless(state)
}

fn timeless(mut state: State) -> State {
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    state
}

const EVERYTHING: [&str; 5] = [
    "delay=geometric:15",
    "dropout=0.05",
    "lost=0.1",
    "override=0.1",
    "drift=hour:2@100-200",
];
const LEARNERS: [&str; 5] = [
    "feedbal",
    "feedbal:window=80",
    "feedbal:gamma=0.98",
    "ucb1v",
    "benchmark",
];

#[test]
fn threads_and_shards_leave_no_trace() {
    let experiment = under(&EVERYTHING, "tutoring", &LEARNERS, 23, 300);
    let one = whole(&experiment, 1);
    assert_eq!(whole(&experiment, 4), one);
    let mut parts = ["1/3", "2/3", "3/3"].map(|shard| {
        let shard: Shard = shard.parse().unwrap();
        let experiment = Experiment {
            shard,
            ..experiment.clone()
        };
        whole(&experiment, 2)
    });
    let [first, rest @ ..] = &mut parts;
    for part in rest {
        experiment.merge(first, part).unwrap();
    }
    assert_eq!(*first, one);
}

#[test]
fn interruptions_leave_no_trace() {
    let experiment = under(&EVERYTHING, "tutoring", &LEARNERS[..2], 12, 20_000);
    let uninterrupted = whole(&experiment, 2);
    let state = interrupted::interrupted(&experiment);
    assert_eq!(timeless(state), uninterrupted);
}

#[test]
fn who_knows_the_truth_knows_the_law_of_the_moment() {
    let learners = ["benchmark", "optimal", "feedbal"];
    let experiment = under(&["drift=p:0.1@500"], "resource", &learners, 20, 2000);
    let state = whole(&experiment, 2);
    let results = experiment.results(&state);
    let last = |i: usize| *results[i].curve.last().unwrap();
    // The benchmark is optimal on `resource` whatever `p` is.
    assert_eq!((last(0).regret, last(1).regret), (0.0, 0.0));
    assert!(last(2).regret > 20.0);
    // What the benchmark earns is the average over the laws: 499 episodes of one, 1501 of the other.
    let worth = experiment.worth().unwrap();
    let off = last(0).gain / 2000.0 - worth.benchmark_value;
    assert!(off.abs() < 4.5 * last(0).gain_stderr / 2000.0, "{off}");
}

#[test]
fn gains_under_dropout_are_worth_what_is_said() {
    let learners = ["benchmark", "optimal", "best-fixed"];
    let experiment = under(&["dropout=0.1"], "screening", &learners, 200, 500);
    let state = whole(&experiment, 2);
    let worth = experiment.worth().unwrap();
    let known = [worth.benchmark_value, worth.optimal_value.unwrap()];
    for (result, value) in experiment.results(&state).iter().zip(known) {
        let last = result.curve.last().unwrap();
        let off = last.gain / 500.0 - value;
        assert!(
            off.abs() < 4.5 * last.gain_stderr / 500.0,
            "{}: {off}",
            result.label
        );
    }
    // Regret is what is earned less than the benchmark, exactly in expectation.
    for result in experiment.results(&state) {
        let last = result.curve.last().unwrap();
        let off = last.gain + last.regret - 500.0 * worth.benchmark_value;
        let error = (last.gain_stderr.powi(2) + last.stderr.powi(2)).sqrt();
        assert!(off.abs() < 4.5 * error, "{}: {off}", result.label);
    }
}

#[test]
fn late_outcomes_cost_regret_and_a_window_answers_drift() {
    let regret = |texts: &[&str], learner: &str| {
        let experiment = under(texts, "resource", &[learner], 40, 6000);
        let state = whole(&experiment, 2);
        let result = experiment.results(&state).remove(0);
        let last = *result.curve.last().unwrap();
        (last.regret, last.stderr)
    };
    let more = |a: (f64, f64), b: (f64, f64), by: f64| {
        let error = (a.1 * a.1 + b.1 * b.1).sqrt();
        assert!(a.0 - b.0 > by * error, "{a:?} {b:?}");
    };
    let at_once = regret(&[], "feedbal");
    more(regret(&["delay=200"], "feedbal"), at_once, 10.0);
    more(regret(&["lost=0.9"], "feedbal"), at_once, 10.0);
    let drift = ["drift=p:0.2@3000"];
    let plain = regret(&drift, "feedbal");
    more(plain, regret(&drift, "feedbal:window=1500"), 5.0);
}

#[test]
fn places_count_what_was_recommended() {
    let experiment = Experiment {
        places: true,
        ..under(
            &["override=0.3", "dropout=0.1"],
            "tutoring",
            &["benchmark", "feedbal"],
            5,
            400,
        )
    };
    let state = whole(&experiment, 2);
    let places = experiment.places(&state).unwrap().unwrap();
    for (places, result) in places.iter().zip(experiment.results(&state)) {
        let regret: f64 = places.iter().map(|place| place.regret).sum();
        let last = result.curve.last().unwrap();
        assert!(
            (regret - last.regret).abs() < 1e-9 * (1.0 + regret),
            "{}",
            result.label
        );
    }
    assert!(
        places[0]
            .iter()
            .all(|place| place.visits == 0.0 || place.agree == 1.0)
    );
    // With one law after another there is nothing that a place costs.
    let drifting = Experiment {
        places: true,
        ..under(&["drift=hour:2@100"], "tutoring", &["feedbal"], 2, 400)
    };
    let state = whole(&drifting, 1);
    assert!(drifting.places(&state).unwrap().is_none());
}

#[test]
fn laws_of_another_problem_are_refused() {
    let mut experiment = common::experiment("resource", &["feedbal"], 2, 10, &[]);
    let other = ProblemFile::builtin("parity").unwrap().unwrap();
    let law = |problem: Arc<Problem>| ModelPhase { first: 5, problem };
    experiment
        .circumstances
        .phases
        .push(law(other.problem().unwrap()));
    let stop = AtomicBool::new(false);
    let mut control = Control {
        threads: 1,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let error = experiment
        .run(&mut experiment.state(), &mut control)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the law of episode 5 on must have the specification of the first: learners know it and are told of no change"
    );
}
