//! A learner's file: its first line must be about the study's problem; what it learned from are episodes of the past.

use emab::reach::SpecComparison;
use emab_log::{SavedLearnerError, SavedLearnerHeader};
use emab_problem::ProblemFile;
use serde_json::Value;

use crate::domain::error::ApiError;
use crate::domain::json::short;
use crate::domain::past::in_line;
use crate::domain::study::{CHECKED_PAIRS, Study, words};

/// The fields that say what can happen, and where it leads.
const FIELDS: [&str; 8] = [
    "horizon",
    "states",
    "actions",
    "feedbacks",
    "start",
    "parameters",
    "allowed",
    "transition",
];

/// Refuses what another problem's learner learned from. Which learner it was makes no difference: that of the study learns.
pub fn check_head(study: &Study, number: u64, line: &str) -> Result<(), ApiError> {
    let head = SavedLearnerHeader::read(number as usize, line).map_err(|error| match error {
        SavedLearnerError::Line { what, .. } => in_line(number, ApiError::malformed(what).at("")),
        SavedLearnerError::Problem(error) => {
            let what = format!("the problem of this learner cannot be: {}", words(&error));
            in_line(number, ApiError::impossible(what).at("/problem"))
        }
        other => in_line(number, ApiError::malformed(other.to_string()).at("")),
    })?;
    same_problem(study, &head.file).map_err(|refusal| in_line(number, refusal))
}

fn same_problem(study: &Study, file: &ProblemFile) -> Result<(), ApiError> {
    let fault = |error: emab::spec::PointError| {
        ApiError::impossible(format!("the problem of this learner cannot be: {error}"))
            .at(format!("/problem/{}", error.quantity))
    };
    let compared = file.spec().compare(&study.spec, CHECKED_PAIRS);
    match compared.map_err(fault)? {
        SpecComparison::Same => Ok(()),
        SpecComparison::Differ(found) => Err(ApiError::impossible(format!(
            "this learner learned on another problem: {} is {} in `{}` and {} in study `{}`; import it into a study of its \
             own problem",
            found.what,
            found.one,
            short(file.name()),
            found.other,
            study.name
        ))
        .at(format!("/problem/{}", found.field))),
        // What cannot be gone through is the same where it is written in the same words.
        SpecComparison::TooLarge if same_words(study, file)? => Ok(()),
        SpecComparison::TooLarge => Err(ApiError::impossible(format!(
            "more than {CHECKED_PAIRS} step-state pairs can be reached, too many to see whether this learner learned on the \
             problem of study `{}`, which states it in other words; import it into a study created from the `problem` here",
            study.name
        ))
        .at("/problem")),
    }
}

fn same_words(study: &Study, file: &ProblemFile) -> Result<bool, ApiError> {
    let read = |text: &str| {
        let read = serde_json::from_str::<Value>(text);
        read.map_err(|error| ApiError::internal(error.to_string()))
    };
    let (one, other) = (read(file.canonical())?, read(&study.canonical)?);
    let other = &other["problem"];
    Ok(FIELDS
        .iter()
        .all(|field| one.get(field) == other.get(field)))
}
