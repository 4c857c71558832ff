//! A model estimated from a log, as a problem file, and plausible models from its posterior.

mod draw;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use emab::spec::PointError;
use emab::{Model, Noise, ParameterError, Problem, Spec};
use emab_problem::{OutcomeRange, ProblemFile};
use thiserror::Error;

use crate::assumptions::{Assumed, AssumptionError, Assumptions, Stated};
use crate::evaluate::LeftOut;
use crate::interval::width;
use crate::log::{DecisionLog, LogCounts};
use crate::statistics::{ActionStatistics, PooledVariance, Pooling, Sample, Statistics};

/// The most step-state pairs of a fitted model.
const MOST_PAIRS: usize = 100_000;
/// The most numbers of a fitted problem file.
const MOST_NUMBERS: usize = 2_000_000;
/// The most plausible models of one call.
pub const MOST_DRAWS: u64 = 100_000;
/// The probability with which all errors of a fitted model hold.
pub const CONFIDENCE: f64 = 0.95;

/// Why a model cannot be fitted.
#[derive(Debug, Error)]
pub enum FitError {
    /// The log has no learned episode.
    #[error("the log has no episode with an outcome: there is nothing to fit a model to ({0})")]
    Empty(LeftOut),
    /// No terminal reward is known.
    #[error("no episode of the log has a known reward: there is nothing to fit a model to")]
    NoReward,
    /// A range is invalid, or neither stated nor shown by the log.
    #[error(transparent)]
    Assumption(#[from] AssumptionError),
    /// The specification is invalid somewhere.
    #[error(transparent)]
    Point(#[from] PointError),
    /// A parameter of the noise is invalid.
    #[error(transparent)]
    Noise(#[from] ParameterError),
    /// The problem is too large for tables.
    #[error(
        "a fitted model has a number for each step, state, action and feedback, here {0}, and at most {MOST_NUMBERS} are written"
    )]
    TooLarge(f64),
    /// More pairs are reachable than a model can have.
    #[error("more than {MOST_PAIRS} step-state pairs are reachable, too many for a fitted model")]
    TooManyPairs,
}

/// An estimated number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fitted {
    /// The estimate; what stands in for it without observations.
    pub value: f64,
    /// The number of observations.
    pub count: u64,
    /// How far it can be from the truth; infinite without observations.
    pub error: f64,
    /// Of the observed values, the number that are 1, where all are 0 or 1.
    ones: f64,
}

/// What is estimated of an action at a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedAction {
    /// The probabilities of the feedbacks.
    pub feedback: Vec<f64>,
    /// How often each was observed.
    pub counts: Vec<u64>,
    /// How far each probability can be from the truth, 1 at most.
    pub error: f64,
    /// The expected cost.
    pub cost: Fitted,
}

impl FittedAction {
    /// How often the action was taken.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// What is estimated of a step-state pair.
#[derive(Clone, Debug, PartialEq)]
pub struct FittedPair {
    /// The expected terminal reward.
    pub reward: Fitted,
    /// By action; none where it is not allowed.
    pub actions: Vec<Option<FittedAction>>,
}

/// A model estimated from a log.
#[derive(Clone, Debug)]
pub struct FittedModel {
    file: ProblemFile,
    outcome_range: OutcomeRange,
    /// How many episodes the log has, by status.
    pub log: LogCounts,
    /// The estimated probabilities of the start states, with the number of episodes that began in each.
    pub starts: Vec<(f64, u64)>,
    /// How far each of these probabilities can be from the truth, 1 at most.
    pub start_error: f64,
    /// By step and state, for all reachable pairs.
    pub pairs: BTreeMap<(usize, usize), FittedPair>,
    /// The noise on costs.
    pub cost_noise: Noise,
    /// The noise on terminal rewards.
    pub reward_noise: Noise,
    /// What is not stated and was taken from the log.
    pub assumed: Vec<Assumed>,
    reward_range: (f64, f64),
    cost_range: (f64, f64),
    /// What the call stated beside the problem file.
    stated: Stated,
}

/// The noise of observed values: 0 or 1, none, or normal with the variance around the means. Where no pair has two observations, the
/// variance is not known, and the variance proxy is used.
fn noise_of<'a>(
    samples: impl Iterator<Item = &'a Sample> + Clone,
    proxy: f64,
) -> Result<Noise, FitError> {
    let count: u64 = samples.clone().map(|it| it.count).sum();
    let not_binary: u64 = samples.clone().map(|it| it.not_binary).sum();
    let variance = PooledVariance::of(samples.clone()).map_or(proxy, |it| it.variance);
    let size = samples
        .filter_map(|it| it.range)
        .map(|(least, most)| least.abs().max(most.abs()))
        .fold(0.0, f64::max);
    // Rounding leaves squares of this size where all values of a pair are equal.
    let none = variance <= 1e-20 * size * size;
    Ok(match count {
        0 => Noise::None,
        _ if none => Noise::None,
        _ if not_binary == 0 => Noise::Bernoulli,
        _ => Noise::normal(variance)?,
    })
}

/// The mean of all values of samples.
fn overall_mean<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<f64> {
    let (mut count, mut sum) = (0, 0.0);
    for sample in samples {
        count += sample.count;
        sum += sample.mean * sample.count as f64;
    }
    (count > 0).then(|| sum / count as f64)
}

impl FittedModel {
    /// Fits a model: shares of feedback and means of costs and rewards by step and state. Without observations feedback is
    /// uniform, a cost is the mean of all costs, and a reward that of all rewards.
    ///
    /// ```
    /// use emab::Episode;
    /// use emab_logs::{DecisionLog, FittedModel, LoggedEpisode};
    /// use emab_problem::{OutcomeRange, ProblemFile};
    /// let file = ProblemFile::find("resource").unwrap();
    /// let episode = |f: usize| Episode {
    ///     states: vec![0, f], actions: vec![0], feedbacks: vec![f], costs: vec![0.25], rewards: vec![0.0, f as f64],
    /// };
    /// let logged = |i: usize| LoggedEpisode::past(format!("p{i}"), episode(usize::from(i > 0)), i as u64);
    /// let log = DecisionLog::new(file, OutcomeRange::default(), (0..4).map(logged).collect());
    /// let model = FittedModel::of(&log, &Default::default()).unwrap();
    /// let action = model.pairs[&(1, 0)].actions[0].as_ref().unwrap();
    /// assert_eq!((&action.feedback[..], action.cost.value), (&[0.25, 0.75][..], 0.25));
    /// let file = ProblemFile::parse("fitted.toml", &model.toml("log")).unwrap();
    /// assert_eq!(emab::oracle::Solution::of(file.problem().unwrap(), 0).unwrap().rows[0].optimal, emab::Action::Continue(0));
    /// ```
    pub fn of(log: &DecisionLog, stated: &Stated) -> Result<FittedModel, FitError> {
        let counts = log.counts();
        if counts.learned == 0 {
            return Err(FitError::Empty(LeftOut(counts)));
        }
        let spec = log.spec();
        let numbers = spec.k() * spec.feedbacks().len() as f64;
        if numbers > MOST_NUMBERS as f64 {
            return Err(FitError::TooLarge(numbers));
        }
        let reachable = spec.reachable(MOST_PAIRS)?;
        if !reachable.complete {
            return Err(FitError::TooManyPairs);
        }
        let statistics = Statistics::of(log, Pooling::State, true);
        if statistics.rewards().all(|reward| reward.count == 0) {
            return Err(FitError::NoReward);
        }
        let assumptions = Assumptions::of(log, &statistics, stated)?;
        if spec.horizon() > 1 {
            assumptions.require_costs()?;
        }
        let log_error = libm::log(1.0 + 2.0 * numbers) - libm::log(1.0 - CONFIDENCE);
        let mean_reward = overall_mean(statistics.rewards()).unwrap_or(0.0);
        let mean_cost = overall_mean(statistics.costs()).unwrap_or(0.0);
        let fitted = |sample: Option<&Sample>, proxy: f64, otherwise: f64| match sample {
            Some(sample) if sample.count > 0 => Fitted {
                value: sample.mean,
                count: sample.count,
                error: width(log_error, proxy, sample.count),
                ones: sample.mean * sample.count as f64,
            },
            _ => Fitted {
                value: otherwise,
                count: 0,
                error: f64::INFINITY,
                ones: 0.0,
            },
        };
        let mut by_pair = BTreeMap::new();
        for node in &statistics.nodes {
            by_pair.insert((node.t, node.x), node);
        }
        let feedbacks = spec.feedbacks().len();
        let action = |seen: Option<&ActionStatistics>| {
            let count = seen.map_or(0, |it| it.count);
            let of = |f: usize| seen.and_then(|it| it.feedbacks.get(&f)).copied();
            let counts: Vec<u64> = (0..feedbacks).map(|f| of(f).unwrap_or(0)).collect();
            let share = |&it: &u64| match count {
                0 => 1.0 / feedbacks as f64,
                _ => it as f64 / count as f64,
            };
            FittedAction {
                feedback: counts.iter().map(share).collect(),
                error: width(log_error, 0.25, count).min(1.0),
                cost: fitted(seen.map(|it| &it.cost), assumptions.cost_noise, mean_cost),
                counts,
            }
        };
        let pairs = reachable.pairs.iter().map(|&(t, x)| {
            let node = by_pair.get(&(t, x));
            let actions = (0..spec.actions().len()).map(|a| {
                let seen = node.and_then(|node| node.actions.get(&a));
                spec.is_allowed(t, x, a).then(|| action(seen))
            });
            let reward = node.map(|node| &node.reward);
            let pair = FittedPair {
                reward: fitted(reward, assumptions.reward_noise, mean_reward),
                actions: actions.collect(),
            };
            ((t, x), pair)
        });
        let starts = spec.starts().iter().map(|x| {
            let count = statistics.starts.get(x).copied().unwrap_or(0);
            (count as f64 / statistics.episodes as f64, count)
        });
        Ok(FittedModel {
            file: log.file.clone(),
            outcome_range: log.outcome_range,
            log: counts,
            starts: starts.collect(),
            start_error: width(log_error, 0.25, statistics.episodes).min(1.0),
            pairs: pairs.collect(),
            cost_noise: noise_of(
                statistics.costs().collect::<Vec<_>>().into_iter(),
                assumptions.cost_noise,
            )?,
            reward_noise: noise_of(
                statistics.rewards().collect::<Vec<_>>().into_iter(),
                assumptions.reward_noise,
            )?,
            assumed: assumptions.assumed,
            reward_range: assumptions.reward_range,
            cost_range: assumptions.cost_range,
            stated: *stated,
        })
    }

    /// What learners may use of the problem.
    pub fn spec(&self) -> &Arc<Spec> {
        self.file.spec()
    }

    /// The model as a problem that can be solved and simulated.
    pub fn problem(&self) -> Arc<Problem> {
        let spec = self.spec().clone();
        let pairs = Arc::new(self.pairs.clone());
        let (costs, rewards) = (pairs.clone(), pairs.clone());
        // Only reachable pairs are evaluated.
        let feedback = move |t: usize, x: usize, a: usize, f: usize| {
            let action = pairs.get(&(t, x)).and_then(|pair| pair.actions[a].as_ref());
            action.map_or(0.0, |action| action.feedback[f])
        };
        let cost = move |t: usize, x: usize, a: usize, _f: usize| {
            let action = costs.get(&(t, x)).and_then(|pair| pair.actions[a].as_ref());
            action.map_or(0.0, |action| action.cost.value)
        };
        let reward = move |t: usize, x: usize, _a: usize, _f: usize| {
            rewards.get(&(t, x)).map_or(0.0, |pair| pair.reward.value)
        };
        let starts: Vec<f64> = self.starts.iter().map(|(share, _)| *share).collect();
        let model = Model::new(feedback, reward)
            .cost(cost)
            .start(starts)
            .noise(self.cost_noise, self.reward_noise);
        Arc::new(Problem::new(self.file.name(), spec, model))
    }
}
