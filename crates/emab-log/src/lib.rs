//! Past episodes as JSON lines, as the decision service imports them, and learners saved with the episodes that they
//! learned from.

#![forbid(unsafe_code)]

mod saved_learner;
mod validate;

pub use saved_learner::{
    SavedEntry, SavedLearner, SavedLearnerError, SavedLearnerHeader, is_query,
};
pub use validate::checked;
