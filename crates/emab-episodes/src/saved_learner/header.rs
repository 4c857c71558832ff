//! First line of a saved learner: format version, learner, seed and problem.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{SavedLearner, SavedLearnerError, write_line};
use crate::json::{LenientU64, full_u64};
use crate::past_episode::json_error_text;
use emab_problem::{Format, ProblemFile};

/// Version of the format.
const FORMAT: u64 = 1;

/// Appended to errors about the first line.
pub(super) const EXPECTED: &str =
    "a saved learner begins with `{\"emab_learner\": 1, …}`, as Learner.save in Python writes it";

/// Content of the first line.
#[derive(Clone, Debug)]
pub struct SavedLearnerHeader {
    /// The problem as the learner sees it.
    pub file: ProblemFile,
    /// The learner, as on the command line.
    pub learner: String,
    /// Seed of the learner's random stream.
    pub seed: u64,
}

/// Fields that every version of the format has.
#[derive(Deserialize)]
struct AnyVersion {
    emab_learner: LenientU64,
    #[serde(default)]
    version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeaderLine<'a> {
    emab_learner: LenientU64,
    version: String,
    learner: String,
    #[serde(deserialize_with = "full_u64")]
    seed: u64,
    #[serde(borrow)]
    problem: &'a RawValue,
}

impl SavedLearnerHeader {
    /// Whether a line is the first line of a saved learner, of any version and valid or not.
    ///
    /// ```
    /// use emab_episodes::SavedLearnerHeader;
    /// assert!(SavedLearnerHeader::matches(r#"{"emab_learner": 7}"#));
    /// assert!(!SavedLearnerHeader::matches(r#"{"ask": [1, 0]}"#));
    /// ```
    pub fn matches(line: &str) -> bool {
        #[derive(Deserialize)]
        struct HasVersion {
            #[serde(rename = "emab_learner")]
            _version: serde::de::IgnoredAny,
        }
        line.starts_with('{') && serde_json::from_str::<HasVersion>(line).is_ok()
    }

    /// Parses the line; errors name it by `line_number`.
    pub fn read(line_number: usize, line: &str) -> Result<SavedLearnerHeader, SavedLearnerError> {
        let invalid = |what| SavedLearnerError::Line {
            line: line_number,
            what,
        };
        let malformed = |error| invalid(format!("{}; {EXPECTED}", json_error_text(&error)));
        // serde would also accept an array of the values in order.
        if !line.starts_with('{') {
            return Err(invalid(format!("this is no JSON object; {EXPECTED}")));
        }
        let any: AnyVersion = serde_json::from_str(line).map_err(malformed)?;
        if any.emab_learner.0 != FORMAT {
            return Err(invalid(format!(
                "the format is {}, written by emab {}; this is emab {} and reads format {FORMAT}: a newer version may read it",
                any.emab_learner.0,
                any.version,
                env!("CARGO_PKG_VERSION")
            )));
        }
        let header: HeaderLine<'_> = serde_json::from_str(line).map_err(malformed)?;
        let file = ProblemFile::parse_as(Format::Json, "problem", header.problem.get());
        Ok(SavedLearnerHeader {
            file: file.map_err(Box::new)?,
            learner: header.learner,
            seed: header.seed,
        })
    }
}

/// Writes the first line.
pub(super) fn write(saved: &SavedLearner, out: &mut dyn Write) -> Result<(), SavedLearnerError> {
    let problem = serde_json::from_str(saved.file.canonical());
    let header = HeaderLine {
        emab_learner: LenientU64(FORMAT),
        version: env!("CARGO_PKG_VERSION").into(),
        learner: saved.learner.clone(),
        seed: saved.seed,
        problem: problem.map_err(std::io::Error::from)?,
    };
    Ok(write_line(out, &header)?)
}
