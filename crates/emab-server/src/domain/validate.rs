//! What an event must satisfy to be one that this service recorded, beyond fitting the steps of its episode.
//!
//! [`crate::app::executor`] refuses requests by the same rules before they become events. Here they are held against a log that
//! comes from elsewhere, or was written anew by somebody.

use crate::domain::episode::EpisodeRecord;
use crate::domain::error::ApiError;
use crate::domain::event::EventKind;
use crate::domain::given::{reason_for, required_reason, values};
use crate::domain::json::Name;
use crate::domain::state::InvalidEvent;
use crate::domain::study::{NAME_RULE, Study, is_name};
use crate::store::Head;

/// Checks an event against the study and the episode as they are before it.
pub fn check(
    study: &Study,
    head: &Head,
    case: Option<&EpisodeRecord>,
    what: &EventKind,
) -> Result<(), InvalidEvent> {
    match what {
        EventKind::Created(created) if created.study != study.name => {
            return Err(format!("it creates study `{}`", created.study));
        }
        EventKind::Opened(_) | EventKind::Imported(_) if head.closed => {
            return Err("it adds an episode after the study was closed".into());
        }
        EventKind::Opened(_) | EventKind::Imported(_) if !is_name(what.episode().unwrap_or("")) => {
            return Err(format!("its episode's name is none: {NAME_RULE}"));
        }
        EventKind::Closed(_) if head.closed => return Err("the study was closed before".into()),
        EventKind::Imported(past) => {
            if past.actions.len() != past.feedbacks.len() {
                return Err("its actions and feedbacks are not as many".into());
            }
            known("costs", &past.costs)?;
            known("rewards", &past.rewards)?;
        }
        _ => {}
    }
    let Some(case) = case else { return Ok(()) };
    match what {
        EventKind::StepRecorded(told) => {
            let action = study.action(&Name::Text(told.action.clone()));
            let action = action.map_err(detail)?;
            let overridden = case.recommended != Some(action);
            override_is(overridden, told.overridden, told.reason.as_deref())
        }
        EventKind::Stopped(stopped) => {
            let overridden = case.recommended.is_some();
            override_is(overridden, stopped.overridden, stopped.reason.as_deref())
        }
        EventKind::Abandoned(abandoned) => {
            required_reason(&abandoned.reason).map(drop).map_err(detail)
        }
        EventKind::Revealed(given) => {
            known("costs", &given.costs)?;
            known("rewards", &given.rewards)?;
            if case.end.is_none() {
                return Err("its episode has not ended".into());
            }
            let outcome = &case.outcome;
            let before = outcome.costs.iter().chain(&outcome.rewards);
            let now = given.costs.iter().chain(&given.rewards);
            for (before, now) in before.zip(now) {
                let Some(now) = now else { continue };
                match before {
                    Some(before) if before != now => {
                        return Err(format!("it gives {now} where {before} was given before"));
                    }
                    None if outcome.last => {
                        return Err("the outcome was said to be final before".into());
                    }
                    _ => {}
                }
            }
            Ok(())
        }
        EventKind::Amended(given) => {
            known("costs", &given.costs)?;
            known("rewards", &given.rewards)?;
            if case.end.is_none() {
                return Err("its episode has not ended".into());
            }
            required_reason(&given.reason).map(drop).map_err(detail)
        }
        _ => Ok(()),
    }
}

fn detail(refusal: ApiError) -> InvalidEvent {
    refusal.detail
}

fn known(field: &str, given: &[Option<f64>]) -> Result<(), InvalidEvent> {
    let checked = values(field, given, given.len()).map_err(detail)?;
    let bits = |value: &Option<f64>| value.map(f64::to_bits);
    if checked.iter().map(bits).eq(given.iter().map(bits)) {
        Ok(())
    } else {
        Err(format!("-0 is among its `{field}`"))
    }
}

fn override_is(overridden: bool, said: bool, reason: Option<&str>) -> Result<(), InvalidEvent> {
    if overridden != said {
        let not = if overridden { "" } else { "not " };
        return Err(format!(
            "it says `override`: {said}, and what was recommended was {not}overridden"
        ));
    }
    let why = || "what was recommended was overridden".to_string();
    reason_for(reason, overridden, why)
        .map(drop)
        .map_err(detail)
}
