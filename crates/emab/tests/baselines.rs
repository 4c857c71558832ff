//! The baselines with other parameters than their defaults, and with unknown outcomes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::small_problem;
use emab::conformance::check_learner;
use emab::learners::{CATALOGUE, LearnerConfig, LearnerDefaults};
use emab::{Action, Episode, Learner, Role, Stream};
use proptest::prelude::*;

const SETTINGS: &[&str] = &[
    "ucrl2:reveal=true,outcomes=pairs,sigma2=0",
    "ucrl2:scale=0,reward_least=1,reward_most=1",
    "olp:reveal=true,sigma2=0,scale=0.1",
    "o-reps:reveal=true",
    "o-reps:eta=50,reward_least=1,reward_most=1",
    "o-reps:eta=1e300",
    "psrl:reveal=true,sigma2=0,prior=0.01",
    "psrl:reward_least=1,reward_most=1.5",
    "opsrl:reveal=true,eta=0,kappa=9,omega=0.1",
    "opsrl:samples=1,eta=1e9",
    "q-learning:reveal=true,c=0,sigma2=0",
    "q-learning:explore=epsilon",
    "q-learning:explore=epsilon,reveal=true,epsilon_decay=0,alpha_decay=0",
    "td-lambda:reveal=true,lambda=1",
    "td-lambda:lambda=0,epsilon=0",
    "thompson:sigma2=0",
    "thompson:feedback_spread=2,prior_sd=3",
    "epsilon-greedy:schedule=constant,epsilon=1",
    "epsilon-greedy:c=1e-3,d=1",
    "explore-then-commit:m=1",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_setting_passes_the_conformance_checks(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(p.problem());
        for text in SETTINGS {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            let build = || config.build(problem.spec(), Some(&problem)).unwrap();
            check_learner(&problem, build, 40, seed).map_err(|v| TestCaseError::fail(format!("{text}: {v}")))?;
        }
    }

    #[test]
    fn learners_accept_unknown_outcomes(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(p.problem());
        let spec = problem.spec();
        let all = CATALOGUE.iter().map(|entry| entry.name).chain(SETTINGS.iter().copied());
        for text in all {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            // Some are made for problems of a certain form alone.
            let mut learner = match config.build(spec, Some(&problem)) {
                Err(error) if error.does_not_apply() => continue,
                built => built.unwrap(),
            };
            learner.reset(Stream::new(seed, 0, Role::Learner));
            let mut chance = Stream::new(seed, 0, Role::Steps);
            for known in 0..20 {
                let mut episode = Episode::default();
                episode.begin(spec.starts()[0]);
                while let Action::Continue(a) = learner.choose(episode.steps(), episode.states[episode.steps() - 1]) {
                    let (t, x) = (episode.steps(), episode.states[episode.steps() - 1]);
                    prop_assert!(spec.is_allowed(t, x, a), "{}", text);
                    let f = chance.below(p.feedbacks);
                    episode.advance(a, f, spec.next(t, x, a, f).unwrap());
                    // Costs may be known where rewards are not, and the other way round.
                    if known % 2 == 0 {
                        episode.costs.push(0.1);
                    }
                }
                if known % 4 == 3 {
                    episode.rewards = vec![0.5; episode.steps()];
                }
                learner.learn(&episode);
            }
        }
    }
}

#[test]
fn invalid_parameters_are_named() {
    let spec = Arc::new(emab::Spec::numbered(2, 1, 1, 1).unwrap());
    const CASES: &str = "
psrl:prior=0 | `prior` must be more than 0, got 0
psrl:prior_sd=-1 | `prior_sd` must be more than 0, got -1
opsrl:samples=0 | `samples` must be a whole number from 1
opsrl:samples=1e7 | `samples` must be a whole number from 1 to 10000, got 10000000
psrl:reward_most=0 | `reward_most` must be more than `reward_least`, which is 0, got 0
q-learning:alpha=0.5 | `alpha` must be left at its default with explore=ucb, got 0.5
epsilon-greedy:epsilon=0.9 | `epsilon` must be left at its default with schedule=decay, got 0.9
opsrl:eta=-1 | `eta` must be a number from 0
q-learning:explore=well | `explore` must be `ucb` or `epsilon`, got `well`
q-learning:epsilon=2 | `epsilon` must be a number from 0 to 1, got 2
td-lambda:alpha=0 | `alpha` must be more than 0, got 0
td-lambda:lambda=1.5 | `lambda` must be a number from 0 to 1, got 1.5
thompson:feedback_spread=-1 | `feedback_spread` must
epsilon-greedy:d=2 | `d` must be a number from 0 to 1, got 2
explore-then-commit:m=0.5 | `m` must be a whole number from 1
";
    for case in CASES.trim().lines() {
        let (text, expected) = case.split_once(" | ").unwrap();
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let error = config.build(&spec, None).err().unwrap().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
