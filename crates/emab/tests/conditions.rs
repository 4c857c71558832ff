//! Each condition on problems that can be checked by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
mod common;

use std::sync::Arc;

use common::small_problem;
use emab::conditions::Probability;
use emab::conformance::check_learner;
use emab::environment::{ModelPhase, RegretEstimator, ScenarioError};
use emab::learners::{
    FeedBal, FeedBalParameters, Forgetting, LearnerConfig, LearnerDefaults, LearnerError, Memory,
    Policy, Random, Ucb1,
};
use emab::oracle::{Benchmark, Iteration, Optimal, Pairs, best_fixed};
use emab::stats::Moments;
use emab::{
    Action, ConditionedEnvironment, Conditions, Environment, Episode, Learner, Mdp, Model, Noise,
    Problem, Role, Scenario, Spec, Stream,
};
use proptest::prelude::*;

fn conditions(texts: &[&str]) -> Conditions {
    Conditions::default().with(texts.iter().copied()).unwrap()
}

/// An environment of a problem with later phases.
fn under(
    problem: &Arc<Problem>,
    phases: &[ModelPhase],
    conditions: &Conditions,
    episodes: u64,
) -> Result<ConditionedEnvironment, ScenarioError> {
    let scenario = Scenario {
        conditions: conditions.clone(),
        phases: phases.to_vec(),
    };
    ConditionedEnvironment::new(problem.clone(), &scenario, episodes)
}

/// The same without later phases, at the beginning of a run.
fn begun(
    problem: &Arc<Problem>,
    texts: &[&str],
    episodes: u64,
    (seed, run): (u64, u64),
) -> ConditionedEnvironment {
    let mut conditioned = under(problem, &[], &conditions(texts), episodes).unwrap();
    conditioned.restart(seed, run);
    conditioned
}

/// Going on pays, at a cost of 0.1 a step and noise on both; the reward is the step's number.
fn wait(horizon: usize, actions: usize) -> Arc<Problem> {
    let spec = Spec::numbered(horizon, 2, actions, 2).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let model = Model::new(
        |_t, _x, _a, _f| 0.5,
        |t, x, _a, _f| t as f64 + 0.5 * x as f64,
    );
    let noise = Noise::normal(0.04).unwrap();
    let model = model
        .cost(|_t, _x, a, _f| 0.1 + a as f64)
        .noise(noise, noise);
    Arc::new(Problem::new("wait", spec, model))
}

fn feedbal(problem: &Problem) -> FeedBal {
    let parameters = FeedBalParameters::new(0.05, 0.01).unwrap();
    FeedBal::new(problem.spec().clone(), parameters)
}

/// Records the episodes it receives, and plays the choices of another learner.
struct Recorder<L> {
    inner: L,
    begun: usize,
    /// The number of episodes begun at each delivery, and the episode.
    received: Vec<(usize, Episode)>,
}

impl<L> Recorder<L> {
    fn new(inner: L) -> Recorder<L> {
        Recorder {
            inner,
            begun: 0,
            received: Vec::new(),
        }
    }
}

impl<L: Learner> Learner for Recorder<L> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        self.begun += usize::from(t == 1);
        self.inner.choose(t, x)
    }
    fn learn(&mut self, episode: &Episode) {
        self.received.push((self.begun, episode.clone()));
        self.inner.learn(episode);
    }
    fn reset(&mut self, stream: Stream) {
        self.inner.reset(stream);
    }
}

/// The played episodes, and whether each ended by dropout.
fn play<L: Learner>(
    conditioned: &mut ConditionedEnvironment,
    learner: &mut L,
    episodes: u64,
) -> Vec<(Episode, bool)> {
    let mut played = Vec::new();
    for _ in 0..episodes {
        conditioned.play(learner).unwrap();
        let environment = conditioned.environment();
        played.push((environment.episode().clone(), environment.dropped_out()));
    }
    played
}

fn run(texts: &[&str], problem: &Arc<Problem>, episodes: u64) -> (Vec<Episode>, Recorder<Random>) {
    let mut conditioned = begun(problem, texts, episodes, (5, 1));
    let mut learner = Recorder::new(Random::new(problem.spec().clone()));
    let played = play(&mut conditioned, &mut learner, episodes);
    let played = played.into_iter().map(|(episode, _)| episode);
    (played.collect(), learner)
}

/// The number of episodes begun before each delivery, where all are delivered in order.
fn deliveries(played: &[Episode], learner: &Recorder<Random>) -> Vec<usize> {
    let received = learner.received.iter();
    assert!(
        received
            .clone()
            .zip(played)
            .all(|((_, one), other)| one == other)
    );
    received.map(|(begun, _)| *begun).collect()
}

#[test]
fn a_fixed_delay_keeps_d_plus_1_episodes_pending() {
    let problem = wait(4, 2);
    let (played, learner) = run(&["delay=3"], &problem, 20);
    // The outcome of episode n is there when n + 4 begins, with n + 3 begun before it.
    assert_eq!(deliveries(&played, &learner), (4..20).collect::<Vec<_>>());
    // FeedBAL has seen nothing while the first four begin: it stops at once in each, and goes on in the fifth.
    let mut conditioned = begun(&problem, &["delay=3"], 20, (1, 0));
    let played = play(&mut conditioned, &mut feedbal(&problem), 5);
    let steps: Vec<usize> = played.iter().map(|(episode, _)| episode.steps()).collect();
    assert_eq!(steps, [1, 1, 1, 1, 2]);
}

#[test]
fn batches_come_together_and_in_order() {
    let (played, learner) = run(&["delay=batches:5"], &wait(4, 2), 23);
    let expected = [5, 10, 15, 20].map(|begun| [begun; 5]);
    assert_eq!(deliveries(&played, &learner), expected.concat());
}

#[test]
fn a_geometric_delay_has_its_mean() {
    let n = 20_000;
    let (played, learner) = run(&["delay=geometric:4"], &wait(2, 1), n);
    // Which episode an outcome is of, by its noise.
    let number = |of: &Episode| played.iter().position(|episode| episode == of).unwrap();
    let mut late = Moments::default();
    for (begun, episode) in learner.received.iter().take(2000) {
        late.add((begun - number(episode) - 1) as f64);
    }
    let mean = late.mean();
    assert!((mean - 4.0).abs() < 4.5 * late.stderr(), "{mean}");
    assert!(learner.received.len() as u64 > n - 200);
}

#[test]
fn lost_outcomes_never_arrive() {
    let n = 10_000;
    let (played, learner) = run(&["lost=0.3"], &wait(3, 2), n);
    let received = learner.received.len() as f64;
    let sd = (n as f64 * 0.3 * 0.7).sqrt();
    assert!((received - 0.7 * n as f64).abs() < 4.5 * sd, "{received}");
    // The others come at once, and as they were.
    for (begun, episode) in &learner.received {
        assert_eq!(episode, &played[begun - 1]);
    }
}

#[test]
fn values_go_missing_by_the_feedback_of_their_step() {
    let n = 4000;
    let problem = wait(3, 2);
    for texts in [
        &["missing_costs=0.75:0", "missing_rewards=0:0.25"][..],
        &["missing_costs=0.75:0", "missing_rewards=0:0.25", "delay=1"],
    ] {
        let (played, learner) = run(texts, &problem, n);
        let (mut steps, mut costs, mut rewards) = ([0.0_f64; 2], [0.0_f64; 2], [0.0_f64; 2]);
        for (whole, (_, seen)) in played.iter().zip(&learner.received) {
            assert_eq!(
                (&whole.states, &whole.actions),
                (&seen.states, &seen.actions)
            );
            assert!(whole.is_known() && seen.known_reward(1).is_some());
            for (i, &f) in seen.feedbacks.iter().enumerate() {
                let unknown = |known: Option<f64>, value: f64| match known {
                    Some(known) => {
                        assert_eq!(known, value);
                        0.0
                    }
                    None => 1.0,
                };
                steps[f] += 1.0;
                costs[f] += unknown(seen.known_cost(i + 1), whole.costs[i]);
                rewards[f] += unknown(seen.known_reward(i + 2), whole.rewards[i + 1]);
            }
        }
        // Some 2,000 steps of each feedback: a standard error is below 0.01.
        assert!(steps[0] > 1500.0 && steps[1] > 1500.0, "{steps:?}");
        assert!((costs[0] / steps[0] - 0.75).abs() < 0.04 && costs[1] == 0.0);
        assert!((rewards[1] / steps[1] - 0.25).abs() < 0.04 && rewards[0] == 0.0);
    }
    // What is played does not depend on it for a learner that does not learn.
    let (plain, _) = run(&[], &problem, n);
    assert_eq!(run(&["missing_costs=0.5"], &problem, n).0, plain);
    let error = under(&problem, &[], &conditions(&["missing_costs=0:0.1:0.2"]), n);
    assert_eq!(
        error.unwrap_err().to_string(),
        "`missing_costs` must have one probability, or one for each of the 2 feedbacks, got 3"
    );
}

#[test]
fn rewards_are_unknown_after_a_dropout() {
    let problem = wait(5, 1);
    let mut conditioned = begun(&problem, &["dropout=0.25"], 1000, (5, 1));
    let mut learner = Recorder::new(Policy::benchmark(problem).unwrap());
    let played = play(&mut conditioned, &mut learner, 1000);
    let (mut steps, mut left) = (0, 0);
    for ((episode, gone), (_, received)) in played.iter().zip(&learner.received) {
        assert_eq!(episode.rewards.len(), episode.steps());
        let rewards = match gone {
            true => Vec::new(),
            false => episode.rewards.clone(),
        };
        let expected = Episode {
            rewards,
            ..episode.clone()
        };
        assert_eq!(received, &expected);
        // The benchmark continues to the end: shorter episodes ended by dropout.
        assert!(*gone || episode.steps() == 5);
        steps += episode.actions.len();
        left += usize::from(*gone);
    }
    let n = steps as f64;
    assert!((left as f64 - 0.25 * n).abs() < 4.5 * (n * 0.25 * 0.75).sqrt());
}

#[test]
fn the_value_with_dropout_agrees_with_hand_and_simulation() {
    // Rewards 1, 2, 3 and no cost, leaving with 1/4: on to the end it is 2/4 + 3 * 3/4.
    let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
    let plain = Problem::new("wait", spec, model);
    let problem = Arc::new(plain.with_dropout(Probability::new("dropout", 0.25).unwrap()));
    let mut pairs = Pairs::new(problem.clone()).unwrap();
    let optimal = Optimal::new(&mut pairs).unwrap();
    assert_eq!(optimal.start_value(&pairs), 2.75);
    assert_eq!(best_fixed(&pairs, &optimal, 1000).unwrap().value, 2.75);
    let mut benchmark = Benchmark::new(problem).unwrap();
    let start = benchmark.pairs().starts().next().unwrap().0;
    assert_eq!(benchmark.regret(start, Action::Stop).unwrap(), 1.75);
}

/// The definition: a problem with twice the states, one copy for episodes that have dropped out.
fn spelled_out(problem: &Arc<Problem>, q: f64) -> Arc<Problem> {
    let spec = problem.spec();
    let (s, feedbacks) = (spec.states().len(), spec.feedbacks().len());
    let [p1, p2, p3, p4, p5] = std::array::from_fn(|_| problem.clone());
    let spec = Spec::numbered(spec.horizon(), 2 * s, spec.actions().len(), 2 * feedbacks)
        .unwrap()
        .transition(move |t, x, a, f| {
            let next = p1.spec().next(t, x, a, f % feedbacks).unwrap();
            (next + if f < feedbacks { 0 } else { s }) as f64
        })
        .allowed(move |t, x, a, _f| f64::from(u8::from(x < s && p2.spec().is_allowed(t, x, a))));
    let model = Model::new(
        move |t, x, a, f| {
            let mut distribution = vec![0.0; feedbacks];
            p3.feedback_distribution(t, x, a, &mut distribution)
                .unwrap();
            distribution[f % feedbacks] * if f < feedbacks { 1.0 - q } else { q }
        },
        move |t, x, _a, _f| p4.reward(t, x % s).unwrap(),
    )
    .cost(move |t, x, a, _f| p5.cost(t, x, a).unwrap());
    Arc::new(Problem::new("spelled out", spec, model))
}

/// Plays with everything in the way, in debug builds with every assertion; the mean gain and regret of each episode.
fn measured<L: Learner>(
    conditioned: &mut ConditionedEnvironment,
    learner: &mut L,
    episodes: u64,
) -> (Moments, Moments) {
    let (mut gain, mut regret) = (Moments::default(), Moments::default());
    for _ in 0..episodes {
        regret.add(conditioned.play(learner).unwrap().total());
        gain.add(conditioned.environment().episode().gain());
    }
    (gain, regret)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values with leaving are those of the problem spelled out; gains as played are too; and the regret of a policy is
    /// what it earns less than the benchmark.
    #[test]
    fn regret_with_dropout_is_exact(tables in small_problem(4, 3, 2, 2), q in 0.0..0.6_f64) {
        let problem = Arc::new(tables.problem());
        let stated = conditions(&[&format!("dropout={q}")]);
        let mut conditioned = under(&problem, &[], &stated, 4000).unwrap();
        let mut truth = Environment::new(spelled_out(&problem, q)).unwrap();
        let (value, _) = conditioned.benchmark_value(1).unwrap();
        let optimum = conditioned.optimal_value().unwrap().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        prop_assert!(near(value, truth.benchmark_value(1).unwrap().0));
        prop_assert!(near(optimum, truth.optimal_value().unwrap().unwrap()));
        let fixed = |problem: Arc<Problem>| {
            let mut pairs = Pairs::new(problem).unwrap();
            let optimal = Optimal::new(&mut pairs).unwrap();
            best_fixed(&pairs, &optimal, 1_000_000).unwrap().value
        };
        let with_dropout = Arc::new(problem.with_dropout(stated.dropout));
        let mdp = Mdp::new(&mut Pairs::new(with_dropout.clone()).unwrap()).unwrap();
        let iterated = Iteration::of_values(&mdp, 1000).unwrap();
        prop_assert!(near(iterated.values[mdp.starts()[0].0], optimum));
        prop_assert!(near(fixed(with_dropout), fixed(spelled_out(&problem, q))));

        conditioned.restart(3, 0);
        let mut benchmark = Policy::benchmark(problem.clone()).unwrap();
        let (gain, regret) = measured(&mut conditioned, &mut benchmark, 4000);
        prop_assert_eq!(regret.mean(), 0.0);
        prop_assert!((gain.mean() - value).abs() < 4.5 * gain.stderr() + 1e-9);
        conditioned.restart(4, 0);
        let (gain, regret) = measured(&mut conditioned, &mut Random::new(problem.spec().clone()), 4000);
        let error = (gain.stderr().powi(2) + regret.stderr().powi(2)).sqrt();
        prop_assert!((value - gain.mean() - regret.mean()).abs() < 4.5 * error + 1e-9);
    }
}

/// A problem of which too much can be reached to be solved: a binary tree of twenty steps.
fn tree() -> Arc<Problem> {
    let spec = Spec::numbered(20, 1 << 20, 1, 2).unwrap();
    let spec = spec.transition(|_t, x, _a, f| ((2 * x + f + 1) % (1 << 20)) as f64);
    let model = Model::new(
        |t, _x, _a, f| [0.6, 0.4][(t + f) % 2],
        |t, x, _a, _f| t as f64 * 0.3 + (x % 7) as f64 * 0.1,
    );
    let model = model.cost(|_t, x, _a, _f| 0.2 + (x % 3) as f64 * 0.1);
    Arc::new(Problem::new("tree", spec, model))
}

/// Stops at step 5 and later, whatever it sees.
fn fifth(problem: &Problem) -> Policy {
    Policy::new(problem.spec(), |t, _x| match t {
        1..5 => Action::Continue(0),
        _ => Action::Stop,
    })
}

#[test]
fn paired_regret_is_unbiased_with_dropout() {
    let problem = tree();
    let mut conditioned = begun(&problem, &["dropout=0.1"], 20_000, (1, 0));
    let estimator = conditioned.environment().estimator();
    assert_eq!(estimator, RegretEstimator::Paired);
    let (value, error) = conditioned.benchmark_value(7).unwrap();
    conditioned.restart(1, 0);
    let (gain, regret) = measured(&mut conditioned, &mut fifth(&problem), 20_000);
    let error = (error.powi(2) + gain.stderr().powi(2) + regret.stderr().powi(2)).sqrt();
    let off = value - gain.mean() - regret.mean();
    assert!(off.abs() < 4.5 * error, "{off} {error}");
}

#[test]
fn overrides_are_uniform_over_the_other_actions() {
    // Three actions and `stop`; at the start `0` is recommended always.
    let problem = wait(3, 3);
    let mut conditioned = begun(&problem, &["override=0.4"], 20_000, (2, 0));
    let policy = Policy::new(problem.spec(), |t, _x| match t {
        3 => Action::Stop,
        _ => Action::Continue(0),
    });
    let mut learner = Recorder::new(policy);
    let n = 20_000;
    let mut taken = [0_u32; 4];
    for (episode, _) in play(&mut conditioned, &mut learner, n) {
        taken[episode.actions.first().map_or(3, |a| *a)] += 1;
    }
    let n = n as f64;
    let other = 0.4 / 3.0;
    for (count, p) in taken.into_iter().zip([0.6, other, other, other]) {
        let z = (f64::from(count) - n * p) / (n * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 4.5, "{taken:?}");
    }
    // What was learned from is what was done.
    for (_, episode) in &learner.received {
        assert_eq!(episode.rewards.len(), episode.actions.len() + 1);
    }
    let mut received = learner.received.iter();
    assert!(received.any(|(_, e)| e.actions.first() == Some(&2)));
}

#[test]
fn feedbal_counts_the_actions_taken() {
    let problem = wait(3, 2);
    let mut conditioned = begun(&problem, &["override=0.5"], 300, (2, 0));
    let mut learner = feedbal(&problem);
    let mut counts = [0_u64; 3];
    for (episode, _) in play(&mut conditioned, &mut learner, 300) {
        counts[2] += 1;
        if let Some(&a) = episode.actions.first() {
            counts[a] += 1;
        }
    }
    let actions = [Action::Continue(0), Action::Continue(1), Action::Stop];
    for (action, count) in actions.into_iter().zip(counts) {
        assert_eq!(learner.estimate(1, 0, action).unwrap().count, count);
    }
}

#[test]
fn the_regret_of_overridden_recommendations() {
    // Recommending the benchmark has no regret with any overrides; recommending `stop` costs V - r at the start and
    // wherever an override continues.
    let problem = wait(3, 1);
    let mut conditioned = begun(&problem, &["override=0.3"], 20_000, (2, 0));
    let mut benchmark = Policy::benchmark(problem.clone()).unwrap();
    let (gain, regret) = measured(&mut conditioned, &mut benchmark, 2000);
    assert_eq!(regret.mean(), 0.0);
    let (value, _) = conditioned.benchmark_value(1).unwrap();
    assert!(gain.mean() < value - 0.2);
    conditioned.restart(2, 0);
    let mut stop = Policy::new(problem.spec(), |_t, _x| Action::Stop);
    let (_, regret) = measured(&mut conditioned, &mut stop, 20_000);
    let mut oracle = Benchmark::new(problem.clone()).unwrap();
    let start = oracle.pairs().starts().next().unwrap().0;
    let first = oracle.regret(start, Action::Stop).unwrap();
    let mut expected = first;
    let follow: Vec<_> = oracle.pairs().follow(start, 0).collect();
    for (next, p) in follow {
        expected += 0.3 * p * oracle.regret(next, Action::Stop).unwrap();
    }
    let off = regret.mean() - expected;
    assert!(off.abs() < 4.5 * regret.stderr(), "{expected}");
}

#[test]
fn regret_of_overridden_recommendations_with_paired_estimates() {
    let problem = tree();
    let (texts, n) = (["override=0.2", "dropout=0.05"], 30_000);
    let mut conditioned = begun(&problem, &texts, n, (1, 0));
    let (_, regret) = measured(&mut conditioned, &mut fifth(&problem), n);
    // The same, solved by hand from the top: V - Q where `fifth` stops, from step 5 on, if the episode reaches it.
    let with_dropout = Arc::new(problem.with_dropout(Probability::new("dropout", 0.05).unwrap()));
    let mut oracle = Benchmark::new(with_dropout).unwrap();
    let mut level = vec![(oracle.pairs().starts().next().unwrap().0, 1.0)];
    let mut expected = 0.0;
    for t in 1..=9 {
        let mut next = Vec::new();
        for (pair, p) in level {
            let (advised, on) = match t {
                1..5 => (Action::Continue(0), 0.8),
                _ => (Action::Stop, 0.2),
            };
            expected += p * oracle.regret(pair, advised).unwrap();
            let follow = oracle.pairs().follow(pair, 0);
            next.extend(follow.map(|(to, chance)| (to, p * chance * on * 0.95)));
        }
        level = next;
    }
    // Steps beyond the ninth are left out by hand: one in ten thousand comes there.
    let off = regret.mean() - expected;
    assert!(off.abs() < 4.5 * regret.stderr() + 0.001, "{off}");
}

#[test]
fn without_conditions_episodes_are_unchanged() {
    let problem = wait(4, 2);
    let mut environment = Environment::new(problem.clone()).unwrap();
    environment.restart(9, 3);
    let texts = [
        "delay=0",
        "dropout=0",
        "lost=0",
        "missing_costs=0:0",
        "override=0",
    ];
    let mut conditioned = under(&problem, &[], &conditions(&texts), 500).unwrap();
    conditioned.restart(9, 3);
    let (mut one, mut two) = (feedbal(&problem), feedbal(&problem));
    for _ in 0..500 {
        let regret = environment.play(&mut one).unwrap();
        assert_eq!(conditioned.play(&mut two).unwrap(), regret);
        assert_eq!(conditioned.environment().episode(), environment.episode());
    }
    // Nor does an identical phase, nor a delay of batches of one.
    let same = [phase(100, problem.clone())];
    let texts = ["delay=batches:1"];
    let mut drifting = under(&problem, &same, &conditions(&texts), 500).unwrap();
    let (mut one, mut two) = (feedbal(&problem), feedbal(&problem));
    for run in [4, 5] {
        drifting.restart(9, run);
        environment.restart(9, run);
        one.reset(Stream::new(9, run, Role::Learner));
        two.reset(Stream::new(9, run, Role::Learner));
        for _ in 0..500 {
            let regret = environment.play(&mut one).unwrap();
            assert_eq!(drifting.play(&mut two).unwrap(), regret);
            assert_eq!(drifting.environment().episode(), environment.episode());
        }
    }
}

/// Continuing once leads to a coin that pays 1 with probability `p`; stopping at once pays 0.5.
fn coin(spec: &Arc<Spec>, p: f64) -> Arc<Problem> {
    let model = Model::new(
        move |_t, _x, _a, f| if f == 1 { p } else { 1.0 - p },
        |t, x, _a, _f| if t == 1 { 0.5 } else { x as f64 },
    );
    Arc::new(Problem::new("coin", spec.clone(), model))
}

fn phase(first: u64, problem: Arc<Problem>) -> ModelPhase {
    ModelPhase { first, problem }
}

fn coin_spec() -> Arc<Spec> {
    let spec = Spec::numbered(2, 2, 1, 2).unwrap();
    Arc::new(spec.transition(|_t, _x, _a, f| f as f64))
}

#[test]
fn regret_is_against_the_benchmark_of_the_phase() {
    let spec = coin_spec();
    let later = [phase(11, coin(&spec, 0.2))];
    let drift = Conditions::default().with(["drift=p:0.2@11"]).unwrap();
    let mut conditioned = under(&coin(&spec, 0.8), &later, &drift, 20).unwrap();
    let (value, _) = conditioned.benchmark_value(1).unwrap();
    assert!((value - (0.8 + 0.5) / 2.0).abs() < 1e-15);
    conditioned.restart(1, 0);
    let mut go = Policy::new(&spec, |t, _x| match t {
        1 => Action::Continue(0),
        _ => Action::Stop,
    });
    let regrets: Vec<f64> = (0..20)
        .map(|_| conditioned.play(&mut go).unwrap().total())
        .collect();
    assert_eq!(regrets[..10], [0.0; 10]);
    let late = |regret: &f64| (regret - 0.3).abs() < 1e-15;
    assert!(regrets[10..].iter().all(late));
    // And again from the first phase on.
    conditioned.restart(1, 1);
    assert_eq!(conditioned.play(&mut go).unwrap().total(), 0.0);
}

#[test]
fn rejects_invalid_phases() {
    let spec = coin_spec();
    let first = coin(&spec, 0.8);
    let new = |phases: &[ModelPhase], texts: &[&str]| {
        let conditioned = under(&first, phases, &conditions(texts), 20);
        conditioned.unwrap_err().to_string()
    };
    assert_eq!(
        new(&[phase(1, coin(&spec, 0.1))], &[]),
        "the phase from episode 1 on must come after the one before it, and after episode 1"
    );
    let error = new(&[phase(5, coin(&coin_spec(), 0.1))], &[]);
    assert!(error.contains("the specification of the first"), "{error}");
    let error = new(&[], &["drift=p:0.4@10"]);
    assert!(error.contains("has no phases for it"), "{error}");
}

#[test]
fn forgetting_reduces_regret_after_a_sudden_change() {
    let spec = coin_spec();
    let (first, later) = (coin(&spec, 0.9), [phase(2001, coin(&spec, 0.1))]);
    let parameters = || FeedBalParameters::new(0.25, 0.01).unwrap();
    let after = |learner: &mut dyn Learner| {
        let mut conditioned = under(&first, &later, &Conditions::default(), 6000).unwrap();
        let mut regret = Moments::default();
        for run in 0..30 {
            conditioned.restart(1, run);
            learner.reset(Stream::new(1, run, Role::Learner));
            let mut sum = 0.0;
            for episode in 1..=6000 {
                let lost = conditioned.play(learner).unwrap().total();
                sum += if episode > 2000 { lost } else { 0.0 };
            }
            regret.add(sum);
        }
        regret
    };
    let plain = after(&mut FeedBal::new(spec.clone(), parameters()));
    for memory in [Memory::window(500), Memory::discount(0.998)] {
        let mut learner = Forgetting::new(spec.clone(), parameters(), memory.unwrap());
        let answer = after(&mut learner);
        let error = (plain.stderr().powi(2) + answer.stderr().powi(2)).sqrt();
        let gained = plain.mean() - answer.mean();
        assert!(gained > 20.0 * error, "{answer:?}: {gained}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With nothing forgotten it is FeedBAL, choice by choice; with almost nothing too, where noise breaks all ties.
    #[test]
    fn a_long_memory_is_feedbal(tables in small_problem(4, 4, 3, 2), seed in 0_u64..1000, random in any::<bool>()) {
        let problem = Arc::new(tables.problem());
        let ties = if random { "random" } else { "lowest" };
        let learning = LearnerDefaults::default();
        let build = |more: &str| {
            let text = format!("feedbal:sigma2=0.05,stop_bias=0.01,ties={ties}{more}");
            LearnerConfig::parse(&text, &learning).unwrap().build(problem.spec(), None).unwrap()
        };
        for more in [",window=1000000", ",gamma=0.999999999999"] {
            let (mut one, mut two) = (build(""), build(more));
            let mut environment = Environment::new(problem.clone()).unwrap();
            environment.restart(seed, 0);
            one.reset(Stream::new(seed, 0, Role::Learner));
            two.reset(Stream::new(seed, 0, Role::Learner));
            for _ in 0..300 {
                environment.play(&mut Both(&mut *one, &mut *two)).unwrap();
            }
        }
    }
}

/// The first plays, both learn, and they must want the same.
struct Both<'a>(&'a mut dyn Learner, &'a mut dyn Learner);

impl Learner for Both<'_> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = self.0.choose(t, x);
        assert_eq!(self.1.choose(t, x), action, "t = {t}, x = {x}");
        action
    }
    fn learn(&mut self, episode: &Episode) {
        self.0.learn(episode);
        self.1.learn(episode);
    }
    fn reset(&mut self, _stream: Stream) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn forgetting_passes_the_conformance_checks(tables in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(tables.problem());
        for text in ["feedbal:window=7", "feedbal:gamma=0.8,ties=random"] {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            let build = || config.build(problem.spec(), None).unwrap();
            check_learner(&problem, build, 60, seed).map_err(|v| TestCaseError::fail(format!("{text}: {v}")))?;
        }
    }
}

#[test]
fn forgetting_is_set_by_parameters() {
    let learning = LearnerDefaults::default();
    let spec = coin_spec();
    let build = |text: &str| {
        let config = LearnerConfig::parse(&format!("feedbal:{text}"), &learning).unwrap();
        let built = config.build(&spec, None).map(drop);
        built.map_err(|error| error.to_string())
    };
    // What stands in the list of defaults can be written.
    for text in ["window=100", "gamma=0.99", "window=all,gamma=1"] {
        assert_eq!(build(text), Ok(()));
    }
    for (text, said) in [
        ("window=0", "be a whole number from 1 to 1e15, got 0"),
        ("window=2.5", "be a whole number from 1 to 1e15, got 2.5"),
        ("gamma=2", "`gamma` must lie in (0, 1), got 2"),
        ("gamma=old", "`gamma` must be a number, got old"),
        ("gamma=0.9,window=3", "not be set together with `window`"),
    ] {
        let error = build(text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let config = LearnerConfig::parse("feedbal:window=100", &learning).unwrap();
    let forgets = Err(LearnerError::Forgets("feedbal"));
    assert_eq!(config.feedbal_parameters(), forgets);
    // Without forgetting the parameters are absent.
    let config = LearnerConfig::parse("feedbal", &learning).unwrap();
    let mut names = config.parameters().iter().map(|(name, _)| *name);
    assert!(names.all(|name| name != "window" && name != "gamma"));
}

#[test]
fn ucb1_credits_the_arm_that_was_played_however_late() {
    // Two steps, one action: the arms are `stop` and `a, stop`. With a delay, both episodes of the first arm come back
    // when the other arm is planned already, and count for the first.
    let spec = Arc::new(Spec::numbered(2, 1, 1, 1).unwrap());
    let mut learner = Ucb1::new(spec, false).unwrap();
    let stopped = |reward| Episode {
        states: vec![0],
        rewards: vec![reward],
        ..Episode::default()
    };
    let went = |reward| Episode {
        states: vec![0, 0],
        actions: vec![0],
        feedbacks: vec![0],
        costs: vec![0.0],
        rewards: vec![0.0, reward],
    };
    assert_eq!(learner.choose(1, 0), Action::Stop);
    learner.learn(&stopped(1.0));
    assert_eq!(learner.choose(1, 0), Action::Continue(0)); // untried
    learner.learn(&stopped(1.0));
    assert_eq!(learner.choose(1, 0), Action::Continue(0)); // still untried
    // An arm with an unknown outcome stays untried.
    learner.learn(&Episode {
        rewards: Vec::new(),
        ..went(0.0)
    });
    assert_eq!(learner.choose(1, 0), Action::Continue(0));
    learner.learn(&went(-10.0));
    assert_eq!(learner.choose(1, 0), Action::Stop);
}
