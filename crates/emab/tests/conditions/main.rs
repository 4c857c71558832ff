//! Each condition on problems that can be checked by hand.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code)]
#[path = "../common/mod.rs"]
mod common;
mod dropout;
mod outcomes;
mod overrides;
mod phases;

use std::sync::Arc;

use common::small_problem;
use emab::conditions::{Dropout, Probability};
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

fn phase(first: u64, problem: Arc<Problem>) -> ModelPhase {
    ModelPhase { first, problem }
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
