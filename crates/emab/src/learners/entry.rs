//! One entry of the catalogue: what a learner is called, what can be set, and how it is built. Each stands in the file
//! of its algorithm.

use std::sync::Arc;

use serde::Serialize;

use super::LearnerError;
use super::parameter::Parameter;
use super::settings::Settings;
use crate::learner::Learner;
use crate::model::Problem;
use crate::oracle::OracleError;
use crate::spec::Spec;

/// What a learner gets to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sees {
    /// The specification and the episodes.
    Spec,
    /// The specification, the episodes, and the law of the feedback.
    Law,
    /// The specification, the episodes, and the rewards.
    Rewards,
    /// The truth.
    Problem,
}

impl Sees {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Sees::Spec => "episodes",
            Sees::Law => "the law",
            Sees::Rewards => "the rewards",
            Sees::Problem => "the truth",
        }
    }
}

/// One learner of the catalogue.
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name in figures and text.
    pub title: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Where it was published.
    pub reference: &'static str,
    /// What it gets to see.
    pub sees: Sees,
    /// Whether its estimates are promised to stay within their widths, up to its `delta`; what `emab verify` counts.
    pub promises: bool,
    /// What can be set.
    pub parameters: &'static [Parameter],
    pub(super) build: fn(&Build<'_>) -> Result<Box<dyn Learner + Send>, LearnerError>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Entry({})", self.name)
    }
}

/// What a learner is built from.
pub(super) struct Build<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) spec: &'a Arc<Spec>,
    pub(super) problem: Option<&'a Arc<Problem>>,
}

impl<'a> std::ops::Deref for Build<'a> {
    type Target = Settings<'a>;

    fn deref(&self) -> &Settings<'a> {
        &self.settings
    }
}

impl Build<'_> {
    /// The error that the truth cannot be worked out.
    pub(super) fn oracle(&self, error: OracleError) -> LearnerError {
        LearnerError::Oracle {
            learner: self.learner,
            error,
        }
    }

    /// The truth, which this learner needs.
    pub(super) fn problem(&self) -> Result<Arc<Problem>, LearnerError> {
        self.problem.cloned().ok_or(LearnerError::NeedsModel {
            learner: self.learner,
        })
    }
}
