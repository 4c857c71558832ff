//! Runs under conditions: the same bytes for any number of threads, shards and interruptions, and their regret.

use emab::Scenario;
use emab::environment::ModelPhase;
use emab_problem::ProblemFile;
use emab_sim::{Experiment, ExperimentBuilder, Shard, State};

use crate::common;
use crate::interrupted::interrupted;

fn builder(
    conditions: &[&str],
    problem: &str,
    learners: &[&str],
    size: (u64, u64),
) -> ExperimentBuilder {
    let file = ProblemFile::builtin(problem).unwrap().unwrap();
    let conditions = file.conditions().with(conditions.iter().copied()).unwrap();
    let file = file.with_conditions(&conditions).unwrap();
    common::builder_of(&file, learners, size, &[])
}

fn under(conditions: &[&str], problem: &str, learners: &[&str], size: (u64, u64)) -> Experiment {
    builder(conditions, problem, learners, size)
        .build()
        .unwrap()
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
fn results_do_not_depend_on_threads_or_shards() {
    let experiment = under(&EVERYTHING, "tutoring", &LEARNERS, (23, 300));
    let one = whole(&experiment, 1);
    assert_eq!(whole(&experiment, 4), one);
    let mut parts = ["1/3", "2/3", "3/3"].map(|shard| {
        let shard: Shard = shard.parse().unwrap();
        let part = builder(&EVERYTHING, "tutoring", &LEARNERS, (23, 300)).shard(shard);
        whole(&part.build().unwrap(), 2)
    });
    let [first, rest @ ..] = &mut parts;
    for part in rest {
        experiment.merge(first, part).unwrap();
    }
    assert_eq!(*first, one);
}

#[test]
fn results_do_not_depend_on_interruptions() {
    let experiment = under(&EVERYTHING, "tutoring", &LEARNERS[..2], (12, 20_000));
    let uninterrupted = whole(&experiment, 2);
    let state = interrupted(&experiment);
    assert_eq!(timeless(state), uninterrupted);
}

#[test]
fn learners_with_the_model_follow_its_drift() {
    let learners = ["benchmark", "optimal", "feedbal"];
    let experiment = under(&["drift=p:0.1@500"], "resource", &learners, (20, 2000));
    let state = whole(&experiment, 2);
    let results = experiment.results(&state);
    let last = |i: usize| *results[i].curve.last().unwrap();
    // The benchmark is optimal on `resource` whatever `p` is.
    assert_eq!((last(0).regret, last(1).regret), (0.0, 0.0));
    assert!(last(2).regret > 20.0);
    // The benchmark's value is the average over the phases: 499 episodes of one, 1501 of the other.
    let values = experiment.reference_values().unwrap();
    let off = last(0).gain / 2000.0 - values.benchmark_value;
    assert!(off.abs() < 4.5 * last(0).gain_stderr / 2000.0, "{off}");
}

#[test]
fn gains_under_dropout_match_the_reference_values() {
    let learners = ["benchmark", "optimal", "best-fixed"];
    let experiment = under(&["dropout=0.1"], "screening", &learners, (200, 500));
    let state = whole(&experiment, 2);
    let values = experiment.reference_values().unwrap();
    let known = [values.benchmark_value, values.optimal_value.unwrap()];
    for (result, value) in experiment.results(&state).iter().zip(known) {
        let last = result.curve.last().unwrap();
        let (off, error) = (last.gain / 500.0 - value, last.gain_stderr / 500.0);
        assert!(off.abs() < 4.5 * error, "{}: {off}", result.label);
    }
    // In expectation, regret is the benchmark's gain less the learner's.
    for result in experiment.results(&state) {
        let last = result.curve.last().unwrap();
        let off = last.gain + last.regret - 500.0 * values.benchmark_value;
        let error = (last.gain_stderr.powi(2) + last.stderr.powi(2)).sqrt();
        assert!(off.abs() < 4.5 * error, "{}: {off}", result.label);
    }
}

#[test]
fn delayed_outcomes_cost_regret_and_a_window_helps_under_drift() {
    let regret = |texts: &[&str], learner: &str| {
        let experiment = under(texts, "resource", &[learner], (40, 6000));
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
fn choice_counts_are_of_recommendations() {
    let counted = |conditions: &[&str], learners: &[&str], runs| {
        let builder = builder(conditions, "tutoring", learners, (runs, 400));
        builder.count_choices(true).build().unwrap()
    };
    let experiment = counted(
        &["override=0.3", "dropout=0.1"],
        &["benchmark", "feedbal"],
        5,
    );
    let state = whole(&experiment, 2);
    let learners = experiment.regret_by_state(&state).unwrap().unwrap();
    for (states, result) in learners.iter().zip(experiment.results(&state)) {
        let regret: f64 = states.iter().map(|state| state.regret).sum();
        let last = result.curve.last().unwrap();
        let off = (regret - last.regret).abs();
        assert!(off < 1e-9 * (1.0 + regret), "{}", result.label);
    }
    let mut visited = learners[0].iter().filter(|state| state.visits > 0.0);
    assert!(visited.all(|state| state.agree == 1.0));
    // Under drift the regret of a state is not defined.
    let drifting = counted(&["drift=hour:2@100"], &["feedbal"], 2);
    let state = whole(&drifting, 1);
    assert!(drifting.regret_by_state(&state).unwrap().is_none());
}

#[test]
fn rejects_a_phase_of_another_problem() {
    let other = ProblemFile::builtin("parity").unwrap().unwrap();
    let phase = ModelPhase {
        first: 5,
        problem: other.problem().unwrap(),
    };
    let scenario = Scenario {
        phases: vec![phase],
        ..Scenario::default()
    };
    let builder = common::builder("resource", &["feedbal"], (2, 10), &[]);
    let error = builder.scenario(scenario).build().err().unwrap();
    let error = error.to_string();
    let rule = "episode 5 on must have the specification of the first";
    assert!(error.contains(rule), "{error}");
}
