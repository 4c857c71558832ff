//! Episodes of the past, checked before they are taken in.

use crate::domain::command::Past;
use crate::domain::episode::EpisodeRecord;
use crate::domain::error::ApiError;
use crate::domain::event::{EventKind, Imported};
use crate::domain::given::values;
use crate::domain::json::short;
use crate::domain::study::{NAME_RULE, Study, is_name};

/// Checks a past episode: what is to be recorded, or none if the very same is there.
pub fn check_past(
    study: &Study,
    past: &Past,
    there: Option<&EpisodeRecord>,
) -> Result<Option<Imported>, ApiError> {
    if !is_name(&past.id) {
        return Err(ApiError::impossible(format!(
            "`{}` cannot be the name of an episode: {NAME_RULE}",
            short(&past.id)
        ))
        .at("/id"));
    }
    if past.actions.len() != past.feedbacks.len() {
        return Err(ApiError::impossible(format!(
            "{} actions and {} feedbacks: there is one feedback for each action",
            past.actions.len(),
            past.feedbacks.len()
        ))
        .at("/feedbacks"));
    }
    let (mut x, mut names) = (study.spec.start(), (Vec::new(), Vec::new()));
    for (i, (action, feedback)) in past.actions.iter().zip(&past.feedbacks).enumerate() {
        let inside = |refusal: ApiError| {
            let pointer = match refusal.pointer.as_deref() {
                Some("/feedback") => format!("/feedbacks/{i}"),
                _ => format!("/actions/{i}"),
            };
            refusal.at(pointer)
        };
        let action = study.action(action).map_err(inside)?;
        let feedback = study.feedback(feedback).map_err(inside)?;
        if i + 1 >= study.spec.horizon() {
            return Err(ApiError::impossible(format!(
                "{} actions: at most {} fit before the horizon",
                past.actions.len(),
                study.spec.horizon() - 1
            ))
            .at("/actions"));
        }
        x = crate::domain::state::next(study, i + 1, x, action, feedback).map_err(inside)?;
        names.0.push(study.spec.actions().name(action).into_owned());
        names
            .1
            .push(study.spec.feedbacks().name(feedback).into_owned());
    }
    let steps = past.actions.len() + 1;
    let costs = values("costs", &past.costs, steps - 1)?;
    let rewards = values("rewards", &past.rewards, steps)?;
    let imported = Imported {
        episode: past.id.clone(),
        actions: names.0,
        feedbacks: names.1,
        costs,
        rewards,
    };
    let Some(case) = there else {
        return Ok(Some(imported));
    };
    // As it was imported: it may have been corrected since.
    let fingerprint = EventKind::Imported(imported).fingerprint();
    let fingerprint = fingerprint.map_err(|error| ApiError::internal(error.to_string()))?;
    if case.imported && case.given.first() == Some(&fingerprint) {
        Ok(None)
    } else {
        Err(another_episode(&past.id))
    }
}

/// The refusal of new episodes.
pub fn closed(study: &str) -> ApiError {
    ApiError::conflict(format!(
        "study `{study}` is closed: it takes no new episodes"
    ))
}

/// The refusal of a past episode whose name is taken.
pub fn another_episode(id: &str) -> ApiError {
    ApiError::conflict(format!(
        "there is an episode `{id}` already, and it is another one"
    ))
    .at("/id")
}

/// The refusal of one line of many.
pub fn in_line(number: u64, refusal: ApiError) -> ApiError {
    ApiError {
        detail: format!("line {number}: {}", refusal.detail),
        ..refusal
    }
}
