//! The header of a saved learner: its problem must be the problem of the study. The lines after it are past episodes.

use emab::reach::SpecComparison;
use emab_episodes::{SavedLearnerError, SavedLearnerHeader};
use emab_problem::ProblemFile;
use serde_json::Value;

use crate::domain::{CHECKED_PAIRS, Rejection, Study, json::short};

/// The fields that define the states, actions, feedbacks and transitions.
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

/// Rejects a learner of another problem. Which learner it was does not matter: the learner of the study learns.
pub fn check_header(study: &Study, number: u64, line: &str) -> Result<(), Rejection> {
    let head = SavedLearnerHeader::read(number as usize, line).map_err(|error| match error {
        SavedLearnerError::Line { what, .. } => Rejection::malformed(what).at(""),
        SavedLearnerError::Problem(error) => {
            let error = error.sentence();
            let what = format!("the problem of this learner is invalid: {error}");
            Rejection::not_possible(what).at("/problem")
        }
        other => Rejection::malformed(other.to_string()).at(""),
    });
    let checked = head.and_then(|head| same_problem(study, &head.file));
    checked.map_err(|rejection| rejection.in_line(number))
}

fn same_problem(study: &Study, file: &ProblemFile) -> Result<(), Rejection> {
    let fault = |error: emab::spec::PointError| {
        Rejection::not_possible(format!("the problem of this learner is invalid: {error}"))
            .at(format!("/problem/{}", error.quantity))
    };
    let compared = file.spec().compare(&study.spec, CHECKED_PAIRS);
    match compared.map_err(fault)? {
        SpecComparison::Same => Ok(()),
        SpecComparison::Differ(found) => Err(Rejection::not_possible(format!(
            "this learner learned on another problem: {} is {} in `{}` and {} in study `{}`; import it into a study of the \
             same problem",
            found.what,
            found.one,
            short(file.name()),
            found.other,
            study.name
        ))
        .at(format!("/problem/{}", found.field))),
        // A problem too large to compare is the same if its text is the same.
        SpecComparison::TooLarge if same_text(study, file)? => Ok(()),
        SpecComparison::TooLarge => Err(Rejection::not_possible(format!(
            "more than {CHECKED_PAIRS} step-state pairs are reachable, too many to compare this problem with that of study `{}`, \
             whose text differs; import it into a study created from the `problem` here",
            study.name
        ))
        .at("/problem")),
    }
}

fn same_text(study: &Study, file: &ProblemFile) -> Result<bool, Rejection> {
    let read = |text: &str| {
        let read = serde_json::from_str::<Value>(text);
        read.map_err(|error| Rejection::internal(error.to_string()))
    };
    let (one, other) = (read(file.canonical())?, read(&study.canonical)?);
    let other = &other["problem"];
    Ok(FIELDS
        .iter()
        .all(|field| one.get(field) == other.get(field)))
}
