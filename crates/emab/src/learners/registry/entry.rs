//! One entry of the catalogue: what a learner is called, what can be set, and how it is built. Each stands in the file
//! of its algorithm.

use std::sync::Arc;

use serde::Serialize;

use super::parameter::Parameter;
use super::settings::Settings;
use crate::learner::Learner;
use crate::learners::{FeedBal, LearnerError, Policy, Random, Ucb1};
use crate::model::Problem;
use crate::oracle::OracleError;
use crate::spec::Spec;

/// What a learner gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// The specification and the episodes.
    Spec,
    /// The specification, the episodes, and the feedback probabilities.
    #[serde(rename = "law")]
    Feedback,
    /// The specification, the episodes, and the rewards.
    Rewards,
    /// The truth.
    Problem,
}

impl Access {
    /// A short description. Arena results record it, so it does not change.
    pub fn description(self) -> &'static str {
        match self {
            Access::Spec => "episodes",
            Access::Feedback => "the law",
            Access::Rewards => "the rewards",
            Access::Problem => "the truth",
        }
    }
}

/// What a choice rests on, beside the step and the state it is made in and the episodes that were learned from.
///
/// A simulation plays one episode after another and need not care. Whoever has many open at once, asks when cases come
/// and not when the learner expects it, and must be able to say later why something was chosen, needs [`ChoiceBasis::Tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChoiceBasis {
    /// Nothing: whoever learned the same episodes in the same order chooses the same, asked before or not.
    Tables,
    /// Draws of its own.
    Draws,
    /// What it decided at the first step of the episode, so that only one can be open at a time.
    Plan,
    /// When it was asked before: it makes up its mind at a question, and that stays.
    Asked,
}

impl ChoiceBasis {
    /// In words, of a learner.
    pub fn description(self) -> &'static str {
        match self {
            ChoiceBasis::Tables => "it chooses from its tables alone",
            ChoiceBasis::Draws => "it draws",
            ChoiceBasis::Plan => {
                "it decides at the first step of an episode what to do in all of it"
            }
            ChoiceBasis::Asked => "what it chooses depends on when it was asked before",
        }
    }
}

/// One learner of the catalogue.
pub struct LearnerEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in figures and text.
    pub title: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it was published.
    pub reference: &'static str,
    /// What it gets to see.
    pub access: Access,
    /// Whether its estimates are promised to stay within their widths, up to its `delta`; what `emab verify` counts.
    pub has_guarantee: bool,
    /// What its choices rest on beside what it learned, unless a setting changes that:
    /// [`LearnerConfig::chooses_from_tables`](super::LearnerConfig::chooses_from_tables).
    pub choice_basis: ChoiceBasis,
    /// What can be set.
    pub parameters: &'static [Parameter],
    pub(crate) build: fn(&Build<'_>) -> Result<BuiltLearner, LearnerError>,
}

impl std::fmt::Debug for LearnerEntry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Entry({})", self.name)
    }
}

/// A built learner: by its type where an engine has a faster implementation of it, as a trait object otherwise.
pub enum BuiltLearner {
    /// FeedBAL with the paper's or the sound width, without forgetting.
    FeedBal(FeedBal),
    /// A fixed policy: the benchmark, the optimal policy or the best fixed sequence.
    Policy(Policy),
    /// Random actions.
    Random(Random),
    /// UCB1 or UCB1-V on sequences of actions.
    Ucb1(Box<Ucb1>),
    /// Any other learner.
    Other(Box<dyn Learner + Send>),
}

impl BuiltLearner {
    pub(crate) fn other(learner: impl Learner + Send + 'static) -> BuiltLearner {
        BuiltLearner::Other(Box::new(learner))
    }

    /// The learner as a trait object.
    pub fn boxed(self) -> Box<dyn Learner + Send> {
        match self {
            BuiltLearner::FeedBal(learner) => Box::new(learner),
            BuiltLearner::Policy(learner) => Box::new(learner),
            BuiltLearner::Random(learner) => Box::new(learner),
            BuiltLearner::Ucb1(learner) => learner,
            BuiltLearner::Other(learner) => learner,
        }
    }
}

/// What a learner is built from.
pub(crate) struct Build<'a> {
    pub(crate) settings: Settings<'a>,
    pub(crate) spec: &'a Arc<Spec>,
    pub(crate) problem: Option<&'a Arc<Problem>>,
}

impl<'a> std::ops::Deref for Build<'a> {
    type Target = Settings<'a>;

    fn deref(&self) -> &Settings<'a> {
        &self.settings
    }
}

impl Build<'_> {
    /// The error that the truth cannot be worked out.
    pub(crate) fn oracle(&self, error: OracleError) -> LearnerError {
        LearnerError::Oracle {
            learner: self.learner,
            error,
        }
    }

    /// The truth, which this learner needs.
    pub(crate) fn problem(&self) -> Result<Arc<Problem>, LearnerError> {
        self.problem.cloned().ok_or(LearnerError::NeedsModel {
            learner: self.learner,
        })
    }
}
