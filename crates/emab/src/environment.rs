//! Plays episodes of a problem: the loop of the paper, step by step, and the exact regret along the way.

use std::sync::Arc;

use thiserror::Error;

use crate::curve::Causes;
use crate::episode::Episode;
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::{Benchmark, OracleError};
use crate::random::{Role, Stream};
use crate::spec::Action;

/// Why an episode could not be played to its end.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlayError {
    /// The problem breaks a rule at a pair that was reached.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The learner chose what it may not: an action that is not allowed, or none but `stop` at the horizon.
    #[error("the learner chose {action:?} at t = {t}, x = {x}, which is not allowed there")]
    NotAllowed {
        /// The step.
        t: usize,
        /// The state.
        x: usize,
        /// What it chose.
        action: Action,
    },
}

/// A problem with its randomness: plays one episode after another with any learner.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Environment, Learner, Model, Names, Problem, Role, Spec, Stream};
/// use emab::learners::{FeedBal, FeedBalParameters};
///
/// let spec = Spec::new(3, Names::Count(3, ""), Names::Count(1, "a"), Names::Count(2, "")).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let model = Model::new(|_t, _x, _a, _f| 0.5, |_t, x, _a, _f| x as f64).cost(|_t, _x, _a, _f| 0.2);
/// let problem = Arc::new(Problem::new("coins", spec, model));
///
/// let mut learner = FeedBal::new(problem.spec().clone(), FeedBalParameters::new(0.1, 0.05).unwrap());
/// let mut environment = Environment::new(problem).unwrap();
/// environment.restart(1, 0); // seed 1, run 0
/// let mut regret = 0.0;
/// for _ in 0..100 {
///     regret += environment.play(&mut learner).unwrap().total();
/// }
/// assert!(regret < 20.0);
/// ```
#[derive(Clone, Debug)]
pub struct Environment {
    oracle: Benchmark,
    episode: Episode,
    feedback: Stream,
    noise: Stream,
}

impl Environment {
    /// An environment of this problem, with the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>) -> Result<Environment, OracleError> {
        Ok(Environment {
            oracle: Benchmark::new(problem)?,
            episode: Episode::default(),
            feedback: Stream::new(0, 0, Role::Feedback),
            noise: Stream::new(0, 0, Role::Noise),
        })
    }

    /// Takes up the streams of this seed and run.
    pub fn restart(&mut self, seed: u64, run: u64) {
        self.feedback = Stream::new(seed, run, Role::Feedback);
        self.noise = Stream::new(seed, run, Role::Noise);
    }

    /// The episode that was played last.
    pub fn episode(&self) -> &Episode {
        &self.episode
    }

    /// What could be known of the problem.
    pub fn oracle(&mut self) -> &mut Benchmark {
        &mut self.oracle
    }

    /// Plays one episode, lets the learner learn from it, and returns its expected regret by cause.
    #[inline]
    pub fn play<L: Learner + ?Sized>(&mut self, learner: &mut L) -> Result<Causes, PlayError> {
        let model = self.oracle.pairs().problem().model();
        let (cost_noise, reward_noise) = (model.cost_noise, model.reward_noise);
        let mut regret = Causes::default();
        let mut pair = self.oracle.pairs().start();
        self.episode.begin(self.oracle.pairs().state(pair));
        loop {
            let best = self.oracle.choice(pair)?;
            let pairs = self.oracle.pairs();
            let (t, x) = (pairs.step(pair), pairs.state(pair));
            let action = learner.choose(t, x);

            // Costs and rewards are drawn here and shown after `stop`: the learner sees the episode in `learn` alone.
            let reward = reward_noise.observe(pairs.reward(pair), &mut self.noise);
            self.episode.rewards.push(reward);
            let Action::Continue(a) = action else {
                if best != Action::Stop {
                    regret.early_stop += self.oracle.regret(pair, action)?;
                }
                break;
            };
            let Some((f, next)) = pairs.draw(pair, a, self.feedback.uniform()) else {
                return Err(PlayError::NotAllowed { t, x, action });
            };
            let cost = cost_noise.observe(pairs.cost(pair, a), &mut self.noise);
            self.episode.costs.push(cost);
            self.episode.advance(a, f, pairs.state(next));
            if best != action {
                let loss = self.oracle.regret(pair, action)?;
                if best == Action::Stop {
                    regret.late_stop += loss;
                } else {
                    regret.wrong_action += loss;
                }
            }
            pair = next;
        }
        learner.learn(&self.episode);
        Ok(regret)
    }
}
