//! Learners against their definitions, on random small problems.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::collections::HashMap;
use std::sync::Arc;

use common::small_problem;
use emab::conformance::{Violation, check_learner};
use emab::learners::{
    CATALOGUE, FeedBal, FeedBalParameters, LearnerConfig, LearnerDefaults, Random, Ties, Ucb1,
};
use emab::width::WidthKind;
use emab::{
    Action, Delta, Environment, Episode, FeedbackSpread, Learner, Model, Problem, Role, Sigma2,
    Spec, Stream,
};
use proptest::prelude::*;

/// Algorithm 2 from the list of episodes: recomputes every mean and count for each choice.
struct EpisodeListFeedBal<'a> {
    spec: &'a Spec,
    episodes: Vec<Episode>,
    sigma2: f64,
    delta: f64,
    bias: f64,
    /// The feedback spread of the sound width.
    spread: Option<f64>,
}

impl EpisodeListFeedBal<'_> {
    /// Observations of the gain of an action in a pair, in order.
    fn observed(&self, t: usize, x: usize, action: Action) -> Vec<f64> {
        let mut observed = Vec::new();
        for e in &self.episodes {
            if e.steps() < t || e.states[t - 1] != x {
                continue;
            }
            match action {
                Action::Stop => observed.push(e.rewards[t - 1]),
                Action::Continue(a) if t < e.steps() && e.actions[t - 1] == a => {
                    observed.push(e.rewards[t] - e.costs[t - 1]);
                }
                Action::Continue(_) => {}
            }
        }
        observed
    }

    fn index(&self, t: usize, x: usize, action: Action) -> f64 {
        let observed = self.observed(t, x, action);
        let n = observed.len() as f64;
        if n == 0.0 {
            return f64::INFINITY;
        }
        let k = (self.spec.horizon() * self.spec.states().len() * (self.spec.actions().len() + 1))
            as f64;
        let w = match (self.spread, action) {
            (None, _) => 4.0 * self.sigma2,
            (Some(_), Action::Stop) => 2.0 * self.sigma2,
            (Some(d), Action::Continue(_)) => 2.0 * (2.0 * self.sigma2 + d * d / 4.0),
        };
        let conf = ((1.0 + n) / (n * n) * w * (k * (1.0 + n).sqrt() / self.delta).ln()).sqrt();
        let bias = match action {
            Action::Stop => self.bias,
            Action::Continue(_) => 0.0,
        };
        observed.iter().sum::<f64>() / n + conf + bias
    }

    /// The index of the best continuation action, if any is allowed, and that of `stop`.
    fn best(&self, t: usize, x: usize) -> (Option<(usize, f64)>, f64) {
        let go = (0..self.spec.actions().len())
            .filter(|&a| self.spec.is_allowed(t, x, a))
            .map(|a| (a, self.index(t, x, Action::Continue(a))))
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        (go, self.index(t, x, Action::Stop))
    }
}

impl Learner for EpisodeListFeedBal<'_> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        match self.best(t, x) {
            (Some((a, go)), stop) if t < self.spec.horizon() && go > stop => Action::Continue(a),
            _ => Action::Stop,
        }
    }
    fn learn(&mut self, episode: &Episode) {
        self.episodes.push(episode.clone());
    }
    fn reset(&mut self, _stream: Stream) {
        self.episodes.clear();
    }
}

/// Two learners side by side: the first plays, both learn, and they must want the same.
struct SideBySide<'a, 'b>(&'a mut FeedBal, EpisodeListFeedBal<'b>);

impl Learner for SideBySide<'_, '_> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let played = self.0.choose(t, x);
        let wanted = self.1.choose(t, x);
        if played != wanted {
            // Only rounding may part them: the two best indices must be the same but for it.
            let (go, stop) = self.1.best(t, x);
            let (a, go) = go.expect("they differ, so something is allowed");
            let rival = match (played, wanted) {
                (Action::Continue(p), Action::Continue(_)) => {
                    self.1.index(t, x, Action::Continue(p))
                }
                _ => stop,
            };
            assert!(
                (go - rival).abs() < 1e-9 * go.abs(),
                "t = {t}, x = {x}: {played:?} for {wanted:?} ({a})"
            );
        }
        played
    }
    fn learn(&mut self, episode: &Episode) {
        self.0.learn(episode);
        self.1.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.0.reset(stream.clone());
        self.1.reset(stream);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn feedbal_is_algorithm_2(
        p in small_problem(4, 3, 3, 2),
        seed in any::<u64>(),
        sigma2 in 0.0_f64..0.3,
        delta in 0.01_f64..0.99,
        bias in prop_oneof![Just(0.0), 0.0_f64..0.1],
        spread in prop::option::of(0.0_f64..1.0),
    ) {
        let problem = Arc::new(p.problem());
        let spec = problem.spec().clone();
        let mut parameters = FeedBalParameters::new(sigma2, delta).unwrap();
        parameters.stop_bias = bias;
        if let Some(spread) = spread {
            parameters.width = WidthKind::Sound(FeedbackSpread::new(spread).unwrap());
        }
        let mut learner = FeedBal::new(spec.clone(), parameters);
        let list = EpisodeListFeedBal { spec: &spec, episodes: Vec::new(), sigma2, delta, bias, spread };
        let mut both = SideBySide(&mut learner, list);
        let mut environment = Environment::new(problem.clone()).unwrap();
        environment.restart(seed, 0);
        for _ in 0..120 {
            environment.play(&mut both).unwrap();
        }
        // The tables hold the counts and means of the list.
        let SideBySide(learner, list) = both;
        for t in 1..=p.horizon {
            for x in 0..p.states {
                let actions = (0..p.actions).map(Action::Continue).chain([Action::Stop]);
                for action in actions {
                    let observed = list.observed(t, x, action);
                    let estimate = learner.estimate(t, x, action).unwrap();
                    prop_assert_eq!(estimate.count, observed.len() as u64);
                    if !observed.is_empty() {
                        let mean = observed.iter().sum::<f64>() / observed.len() as f64;
                        prop_assert!((estimate.mean - mean).abs() < 1e-12 * (1.0 + mean.abs()));
                        prop_assert!((estimate.index - list.index(t, x, action)).abs() < 1e-9);
                    }
                }
            }
        }
    }

    #[test]
    fn every_learner_passes_the_conformance_checks(p in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(p.problem());
        for entry in CATALOGUE {
            let config = LearnerConfig::parse(entry.name, &LearnerDefaults::default()).unwrap();
            // Some are made for problems of a certain form alone.
            if config.build(problem.spec(), Some(&problem)).is_err_and(|error| error.does_not_apply()) {
                continue;
            }
            let build = || config.build(problem.spec(), Some(&problem)).unwrap();
            check_learner(&problem, build, 60, seed).map_err(|v| TestCaseError::fail(format!("{}: {v}", entry.name)))?;
        }
    }

    #[test]
    fn the_benchmark_has_no_regret(p in small_problem(4, 4, 3, 3), seed in any::<u64>()) {
        let problem = Arc::new(p.problem());
        let config = LearnerConfig::parse("benchmark", &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(problem.spec(), Some(&problem)).unwrap();
        let mut environment = Environment::new(problem).unwrap();
        environment.restart(seed, 0);
        for _ in 0..50 {
            prop_assert_eq!(environment.play(&mut learner).unwrap().total(), 0.0);
        }
    }
}

fn two_actions(horizon: usize) -> Arc<Spec> {
    Arc::new(Spec::numbered(horizon, 1, 2, 1).unwrap())
}

fn received(actions: &[usize], costs: &[f64], rewards: &[f64]) -> Episode {
    Episode {
        states: vec![0; rewards.len()],
        actions: actions.to_vec(),
        feedbacks: vec![0; actions.len()],
        costs: costs.to_vec(),
        rewards: rewards.to_vec(),
    }
}

/// Plays a learner to its end on a problem of one state and returns its sequence.
fn sequence(learner: &mut impl Learner) -> Vec<usize> {
    let mut actions = Vec::new();
    while let Action::Continue(a) = learner.choose(actions.len() + 1, 0) {
        actions.push(a);
    }
    actions
}

#[test]
fn ucb1_by_hand() {
    // Arms in order: (), 0, 1, 00, 01, 10, 11. Each is tried once, then the index decides.
    let arms: [&[usize]; 7] = [&[], &[0], &[1], &[0, 0], &[0, 1], &[1, 0], &[1, 1]];
    let gains = [0.1, 0.2, 0.3, 0.4, 0.9, 0.5, 0.6];
    let mut learner = Ucb1::new(two_actions(3), false).unwrap();
    for (arm, gain) in arms.iter().zip(gains) {
        assert_eq!(sequence(&mut learner), *arm);
        let mut rewards = vec![5.0; arm.len()];
        rewards.push(gain);
        learner.learn(&received(arm, &vec![0.0; arm.len()], &rewards));
    }
    // All counts are 1, so the largest mean wins: 01. Tell it a gain that drops its index below that of 11:
    // (0.9 + g) / 2 + sqrt(2 ln 8 / 2) < 0.6 + sqrt(2 ln 8 / 1) for g = 0.
    assert_eq!(sequence(&mut learner), [0, 1]);
    learner.learn(&received(&[0, 1], &[0.0, 0.0], &[5.0, 5.0, 0.0]));
    assert!(0.45 + (8.0_f64.ln()).sqrt() < 0.6 + (2.0 * 8.0_f64.ln()).sqrt());
    assert_eq!(sequence(&mut learner), [1, 1]);
}

#[test]
fn ucb1v_learns_from_every_prefix() {
    let mut learner = Ucb1::new(two_actions(3), true).unwrap();
    assert_eq!(sequence(&mut learner), []);
    // An override plays 10: (), 1 and 10 are observed, so 0 is the first untried.
    learner.learn(&received(&[1, 0], &[0.25, 0.5], &[1.0, 2.0, 3.0]));
    assert_eq!(sequence(&mut learner), [0]);
    learner.learn(&received(&[0], &[0.0], &[1.0, 0.0]));
    assert_eq!(sequence(&mut learner), [0, 0]);
    learner.learn(&received(&[0, 0], &[0.0, 0.0], &[1.0, 0.0, 0.0]));
    learner.learn(&received(&[0, 1], &[0.0, 0.0], &[1.0, 0.0, 0.0]));
    learner.learn(&received(&[1, 1], &[0.25, 0.0], &[1.0, 2.0, 0.0]));
    // Gains: 10 has 3 - 0.75 = 2.25 once; 1 has 1.75 twice; () has 1 five times. 10 is the best at n = 5.
    assert_eq!(sequence(&mut learner), [1, 0]);
}

#[test]
fn ucb1v_over_many_sequences_is_ucb1v() {
    // By its definition, with every arm looked at in every episode; twice, with a reset between.
    let mut arms: Vec<Vec<usize>> = vec![vec![]];
    for i in 0..511 {
        for a in 0..2 {
            arms.push([&arms[i][..], &[a]].concat());
        }
    }
    let mut learner = Ucb1::new(two_actions(10), true).unwrap();
    assert_eq!(learner.arms(), arms.len());
    for run in 0..2 {
        learner.reset(Stream::new(1, run, Role::Learner));
        let mut known = vec![(0.0_f64, 0.0_f64); arms.len()];
        for n in 0..3000_usize {
            let index = |&(sum, count): &(f64, f64)| {
                sum * (1.0 / count) + (2.0 * libm::log(n as f64)).sqrt() * (1.0 / count.sqrt())
            };
            let best = |best, arm| match index(&known[arm]) > index(&known[best]) {
                true => arm,
                false => best,
            };
            let untried = known.iter().position(|&(_, count)| count == 0.0);
            let chosen = &arms[untried.unwrap_or_else(|| (0..arms.len()).fold(0, best))];
            assert_eq!(sequence(&mut learner), *chosen, "run {run}, episode {n}");
            let rewards: Vec<f64> = (0..=chosen.len())
                .map(|i| ((n * 7919 + i * 104_729) % 11) as f64 / 10.0)
                .collect();
            learner.learn(&received(chosen, &vec![0.0; chosen.len()], &rewards));
            for (i, reward) in rewards.iter().enumerate() {
                let prefix = arms.iter().position(|arm| *arm == chosen[..i]).unwrap();
                known[prefix].0 += reward;
                known[prefix].1 += 1.0;
            }
        }
    }
}

#[test]
fn too_many_sequences_are_counted() {
    let spec = |horizon, actions| Arc::new(Spec::numbered(horizon, 1, actions, 1).unwrap());
    for (spec, parts) in [
        (spec(21, 2), ["2097151 arms", "1000000"]),
        (spec(1_000_000, 10_000), ["more than 1e308 arms", ""]),
    ] {
        let error = Ucb1::new(spec, false).unwrap_err().to_string();
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    assert_eq!(Ucb1::new(spec(19, 2), false).unwrap().arms(), (1 << 19) - 1);
}

#[test]
fn arms_exclude_masked_sequences() {
    // No action twice: of 1 + 3 + 9 + 27 sequences only 1 + 3 + 6 + 6 can be played.
    let spec = Spec::numbered(4, 8, 3, 1)
        .unwrap()
        .transition(|_t, x, a, _f| (x | 1_usize << a) as f64)
        .allowed(|_t, x, a, _f| f64::from(u8::from(x >> a & 1 == 0)));
    assert_eq!(Ucb1::new(Arc::new(spec), false).unwrap().arms(), 16);
}

#[test]
fn ties_among_actions_are_drawn_evenly() {
    let spec = Arc::new(Spec::numbered(2, 1, 3, 1).unwrap());
    let mut parameters = FeedBalParameters::new(0.1, 0.1).unwrap();
    parameters.ties = Ties::Random;
    let mut learner = FeedBal::new(spec, parameters);
    let mut seen: HashMap<usize, u32> = HashMap::new();
    for seed in 0..3000 {
        learner.reset(Stream::new(seed, 0, Role::Learner));
        // `stop` wins the tie it is part of.
        assert_eq!(learner.choose(1, 0), Action::Stop);
        learner.learn(&received(&[], &[], &[0.0]));
        let Action::Continue(a) = learner.choose(1, 0) else {
            panic!("three actions were never tried")
        };
        *seen.entry(a).or_default() += 1;
    }
    assert!((0..3).all(|a| (850..1150).contains(&seen[&a])), "{seen:?}");
}

#[test]
fn random_is_uniform_over_allowed_actions() {
    let spec = Spec::numbered(2, 1, 3, 1)
        .unwrap()
        .allowed(|_t, _x, a, _f| f64::from(u8::from(a != 1)));
    let mut learner = Random::new(Arc::new(spec));
    let mut seen: HashMap<Action, u32> = HashMap::new();
    for _ in 0..3000 {
        *seen.entry(learner.choose(1, 0)).or_default() += 1;
    }
    assert_eq!(seen.len(), 3);
    assert!(!seen.contains_key(&Action::Continue(1)));
    assert!(seen.values().all(|n| (850..1150).contains(n)), "{seen:?}");
}

#[test]
fn a_learner_that_cheats_is_caught() {
    struct Stubborn(usize);
    impl Learner for Stubborn {
        fn choose(&mut self, _t: usize, _x: usize) -> Action {
            Action::Continue(self.0)
        }
        fn learn(&mut self, _episode: &Episode) {}
        fn reset(&mut self, _stream: Stream) {}
    }
    struct Elephant(u64);
    impl Learner for Elephant {
        fn choose(&mut self, t: usize, _x: usize) -> Action {
            match (t, self.0) {
                (1, 0) => Action::Continue(0),
                _ => Action::Stop,
            }
        }
        fn learn(&mut self, _episode: &Episode) {
            self.0 += 1;
        }
        fn reset(&mut self, _stream: Stream) {}
    }
    let spec = Spec::numbered(2, 1, 1, 1).unwrap();
    let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 1.0);
    let problem = Arc::new(Problem::new("one", spec, model));
    let caught = |checked: Result<(), Violation>| checked.unwrap_err().to_string();
    assert_eq!(
        caught(check_learner(&problem, || Stubborn(0), 3, 1)),
        "in episode 1: the learner chose Continue(0) at t = 2, x = 0, which is not allowed there"
    );
    let said = caught(check_learner(&problem, || Stubborn(99), 3, 1));
    assert!(said.contains("chose Continue(99) at t = 1"), "{said}");
    let said = caught(check_learner(&problem, || Elephant(0), 3, 1));
    assert!(said.starts_with("a reset:"), "{said}");
}

#[test]
fn parameters_come_from_the_call_then_the_file_then_the_catalogue() {
    let file = LearnerDefaults {
        delta: Some(Delta::new(0.05).unwrap()),
        sigma2: Some(Sigma2::new(0.3).unwrap()),
        sigma2_cost: Some(Sigma2::new(0.1).unwrap()),
        sigma2_reward: None,
        feedback_spread: None,
        reward_range: Some((2.0, 5.0)),
    };
    let received = |text: &str, learning: &LearnerDefaults| {
        let config = LearnerConfig::parse(text, learning).unwrap();
        config.for_episodes(1000).unwrap().feedbal_parameters()
    };
    let sigmas = |text: &str, learning: &LearnerDefaults| {
        let received = received(text, learning).unwrap();
        (received.sigma2_cost.get(), received.sigma2_reward.get())
    };
    let none = LearnerDefaults::default();
    assert_eq!(sigmas("feedbal", &file), (0.1, 0.3));
    // One sigma2 in the call stands for both, whatever the file says; a part in the call goes before it.
    assert_eq!(sigmas("feedbal:sigma2=0.7", &file), (0.7, 0.7));
    let part = sigmas("feedbal:sigma2=0.7,sigma2_reward=0.2", &file);
    assert_eq!(part, (0.7, 0.2));
    assert_eq!(sigmas("feedbal", &none), (0.25, 0.25));
    // D is stated, or the range of the rewards, or there is no sound width.
    let coefficients = |text, learning| received(text, learning).unwrap().coefficients();
    let sound = coefficients("feedbal:width=sound", &file);
    assert!((sound.action - 2.0 * (0.1 + 0.3 + 9.0 / 4.0)).abs() < 1e-12);
    assert!((sound.stop - 0.6).abs() < 1e-12);
    let stated = coefficients("feedbal:width=sound,feedback_spread=1", &file);
    assert!((stated.action - 2.0 * (0.4 + 0.25)).abs() < 1e-12);
    let error = received("feedbal:width=sound", &none);
    let error = error.unwrap_err().to_string();
    assert!(error.contains("reward_range"), "{error}");
    // The printed width has one coefficient: 4 sigma^2, or twice the sum of its parts.
    let paper = coefficients("feedbal:sigma2_cost=0.1,sigma2_reward=0.5", &none);
    assert_eq!((paper.action, paper.stop), (1.2, 1.2));
    // One over the episodes.
    let delta = received("feedbal:delta=1/n", &file).unwrap().delta;
    assert_eq!(delta.get(), 0.001);
    let once = LearnerConfig::parse("feedbal:delta=1/n", &file).unwrap();
    let error = once.for_episodes(1).unwrap_err().to_string();
    assert!(error.contains("at least 2 episodes"), "{error}");
    // Exactly the parameters that are not set are listed as assumed.
    let assumed = |text, learning| {
        let config = LearnerConfig::parse(text, learning).unwrap();
        config.assumed().to_vec()
    };
    assert_eq!(assumed("feedbal", &none), ["sigma2", "delta"]);
    let all = "feedbal:sigma2_cost=0,sigma2_reward=1,delta=0.1";
    assert!(assumed(all, &none).is_empty());
}

/// Every state has two successors: 2^20 - 1 pairs in 20 steps. Planning learners reject it.
#[test]
fn a_million_pairs() {
    let spec = Spec::numbered(20, 1 << 19, 1, 2).unwrap();
    let spec = spec.transition(|_t, x, _a, f| (2 * x + f) as f64);
    let model = Model::new(
        |_t, _x, _a, _f| 0.5,
        |t, x, _a, _f| 0.1 * t as f64 + (x % 2) as f64,
    );
    let problem = Arc::new(Problem::new("tree", spec, model));
    let build = |text: &str| {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        config.build(problem.spec(), None)
    };
    let rejected = build("feedbal-lookahead").err().unwrap();
    assert!(rejected.does_not_apply(), "{rejected}");
    let mut learner = build("feedbal-pooled:sigma2=0.01,reward_most=3").unwrap();
    let mut environment = Environment::new(problem.clone()).unwrap();
    for _ in 0..2000 {
        environment.play(&mut learner).unwrap();
    }
    // Going on pays at every step but the last; at most 0.1 in 20 is lost where a pair is new.
    assert!(environment.episode().steps() >= 15);
}
