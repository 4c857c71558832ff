//! Results: what many runs of one learner on one problem amount to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use emab::Conditions;
use emab::RegretBreakdown;
use emab::learners::ParameterValue;

/// Cumulative regret and gain at one episode, averaged over runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The number of episodes so far.
    pub episode: u64,
    /// Mean cumulative regret against the benchmark.
    pub regret: f64,
    /// Its standard error over the runs.
    pub stderr: f64,
    /// Mean cumulative gain, as realised.
    pub gain: f64,
    /// Its standard error over the runs.
    pub gain_stderr: f64,
    /// Mean cumulative regret against the optimal policy, with the standard error of `regret`; none where the optimal
    /// value is not known, and in files written before there was such a thing.
    #[serde(default)]
    pub regret_optimal: Option<f64>,
}

/// What one learner did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerResult {
    /// Its name in the catalogue.
    pub learner: String,
    /// What it was asked for as: tells two settings of one learner apart.
    pub label: String,
    /// All its parameters.
    pub parameters: BTreeMap<String, ParameterValue>,
    /// Regret and gain at the checkpoints.
    pub curve: Vec<CurvePoint>,
    /// Where the regret at the last checkpoint came from.
    pub causes: RegretBreakdown,
    /// Steps taken in all runs together.
    pub steps: u64,
    /// How long it took, the only thing here that differs from time to time.
    pub seconds: f64,
}

impl LearnerResult {
    /// With its regret against the optimal policy at every point.
    ///
    /// `n` episodes of the optimal policy earn `n (V_opt - V_bench)` more than those of the benchmark, in expectation and
    /// whatever the learner does: a constant, which moves the mean and leaves its standard error as it is.
    ///
    /// ```
    /// use emab::{Causes, CurvePoint, LearnerResult};
    /// let point = CurvePoint { episode: 10, regret: -1.0, stderr: 0.2, gain: 6.0, gain_stderr: 0.2, regret_optimal: None };
    /// let result = LearnerResult {
    ///     learner: "feedbal".into(), label: "feedbal".into(), parameters: Default::default(), curve: vec![point],
    ///     causes: Causes::default(), steps: 20, seconds: 0.0,
    /// };
    /// let known = result.clone().against_optimum(0.5, Some(0.75));
    /// assert_eq!(known.curve[0].regret_optimal, Some(-1.0 + 10.0 * 0.25));
    /// assert_eq!(result.against_optimum(0.5, None).curve[0].regret_optimal, None);
    /// ```
    #[must_use]
    pub fn against_optimum(
        mut self,
        benchmark_value: f64,
        optimal_value: Option<f64>,
    ) -> LearnerResult {
        let gap = gap(benchmark_value, optimal_value);
        for point in &mut self.curve {
            point.regret_optimal = gap.map(|gap| point.regret + point.episode as f64 * gap);
        }
        self
    }
}

/// By how much the optimal policy beats the benchmark; exactly 0 where rounding can explain the difference, so that both
/// regrets are the same number there.
pub(crate) fn gap(benchmark_value: f64, optimal_value: Option<f64>) -> Option<f64> {
    let optimal = optimal_value?;
    let gap = optimal - benchmark_value;
    Some(if gap > 1e-9 * optimal.abs() { gap } else { 0.0 })
}

/// What all learners did on one problem: the document that `emab run --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// The version of emab.
    pub version: String,
    /// The problem's name.
    pub problem: String,
    /// A hash of everything the problem file says.
    pub problem_hash: String,
    /// The seed.
    pub seed: u64,
    /// How many runs.
    pub runs: u64,
    /// How many episodes a run.
    pub episodes: u64,
    /// What it was played under.
    #[serde(default, skip_serializing_if = "Conditions::is_none")]
    pub conditions: Conditions,
    /// What the benchmark earns in an episode; where laws drift, on average over the episodes.
    pub benchmark_value: f64,
    /// Its standard error, 0 where it is exact.
    pub benchmark_stderr: f64,
    /// What the optimal policy earns in an episode; none where too much can be reached to know.
    pub optimal_value: Option<f64>,
    /// How regret was measured: `exact` or `paired`.
    pub estimator: String,
    /// The learners, in the order asked for.
    pub learners: Vec<LearnerResult>,
}

impl RunResult {
    /// By how much the optimal policy beats the benchmark in an episode, 0 where only by rounding; none where that is not
    /// known.
    pub fn gap(&self) -> Option<f64> {
        gap(self.benchmark_value, self.optimal_value)
    }

    /// With every learner's regret against the optimal policy: see [`LearnerResult::against_optimum`].
    #[must_use]
    pub fn against_optimum(mut self) -> RunResult {
        let (benchmark, optimal) = (self.benchmark_value, self.optimal_value);
        let learners = self.learners.into_iter();
        self.learners = learners
            .map(|learner| learner.against_optimum(benchmark, optimal))
            .collect();
        self
    }
}

/// One step-state pair as one learner met it: where its regret comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateRegret {
    /// The step, from 1.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The state's name.
    pub state: String,
    /// Mean visits a run.
    pub visits: f64,
    /// Mean regret paid there a run.
    pub regret: f64,
    /// The benchmark's action.
    pub benchmark: String,
    /// The action that most runs ended with there; none where no run came.
    pub learned: Option<String>,
    /// The share of the runs that came whose last choice there was the benchmark's.
    pub agree: f64,
}
