//! The certified shortfall of choices, compared with the model.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::{Tables, small_problem};
use emab::learners::{LearnerConfig, LearnerDefaults, shortfall};
use emab::{Action, Environment};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// What an action gains one step ahead.
fn gain(p: &Tables, t: usize, x: usize, action: Action) -> f64 {
    match action {
        Action::Stop => p.reward(t, x),
        Action::Continue(a) => {
            let next = |f| p.chance(t, x, a, f) * p.reward(t + 1, p.next(t, x, a, f));
            (0..p.feedbacks).map(next).sum::<f64>() - p.cost(t, x, a)
        }
    }
}

/// The noise is at most what is told, feedback moves rewards of [0, 1] by 1 at most, and chance never breaks a promise of
/// one in a million.
#[test]
fn the_shortfall_bounds_the_gap() {
    let learners = [
        ("feedbal:width=sound", true),
        ("feedbal:width=bernstein", true),
        (
            "feedbal-pooled:target=benchmark,reward_least=0,reward_most=1",
            false,
        ),
        ("feedbal-model:rule=boldest", true),
        ("feedbal-model", false),
        ("feedbal-model:width=bernstein", false),
    ];
    let mut runner = TestRunner::new_with_rng(
        Config::with_cases(24),
        TestRunner::deterministic().new_rng(),
    );
    let distribution = |p: Tables| {
        let problem = Arc::new(p.problem());
        let spec = problem.spec();
        for (text, boldest) in learners {
            let more = if text.contains(':') { ',' } else { ':' };
            let text = format!("{text}{more}sigma2=0.04,delta=1e-6,feedback_spread=1");
            let config = LearnerConfig::parse(&text, &LearnerDefaults::default()).unwrap();
            assert_eq!(config.certified(spec).unwrap().get(), 1e-6);
            let mut learner = config.build(spec, None).unwrap();
            let mut environment = Environment::new(problem.clone()).unwrap();
            environment.restart(1, 0);
            for episode in 0..300 {
                environment.play(&mut learner).unwrap();
                let path = environment.episode().states.iter().enumerate();
                for (t, &x) in path.map(|(i, x)| (i + 1, x)) {
                    let go = (0..p.actions).filter(|&a| t < p.horizon && p.allowed(t, x, a));
                    let actions = || go.clone().map(Action::Continue).chain([Action::Stop]);
                    let best = actions().map(|action| gain(&p, t, x, action));
                    let best = best.fold(f64::NEG_INFINITY, f64::max);
                    let chosen = learner.choose(t, x);
                    for action in actions() {
                        let short = shortfall(&mut learner, spec, t, x, action).unwrap();
                        let gap = best - gain(&p, t, x, action);
                        prop_assert!(gap <= short + 1e-9, "{}: {} at {}", text, gap, episode);
                        // Corollary 1, whose action is the boldest.
                        let width = learner.estimate(t, x, action).unwrap().width;
                        let twice = 2.0 * width * (1.0 + 1e-12);
                        prop_assert!(!boldest || action != chosen || short <= twice, "{}", text);
                    }
                }
            }
        }
        Ok(())
    };
    runner
        .run(&small_problem(4, 3, 3, 2), distribution)
        .unwrap();
}

#[test]
fn no_estimate_of_actions_that_are_not_allowed() {
    let spec = emab::Spec::numbered(2, 1, 2, 1).unwrap();
    let spec = Arc::new(spec.allowed(|_t, _x, a, _f| a as f64));
    let short = |text: &str, action| {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(&spec, None).unwrap();
        shortfall(&mut learner, &spec, 1, 0, action)
    };
    for text in ["feedbal", "feedbal-pooled", "feedbal-model"] {
        assert_eq!(short(text, Action::Continue(0)), None);
        assert_eq!(short(text, Action::Continue(9)), None);
        // Before anything was seen, anything may be better by any amount.
        assert_eq!(short(text, Action::Continue(1)), Some(f64::INFINITY));
        assert_eq!(short(text, Action::Stop), Some(f64::INFINITY));
    }
    assert_eq!(short("olp", Action::Stop), None);
}
