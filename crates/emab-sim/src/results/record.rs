//! Single runs.

use serde::{Deserialize, Serialize};

/// Regret and gain of one run of a learner, at the recorded episodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The number of the run, from 0.
    pub run: u64,
    /// Whether the run is stuck (see [`LearnerResult::stuck`](super::LearnerResult::stuck)); none where that is not known.
    pub stuck: Option<bool>,
    /// Cumulative regret and gain at each recorded episode; the last one is the last episode of the run.
    pub at: Vec<(f64, f64)>,
}
