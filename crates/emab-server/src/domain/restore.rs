//! A restore: who imported the log of a study, and when. It is kept beside the log, which stays that of the export.

use serde::Serialize;

/// The restore of a study.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Restore {
    /// When it began, RFC 3339.
    pub begun: String,
    /// The id of the token that began it, and the person; earlier versions wrote the id alone.
    pub begun_by: String,
    /// When it was finished; none while the study is restoring.
    pub finished: Option<String>,
    /// The id of the token that finished it, and the person.
    pub finished_by: Option<String>,
    /// The number of the last event of the export.
    pub seq: u64,
    /// The hash of that event.
    pub hash: String,
}
