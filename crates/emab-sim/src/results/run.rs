//! The results of a run: regret curves of learners on one problem.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use emab::Conditions;
use emab::RegretBreakdown;
use emab::learners::ParameterValue;
use emab::stats::{Quantiles, TwoGroups};

/// Cumulative regret and gain at one episode, averaged over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The number of episodes so far.
    pub episode: u64,
    /// Mean cumulative regret against the benchmark.
    pub regret: f64,
    /// Its standard error over the runs.
    pub stderr: f64,
    /// Mean cumulative realised gain.
    pub gain: f64,
    /// Its standard error over the runs.
    pub gain_stderr: f64,
    /// Mean cumulative regret against the optimal policy, with the standard error of `regret`; none where the optimal
    /// value is unknown, and in files of earlier versions.
    #[serde(default)]
    pub regret_optimal: Option<f64>,
    /// Quantiles of the cumulative regret over the runs; none in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Quantiles>,
}

/// The result of one learner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerResult {
    /// Its name in the catalogue.
    pub learner: String,
    /// Its label: the text it was requested by, with parameters.
    pub label: String,
    /// All its parameters.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// Regret and gain at the checkpoints.
    pub curve: Vec<CurvePoint>,
    /// The causes of the regret at the last checkpoint.
    pub causes: RegretBreakdown,
    /// The share of stuck runs: those with a pair that the benchmark visits, visited at least 100 times in the last half of the run,
    /// at which no choice of that half was as good as the benchmark's. None where the regret of a choice is not known, under drift, and in
    /// files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<f64>,
    /// Two groups of runs by final regret, if the runs fall into two; the interval of the mean is then unreliable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<TwoGroups>,
    /// Steps of all runs together.
    pub steps: u64,
    /// The time it took; the only value that differs between runs of the same seed.
    pub seconds: f64,
}

impl LearnerResult {
    /// Adds the regret against the optimal policy at every point.
    ///
    /// `n` episodes of the optimal policy earn `n (V_opt - V_bench)` more than those of the benchmark, in expectation. The
    /// difference is a constant: it moves the mean and not the standard error.
    ///
    /// ```
    /// use emab::RegretBreakdown;
    /// use emab_sim::results::{CurvePoint, LearnerResult, ReferenceValues};
    /// let point = CurvePoint { episode: 10, regret: -1.0, stderr: 0.2, gain: 6.0, gain_stderr: 0.2, regret_optimal: None, quantiles: None };
    /// let result = LearnerResult {
    ///     learner: "feedbal".into(), label: "feedbal".into(), parameters: Default::default(), curve: vec![point],
    ///     causes: RegretBreakdown::default(), stuck: None, groups: None, steps: 20, seconds: 0.0,
    /// };
    /// let values = ReferenceValues { benchmark_value: 0.5, optimal_value: Some(0.75), ..Default::default() };
    /// assert_eq!(result.against_optimum(&values).curve[0].regret_optimal, Some(-1.0 + 10.0 * 0.25));
    /// ```
    #[must_use]
    pub fn against_optimum(mut self, values: &ReferenceValues) -> LearnerResult {
        let gap = values.gap();
        for point in &mut self.curve {
            point.regret_optimal = gap.map(|gap| point.regret + point.episode as f64 * gap);
        }
        self
    }
}

/// The values of the benchmark and of the optimal policy, per episode; under drift, averaged over the episodes of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReferenceValues {
    /// The value of the benchmark.
    pub benchmark_value: f64,
    /// Its standard error; 0 where it is exact.
    pub benchmark_stderr: f64,
    /// The value of the optimal policy; none where too many pairs can be reached, under drift, and where recommendations
    /// are overridden.
    pub optimal_value: Option<f64>,
    /// How regret is measured: `exact` or `paired`.
    pub estimator: String,
}

impl ReferenceValues {
    /// The value of the optimal policy less that of the benchmark, if it is known; exactly 0 where the difference is
    /// rounding, so that both regrets are equal.
    pub fn gap(&self) -> Option<f64> {
        let optimal = self.optimal_value?;
        let gap = optimal - self.benchmark_value;
        Some(if gap > 1e-9 * optimal.abs() { gap } else { 0.0 })
    }
}

/// The results of all learners on one problem: the document that `emab run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The version of emab.
    pub version: String,
    /// The problem's name.
    pub problem: String,
    /// The hash of the problem file.
    pub problem_hash: String,
    /// The seed.
    pub seed: u64,
    /// The number of runs.
    pub runs: u64,
    /// Episodes of a run.
    pub episodes: u64,
    /// The conditions.
    #[serde(default, skip_serializing_if = "Conditions::is_none")]
    pub conditions: Conditions,
    /// The values of the benchmark and of the optimal policy.
    #[serde(flatten)]
    pub values: ReferenceValues,
    /// The learners, in the order requested.
    pub learners: Vec<LearnerResult>,
}

impl RunResult {
    /// Adds every learner's regret against the optimal policy; see [`LearnerResult::against_optimum`].
    #[must_use]
    pub fn against_optimum(mut self) -> RunResult {
        let learners = self.learners.into_iter();
        let learners = learners.map(|learner| learner.against_optimum(&self.values));
        self.learners = learners.collect();
        self
    }
}

/// The regret of one learner at one step-state pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateRegret {
    /// The step, from 1.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The state's name.
    pub state: String,
    /// Mean visits per run.
    pub visits: f64,
    /// Mean regret per run.
    pub regret: f64,
    /// The benchmark's action.
    pub benchmark: String,
    /// The last choice of most runs at the pair; none if no run visited it.
    pub learned: Option<String>,
    /// The share of visiting runs whose last choice was the benchmark's.
    pub agree: f64,
}
