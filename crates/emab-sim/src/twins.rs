//! The fast loops against the plain one: the same choices, the same bits, at every level that the machine has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::learners::{LearnerConfig, Learning};
use emab::{Block, Delta, Draws, IndexTable, Model, Names, Noise, Problem, Sigma2, Spec};
use emab_problem::{BUILTIN, ProblemFile};

use crate::vector::{Fill, Level};
use crate::{Control, Experiment, Finish, Shard, State, log_spaced};

fn run(experiment: &Experiment, level: Option<Level>) -> State {
    let stop = AtomicBool::new(false);
    let mut state = experiment.state();
    let mut control = Control {
        threads: 1,
        stop: &stop,
        watch: &mut |_, _| {},
    };
    let finish = experiment.run_with(&mut state, &mut control, level);
    assert_eq!(finish.unwrap(), Finish::Complete);
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    state
}

/// Runs with every loop there is, and compares.
fn compare(experiment: &Experiment) {
    let plain = run(experiment, None);
    let base = run(experiment, Some(Level::Base));
    for level in Level::all() {
        assert_eq!(run(experiment, Some(level)), base, "{level:?}");
    }
    let results = experiment.results(&plain).into_iter();
    for (plain, fast) in results.zip(experiment.results(&base)) {
        let label = &plain.label;
        assert_eq!(plain.steps, fast.steps, "{label}");
        for (plain, fast) in plain.curve.iter().zip(&fast.curve) {
            assert_eq!(plain.gain.to_bits(), fast.gain.to_bits(), "{label}");
            // The plain loop adds losses one by one, the fast one multiplies them by their counts.
            let off = (plain.regret - fast.regret).abs();
            assert!(
                off <= 1e-10 * (1.0 + plain.regret.abs()),
                "{label}: {plain:?} {fast:?}"
            );
        }
    }
    // How often each action was chosen where, and which one was the last.
    for (plain, base) in plain.learners.iter().zip(&base.learners) {
        assert_eq!(plain.tally.places, base.tally.places);
    }
}

fn experiment(problem: Arc<Problem>, learning: &Learning, learners: &[&str]) -> Experiment {
    let learners = learners.iter().map(|text| {
        let config = LearnerConfig::parse(text, learning);
        config.unwrap()
    });
    Experiment {
        learners: learners.collect(),
        problem,
        episodes: 700,
        runs: 5,
        seed: 3,
        checkpoints: log_spaced(700),
        places: true,
        shard: Shard::WHOLE,
    }
}

#[test]
fn every_learner_on_every_problem_of_ours() {
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
        let fit: Vec<&str> = all
            .into_iter()
            .filter(|text| {
                let config = LearnerConfig::parse(text, file.learning());
                let build =
                    |config: LearnerConfig| config.build(problem.spec(), Some(&problem)).is_ok();
                config.is_ok_and(build)
            })
            .collect();
        assert!(fit.len() >= 4, "{name}: {fit:?}");
        compare(&experiment(problem, file.learning(), &fit));
    }
}

/// A problem of any shape, with numbers that look random.
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
    let law = move |t, x, a, f| {
        // A feedback that never comes, now and then.
        let weight = |f| {
            if (x + f) % 4 == 3 {
                0.0
            } else {
                0.1 + mix(t, x, a, f)
            }
        };
        let sum: f64 = (0..feedbacks).map(weight).sum();
        if sum > 0.0 {
            weight(f) / sum
        } else {
            f64::from(u8::from(f == 0))
        }
    };
    let mut model = Model::new(law, move |t, x, _a, _f| mix(t, x, 9, 9))
        .cost(move |t, x, a, _f| 0.1 * mix(t, x, a, 7));
    (model.reward_noise, model.cost_noise) = noise;
    Arc::new(Problem::new("any", spec, model))
}

#[test]
fn problems_of_every_shape() {
    let normal = Noise::normal(0.1).unwrap();
    let uniform = Noise::uniform(0.2).unwrap();
    let learning = Learning {
        sigma2: Sigma2::new(0.1).ok(),
        delta: Delta::new(0.05).ok(),
        ..Learning::default()
    };
    for (actions, feedbacks) in [(1, 1), (1, 2), (1, 3), (2, 2), (3, 2), (2, 5), (4, 1)] {
        for noise in [
            (normal, normal),
            (uniform, Noise::None),
            (Noise::Bernoulli, normal),
            (normal, Noise::Bernoulli),
        ] {
            for masked in [false, true] {
                let problem = any(actions, feedbacks, noise, masked);
                let learners = [
                    "feedbal",
                    "feedbal:ties=random",
                    "random",
                    "ucb1v",
                    "optimal",
                ];
                compare(&experiment(problem, &learning, &learners));
            }
        }
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
    let learning = Learning {
        sigma2: Sigma2::new(0.1).ok(),
        delta: Delta::new(0.05).ok(),
        ..Learning::default()
    };
    let normal = Noise::normal(0.1).unwrap();
    let mut long = experiment(any(1, 2, (normal, normal), false), &learning, &["feedbal"]);
    long.episodes = IndexTable::MOST as u64 + 50_000;
    long.checkpoints = vec![1000, IndexTable::MOST as u64, long.episodes];
    long.runs = 1;
    compare(&long);
}
