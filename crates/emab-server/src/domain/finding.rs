//! A finding of an audit.

use serde::Serialize;

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The place: `event 17`, `episode p3`, `decision 2 of episode p3`, `learned episode 4`, `count of (2, 5, 0)`, `head`; in a
    /// store also `file`, `table t`, `trigger t on events`, `study 7 in events`.
    pub place: String,
    /// The fault.
    pub what: String,
}

impl Finding {
    pub fn new(place: impl Into<String>, what: impl Into<String>) -> Finding {
        Finding {
            place: place.into(),
            what: what.into(),
        }
    }
}
