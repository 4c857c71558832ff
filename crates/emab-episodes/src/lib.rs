//! Past episodes as JSON lines, in the format that the decision service imports, and learners saved as the episodes
//! that they learned from.

#![forbid(unsafe_code)]

pub mod json;
mod line_reader;
mod past_episode;
mod saved_learner;
mod validate;

pub use past_episode::{read_past_episodes, write_past_episode};
pub use saved_learner::{
    SavedEntry, SavedLearner, SavedLearnerError, SavedLearnerHeader, is_query,
};
pub use validate::validate_episode;
