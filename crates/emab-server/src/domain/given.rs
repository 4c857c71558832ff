//! What requests give, held against the episode that they are about.

use crate::domain::episode::{EpisodeRecord, Outcome};
use crate::domain::error::ApiError;
use crate::domain::json::LenientU64;

/// The longest reason.
pub const MAX_REASON: usize = 2_000;
/// Costs and rewards beyond this are refused: sums over many episodes must stay finite.
const LARGEST: f64 = 1e100;

/// Refuses what comes after the end of an episode.
pub fn still_open(case: &EpisodeRecord) -> Result<(), ApiError> {
    match &case.end {
        None => Ok(()),
        Some(end) => Err(ApiError::conflict(format!(
            "episode `{}` has ended: it was {} at step {}",
            case.id,
            if end.abandoned {
                "abandoned"
            } else {
                "stopped"
            },
            case.step()
        ))
        .current(case.step())),
    }
}

/// Refuses what is about another step than the one where the episode is.
pub fn right_step(case: &EpisodeRecord, LenientU64(step): LenientU64) -> Result<(), ApiError> {
    let now = case.step();
    if step == now as u64 {
        return Ok(());
    }
    Err(ApiError::wrong_step(format!(
        "step {step} was told, and episode `{}` is at step {now}",
        case.id
    ))
    .at("/step")
    .current(now))
}

/// The reason as it is kept; required where something was done against the recommendation.
pub fn reason_for(
    reason: Option<&str>,
    overridden: bool,
    what: impl Fn() -> String,
) -> Result<Option<String>, ApiError> {
    match reason {
        Some(reason) => required_reason(reason).map(Some),
        None if overridden => Err(ApiError::impossible(format!(
            "{}: an override needs a `reason`",
            what()
        ))
        .at("/reason")),
        None => Ok(None),
    }
}

/// A reason as it is kept.
pub fn required_reason(reason: &str) -> Result<String, ApiError> {
    if reason.trim().is_empty() || reason.chars().count() > MAX_REASON {
        return Err(ApiError::impossible(format!(
            "a `reason` has 1 to {MAX_REASON} characters, this one has {}",
            reason.trim().chars().count()
        ))
        .at("/reason"));
    }
    Ok(reason.into())
}

/// What a request gives of the outcome of an episode that has ended.
pub fn given(
    case: &EpisodeRecord,
    costs: &Option<Vec<Option<f64>>>,
    rewards: &Option<Vec<Option<f64>>>,
) -> Result<Outcome, ApiError> {
    if case.end.is_none() {
        return Err(ApiError::conflict(format!(
            "episode `{}` is open at step {}: its outcome comes after it has ended (POST …:stop)",
            case.id,
            case.step()
        ))
        .current(case.step()));
    }
    let list = |field: &str, given: &Option<Vec<Option<f64>>>, expected: usize| match given {
        None => Ok(vec![None; expected]),
        Some(given) => values(field, given, expected),
    };
    Ok(Outcome {
        costs: list("costs", costs, case.step() - 1)?,
        rewards: list("rewards", rewards, case.step())?,
        last: false,
    })
}

/// Values that can be learned from, as they are kept.
pub fn values(
    field: &str,
    given: &[Option<f64>],
    expected: usize,
) -> Result<Vec<Option<f64>>, ApiError> {
    if given.len() != expected {
        let steps = match field {
            "costs" => "one for each action taken",
            _ => "one for each step passed, the last included",
        };
        return Err(ApiError::impossible(format!(
            "`{field}` has {} values and the episode {expected}: {steps}",
            given.len()
        ))
        .at(format!("/{field}")));
    }
    let value = |(i, value): (usize, &Option<f64>)| match value {
        Some(value) if value.is_nan() || value.abs() > LARGEST => {
            Err(ApiError::impossible(format!(
                "{} is too large: at most 1e100 in size",
                emab::spec::format_number(*value)
            ))
            .at(format!("/{field}/{i}")))
        }
        // There is one zero.
        Some(value) => Ok(Some(value + 0.0)),
        None => Ok(None),
    };
    given.iter().enumerate().map(value).collect()
}
