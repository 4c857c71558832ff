//! Plays episodes with a learner, step by step as in Section 2 of the paper, and measures the regret.
//!
//! Regret is exact where the reachable pairs can be solved: the sum of `V - Q` along the learner's path (see
//! [`crate::oracle::Benchmark`]). Where there are too many pairs, the benchmark is played on the same draws, and the
//! difference of the two paths is the regret (the paper's Equation 1 with common random numbers). It has the same
//! expectation and more variance, and needs memory only for visited pairs.
//!
//! With dropout ([`Problem::with_dropout`]) an episode can end without a stop. Regret is that of the process with dropout,
//! for the benchmark and the learner alike. With overrides ([`Environment::set_overrides`]) another action than the
//! recommended one can be taken. Regret is then that of the recommendations: `V - Q` of each recommended action.

use std::sync::Arc;

use thiserror::Error;

use super::missing_values::MissingValues;
use super::open_episode::{Deviation, OpenEpisode};
use super::process::{Process, RunStreams, StepDraw, start_in};
use crate::conditions::{Conditions, Probability};
use crate::environment::RegretBreakdown;
use crate::episode::Episode;
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::{Benchmark, Optimal, OracleError, Pair, Pairs};
use crate::parameter::ParameterError;
use crate::rng::{Block, Role, Stream};
use crate::spec::Action;
use crate::stats::Moments;

/// Why an episode could not be played to its end.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum PlayError {
    /// The problem is invalid at a pair that was reached.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// The learner chose an action that is not allowed, or an action other than `stop` at the horizon.
    #[error("the learner chose {action:?} at t = {t}, x = {x}, which is not allowed there")]
    NotAllowed {
        /// The step.
        t: usize,
        /// The state.
        x: usize,
        /// The choice.
        action: Action,
    },
    /// A step without an open episode.
    #[error("no episode is open: begin one")]
    NoEpisode,
}

impl PlayError {
    pub(super) fn not_allowed(pairs: &Pairs, pair: Pair, action: Action) -> PlayError {
        let (t, x) = (pairs.step(pair), pairs.state(pair));
        PlayError::NotAllowed { t, x, action }
    }
}

/// A problem with its random streams: plays one episode after another with any learner.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Environment, Learner, Model, Problem, Role, Spec, Stream};
/// use emab::learners::{FeedBal, FeedBalParameters};
///
/// let spec = Spec::numbered(3, 3, 1, 2).unwrap()
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
    process: Process,
    /// The last episode.
    last: OpenEpisode,
    streams: RunStreams,
    block: Block,
    /// Steps of the block that are used.
    used: usize,
    /// Draws for the steps of the benchmark after the learner has stopped.
    benchmark_stream: Stream,
    overrides: f64,
    missing: Option<MissingValues>,
}

/// How regret is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegretEstimator {
    /// `V - Q` along the learner's path.
    Exact,
    /// The value of the benchmark's path on the same draws, less that of the learner's path.
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

impl Environment {
    /// Regret is exact for problems with at most this many reachable pairs, and ten times as many outcomes.
    pub const EXACT_PAIRS: usize = 100_000;

    /// An environment of this problem, with the streams of seed 0 and run 0.
    pub fn new(problem: Arc<Problem>) -> Result<Environment, OracleError> {
        Environment::exact_within(problem, Self::EXACT_PAIRS)
    }

    /// The same with another limit for exact regret.
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
            oracle.start_value()?;
        }
        let process = Process::new(oracle.pairs().problem());
        Ok(Environment {
            streams: RunStreams::new(&process),
            process,
            block: Block::default(),
            used: Block::STEPS,
            benchmark_stream: Stream::new(0, 0, Role::Beyond),
            oracle,
            estimator,
            last: OpenEpisode::default(),
            overrides: 0.0,
            missing: None,
        })
    }

    /// How regret is measured here.
    pub fn estimator(&self) -> RegretEstimator {
        self.estimator
    }

    /// Switches to the streams of this seed and run.
    pub fn restart(&mut self, seed: u64, run: u64) {
        self.streams.restart(seed, run);
        self.used = Block::STEPS;
        self.benchmark_stream = Stream::new(seed, run, Role::Beyond);
        if let Some(missing) = &mut self.missing {
            missing.restart(seed, run);
        }
    }

    /// From now on, costs and rewards stay unknown to the learner with the probabilities of these conditions, whose other
    /// parts have no effect.
    pub fn set_missing(&mut self, conditions: &Conditions) -> Result<(), ParameterError> {
        let feedbacks = self.pairs().problem().spec().feedbacks().len();
        let checked = conditions.check_missing(feedbacks);
        checked.map_err(|(_, error)| error)?;
        self.missing = MissingValues::new(conditions);
        Ok(())
    }

    /// From now on, with this probability at each step, another allowed action or `stop`, drawn uniformly, is taken in
    /// place of the recommended one.
    pub fn set_overrides(&mut self, probability: Probability) {
        self.overrides = probability.get();
    }

    /// The last episode, with all its values: also rewards after a dropout, and those that stay unknown to the learner.
    pub fn episode(&self) -> &Episode {
        &self.last.episode
    }

    /// The pairs of the last episode, in the order of its steps.
    pub fn path(&self) -> &[Pair] {
        &self.last.path
    }

    /// The recommended actions in these pairs; none for the last pair after a dropout.
    pub fn recommendations(&self) -> &[Action] {
        &self.last.recommendations
    }

    /// Whether the last episode ended by dropout, without a stop.
    pub fn dropped_out(&self) -> bool {
        self.last.dropped_out
    }

    /// The visited pairs; all reachable pairs where regret is exact.
    pub fn pairs(&self) -> &Pairs {
        self.oracle.pairs()
    }

    /// The benchmark of the problem.
    pub fn oracle(&mut self) -> &mut Benchmark {
        &mut self.oracle
    }

    /// The benchmark of the problem, by value.
    pub fn into_oracle(self) -> Benchmark {
        self.oracle
    }

    /// Plays one episode, passes it to the learner, and returns its regret by cause.
    #[inline]
    pub fn play<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        let regret = self.play_without_learning(learner)?;
        self.last.teach(learner);
        Ok(regret)
    }

    /// Plays one episode and returns its regret by cause, without passing the episode to the learner.
    #[inline]
    pub fn play_without_learning<L: Learner + ?Sized>(
        &mut self,
        learner: &mut L,
    ) -> Result<RegretBreakdown, PlayError> {
        let mut episode = std::mem::take(&mut self.last);
        self.begin(&mut episode);
        let mut step = || {
            while self.step(&mut episode, learner)? {}
            self.end(&mut episode)
        };
        let regret = step();
        self.last = episode;
        regret
    }

    /// Begins an episode, which is then played by [`Environment::step`].
    #[inline]
    pub(super) fn begin(&mut self, open: &mut OpenEpisode) {
        let pairs = self.oracle.pairs();
        let start = self.streams.start(pairs);
        open.begin(start, pairs.state(start));
    }

    /// Takes one step of an open episode; returns whether it is still open.
    #[inline]
    pub(super) fn step<L: Learner + ?Sized>(
        &mut self,
        open: &mut OpenEpisode,
        learner: &mut L,
    ) -> Result<bool, PlayError> {
        let pair = open.pair;
        let best = self.oracle.choice(pair)?;
        let pairs = self.oracle.pairs();
        let (t, x) = (pairs.step(pair), pairs.state(pair));
        let advised = learner.choose(t, x);
        open.recommendations.push(advised);
        let action = match self.overrides > 0.0 {
            true => self.overridden(pair, advised)?,
            false => advised,
        };
        let i = self.next_draw();
        let draw = StepDraw::at(&self.block, i);
        let pairs = self.oracle.pairs();
        // Costs and rewards are drawn here; the learner receives them in `learn`, after `stop`.
        let reward = self.process.reward(pairs, pair, draw.reward);
        open.episode.rewards.push(reward);
        let paid_before = open.paid;
        if let Action::Continue(a) = action {
            let conditions = &mut self.streams.conditions;
            let Some(step) = self.process.advance(pairs, pair, a, draw, conditions) else {
                return Err(PlayError::not_allowed(pairs, pair, action));
            };
            open.episode.costs.push(step.cost);
            let next_state = pairs.state(step.next);
            open.episode.advance(a, step.feedback, next_state);
            open.dropped_out = step.dropped_out;
            if let Some(missing) = &mut self.missing {
                open.hidden.push(missing.draw(step.feedback));
            }
            if self.estimator == RegretEstimator::Paired {
                open.draws.push((draw.feedback, step.dropout_draw));
            }
            open.pair = step.next;
            open.path.push(step.next);
            open.paid += step.expected_cost;
        }
        if best != advised {
            match self.estimator {
                RegretEstimator::Exact => {
                    let loss = self.oracle.regret(pair, advised)?;
                    open.regret.add(best, advised, loss);
                }
                // Overrides change the path, so each recommendation is evaluated separately.
                RegretEstimator::Paired if self.overrides > 0.0 => {
                    let loss = self.sampled_regret(pair, advised, draw.feedback)?;
                    open.regret.add(best, advised, loss);
                }
                RegretEstimator::Paired => {
                    open.deviation.get_or_insert(Deviation {
                        pair,
                        best,
                        action,
                        paid: paid_before,
                    });
                }
            }
        }
        if open.dropped_out {
            // The reward at the pair of the dropout is drawn as at a stop.
            let i = self.next_draw();
            let (pairs, draw) = (self.oracle.pairs(), self.block.reward[i]);
            let reward = self.process.reward(pairs, open.pair, draw);
            open.episode.rewards.push(reward);
        }
        Ok(action != Action::Stop && !open.dropped_out)
    }

    /// The regret of an episode that has ended, by cause.
    #[inline]
    pub(super) fn end(&mut self, open: &mut OpenEpisode) -> Result<RegretBreakdown, PlayError> {
        let mut regret = open.regret;
        if let Some(first) = open.deviation.take() {
            // Both paths are equal up to here; later costs and the last reward differ.
            let earned = self.oracle.pairs().reward(open.pair) - (open.paid - first.paid);
            let benchmark = self.follow_benchmark(first.pair, &mut open.draws)?;
            regret.add(first.best, first.action, benchmark - earned);
        }
        Ok(regret)
    }

    /// Exchanges the last episode for another one.
    pub(super) fn swap_last(&mut self, other: &mut OpenEpisode) {
        std::mem::swap(&mut self.last, other);
    }

    /// The last episode.
    pub(super) fn last(&mut self) -> &mut OpenEpisode {
        &mut self.last
    }

    /// The position in the block of the next step's draws.
    #[inline]
    fn next_draw(&mut self) -> usize {
        if self.used == Block::STEPS {
            self.streams.steps.fill(&mut self.block);
            self.used = 0;
        }
        self.used += 1;
        self.used - 1
    }

    /// The action that is taken where this one is recommended.
    #[cold]
    fn overridden(&mut self, pair: Pair, advised: Action) -> Result<Action, PlayError> {
        let pairs = self.oracle.pairs();
        if let Action::Continue(a) = advised
            && !pairs.allows(pair, a)
        {
            return Err(PlayError::not_allowed(pairs, pair, advised));
        }
        let all = || {
            pairs
                .allowed(pair)
                .map(Action::Continue)
                .chain([Action::Stop])
        };
        let others = || all().filter(|other| *other != advised);
        let (count, stream) = (others().count(), &mut self.streams.conditions);
        if count == 0 || stream.uniform() >= self.overrides {
            return Ok(advised);
        }
        Ok(others().nth(stream.below(count)).unwrap_or(advised))
    }

    /// An unbiased estimate of `V - Q` of a recommendation: the benchmark from this pair on, less the recommendation
    /// followed by the benchmark, both on this draw and the same new draws after it.
    #[cold]
    fn sampled_regret(
        &mut self,
        pair: Pair,
        advised: Action,
        draw: f64,
    ) -> Result<f64, OracleError> {
        let dropout_draw = self.process.dropout_draw(&mut self.benchmark_stream);
        let step = self.oracle.pairs().step(pair);
        // The draws of earlier steps are not read.
        let mut draws = vec![(0.0, 1.0); step - 1];
        draws.push((draw, dropout_draw));
        let benchmark = self.follow_benchmark(pair, &mut draws)?;
        let Action::Continue(a) = advised else {
            return Ok(benchmark - self.oracle.pairs().reward(pair));
        };
        let Some((f, next, cost)) = self.oracle.pairs().draw(pair, a, draw) else {
            return Ok(0.0);
        };
        let after = if dropout_draw < self.oracle.pairs().dropout(pair, a, f) {
            self.oracle.pairs().reward(next)
        } else {
            self.follow_benchmark(next, &mut draws)?
        };
        Ok(benchmark - (after - cost))
    }

    /// The value of the benchmark's path from a pair on, on the draws of an episode and new draws after them.
    fn follow_benchmark(
        &mut self,
        mut pair: Pair,
        draws: &mut Vec<(f64, f64)>,
    ) -> Result<f64, OracleError> {
        let mut paid = 0.0;
        while let Action::Continue(a) = self.oracle.choice(pair)? {
            let step = self.oracle.pairs().step(pair);
            while draws.len() < step {
                let draw = self.benchmark_stream.uniform();
                let dropout_draw = self.process.dropout_draw(&mut self.benchmark_stream);
                draws.push((draw, dropout_draw));
            }
            let (draw, dropout_draw) = draws[step - 1];
            let Some((f, next, cost)) = self.oracle.pairs().draw(pair, a, draw) else {
                break;
            };
            paid += cost;
            let leaves = dropout_draw < self.oracle.pairs().dropout(pair, a, f);
            pair = next;
            if leaves {
                break;
            }
        }
        Ok(self.oracle.pairs().reward(pair) - paid)
    }

    /// The expected gain of the benchmark per episode, and its standard error where it is estimated.
    pub fn benchmark_value(&mut self, seed: u64) -> Result<(f64, f64), OracleError> {
        if self.estimator == RegretEstimator::Exact {
            return Ok((self.oracle.start_value()?, 0.0));
        }
        // Fewer episodes where they are long or have many actions.
        const EPISODES: u64 = 20_000;
        const STEPS: usize = 1_000_000;
        const OUTCOMES: usize = 2_000_000;
        self.benchmark_stream = Stream::new(seed, 0, Role::Benchmark);
        let mut moments = Moments::default();
        let mut draws = Vec::new();
        let (mut steps, mut visited) = (0, Benchmark::new(self.oracle.pairs().problem().clone())?);
        std::mem::swap(&mut self.oracle, &mut visited);
        while moments.count() < EPISODES
            && steps < STEPS
            && self.oracle.pairs().outcomes() < OUTCOMES
        {
            draws.clear();
            let start = start_in(self.oracle.pairs(), &mut self.benchmark_stream);
            moments.add(self.follow_benchmark(start, &mut draws)?);
            steps += draws.len() + 1;
        }
        self.oracle = visited;
        Ok((moments.mean(), moments.stderr()))
    }

    /// The expected gain of the optimal policy per episode; none where there are too many pairs to solve.
    pub fn optimal_value(&mut self) -> Result<Option<f64>, OracleError> {
        if self.estimator == RegretEstimator::Paired {
            return Ok(None);
        }
        let optimal = Optimal::new(self.oracle.pairs_mut())?;
        Ok(Some(optimal.start_value(self.oracle.pairs())))
    }
}
