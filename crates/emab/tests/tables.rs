//! Learners that choose from their tables alone, and those that do not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::small_problem;
use emab::conformance::{Violation, check_tables};
use emab::learners::{CATALOGUE, ChoiceBasis, LearnerConfig, LearnerDefaults};
use emab::{Model, Names, Noise, Problem, Spec};
use proptest::prelude::*;

/// Settings under which they must keep to their tables too.
const SETTINGS: &[&str] = &[
    "feedbal:sigma2=0.001,stop_bias=0.05",
    "feedbal:sigma2=0.01,window=7",
    "feedbal:sigma2=0.01,gamma=0.8",
    "feedbal:sigma2=0.01,width=sound,feedback_spread=0.1",
    "feedbal:sigma2=0.01,width=bernstein,feedback_spread=0.1",
    "feedbal-model:sigma2=0.001,rule=boldest",
    "feedbal-model:sigma2=0.01,width=bernstein",
    "feedbal-lookahead:sigma2=0.01,depth=1",
    "feedbal-lookahead:sigma2=0.01,depth=2",
    "feedbal-lookahead:sigma2=0.01,rule=boldest",
    "olp:scale=0.1,reveal=true",
    "q-learning:c=0.01,reveal=true",
];

fn check(problem: &Arc<Problem>, text: &str, episodes: u64, seed: u64) -> Result<(), Violation> {
    let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    let build = || config.build(problem.spec(), Some(problem)).unwrap();
    check_tables(problem, build, episodes, seed)
}

fn applies(problem: &Arc<Problem>, text: &str) -> bool {
    let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
    let built = config.build(problem.spec(), Some(problem));
    !built.is_err_and(|error| error.does_not_apply())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn who_says_so_chooses_from_tables_alone(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(p.problem());
        let catalogue = CATALOGUE.iter().filter(|entry| entry.choice_basis == ChoiceBasis::Tables);
        for text in catalogue.map(|entry| entry.name).chain(SETTINGS.iter().copied()) {
            // One is made for problems of a certain form alone.
            if applies(&problem, text) {
                let kept = check(&problem, text, 60, seed);
                kept.map_err(|violation| TestCaseError::fail(format!("{text}: {violation}")))?;
            }
        }
    }
}

/// Three steps, two states, two actions: much is to be learned, and noise makes few estimates equal.
fn crossing() -> Arc<Problem> {
    let names = |n| Names::Count(n, "");
    let spec = Spec::new(3, names(2), names(2), names(2)).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let law =
        |_t: usize, x: usize, a: usize, f: usize| if (a != x) == (f == 1) { 0.7 } else { 0.3 };
    let model = Model::new(law, |t, x, _a, _f| 0.1 * t as f64 + 0.4 * x as f64);
    let noise = Noise::normal(0.1).unwrap();
    let model = model.cost(|_t, _x, _a, _f| 0.05).noise(noise, noise);
    Arc::new(Problem::new("crossing", spec, model))
}

/// Two items that work or fail, each taken once: what `oasm` is made for.
fn items() -> Arc<Problem> {
    let names = |n| Names::Count(n, "");
    let digit = |x: usize, a: usize| x / [1, 3][a] % 3;
    let spec = Spec::new(3, names(9), names(2), names(2)).unwrap();
    let spec = spec
        .transition(|_t, x, a, f| (x + (f + 1) * [1, 3][a]) as f64)
        .allowed(move |_t, x, a, _f| f64::from(u8::from(digit(x, a) == 0)));
    let law =
        |_t: usize, _x: usize, a: usize, f: usize| if (a == 0) == (f == 1) { 0.7 } else { 0.3 };
    let reward = move |_t: usize, x: usize, _a: usize, _f: usize| {
        [2.0, 3.0]
            .iter()
            .enumerate()
            .map(|(a, worth)| if digit(x, a) == 2 { *worth } else { 0.0 })
            .sum()
    };
    Arc::new(Problem::new("items", spec, Model::new(law, reward)))
}

#[test]
fn who_sees_the_rewards_does_too() {
    for seed in 0..20 {
        check(&items(), "oasm", 60, seed).unwrap();
    }
}

/// Every other learner with the reason, and a case that shows it: none is kept out needlessly.
#[test]
fn who_does_not_say_so_could_not() {
    let others = [
        // The arm of an episode is chosen at its first step, and played to its end whatever is learned in between.
        ("ucb1", ChoiceBasis::Plan, "ucb1"),
        ("ucb1v", ChoiceBasis::Plan, "ucb1v"),
        // No plan may value a choice more than the one before it, and plans are made when somebody asks.
        ("ucbvi", ChoiceBasis::Asked, "ucbvi:scale=0.01,sigma2=0.01"),
        // An epoch begins when a pair is asked about whose count has doubled.
        ("ucrl2", ChoiceBasis::Asked, "ucrl2:scale=0.1,sigma2=0.01"),
        // It commits itself when it is asked for the first time after its trials.
        (
            "explore-then-commit",
            ChoiceBasis::Asked,
            "explore-then-commit:m=1",
        ),
        // These draw the action, the process or the means.
        ("o-reps", ChoiceBasis::Draws, "o-reps"),
        ("psrl", ChoiceBasis::Draws, "psrl"),
        ("opsrl", ChoiceBasis::Draws, "opsrl"),
        ("thompson", ChoiceBasis::Draws, "thompson"),
        ("random", ChoiceBasis::Draws, "random"),
        // So do these, unless told never to explore, and then nothing is left of what they are.
        ("td-lambda", ChoiceBasis::Draws, "td-lambda"),
        ("epsilon-greedy", ChoiceBasis::Draws, "epsilon-greedy"),
    ];
    let sorted = |mut list: Vec<(&'static str, ChoiceBasis)>| {
        list.sort_by_key(|(name, _)| *name);
        list
    };
    let catalogue = CATALOGUE
        .iter()
        .map(|entry| (entry.name, entry.choice_basis));
    let catalogue = catalogue.filter(|(_, chooses)| *chooses != ChoiceBasis::Tables);
    assert_eq!(
        sorted(catalogue.collect()),
        sorted(others.iter().map(|&(name, why, _)| (name, why)).collect())
    );
    let settings = ["feedbal:ties=random", "q-learning:explore=epsilon"];
    for text in others.iter().map(|other| other.2).chain(settings) {
        let broken = (0..200).any(|seed| check(&crossing(), text, 60, seed).is_err());
        assert!(
            broken,
            "{text} might as well be said to choose from its tables"
        );
    }
}
