//! Why a learner cannot be had.

use thiserror::Error;

use crate::learners::TooManyArms;
use crate::oracle::OracleError;
use crate::parameter::ParameterError;

/// Why a learner cannot be had.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum LearnerError {
    /// No such learner.
    #[error(
        "unknown learner `{name}`{}; `emab learners` lists them",
        did_you_mean(near)
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The nearest name there is.
        near: Option<&'static str>,
    },
    /// A learner of somebody's own that cannot be built.
    #[error("learner `{learner}`: {what}")]
    UserDefined {
        /// What it is called.
        learner: String,
        /// Why.
        what: String,
    },
    /// Not `name:key=value,key=value`.
    #[error("learner `{text}`: `{part}` is not of the form key=value")]
    Form {
        /// The whole.
        text: String,
        /// The part that is wrong.
        part: String,
    },
    /// No such parameter.
    #[error("learner `{learner}` has no parameter `{name}`; {}", it_has(known))]
    UnknownParameter {
        /// The learner.
        learner: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<&'static str>,
    },
    /// A parameter set twice.
    #[error("learner `{learner}`: `{name}` is given twice")]
    Twice {
        /// The learner.
        learner: &'static str,
        /// The parameter.
        name: String,
    },
    /// A parameter outside of its range.
    #[error("learner `{learner}`: {error}")]
    Parameter {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: ParameterError,
    },
    /// More sequences than can be arms.
    #[error("learner `{learner}`: {error}")]
    Arms {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: TooManyArms,
    },
    /// The truth cannot be worked out.
    #[error("learner `{learner}`: {error}")]
    Oracle {
        /// The learner.
        learner: &'static str,
        /// What is wrong.
        error: OracleError,
    },
    /// The truth is needed and there is none.
    #[error(
        "learner `{learner}` needs what only the truth can tell, and this problem has no `model`"
    )]
    NeedsModel {
        /// The learner.
        learner: &'static str,
    },
    /// The paper's theorems are not about it.
    #[error(
        "the paper's bounds are not about learner `{learner}` as it is set; they are about `feedbal` with width=paper or \
         sound"
    )]
    NoBounds {
        /// The learner.
        learner: &'static str,
    },
    /// It has no confidence bounds that could be checked.
    #[error(
        "learner `{learner}` promises nothing that could be checked; `feedbal` and `feedbal-model` do"
    )]
    NoGuarantee {
        /// The learner.
        learner: &'static str,
    },
    /// It forgets, and what is promised is of sample means over everything.
    #[error(
        "learner `{learner}` promises nothing that could be checked once it forgets; leave `window` and `gamma` out"
    )]
    Forgets {
        /// The learner.
        learner: &'static str,
    },
    /// Its choices do not follow from what it learned.
    #[error("learner `{learner}` does not choose from what it learned alone: {why}; {remedy}")]
    NotFromTables {
        /// The learner.
        learner: &'static str,
        /// What else its choices rest on.
        why: String,
        /// What to do.
        remedy: String,
    },
    /// The problem lacks what the learner is made for.
    #[error("learner `{learner}` does not apply: {why}")]
    DoesNotApply {
        /// The learner.
        learner: &'static str,
        /// What is missing.
        why: String,
    },
    /// Too many fixed sequences to find the best of them.
    #[error("learner `{learner}`: there are too many fixed sequences to find the best of them")]
    Sequences {
        /// The learner.
        learner: &'static str,
    },
}

impl LearnerError {
    /// What is wrong, for whoever has named the learner already.
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
            LearnerError::Parameter { error, .. } => error.to_string(),
            LearnerError::Arms { error, .. } => error.to_string(),
            LearnerError::Oracle { error, .. } => error.to_string(),
            LearnerError::DoesNotApply { why, .. } => why.clone(),
            other => other.to_string(),
        }
    }

    /// Whether the problem is the reason, and not the call: another problem would do.
    pub fn does_not_apply(&self) -> bool {
        matches!(
            self,
            LearnerError::Arms { .. }
                | LearnerError::Oracle { .. }
                | LearnerError::NeedsModel { .. }
                | LearnerError::DoesNotApply { .. }
                | LearnerError::Sequences { .. }
        )
    }
}

fn did_you_mean(near: &Option<&'static str>) -> String {
    near.map_or(String::new(), |near| format!(", did you mean `{near}`?"))
}

fn it_has(known: &[&'static str]) -> String {
    if known.is_empty() {
        "it has none".into()
    } else {
        format!("it has `{}`", known.join("`, `"))
    }
}
