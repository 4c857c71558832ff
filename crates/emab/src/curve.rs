//! Results: what many runs of one learner on one problem amount to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::conditions::Conditions;
use crate::learners::ParameterValue;
use crate::spec::Action;

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
}

/// Where the regret of the last point came from; the three add up to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Causes {
    /// The learner stopped where the benchmark goes on.
    pub early_stop: f64,
    /// The learner went on where the benchmark stops.
    pub late_stop: f64,
    /// Both go on, with different actions.
    pub wrong_action: f64,
}

impl Causes {
    /// Books what was lost by `action` where the benchmark does `best`.
    pub fn add(&mut self, best: Action, action: Action, loss: f64) {
        match (best, action) {
            (_, Action::Stop) => self.early_stop += loss,
            (Action::Stop, Action::Continue(_)) => self.late_stop += loss,
            (Action::Continue(_), Action::Continue(_)) => self.wrong_action += loss,
        }
    }

    /// The regret.
    pub fn total(&self) -> f64 {
        self.early_stop + self.late_stop + self.wrong_action
    }
}

impl std::ops::AddAssign for Causes {
    fn add_assign(&mut self, more: Causes) {
        self.early_stop += more.early_stop;
        self.late_stop += more.late_stop;
        self.wrong_action += more.wrong_action;
    }
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
    pub causes: Causes,
    /// Steps taken in all runs together.
    pub steps: u64,
    /// How long it took, the only thing here that differs from time to time.
    pub seconds: f64,
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

/// One step-state pair as one learner met it: where its regret comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
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
