//! The fast loop compared with the reference loop: the same choices and the same bits, at every level of the machine.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::environment::{ModelPhase, RegretEstimator};
use emab::learners::{LearnerConfig, LearnerDefaults};
use emab::rng::{Block, Draws};
use emab::width::IndexTable;
use emab::{Conditions, Delta, Environment, Model, Names, Noise, Problem, Scenario, Sigma2, Spec};
use emab_problem::{BUILTIN, ProblemFile};

use crate::engine::Loop;
use crate::engine::simd::{Fill, Level};
use crate::engine::tables::Tables;
use crate::results::StateRegret;
use crate::{Control, Device, Experiment, ExperimentBuilder, Finish, State};

pub(crate) fn run(experiment: &Experiment, by: Loop) -> State {
    let stop = AtomicBool::new(false);
    let mut state = experiment.state();
    let mut control = Control {
        threads: 1,
        device: Device::processor(),
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let finish = experiment.run_with(&mut state, &mut control, by, None);
    assert_eq!(finish.unwrap(), Finish::Complete);
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    state
}

/// Runs every loop and compares the results.
fn compare(experiment: &Experiment) {
    let plain = run(experiment, Loop::Reference);
    let base = run(experiment, Loop::PairedRuns(Level::Base));
    for level in Level::all() {
        assert_eq!(run(experiment, Loop::PairedRuns(level)), base, "{level:?}");
    }
    let results = experiment.results(&plain).into_iter();
    for (plain, fast) in results.zip(experiment.results(&base)) {
        let label = &plain.label;
        assert_eq!(plain.steps, fast.steps, "{label}");
        assert_eq!(plain.stuck, fast.stuck, "{label}");
        for (plain, fast) in plain.curve.iter().zip(&fast.curve) {
            assert_eq!(plain.gain.to_bits(), fast.gain.to_bits(), "{label}");
            // The reference loop adds losses one by one; the fast loop multiplies them by counts.
            let off = (plain.regret - fast.regret).abs();
            assert!(
                off <= 1e-10 * (1.0 + plain.regret.abs()),
                "{label}: {plain:?} {fast:?}"
            );
        }
    }
    // Choices by state, and the last choice of each run.
    for (plain, base) in plain.learners.iter().zip(&base.learners) {
        assert_eq!(plain.tally.choices, base.tally.choices);
    }
}

pub(crate) fn builder(
    problem: Arc<Problem>,
    learning: &LearnerDefaults,
    learners: &[&str],
) -> ExperimentBuilder {
    let learners = learners.iter().map(|text| {
        let config = LearnerConfig::parse(text, learning);
        config.unwrap()
    });
    Experiment::builder(problem)
        .learners(learners)
        .episodes(700)
        .runs(5)
        .seed(3)
        .count_choices(true)
}

pub(crate) fn learning() -> LearnerDefaults {
    LearnerDefaults {
        sigma2: Sigma2::new(0.1).ok(),
        delta: Delta::new(0.05).ok(),
        ..LearnerDefaults::default()
    }
}

fn experiment(problem: Arc<Problem>, learning: &LearnerDefaults, learners: &[&str]) -> Experiment {
    builder(problem, learning, learners).build().unwrap()
}

#[test]
fn conditions_without_effect_change_no_bit() {
    for builtin in BUILTIN {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        let problem = file.problem().unwrap();
        let learners = ["feedbal", "feedbal:ties=random", "benchmark", "random"];
        let plain = builder(problem.clone(), file.learning(), &learners);
        let reference =
            |builder: ExperimentBuilder| run(&builder.build().unwrap(), Loop::Reference);
        let texts = ["delay=0", "dropout=0", "lost=0", "override=0"];
        let zero = Scenario {
            conditions: Conditions::default().with(texts).unwrap(),
            ..Scenario::default()
        };
        assert_eq!(
            reference(plain.clone().scenario(zero)),
            reference(plain.clone())
        );
        // A second phase with the same model; choices are not counted, nor stuck runs, where there are phases.
        let again = Scenario {
            phases: vec![ModelPhase {
                first: 300,
                problem,
            }],
            ..Scenario::default()
        };
        let plain = plain.count_choices(false);
        let curves = |builder: ExperimentBuilder| {
            let experiment = builder.build().unwrap();
            let results = experiment.results(&run(&experiment, Loop::Reference));
            results
                .into_iter()
                .map(|result| result.curve)
                .collect::<Vec<_>>()
        };
        assert_eq!(curves(plain.clone().scenario(again)), curves(plain));
    }
}

#[test]
fn learners_on_every_built_in_problem() {
    for builtin in BUILTIN {
        let name = builtin.name;
        let file = ProblemFile::builtin(name).unwrap().unwrap();
        let all = [
            "feedbal",
            "feedbal:stop_bias=0.01",
            "feedbal:ties=random",
            "random",
            "benchmark",
            "ucb1",
            "ucb1v",
            "best-fixed",
        ];
        let problem = file.problem().unwrap();
        let fits = |text: &&str| {
            let config = LearnerConfig::parse(text, file.learning());
            config.is_ok_and(|config| config.build(problem.spec(), Some(&problem)).is_ok())
        };
        let fit: Vec<&str> = all.into_iter().filter(fits).collect();
        assert!(fit.len() >= 4, "{name}: {fit:?}");
        compare(&experiment(problem, file.learning(), &fit));
    }
}

/// A problem of any shape, with pseudo-random numbers.
fn any(actions: usize, feedbacks: usize, noise: (Noise, Noise), masked: bool) -> Arc<Problem> {
    let mix = |t: usize, x: usize, a: usize, f: usize| {
        let key = (t * 31 + x) * 17 + a * 5 + f;
        let hash = (key as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 40) as f64 / (1_u64 << 24) as f64
    };
    let states = 7;
    let names = |n| Names::Count(n, "");
    let mut spec = Spec::new(5, names(states), names(actions), names(feedbacks))
        .unwrap()
        .transition(move |t, x, a, f| ((x + 2 * a + 3 * f + t) % states) as f64);
    if masked {
        spec = spec.allowed(move |t, x, a, _f| f64::from(u8::from((t + x + a) % 3 != 0)));
    }
    let feedback = move |t, x, a, f| {
        // Some feedbacks have probability 0.
        let weight = |f| match (x + f) % 4 {
            3 => 0.0,
            _ => 0.1 + mix(t, x, a, f),
        };
        match (0..feedbacks).map(weight).sum::<f64>() {
            0.0 => f64::from(u8::from(f == 0)),
            sum => weight(f) / sum,
        }
    };
    let mut model = Model::new(feedback, move |t, x, _a, _f| mix(t, x, 9, 9))
        .cost(move |t, x, a, _f| 0.1 * mix(t, x, a, 7));
    (model.reward_noise, model.cost_noise) = noise;
    Arc::new(Problem::new("any", spec, model))
}

/// The same problem with one start state, and with several, of which one has probability 0.
fn with_starts(problem: Arc<Problem>) -> [Arc<Problem>; 2] {
    let spec = problem.spec().as_ref().clone().start_in([3, 0, 6, 1]);
    let model = problem.model().clone().start([0.2, 0.5, 0.0, 0.3]);
    let several = Problem::new("several starts", spec.unwrap(), model);
    [problem, Arc::new(several)]
}

/// Problems with all kinds of actions, feedbacks, noise, masks and starts.
pub(crate) fn every_shape() -> Vec<Arc<Problem>> {
    let normal = Noise::normal(0.1).unwrap();
    let uniform = Noise::uniform(0.2).unwrap();
    let mut problems = Vec::new();
    for (actions, feedbacks) in [(1, 1), (1, 2), (1, 3), (2, 2), (3, 2), (2, 5), (4, 1)] {
        for noise in [
            (normal, normal),
            (normal, Noise::None),
            (uniform, Noise::None),
            (Noise::None, Noise::None),
            (Noise::Bernoulli, normal),
            (normal, Noise::Bernoulli),
        ] {
            for masked in [false, true] {
                problems.extend(with_starts(any(actions, feedbacks, noise, masked)));
            }
        }
    }
    problems
}

#[test]
fn problems_of_every_shape() {
    let learners = [
        "feedbal",
        "feedbal:ties=random",
        "random",
        "ucb1v",
        "optimal",
    ];
    for problem in every_shape() {
        compare(&experiment(problem, &learning(), &learners));
    }
}

#[test]
fn every_learner_of_a_run_meets_the_same_starts() {
    let normal = Noise::normal(0.1).unwrap();
    let [_, problem] = with_starts(any(2, 2, (normal, normal), false));
    let learners = ["feedbal", "random", "optimal", "ucb1v"];
    let experiment = experiment(problem, &learning(), &learners);
    let state = run(&experiment, Loop::PairedRuns(Level::best()));
    // By learner: how many episodes of a run begin in each state.
    let begun = |learner: Vec<StateRegret>| -> Vec<(usize, f64)> {
        let first = learner.iter().filter(|row| row.t == 1);
        first.map(|row| (row.x, row.visits)).collect()
    };
    let by_state = experiment.regret_by_state(&state).unwrap().unwrap();
    let all: Vec<_> = by_state.into_iter().map(begun).collect();
    for (&(_, visits), p) in all[0].iter().zip([0.5, 0.3, 0.2, 0.0]) {
        let error = (700.0 * p * (1.0 - p) / 5.0_f64).sqrt();
        assert!((visits - 700.0 * p).abs() <= 4.0 * error, "{all:?}");
    }
    assert_eq!(all[0].iter().map(|(_, visits)| visits).sum::<f64>(), 700.0);
    assert!(all.iter().all(|begun| *begun == all[0]), "{all:?}");
}

/// A problem with so many reachable pairs that regret is paired and tables grow.
fn large(actions: usize, feedbacks: usize, noise: (Noise, Noise), masked: bool) -> Arc<Problem> {
    const STATES: usize = 1_000_000;
    let branches = (actions * feedbacks).max(2) as f64;
    // Twice as many pairs as are solved, if no two paths met.
    let horizon = 2 + (2.0 * Environment::EXACT_PAIRS as f64).log(branches) as usize;
    let names = |n| Names::Count(n, "");
    let mut spec = Spec::new(horizon, names(STATES), names(actions), names(feedbacks))
        .unwrap()
        .transition(move |_t, x, a, f| {
            ((x * (actions * feedbacks) + a * feedbacks + f + 1) % STATES) as f64
        });
    if masked {
        spec = spec.allowed(|_t, x, a, _f| f64::from(u8::from(a == 0 || x % 5 != a)));
    }
    let model = Model::new(
        move |_t, x, a, f| {
            let likely = (x + a) % feedbacks;
            let rest = 0.4 / feedbacks as f64;
            rest + f64::from(u8::from(f == likely)) * (1.0 - rest * feedbacks as f64)
        },
        |t, x, _a, _f| ((x * 31 + t) % 10) as f64 / 10.0,
    );
    let mut model = model.cost(|_t, x, a, _f| ((x + a) % 3) as f64 / 50.0);
    (model.reward_noise, model.cost_noise) = noise;
    Arc::new(Problem::new("large", spec, model))
}

#[test]
fn growing_tables_with_paired_regret() {
    let normal = Noise::normal(0.1).unwrap();
    for (actions, feedbacks, noise, masked) in [
        (1, 2, (normal, normal), false),
        (2, 2, (normal, normal), true),
        (2, 2, (Noise::Bernoulli, Noise::None), false),
        (3, 3, (normal, normal), true),
    ] {
        for problem in with_starts(large(actions, feedbacks, noise, masked)) {
            let estimator = Environment::new(problem.clone()).unwrap().estimator();
            assert_eq!(estimator, RegretEstimator::Paired);
            let mut learners = vec![
                "feedbal",
                "feedbal-pooled",
                "feedbal:ties=random",
                "random",
                "benchmark",
            ];
            if actions == 1 {
                learners.push("ucb1v");
            }
            // An odd number of runs leaves a slot empty at the end.
            let experiment = builder(problem, &learning(), &learners)
                .runs(3)
                .episodes(300);
            let experiment = experiment.build().unwrap();
            compare(&experiment);
            // Both loops sum the same values in the same order here.
            let regrets = |by| {
                let results = experiment.results(&run(&experiment, by)).into_iter();
                let curves = results.map(|result| (result.curve, result.causes));
                curves.collect::<Vec<_>>()
            };
            assert_eq!(
                regrets(Loop::Reference),
                regrets(Loop::PairedRuns(Level::best()))
            );
        }
    }
}

#[test]
fn growing_tables_with_exact_regret() {
    // Few of many actions are allowed: few outcomes, but too many actions for tables of all pairs.
    let actions = 10_000;
    let names = |n| Names::Count(n, "");
    let spec = Spec::new(12, names(20), names(actions), names(2))
        .unwrap()
        .transition(|_t, x, a, f| ((x + a / 1000 + f) % 20) as f64)
        .allowed(|_t, x, a, _f| f64::from(u8::from(a % 3000 == 100 * x)));
    let mut model = Model::new(
        |_t, _x, _a, _f| 0.5,
        |t, x, _a, _f| (t * x % 7) as f64 / 7.0,
    );
    model.reward_noise = Noise::normal(0.1).unwrap();
    for problem in with_starts(Arc::new(Problem::new("wide", spec, model))) {
        let mut environment = Environment::new(problem.clone()).unwrap();
        assert_eq!(environment.estimator(), RegretEstimator::Exact);
        assert!(Tables::whole(&mut environment).unwrap().is_none());
        let experiment = builder(problem, &learning(), &["feedbal", "random", "benchmark"]);
        compare(&experiment.runs(3).episodes(60).build().unwrap());
    }
}

#[test]
fn every_level_draws_the_same() {
    let kinds = [
        Noise::None,
        Noise::normal(0.3).unwrap(),
        Noise::uniform(2.0).unwrap(),
        Noise::Bernoulli,
    ];
    for reward in kinds {
        for cost in kinds {
            let mut plain = Draws::new(reward, cost);
            plain.restart(5, 9);
            for level in Level::all() {
                let (mut one, mut other) = (plain.clone(), plain.clone());
                let (mut expected, mut block) = (Block::default(), Block::default());
                for _ in 0..50 {
                    one.fill(&mut expected);
                    level.run(Fill(&mut other, &mut block));
                    let bits = |block: &Block| {
                        let all = [block.reward, block.cost, block.feedback];
                        all.map(|values| values.map(f64::to_bits))
                    };
                    assert_eq!(
                        bits(&block),
                        bits(&expected),
                        "{level:?} {reward:?} {cost:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn counts_beyond_the_tables() {
    let normal = Noise::normal(0.1).unwrap();
    let long = builder(
        any(1, 2, (normal, normal), false),
        &learning(),
        &["feedbal"],
    )
    .episodes(IndexTable::MAX_LEN as u64 + 50_000)
    .checkpoints(vec![1000, IndexTable::MAX_LEN as u64])
    .runs(1);
    compare(&long.build().unwrap());
}
