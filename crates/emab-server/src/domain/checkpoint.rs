//! A checkpoint: a signed statement that the log of a study had a hash at an event.

use serde::Serialize;

/// The latest checkpoint of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// The number of the event that it covers.
    pub seq: u64,
    /// The signed statement, one line of JSON.
    pub text: String,
}
