//! Errors of learners.

use thiserror::Error;

use super::entry::ProvedBounds;
use super::settings::listed;
use crate::input::did_you_mean;
use crate::learners::{CATALOGUE, TooManyArms};
use crate::oracle::OracleError;
use crate::parameter::ParameterError;

/// Why a learner cannot be built, or lacks a property. A first text is the name of the learner.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LearnerError {
    /// Unknown learner.
    #[error(
        "unknown learner `{name}`{}; `emab learners` lists them",
        did_you_mean(name, CATALOGUE.iter().map(|entry| entry.name))
    )]
    Unknown {
        /// The given name.
        name: String,
    },
    /// A user-defined learner that cannot be built, and the reason.
    #[error("learner `{0}`: {1}")]
    UserDefined(String, String),
    /// A learner whose parameter, the second text, is not key=value.
    #[error("learner `{0}`: `{1}` is not of the form key=value")]
    Form(String, String),
    /// Unknown parameter.
    #[error(
        "learner `{learner}` has no parameter `{name}`{}; {}",
        did_you_mean(name, known.iter().copied()),
        it_has(known)
    )]
    UnknownParameter {
        /// The learner.
        learner: &'static str,
        /// The given name.
        name: String,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A parameter set twice.
    #[error("learner `{0}`: `{1}` is given twice")]
    Twice(&'static str, String),
    /// A parameter outside its range.
    #[error("learner `{0}`: {1}")]
    Parameter(&'static str, ParameterError),
    /// Too many sequences of actions.
    #[error("learner `{0}`: {1}")]
    Arms(&'static str, TooManyArms),
    /// The problem cannot be solved.
    #[error("learner `{0}`: {1}")]
    Oracle(&'static str, OracleError),
    /// The learner needs the model, and the problem has none.
    #[error("learner `{0}` needs the model of the problem, and this problem has no `model`")]
    NeedsModel(&'static str),
    /// The paper's theorems do not cover it.
    #[error(
        "the paper's bounds do not cover learner `{0}` with these parameters; they cover `feedbal` with width=paper or sound"
    )]
    NoBounds(&'static str),
    /// A verification checks no confidence bounds of it.
    #[error("{}; those of {} can be verified", unverified(.0, *.1), verified())]
    NotVerified(&'static str, ProvedBounds),
    /// It has no confidence bounds that can be certified. Logs record this text, so it does not change.
    #[error(
        "learner `{0}` promises nothing that could be checked; `feedbal` and `feedbal-model` do"
    )]
    NoGuarantee(&'static str),
    /// It forgets, and the guarantee is about sample means of all episodes. Logs record this text, so it does not change.
    #[error(
        "learner `{0}` promises nothing that could be checked once it forgets; leave `window` and `gamma` out"
    )]
    Forgets(&'static str),
    /// Its choices depend on more than the learned episodes.
    #[error("learner `{learner}` does not choose from its tables alone: {why}; {remedy}")]
    NotFromTables {
        /// The learner.
        learner: &'static str,
        /// What else its choices depend on.
        why: String,
        /// The remedy.
        remedy: String,
    },
    /// The problem does not have the form that the learner requires, for this reason.
    #[error("learner `{0}` does not apply: {1}")]
    DoesNotApply(&'static str, String),
    /// Too many fixed sequences to search.
    #[error("learner `{0}`: there are too many fixed sequences to find the best of them")]
    Sequences(&'static str),
}

impl LearnerError {
    /// The message without the name of the learner.
    ///
    /// ```
    /// use emab::learners::{LearnerConfig, LearnerDefaults};
    /// let spec = emab::Spec::new(2, emab::Names::Count(1, ""), emab::Names::Count(1, ""), emab::Names::Count(1, ""));
    /// let config = LearnerConfig::parse("psrl:prior=0", &LearnerDefaults::default()).unwrap();
    /// let error = config.build(&std::sync::Arc::new(spec.unwrap()), None).err().unwrap();
    /// assert_eq!(error.reason(), "`prior` must be more than 0, got 0");
    /// ```
    pub fn reason(&self) -> String {
        match self {
            LearnerError::Parameter(_, error) => error.to_string(),
            LearnerError::Arms(_, error) => error.to_string(),
            LearnerError::Oracle(_, error) => error.to_string(),
            LearnerError::DoesNotApply(_, why) => why.clone(),
            other => other.to_string(),
        }
    }

    /// Whether the cause is the problem, and not the parameters.
    pub fn does_not_apply(&self) -> bool {
        matches!(
            self,
            LearnerError::Arms(..)
                | LearnerError::Oracle(..)
                | LearnerError::NeedsModel(..)
                | LearnerError::DoesNotApply(..)
                | LearnerError::Sequences(..)
        )
    }
}

fn unverified(learner: &str, bounds: ProvedBounds) -> String {
    match bounds {
        ProvedBounds::None => format!("no confidence bounds are proved for learner `{learner}`"),
        _ => format!(
            "the confidence bounds of learner `{learner}` are proved, and a verification does not check them"
        ),
    }
}

/// The learners whose bounds a verification checks.
fn verified() -> String {
    let all = CATALOGUE.iter();
    let verified = all.filter(|entry| entry.proved_bounds == ProvedBounds::Verified);
    listed(verified.map(|entry| entry.name), "and")
}

fn it_has(known: &[&'static str]) -> String {
    match known {
        [] => "it has none".into(),
        known => format!("it has `{}`", known.join("`, `")),
    }
}
