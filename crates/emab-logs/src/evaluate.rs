//! The value of a policy from a log: the g-formula, with an interval that holds although the log was collected adaptively.
//!
//! The estimate plays the policy in the estimated model: shares of feedback, mean costs and mean terminal rewards by step and
//! state. Two intervals are computed, each with half of the error probability, and intersected (`docs/theory.md`, "The value of a
//! policy from a log"): one adds a time-uniform width at every node and is propagated from the last step to the first, the other
//! bounds the weighted sum of all errors at once.

use std::fmt;

use emab::Spec;
use emab::spec::format_number;
use emab::theory::TripletAt;
use serde::Serialize;
use thiserror::Error;

use crate::assumptions::{Assumed, AssumptionError, Assumptions, Stated};
use crate::graph::GraphError;
use crate::interval::{Bounds, Evaluator, log_sums, width};
use crate::log::{DecisionLog, LogCounts};
use crate::policy::{LOGGED, Policy, PolicyError};
use crate::statistics::{PooledVariance, Pooling, Sample, Statistics};

/// Settings of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The probability with which the interval contains the value.
    pub confidence: f64,
    /// Which observations are taken together.
    pub pooling: Pooling,
    /// Values that the call states.
    pub stated: Stated,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            confidence: 0.95,
            pooling: Pooling::State,
            stated: Stated::default(),
        }
    }
}

/// Why a policy cannot be evaluated.
#[derive(Debug, Error)]
pub enum EvaluateError {
    /// The confidence is not a probability.
    #[error("the confidence must be more than 0 and less than 1, got {0}")]
    Confidence(f64),
    /// The log has no learned episode.
    #[error(
        "the log has no episode with an outcome: there is nothing to evaluate a policy on ({0})"
    )]
    Empty(LeftOut),
    /// A range is invalid, or neither stated nor shown by the log.
    #[error(transparent)]
    Assumption(#[from] AssumptionError),
    /// No episode has a known gain.
    #[error(
        "no episode of the log has a known last reward and known costs: its mean gain is not known"
    )]
    NoGain,
    /// The policy cannot be followed.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// There is no such policy.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

/// Episodes that an evaluation leaves out, as words.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut(pub LogCounts);

impl fmt::Display for LeftOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = &self.0;
        let parts = [
            (counts.open, "open"),
            (counts.stopped, "without a complete outcome"),
            (counts.abandoned, "abandoned"),
            (counts.voided, "voided"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        match parts.is_empty() {
            true if counts.episodes == 0 => out.write_str("it has no episodes"),
            true => out.write_str("no episode is left out"),
            false => out.write_str(&parts.join(", ")),
        }
    }
}

/// A step-state pair that the policy needs, with what the log has of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairSupport {
    /// Step, state and the policy's action.
    #[serde(flatten)]
    pub place: TripletAt,
    /// The number of observations of that action there; of rewards for `stop`.
    pub count: u64,
    /// The number of known costs of the action; none for `stop`.
    pub costs: Option<u64>,
    /// The estimated probability that the policy leads there.
    pub weight: f64,
    /// The estimated value from there on.
    pub value: f64,
    /// Its lower bound.
    pub lower: f64,
    /// Its upper bound.
    pub upper: f64,
}

/// An estimate and its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The estimate.
    pub value: f64,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// The standard error if the number of observations of each pair had been fixed beforehand: for comparison, not for an interval; none for the gain
    /// of a single episode.
    pub stderr: Option<f64>,
    /// The number of episodes.
    pub episodes: u64,
}

/// The value of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct Evaluation {
    /// The policy.
    pub policy: String,
    /// The estimate and its interval.
    #[serde(flatten)]
    pub value: Value,
    /// The probability with which the interval contains the value.
    pub confidence: f64,
    /// Whether the log has observations of every pair that the policy leads to in the estimated model.
    pub supported: bool,
    /// The pairs that it leads to and that have none, or no known cost; the interval rests on the stated ranges there.
    pub unsupported: Vec<TripletAt>,
    /// The mean gain of the logged episodes.
    pub logged_value: Option<f64>,
    /// Its standard error.
    pub logged_stderr: Option<f64>,
    /// The number of logged episodes whose gain is known.
    pub logged_episodes: u64,
    /// Whether the policy was chosen from this log; the interval then allows for the choice.
    pub from_log: bool,
    /// Which observations are taken together.
    pub pooling: Pooling,
    /// The pairs that the policy needs, by step and state; for `pooling` by path, paths.
    pub pairs: Vec<PairSupport>,
    /// What is not stated and was taken from the log.
    pub assumed: Vec<Assumed>,
    /// Where the log contradicts what is stated: the interval is wrong there.
    pub violations: Vec<String>,
    /// Where the log contradicts the assumption that nothing but step and state matters.
    pub contradictions: Vec<crate::states::Contradiction>,
    /// How many episodes the log has, by status.
    pub log: LogCounts,
    /// The same without the steps from the first override of an episode on, if there are overrides.
    pub without_overrides: Option<Value>,
}

/// Evaluates the policy that a call names: [`LOGGED`], or one of [`Policy::named`]. `from_log` says that it was chosen from the log.
pub fn evaluate_named(
    log: &DecisionLog,
    name: &str,
    from_log: bool,
    settings: &Settings,
) -> Result<Evaluation, EvaluateError> {
    if name == LOGGED {
        return evaluate_logged(log, settings);
    }
    let mut policy = Policy::named(name, log, &settings.stated)?;
    policy.from_log |= from_log;
    evaluate(log, &mut policy, settings)
}

/// Evaluates a policy on a log.
pub fn evaluate(
    log: &DecisionLog,
    policy: &mut Policy,
    settings: &Settings,
) -> Result<Evaluation, EvaluateError> {
    let counts = log.counts();
    check(settings, &counts)?;
    let statistics = Statistics::of(log, settings.pooling, true);
    let assumptions = Assumptions::of(log, &statistics, &settings.stated)?;
    let evaluator = Evaluator::new(log.spec(), &statistics, &assumptions, policy, settings)?;
    let (value, pairs) = evaluator.estimate();
    let unsupported = pairs
        .iter()
        .filter(|it| it.count == 0 || it.costs == Some(0));
    let unsupported: Vec<TripletAt> = unsupported.map(|it| it.place.clone()).collect();
    let without_overrides = match counts.overridden {
        0 => None,
        _ => {
            let statistics = Statistics::of(log, settings.pooling, false);
            let evaluator =
                Evaluator::new(log.spec(), &statistics, &assumptions, policy, settings)?;
            Some(evaluator.estimate().0)
        }
    };
    let contradictions = match settings.pooling {
        Pooling::State => {
            crate::states::contradictions(log, &assumptions, 1.0 - settings.confidence)
        }
        Pooling::Path => Vec::new(),
    };
    Ok(Evaluation {
        policy: policy.name.clone(),
        value,
        supported: unsupported.is_empty(),
        unsupported,
        from_log: policy.from_log,
        pairs,
        without_overrides,
        violations: violations(log.spec(), &statistics, &assumptions),
        contradictions,
        ..Evaluation::shared(log, settings, assumptions, counts)
    })
}

/// Evaluates what was done in the log: the expected gain of its episodes, whatever chose their actions.
///
/// The interval is for the mean of the conditional expectations of the gains, given what came before each episode.
pub fn evaluate_logged(
    log: &DecisionLog,
    settings: &Settings,
) -> Result<Evaluation, EvaluateError> {
    let counts = log.counts();
    check(settings, &counts)?;
    let statistics = Statistics::of(log, Pooling::State, true);
    let assumptions = Assumptions::of(log, &statistics, &settings.stated)?;
    let gain = log.logged_gain().ok_or(EvaluateError::NoGain)?;
    let actions = log.spec().horizon() - 1;
    if actions > 0 {
        assumptions.require_costs()?;
    }
    let range = assumptions.value_range(actions);
    // The expected gain of a path lies in the range; costs and the last reward vary around it.
    let length = range.1 - range.0;
    let proxy =
        length * length / 4.0 + assumptions.reward_noise + actions as f64 * assumptions.cost_noise;
    let log_error = -libm::log(1.0 - settings.confidence);
    let width = width(log_error, proxy, gain.episodes);
    let bounds = Bounds {
        value: gain.mean,
        lower: gain.mean - width,
        upper: gain.mean + width,
        range,
    }
    .clipped();
    Ok(Evaluation {
        violations: violations(log.spec(), &statistics, &assumptions),
        value: Value {
            value: bounds.value.clamp(bounds.lower, bounds.upper),
            lower: bounds.lower,
            upper: bounds.upper,
            stderr: gain.stderr,
            episodes: gain.episodes,
        },
        ..Evaluation::shared(log, settings, assumptions, counts)
    })
}

/// Where the log contradicts what is stated: means outside the ranges by more than their widths, and values that vary more than the
/// stated noise allows.
fn violations(spec: &Spec, statistics: &Statistics, assumptions: &Assumptions) -> Vec<String> {
    let mut found = Vec::new();
    let log_error = libm::log(20.0) + log_sums(spec, statistics.pooling);
    let mut outside = |sample: &Sample, proxy: f64, range: (f64, f64), what: String| {
        let width = width(log_error, proxy, sample.count);
        if sample.count > 0 && (sample.mean - width > range.1 || sample.mean + width < range.0) {
            let [low, high] = [range.0, range.1].map(format_number);
            let mean = rounded(sample.mean);
            found.push(format!(
                "{what} is {mean} on average of {} observed, outside its range of {low} to {high}",
                sample.count
            ));
        }
    };
    for node in statistics.in_order() {
        let at = format!("step {}, state `{}`", node.t, spec.states().name(node.x));
        let (noise, range) = (assumptions.reward_noise, assumptions.reward_range);
        outside(&node.reward, noise, range, format!("{at}: the reward"));
        for (&a, action) in &node.actions {
            let name = spec.actions().name(a);
            let (noise, range) = (assumptions.cost_noise, assumptions.cost_range);
            outside(
                &action.cost,
                noise,
                range,
                format!("{at}: the cost of `{name}`"),
            );
        }
    }
    let rewards = PooledVariance::of(statistics.rewards());
    let costs = PooledVariance::of(statistics.costs());
    for (observed, noise, what) in [
        (rewards, assumptions.reward_noise, "rewards"),
        (costs, assumptions.cost_noise, "costs"),
    ] {
        let exceeds = |it: &PooledVariance| it.variance > largest_variance(noise, it.freedom);
        if let Some(PooledVariance { variance, .. }) = observed.filter(exceeds) {
            let (variance, noise) = (rounded(variance), format_number(noise));
            found.push(format!(
                "{what} vary by {variance} around their means, and their variance proxy is stated as {noise}"
            ));
        }
    }
    found
}

/// A number with four significant digits.
fn rounded(value: f64) -> String {
    format_number(format!("{value:.3e}").parse().unwrap_or(value))
}

/// What a pooled variance exceeds with probability at most 1/40, if the noise has this proxy (Hsu, Kakade and Zhang, *A tail inequality
/// for quadratic forms of subgaussian random vectors*, 2012, for numbers of observations that do not depend on the values).
fn largest_variance(proxy: f64, freedom: u64) -> f64 {
    let share = libm::log(40.0) / freedom as f64;
    // Rounding leaves squares where all values of a pair are equal.
    proxy * (1.0 + 2.0 * share.sqrt() + 2.0 * share) + 1e-12
}

fn check(settings: &Settings, counts: &LogCounts) -> Result<(), EvaluateError> {
    if !(settings.confidence > 0.0 && settings.confidence < 1.0) {
        return Err(EvaluateError::Confidence(settings.confidence));
    }
    match counts.learned {
        0 => Err(EvaluateError::Empty(LeftOut(*counts))),
        _ => Ok(()),
    }
}

impl Evaluation {
    /// What all evaluations have in common.
    fn shared(
        log: &DecisionLog,
        settings: &Settings,
        assumptions: Assumptions,
        counts: LogCounts,
    ) -> Evaluation {
        let gain = log.logged_gain();
        Evaluation {
            policy: LOGGED.into(),
            value: Value {
                value: 0.0,
                lower: 0.0,
                upper: 0.0,
                stderr: None,
                episodes: 0,
            },
            confidence: settings.confidence,
            supported: true,
            unsupported: Vec::new(),
            logged_value: gain.map(|gain| gain.mean),
            logged_stderr: gain.and_then(|gain| gain.stderr),
            logged_episodes: gain.map_or(0, |gain| gain.episodes),
            from_log: false,
            pooling: settings.pooling,
            pairs: Vec::new(),
            assumed: assumptions.assumed,
            violations: Vec::new(),
            contradictions: Vec::new(),
            log: counts,
            without_overrides: None,
        }
    }
}
