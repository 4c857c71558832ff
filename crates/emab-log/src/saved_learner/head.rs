//! The first line of a learner's file: the format, the learner and its problem.

use std::io::Write;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::line::words;
use super::number::Whole;
use super::{SavedLearner, SavedLearnerError, write_line};
use emab_problem::{Format, ProblemFile};

/// The version of the format.
const FORMAT: u64 = 1;

/// How a file begins.
pub(super) const EXPECTED: &str = "the file of a learner begins with `{\"emab_learner\": 1, …}`, as Learner.save in Python writes it";

/// What the first line of a learner's file says.
#[derive(Clone, Debug)]
pub struct SavedLearnerHeader {
    /// What it knows of the problem.
    pub file: ProblemFile,
    /// The learner, as on the command line.
    pub learner: String,
    /// The seed of its own randomness.
    pub seed: u64,
}

/// What all formats have in common.
#[derive(Deserialize)]
struct Any {
    emab_learner: Whole,
    #[serde(default)]
    version: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head<'a> {
    emab_learner: Whole,
    version: String,
    learner: String,
    seed: Whole,
    #[serde(borrow)]
    problem: &'a RawValue,
}

impl SavedLearnerHeader {
    /// Whether a line is the first of a learner's file, whatever its format and whatever may be wrong with it.
    ///
    /// ```
    /// use emab_problem::TrainedHead;
    /// assert!(TrainedHead::is_one(r#"{"emab_learner": 7}"#));
    /// assert!(!TrainedHead::is_one(r#"{"ask": [1, 0]}"#));
    /// ```
    pub fn is_one(line: &str) -> bool {
        #[derive(Deserialize)]
        struct Has {
            #[serde(rename = "emab_learner")]
            _it: serde::de::IgnoredAny,
        }
        line.starts_with('{') && serde_json::from_str::<Has>(line).is_ok()
    }

    /// Reads it; errors name the line by this number.
    pub fn read(number: usize, line: &str) -> Result<SavedLearnerHeader, SavedLearnerError> {
        let wrong = |what| SavedLearnerError::Line { line: number, what };
        let broken = |error| wrong(format!("{}; {EXPECTED}", words(&error)));
        // A list of its values in their order would be one, too.
        if !line.starts_with('{') {
            return Err(wrong(format!("this is no JSON object; {EXPECTED}")));
        }
        let any: Any = serde_json::from_str(line).map_err(broken)?;
        if any.emab_learner.0 != FORMAT {
            return Err(wrong(format!(
                "the format is {}, written by emab {}; this is emab {} and reads format {FORMAT}: a newer one may read it",
                any.emab_learner.0,
                any.version,
                env!("CARGO_PKG_VERSION")
            )));
        }
        let head: Head<'_> = serde_json::from_str(line).map_err(broken)?;
        let file = ProblemFile::parse_as(Format::Json, "problem", head.problem.get());
        Ok(SavedLearnerHeader {
            file: file.map_err(Box::new)?,
            learner: head.learner,
            seed: head.seed.0,
        })
    }
}

/// Writes the first line.
pub(super) fn write(trained: &SavedLearner, out: &mut dyn Write) -> Result<(), SavedLearnerError> {
    let problem = serde_json::from_str(trained.file.canonical());
    let head = Head {
        emab_learner: Whole(FORMAT),
        version: env!("CARGO_PKG_VERSION").into(),
        learner: trained.learner.clone(),
        seed: Whole(trained.seed),
        problem: problem.map_err(std::io::Error::from)?,
    };
    Ok(write_line(out, &head)?)
}
