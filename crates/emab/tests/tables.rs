//! Learners that choose from their tables alone, and those that do not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::small_problem;
use emab::conformance::{Violation, check_tables};
use emab::learners::{CATALOGUE, ChoiceBasis, LearnerConfig, LearnerDefaults};
use emab::{Model, Noise, Problem, Spec};
use proptest::prelude::*;

/// Settings under which they must keep to their tables too.
const SETTINGS: &[&str] = &[
    "feedbal:sigma2=0.001,stop_bias=0.05",
    "feedbal:sigma2=0.01,pending=true",
    "feedbal-pooled:sigma2=0.01,target=benchmark",
    "feedbal-pooled:sigma2=0.01,updates=1",
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
    fn learners_with_basis_tables_choose_from_tables_alone(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
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
    let spec = Spec::numbered(3, 2, 2, 2).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let distribution =
        |_t: usize, x: usize, a: usize, f: usize| if (a != x) == (f == 1) { 0.7 } else { 0.3 };
    let model = Model::new(distribution, |t, x, _a, _f| 0.1 * t as f64 + 0.4 * x as f64);
    let noise = Noise::normal(0.1).unwrap();
    let model = model.cost(|_t, _x, _a, _f| 0.05).noise(noise, noise);
    Arc::new(Problem::new("crossing", spec, model))
}

/// Two items that work or fail, each taken once: what `oasm` is made for.
fn items() -> Arc<Problem> {
    let digit = |x: usize, a: usize| x / [1, 3][a] % 3;
    let spec = Spec::numbered(3, 9, 2, 2).unwrap();
    let spec = spec
        .transition(|_t, x, a, f| (x + (f + 1) * [1, 3][a]) as f64)
        .allowed(move |_t, x, a, _f| f64::from(u8::from(digit(x, a) == 0)));
    let distribution =
        |_t: usize, _x: usize, a: usize, f: usize| if (a == 0) == (f == 1) { 0.7 } else { 0.3 };
    let reward = move |_t: usize, x: usize, _a: usize, _f: usize| {
        [2.0, 3.0]
            .iter()
            .enumerate()
            .map(|(a, worth)| if digit(x, a) == 2 { *worth } else { 0.0 })
            .sum()
    };
    Arc::new(Problem::new(
        "items",
        spec,
        Model::new(distribution, reward),
    ))
}

#[test]
fn oasm_chooses_from_tables_alone() {
    for seed in 0..20 {
        check(&items(), "oasm", 60, seed).unwrap();
    }
}

/// The classification is not stricter than needed: for every learner that is not said to choose from its tables, a case
/// shows that it does not.
#[test]
fn other_learners_do_not_choose_from_tables_alone() {
    let others = CATALOGUE
        .iter()
        .filter(|entry| entry.choice_basis != ChoiceBasis::Tables)
        .map(|entry| match entry.name {
            // With the published bonus they explore too long for the difference to show.
            "ucbvi" => "ucbvi:scale=0.01,sigma2=0.01",
            "ucrl2" => "ucrl2:scale=0.1,sigma2=0.01",
            "explore-then-commit" => "explore-then-commit:m=1",
            name => name,
        });
    for text in others.chain(["feedbal:ties=random", "q-learning:explore=epsilon"]) {
        let violated = (0..200).any(|seed| check(&crossing(), text, 60, seed).is_err());
        assert!(violated, "{text} chooses from its tables alone");
    }
}
