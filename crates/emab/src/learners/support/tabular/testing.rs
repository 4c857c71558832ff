//! Shared by the tests of these learners: a small process that requires lookahead, and its play.

use std::sync::Arc;

use super::{Tabular, TabularParameters, TransitionGraph};
use crate::environment::Environment;
use crate::episode::Episode;
use crate::learner::Learner;
use crate::model::{Model, Noise, Problem};
use crate::rng::{Role, Stream};
use crate::spec::Spec;

/// Three steps, two states, one action. Stopping pays 0.5 at step 1 and nothing at step 2; at step 3 state 0 pays 0.6 and
/// state 1 pays 1. The benchmark stops at once, the optimal policy continues to the end.
pub(crate) fn patience() -> Arc<Problem> {
    let spec = Spec::numbered(3, 2, 1, 2)
        .unwrap()
        .transition(|_t, _x, _a, f| f as f64);
    let noise = Noise::normal(0.01).unwrap();
    let reward = |t: usize, x: usize, _a: usize, _f: usize| match t {
        1 => 0.5,
        2 => 0.0,
        _ => [0.6, 1.0][x],
    };
    let model = Model::new(|_t, _x, _a, _f| 0.5, reward)
        .cost(|_t, _x, _a, _f| 0.01)
        .noise(noise, noise);
    Arc::new(Problem::new("patience", spec, model))
}

/// That problem with these parameters, for a learner.
pub(crate) fn tabular(scale: f64, reveal: bool) -> Tabular {
    let parameters = TabularParameters {
        scale,
        reveal,
        ..parameters()
    };
    let graph = TransitionGraph::new("test", patience().spec()).unwrap();
    Tabular::new(graph, parameters)
}

/// Parameters for that problem.
pub(crate) fn parameters() -> TabularParameters {
    TabularParameters {
        sigma2: 0.01,
        delta: 0.1,
        least: 0.0,
        most: 1.0,
        scale: 1.0,
        reveal: false,
    }
}

/// An episode from state 0 of a problem whose next state is the feedback: (action, feedback) step by step.
pub(crate) fn after(steps: &[(usize, usize)], costs: &[f64], rewards: &[f64]) -> Episode {
    let mut episode = Episode::default();
    episode.begin(0);
    for &(a, f) in steps {
        episode.advance(a, f, f);
    }
    episode.costs.extend(costs);
    episode.rewards.extend(rewards);
    episode
}

/// The results of a play.
pub(crate) struct Played {
    /// The inspected value before each episode.
    pub(crate) values: Vec<f64>,
    pub(crate) optimal: f64,
    pub(crate) benchmark: f64,
    /// The mean expected gain over the last quarter of the episodes.
    pub(crate) late_gain: f64,
}

/// Plays episodes and inspects the learner before each.
pub(crate) fn play<L: Learner>(
    problem: &Arc<Problem>,
    learner: &mut L,
    episodes: usize,
    mut inspect: impl FnMut(&mut L) -> f64,
) -> Played {
    let mut environment = Environment::new(problem.clone()).unwrap();
    environment.restart(1, 0);
    learner.reset(Stream::new(1, 0, Role::Learner));
    let mut values = Vec::new();
    let mut late = 0.0;
    let benchmark = environment.benchmark_value(0).unwrap().0;
    for episode in 0..episodes {
        values.push(inspect(learner));
        let regret = environment.play(learner).unwrap().total();
        if episode >= episodes - episodes / 4 {
            late += benchmark - regret;
        }
    }
    Played {
        values,
        optimal: environment.optimal_value().unwrap().unwrap(),
        benchmark,
        late_gain: late / (episodes / 4) as f64,
    }
}

impl Played {
    /// Fails unless the late gain comes within `tolerance` of that of the optimal policy, which the benchmark does not.
    #[track_caller]
    pub(crate) fn assert_optimal(&self, tolerance: f64) {
        assert!(self.optimal > self.benchmark + 0.2);
        let late = self.late_gain;
        assert!(late > self.optimal - tolerance, "{late}");
    }

    /// Fails unless the late gain comes within 0.01 of that of the benchmark.
    #[track_caller]
    pub(crate) fn assert_benchmark(&self) {
        let late = self.late_gain;
        assert!(late > self.benchmark - 0.01, "{late}");
    }
}

/// Fails unless the shares of `n` draws are these probabilities, up to 4.5 standard errors and `tolerance`.
#[track_caller]
pub(crate) fn assert_shares<const N: usize>(counts: [u32; N], shares: [f64; N], tolerance: f64) {
    let n = f64::from(counts.iter().sum::<u32>());
    for (count, share) in counts.into_iter().zip(shares) {
        let sd = (share * (1.0 - share) / n).sqrt();
        let got = f64::from(count) / n;
        assert!(
            (got - share).abs() < 4.5 * sd + tolerance,
            "{got} is not {share}"
        );
    }
}

/// Fails unless draws have this mean and variance, up to 4.5 standard errors of normal variables.
#[track_caller]
pub(crate) fn assert_moments(draws: &[f64], mean: f64, variance: f64) {
    let n = draws.len() as f64;
    let got = draws.iter().sum::<f64>() / n;
    let error = 4.5 * (variance / n).sqrt();
    assert!((got - mean).abs() < error, "{got} is not {mean}");
    let got = draws.iter().map(|v| v * v).sum::<f64>() / n - got * got;
    // The variance of a squared normal deviation is twice its own squared.
    let error = 4.5 * variance * (2.0 / n).sqrt();
    assert!((got - variance).abs() < error, "{got} is not {variance}");
}

/// Fails unless two numbers are equal up to rounding.
#[track_caller]
pub(crate) fn assert_close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got} is not {expected}");
}
