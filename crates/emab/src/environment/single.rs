//! Plays episodes of a problem: the loop of the paper, step by step, and the regret along the way.
//!
//! Regret is exact where it can be: `V - Q` along the learner's path (see [`crate::oracle::Benchmark`]), which needs
//! the benchmark's value wherever the learner may go. Where more pairs can be reached than are worth solving, the
//! benchmark is played beside the learner on the same draws instead, and the difference of what both paths are worth
//! is the regret (the paper's Equation 1 on common random numbers): the same expectation, more variance, and memory
//! for nothing but what both of them visit.
//!
//! People may leave before anybody stops ([`Problem::with_dropout`]) and may do something else than was recommended
//! ([`Environment::set_overrides`]). The regret of the first is that of the process with leaving, benchmark and learner
//! alike. That of the second is the regret of the recommendations: `V - Q` of what was recommended, wherever the
//! person's own ways led.

use std::sync::Arc;

use thiserror::Error;

use crate::conditions::Probability;
use crate::environment::RegretBreakdown;
use crate::episode::Episode;
use crate::learner::Learner;
use crate::model::{Noise, Problem};
use crate::oracle::{Benchmark, Optimal, OracleError, Pair, Pairs};
use crate::rng::{Block, Draws};
use crate::rng::{Role, Stream};
use crate::spec::Action;
use crate::stats::Moments;

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
    /// Somebody went on after the end.
    #[error("there is no episode under way: begin one")]
    NoEpisode,
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
    estimator: RegretEstimator,
    episode: Episode,
    /// The pairs it went through, the one it stopped at among them.
    path: Vec<Pair>,
    /// What was recommended in them; one less where the person left.
    recommendations: Vec<Action>,
    /// Whether the person left before anybody stopped.
    dropped_out: bool,
    /// The uniform draws of the episode, one a step, and whether the person left after it, so that the benchmark can be
    /// played on the same ones.
    draws: Vec<(f64, bool)>,
    source: Draws,
    block: Block,
    /// Steps that took their draws from the block.
    used: usize,
    /// Uniforms for the benchmark where the learner has stopped before it.
    beyond: Stream,
    overrides: f64,
    /// Who leaves, and who does something else.
    people: Stream,
}

/// How regret is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegretEstimator {
    /// `V - Q` along the learner's path.
    Exact,
    /// What the benchmark's path is worth on the same draws, less what the learner's is.
    Paired,
}

impl RegretEstimator {
    /// Its name in result files.
    pub fn name(self) -> &'static str {
        match self {
            RegretEstimator::Exact => "exact",
            RegretEstimator::Paired => "paired",
        }
    }
}

/// Where a learner first left the benchmark's path.
struct Deviation {
    pair: Pair,
    best: Action,
    action: Action,
    /// What its costs had come to before.
    paid: f64,
}

impl Environment {
    /// Problems of which at most this many pairs, and ten times as many outcomes, can be reached are solved; regret is
    /// exact there.
    pub const EXACT_PAIRS: usize = 100_000;

    /// An environment of this problem, with the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>) -> Result<Environment, OracleError> {
        Environment::exact_within(problem, Self::EXACT_PAIRS)
    }

    /// The same, where regret is exact up to so many pairs.
    pub(crate) fn exact_within(
        problem: Arc<Problem>,
        limit: usize,
    ) -> Result<Environment, OracleError> {
        let mut all = Pairs::new(problem.clone())?;
        let estimator = match all.expand_all(limit, "the exact regret") {
            Ok(()) => RegretEstimator::Exact,
            Err(OracleError::TooMany { .. }) => RegretEstimator::Paired,
            Err(error) => return Err(error),
        };
        let mut oracle = Benchmark::new(problem)?;
        if estimator == RegretEstimator::Exact {
            *oracle.pairs_mut() = all;
            let start = oracle.pairs().start();
            oracle.value(start)?;
        }
        let model = oracle.pairs().problem().model();
        Ok(Environment {
            source: Draws::new(model.reward_noise, model.cost_noise),
            block: Block::default(),
            used: Block::STEPS,
            beyond: Stream::new(0, 0, Role::Beyond),
            oracle,
            estimator,
            episode: Episode::default(),
            path: Vec::new(),
            recommendations: Vec::new(),
            dropped_out: false,
            draws: Vec::new(),
            overrides: 0.0,
            people: Stream::new(0, 0, Role::Conditions),
        })
    }

    /// How regret is measured here.
    pub fn estimator(&self) -> RegretEstimator {
        self.estimator
    }

    /// Takes up the streams of this seed and run.
    pub fn restart(&mut self, seed: u64, run: u64) {
        self.source.restart(seed, run);
        self.used = Block::STEPS;
        self.beyond = Stream::new(seed, run, Role::Beyond);
        self.people = Stream::new(seed, run, Role::Conditions);
    }

    /// From here on, at each step and with this chance, one of the other allowed actions is taken in place of the
    /// recommended one, `stop` among them, each as likely as the others. Where there is no other, there is none.
    pub fn set_overrides(&mut self, chance: Probability) {
        self.overrides = chance.get();
    }

    /// The episode that was played last, with its rewards though the person may have left.
    pub fn episode(&self) -> &Episode {
        &self.episode
    }

    /// The pairs of the episode that was played last, in the order of its steps.
    pub fn path(&self) -> &[Pair] {
        &self.path
    }

    /// What was recommended in these pairs; there is none for the last where the person left.
    pub fn recommendations(&self) -> &[Action] {
        &self.recommendations
    }

    /// Whether the person of the episode that was played last left before anybody stopped.
    pub fn dropped_out(&self) -> bool {
        self.dropped_out
    }

    /// The pairs met so far; all that can be reached where regret is exact.
    pub fn pairs(&self) -> &Pairs {
        self.oracle.pairs()
    }

    /// What could be known of the problem.
    pub fn oracle(&mut self) -> &mut Benchmark {
        &mut self.oracle
    }

    /// The same, without the rest.
    pub fn into_oracle(self) -> Benchmark {
        self.oracle
    }

    /// Plays one episode, lets the learner learn from it, and returns its regret by cause.
    #[inline]
    pub fn play<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        let regret = self.play_without_learning(learner)?;
        self.learn_from_last(learner);
        Ok(regret)
    }

    /// Lets a learner learn from the episode that was played last: without its rewards if the person left, since people
    /// who leave do not tell.
    #[inline]
    pub fn learn_from_last<L: Learner + ?Sized>(&mut self, learner: &mut L) {
        if self.dropped_out {
            let rewards = std::mem::take(&mut self.episode.rewards);
            learner.learn(&self.episode);
            self.episode.rewards = rewards;
        } else {
            learner.learn(&self.episode);
        }
    }

    /// Plays one episode and returns its regret by cause; the learner is told nothing of it.
    #[inline]
    pub fn play_without_learning<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        let dropout = self.oracle.pairs().problem().dropout().get();
        let model = self.oracle.pairs().problem().model();
        let (cost_noise, reward_noise) = (model.cost_noise, model.reward_noise);
        let mut regret = RegretBreakdown::default();
        let mut deviation = None;
        let mut paid = 0.0;
        let mut pair = self.oracle.pairs().start();
        self.episode.begin(self.oracle.pairs().state(pair));
        self.draws.clear();
        self.path.clear();
        self.recommendations.clear();
        self.dropped_out = false;
        loop {
            self.path.push(pair);
            let best = self.oracle.choice(pair)?;
            let (t, x) = (
                self.oracle.pairs().step(pair),
                self.oracle.pairs().state(pair),
            );
            let advised = learner.choose(t, x);
            self.recommendations.push(advised);
            let action = if self.overrides > 0.0 {
                self.overridden(pair, advised)?
            } else {
                advised
            };
            let i = self.next_draw();
            let pairs = self.oracle.pairs();
            // Costs and rewards are drawn here and shown after `stop`: the learner sees the episode in `learn` alone.
            let reward = reward_noise.observe(pairs.reward(pair), self.block.reward[i]);
            self.episode.rewards.push(reward);
            let (mut next, paid_before) = (pair, paid);
            if let Action::Continue(a) = action {
                let draw = self.block.feedback[i];
                let Some((f, follows, mean)) = pairs.draw(pair, a, draw) else {
                    return Err(PlayError::NotAllowed { t, x, action });
                };
                let cost = cost_noise.observe(mean, self.block.cost[i]);
                self.episode.costs.push(cost);
                self.episode.advance(a, f, pairs.state(follows));
                self.dropped_out = dropout > 0.0 && self.people.uniform() < dropout;
                if self.estimator == RegretEstimator::Paired {
                    self.draws.push((draw, self.dropped_out));
                }
                next = follows;
                paid += mean;
            }
            if best != advised {
                match self.estimator {
                    RegretEstimator::Exact => {
                        regret.add(best, advised, self.oracle.regret(pair, advised)?);
                    }
                    // The path is the person's, not the learner's: each recommendation is tried apart.
                    RegretEstimator::Paired if self.overrides > 0.0 => {
                        let draw = self.block.feedback[i];
                        regret.add(best, advised, self.sampled_regret(pair, advised, draw)?);
                    }
                    RegretEstimator::Paired => {
                        deviation.get_or_insert(Deviation {
                            pair,
                            best,
                            action,
                            paid: paid_before,
                        });
                    }
                }
            }
            pair = next;
            if action == Action::Stop {
                break;
            }
            if self.dropped_out {
                // Nobody chooses here: what is earned is drawn as it is at a stop.
                self.path.push(pair);
                let reward = self.left_with(pair, reward_noise);
                self.episode.rewards.push(reward);
                break;
            }
        }
        if let Some(dropped_out) = deviation {
            // Up to here both went the same way; what they paid after it and what they got parts them.
            let earned = self.oracle.pairs().reward(pair) - (paid - dropped_out.paid);
            let benchmark = self.follow_benchmark(dropped_out.pair)?;
            regret.add(dropped_out.best, dropped_out.action, benchmark - earned);
        }
        Ok(regret)
    }

    /// The place of the block that the next step takes.
    #[inline]
    fn next_draw(&mut self) -> usize {
        if self.used == Block::STEPS {
            self.source.fill(&mut self.block);
            self.used = 0;
        }
        self.used += 1;
        self.used - 1
    }

    /// The reward of a pair at which the person left.
    #[cold]
    fn left_with(&mut self, pair: Pair, noise: Noise) -> f64 {
        let i = self.next_draw();
        noise.observe(self.oracle.pairs().reward(pair), self.block.reward[i])
    }

    /// What is done where this is recommended.
    #[cold]
    fn overridden(&mut self, pair: Pair, advised: Action) -> Result<Action, PlayError> {
        let pairs = self.oracle.pairs();
        if let Action::Continue(a) = advised
            && !pairs.allows(pair, a)
        {
            let (t, x) = (pairs.step(pair), pairs.state(pair));
            let action = advised;
            return Err(PlayError::NotAllowed { t, x, action });
        }
        let all = || {
            let allowed = pairs.allowed(pair).map(Action::Continue);
            allowed.chain([Action::Stop])
        };
        let others = all().count() - 1;
        if others == 0 || self.people.uniform() >= self.overrides {
            return Ok(advised);
        }
        let mut others_only = all().filter(|other| *other != advised);
        Ok(others_only
            .nth(self.people.below(others))
            .unwrap_or(advised))
    }

    /// `V - Q` of a recommendation, estimated without bias: the benchmark from this pair on, less the recommendation and
    /// then the benchmark, both on this draw and the same new ones after it.
    #[cold]
    fn sampled_regret(
        &mut self,
        pair: Pair,
        advised: Action,
        draw: f64,
    ) -> Result<f64, OracleError> {
        let dropout = self.oracle.pairs().problem().dropout().get();
        let leaves = dropout > 0.0 && self.beyond.uniform() < dropout;
        let step = self.oracle.pairs().step(pair);
        // Nobody asks for the draws of the steps before.
        self.draws.clear();
        self.draws.resize(step - 1, (0.0, false));
        self.draws.push((draw, leaves));
        let benchmark = self.follow_benchmark(pair)?;
        let Action::Continue(a) = advised else {
            return Ok(benchmark - self.oracle.pairs().reward(pair));
        };
        let Some((_, next, cost)) = self.oracle.pairs().draw(pair, a, draw) else {
            return Ok(0.0);
        };
        let after = if leaves {
            self.oracle.pairs().reward(next)
        } else {
            self.follow_benchmark(next)?
        };
        Ok(benchmark - (after - cost))
    }

    /// What the benchmark's path from a pair on is worth, on the draws of this episode and new ones after them.
    fn follow_benchmark(&mut self, mut pair: Pair) -> Result<f64, OracleError> {
        let mut paid = 0.0;
        let dropout = self.oracle.pairs().problem().dropout().get();
        while let Action::Continue(a) = self.oracle.choice(pair)? {
            let step = self.oracle.pairs().step(pair);
            while self.draws.len() < step {
                let draw = self.beyond.uniform();
                let leaves = dropout > 0.0 && self.beyond.uniform() < dropout;
                self.draws.push((draw, leaves));
            }
            let (draw, leaves) = self.draws[step - 1];
            let Some((_, next, cost)) = self.oracle.pairs().draw(pair, a, draw) else {
                break;
            };
            paid += cost;
            pair = next;
            if leaves {
                break;
            }
        }
        Ok(self.oracle.pairs().reward(pair) - paid)
    }

    /// What the benchmark earns in an episode, and the standard error where that is estimated.
    pub fn benchmark_value(&mut self, seed: u64) -> Result<(f64, f64), OracleError> {
        let start = self.oracle.pairs().start();
        if self.estimator == RegretEstimator::Exact {
            return Ok((self.oracle.value(start)?, 0.0));
        }
        // Long episodes and many actions make fewer of them.
        const EPISODES: u64 = 20_000;
        const STEPS: usize = 1_000_000;
        const OUTCOMES: usize = 2_000_000;
        self.beyond = Stream::new(seed, 0, Role::Benchmark);
        let mut moments = Moments::default();
        let (mut steps, mut met) = (0, Benchmark::new(self.oracle.pairs().problem().clone())?);
        std::mem::swap(&mut self.oracle, &mut met);
        while moments.count() < EPISODES
            && steps < STEPS
            && self.oracle.pairs().outcomes() < OUTCOMES
        {
            self.draws.clear();
            moments.add(self.follow_benchmark(start)?);
            steps += self.draws.len() + 1;
        }
        self.oracle = met;
        Ok((moments.mean(), moments.stderr()))
    }

    /// What the optimal policy earns in an episode; none where too much can be reached to know.
    pub fn optimal_value(&mut self) -> Result<Option<f64>, OracleError> {
        if self.estimator == RegretEstimator::Paired {
            return Ok(None);
        }
        let optimal = Optimal::new(self.oracle.pairs_mut())?;
        Ok(Some(optimal.value(self.oracle.pairs().start())))
    }
}
