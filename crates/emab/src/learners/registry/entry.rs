//! One entry of the catalogue: the name of a learner, its parameters, its properties and how it is built. The entry is in
//! the file of the algorithm.

use std::sync::Arc;

use serde::Serialize;

use super::parameter::Parameter;
use super::settings::Settings;
use crate::learner::Learner;
use crate::learners::{FeedBal, FeedBalModel, LearnerError, Policy, Random, Thompson, Ucb1};
use crate::model::Problem;
use crate::oracle::OracleError;
use crate::spec::Spec;

/// What a learner may read besides the specification and the episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Nothing else.
    Spec,
    /// The feedback distribution.
    #[serde(rename = "law")]
    Feedback,
    /// The expected rewards.
    Rewards,
    /// The whole model.
    Problem,
}

impl Access {
    /// A short description for tables.
    pub fn description(self) -> &'static str {
        match self {
            Access::Spec => "episodes",
            Access::Feedback => "feedback distribution",
            Access::Rewards => "rewards",
            Access::Problem => "model",
        }
    }

    /// The text that arena results record; it does not change.
    pub fn recorded_name(self) -> &'static str {
        match self {
            Access::Spec => "episodes",
            Access::Feedback => "the law",
            Access::Rewards => "the rewards",
            Access::Problem => "the truth",
        }
    }

    /// The access with this recorded name.
    ///
    /// ```
    /// use emab::learners::Access;
    /// assert_eq!(Access::of_recorded_name("the truth"), Some(Access::Problem));
    /// ```
    pub fn of_recorded_name(name: &str) -> Option<Access> {
        let all = [
            Access::Spec,
            Access::Feedback,
            Access::Rewards,
            Access::Problem,
        ];
        all.into_iter()
            .find(|access| access.recorded_name() == name)
    }
}

/// What a choice depends on besides the step, the state and the episodes that were learned from.
///
/// A simulation plays one episode after another, so any learner will do. A service with many open episodes at once, which
/// must be able to recompute every choice later, needs [`ChoiceBasis::Tables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChoiceBasis {
    /// Nothing else: the same episodes in the same order give the same choices.
    Tables,
    /// Random draws of the learner.
    Draws,
    /// A plan made at the first step of the episode, so that only one episode can be open at a time.
    Plan,
    /// Earlier calls of `choose`, which change the state of the learner.
    Asked,
}

impl ChoiceBasis {
    /// A short name for tables.
    pub fn name(self) -> &'static str {
        match self {
            ChoiceBasis::Tables => "tables",
            ChoiceBasis::Draws => "random draws",
            ChoiceBasis::Plan => "plan of the episode",
            ChoiceBasis::Asked => "earlier requests",
        }
    }

    /// A clause whose subject is the learner, for messages.
    pub fn description(self) -> &'static str {
        match self {
            ChoiceBasis::Tables => "it chooses from its tables alone",
            ChoiceBasis::Draws => "it draws random numbers",
            ChoiceBasis::Plan => "it plans a whole episode at the first step",
            ChoiceBasis::Asked => "its choices depend on earlier requests",
        }
    }
}

/// Whether confidence bounds are proved for the estimates of a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProvedBounds {
    /// No.
    None,
    /// Yes, and `emab verify` does not check them.
    Unverified,
    /// Yes, and `emab verify` counts the runs that violate them.
    Verified,
}

/// One learner of the catalogue.
pub struct LearnerEntry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in figures and text.
    pub title: &'static str,
    /// What it does, in one line.
    pub about: &'static str,
    /// Where it was published.
    pub reference: &'static str,
    /// What it may read.
    pub access: Access,
    /// Whether it is proved that its estimates stay within their bounds with probability `1 - delta`.
    pub proved_bounds: ProvedBounds,
    /// What its choices depend on with default parameters, see
    /// [`LearnerConfig::chooses_from_tables`](crate::learners::LearnerConfig::chooses_from_tables).
    pub choice_basis: ChoiceBasis,
    /// Its parameters.
    pub parameters: &'static [Parameter],
    pub(crate) build: fn(&Build<'_>) -> Result<BuiltLearner, LearnerError>,
}

impl LearnerEntry {
    /// A learner that reads nothing but the specification and the episodes, without guarantee and parameters.
    pub(crate) const DEFAULT: LearnerEntry = LearnerEntry {
        name: "",
        title: "",
        about: "",
        reference: "",
        access: Access::Spec,
        proved_bounds: ProvedBounds::None,
        choice_basis: ChoiceBasis::Asked,
        parameters: &[],
        build: |build| {
            let reason = "it has no build function".into();
            Err(LearnerError::UserDefined(build.learner.into(), reason))
        },
    };
}

impl std::fmt::Debug for LearnerEntry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "LearnerEntry({})", self.name)
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
    /// Thompson sampling.
    Thompson(Thompson),
    /// FeedBAL with `width=bernstein`.
    FeedBalBernstein(Box<FeedBalModel>),
    /// Any other learner.
    Other(Box<dyn Learner + Send>),
}

impl BuiltLearner {
    pub(crate) fn other(
        learner: impl Learner + Send + 'static,
    ) -> Result<BuiltLearner, LearnerError> {
        Ok(BuiltLearner::Other(Box::new(learner)))
    }

    /// The learner as a trait object.
    pub fn boxed(self) -> Box<dyn Learner + Send> {
        match self {
            BuiltLearner::FeedBal(learner) => Box::new(learner),
            BuiltLearner::Policy(learner) => Box::new(learner),
            BuiltLearner::Random(learner) => Box::new(learner),
            BuiltLearner::Ucb1(learner) => learner,
            BuiltLearner::Thompson(learner) => Box::new(learner),
            BuiltLearner::FeedBalBernstein(learner) => learner,
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
    /// The error that the problem cannot be solved.
    pub(crate) fn oracle(&self, error: OracleError) -> LearnerError {
        LearnerError::Oracle(self.learner, error)
    }

    /// The problem with its model; an error where there is no model.
    pub(crate) fn problem(&self) -> Result<Arc<Problem>, LearnerError> {
        let needed = LearnerError::NeedsModel(self.learner);
        self.problem.cloned().ok_or(needed)
    }
}
