//! Past episodes as JSON lines, in the format that the decision service imports, and learners saved as the episodes
//! that they learned from.

#![forbid(unsafe_code)]

pub mod json;
mod saved_learner;
mod validate;

pub use saved_learner::{
    SavedEntry, SavedLearner, SavedLearnerError, SavedLearnerHeader, is_query,
};
pub use validate::validate_episode;
