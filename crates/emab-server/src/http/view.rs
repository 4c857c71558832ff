//! JSON representations of studies, episodes and estimates.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use utoipa::ToSchema;

use crate::app::Summary;
use crate::app::audit::differences::pointers;
use crate::domain::json::short;
use crate::domain::{
    Advice, DecidedBy, Decision, EpisodeRecord, Head, Outcome, Rejection, Stamp, Status,
    StoredDecision, Study, StudyChange,
};

pub use crate::domain::estimates::{EstimateRow, Estimates};

/// A study.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudyView {
    /// The name.
    pub study: String,
    /// The learner.
    pub learner: String,
    /// The specification; only if a single study is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub spec: Option<Box<RawValue>>,
    /// SHA-256 of the specification; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec_hash: Option<String>,
    /// The version of the rules that it follows.
    pub rules: u32,
    /// Whether it accepts no new episodes.
    pub closed: bool,
    /// Whether it is paused: it opens no new episodes for a time.
    pub paused: bool,
    /// Whether it is being restored from an export, and accepts nothing else.
    pub restoring: bool,
    /// The number of episodes, without those that were voided.
    pub episodes: u64,
    /// The number of open episodes.
    pub open: u64,
    /// The number of learned episodes.
    pub learned: u64,
    /// The number of episodes whose outcome is missing for good, in whole or in part.
    pub missing: u64,
    /// Why its decisions have no certificate, if they have none.
    pub withheld: Option<String>,
    /// The last time that it was created, paused, resumed, closed or reopened: when, by whom and why; left out for a study of rules
    /// before 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<StudyChange>,
    /// The sequence number of its last event.
    pub seq: u64,
    /// The time of its last event, RFC 3339; left out for a study of rules before 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The hash of its last event; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl StudyView {
    /// The study without its specification, and without the hashes, which would let a blinded caller test guesses, for one.
    pub fn brief(summary: &Summary, head: &Head, blinded: bool) -> StudyView {
        let unless_blinded = |hash: &String| Some(hash.clone()).filter(|_| !blinded);
        StudyView {
            study: head.name.clone(),
            learner: summary.learner.clone(),
            spec: None,
            spec_hash: unless_blinded(&head.spec_hash),
            rules: head.rules,
            closed: head.closed,
            paused: head.details.paused,
            restoring: head.restoring,
            episodes: head.counted_episodes(),
            open: head.open,
            learned: head.counted_learned(),
            missing: head.missing,
            withheld: summary.withheld.clone(),
            change: head.details.change.clone(),
            seq: head.seq,
            at: head.details.at.clone(),
            hash: unless_blinded(&head.hash),
        }
    }

    /// The study with the text of its specification, with or without its shadow learners.
    pub fn full(self, spec: String, shadows: bool) -> Result<StudyView, Rejection> {
        let broken = |error: serde_json::Error| Rejection::internal(error.to_string());
        let mut spec = RawValue::from_string(spec).map_err(broken)?;
        if !shadows {
            // The values stay text: they may have megabytes.
            let mut fields: BTreeMap<&str, &RawValue> =
                serde_json::from_str(spec.get()).map_err(broken)?;
            fields.remove("shadow");
            spec = to_raw_value(&fields).map_err(broken)?;
        }
        Ok(StudyView {
            spec: Some(spec),
            ..self
        })
    }
}

/// A study that was discarded while it was restored.
#[derive(Debug, Serialize, ToSchema)]
pub struct Discarded {
    /// The name, which is free again.
    pub study: String,
    /// The number of its events.
    pub events: u64,
}

/// A list of studies.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudyList {
    /// In the order of their names.
    pub studies: Vec<StudyView>,
    /// The value of `after` for the next page, if there is one.
    pub next: Option<String>,
}

/// One step of an episode.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepView {
    /// The step, from 1.
    pub step: usize,
    /// The state, by name.
    pub state: String,
    /// The decision; `null` in an imported episode.
    #[schema(value_type = Option<Decision>)]
    pub decision: Option<Box<RawValue>>,
    /// The action that was taken, by name; `null` if the step is not recorded yet.
    pub action: Option<String>,
    /// The feedback that was observed, by name.
    pub feedback: Option<String>,
    /// Whether another action was recommended.
    #[serde(rename = "override")]
    pub overridden: bool,
    /// The reason.
    pub reason: Option<String>,
    /// `fallback` if the choice was made from a table of the policy, while the service could not be reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<DecidedBy>,
    /// The reason of its last correction, if it was corrected; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected: Option<String>,
    /// When and by whom it was reported; left out if it is not recorded yet, and for a study of rules before 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reported: Option<Stamp>,
    /// When and by whom it was last corrected; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrected_by: Option<Stamp>,
}

/// An episode.
#[derive(Debug, Serialize, ToSchema)]
pub struct EpisodeView {
    /// The study.
    pub study: String,
    /// The name.
    pub episode: String,
    /// The status.
    pub status: Status,
    /// The current step, from 1.
    pub step: usize,
    /// The current state, by name.
    pub state: String,
    /// The state in which it began, by name.
    pub start: String,
    /// The steps; only if a single episode is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepView>>,
    /// The known outcome, once the episode has ended; `null` for a `blinded` token.
    pub outcome: Option<Outcome>,
    /// The position in the learning order, from 0, once it is learned.
    pub learned: Option<u64>,
    /// Why it was voided, if it was; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voided: Option<String>,
    /// Whether it was imported.
    pub imported: bool,
    /// The sequence number of the event that opened it.
    pub opened: u64,
    /// The sequence number of the last event about it.
    pub touched: u64,
    /// When and by whom it was opened or imported; left out for a study of rules before 4, as the other stamps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Stamp>,
    /// When and by whom it was stopped, abandoned or voided while it was open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<Stamp>,
    /// When and by whom its outcome was last given or corrected; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_by: Option<Stamp>,
    /// When and by whom it was voided; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub voided_by: Option<Stamp>,
    /// When and by whom the last event about it was requested; left out for a `blinded` token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub touched_by: Option<Stamp>,
}

impl EpisodeView {
    /// The episode without its steps. A blinded caller sees no outcome: estimates could be computed from many of them.
    pub fn brief(study: &Study, episode: &EpisodeRecord, blinded: bool) -> EpisodeView {
        EpisodeView {
            study: study.name.clone(),
            episode: episode.id.clone(),
            status: episode.status(),
            step: episode.step(),
            state: study.spec.states().name(episode.state()).into_owned(),
            start: study
                .spec
                .states()
                .name(episode.states.first().copied().unwrap_or_default())
                .into_owned(),
            steps: None,
            outcome: episode
                .end
                .as_ref()
                .filter(|_| !blinded)
                .map(|_| episode.outcome.clone()),
            learned: episode
                .position
                .filter(|_| !blinded && episode.voided.is_none()),
            voided: episode.voided.clone().filter(|_| !blinded),
            imported: episode.imported,
            opened: episode.opened,
            touched: episode.touched,
            opened_by: episode.opened_stamp.clone(),
            ended_by: episode.end.as_ref().and_then(|end| end.stamp.clone()),
            outcome_by: episode.outcome_stamp.clone().filter(|_| !blinded),
            voided_by: episode.voided_stamp.clone().filter(|_| !blinded),
            touched_by: episode.touched_stamp.clone().filter(|_| !blinded),
        }
    }

    /// The episode with its steps and decisions.
    pub fn full(
        study: &Study,
        episode: &EpisodeRecord,
        decisions: Vec<StoredDecision>,
        blinded: bool,
    ) -> Result<EpisodeView, Rejection> {
        let broken =
            |error: serde_json::Error| Rejection::internal(format!("a recorded decision: {error}"));
        let spec = &study.spec;
        let steps = episode.states.iter().enumerate().map(|(i, &x)| {
            let stored = decisions.iter().find(|it| it.step as usize == i + 1);
            let decision = match stored {
                None => None,
                Some(stored) if blinded => {
                    let advice: Advice = serde_json::from_str(&stored.text).map_err(broken)?;
                    Some(serde_json::value::to_raw_value(&advice).map_err(broken)?)
                }
                Some(stored) => Some(RawValue::from_string(stored.text.clone()).map_err(broken)?),
            };
            let step = episode.steps.get(i);
            let end = episode.end.as_ref().filter(|_| i + 1 == episode.step());
            let stopped = end.filter(|end| !end.abandoned).map(|_| "stop".to_owned());
            Ok(StepView {
                step: i + 1,
                state: spec.states().name(x).into_owned(),
                decision,
                action: step
                    .map(|step| spec.actions().name(step.action).into_owned())
                    .or(stopped),
                feedback: step.map(|step| spec.feedbacks().name(step.feedback).into_owned()),
                overridden: step.is_some_and(|step| step.overridden)
                    || end.is_some_and(|end| end.overridden),
                reason: step
                    .and_then(|step| step.reason.clone())
                    .or_else(|| end.and_then(|end| end.reason.clone())),
                decided_by: (step.is_some_and(|step| step.fallback)
                    || end.is_some_and(|end| end.fallback))
                .then_some(DecidedBy::Fallback),
                corrected: step
                    .and_then(|step| step.corrected.clone())
                    .filter(|_| !blinded),
                reported: match step {
                    Some(step) => step.stamp.clone(),
                    None => end.and_then(|end| end.stamp.clone()),
                },
                corrected_by: step
                    .and_then(|step| step.corrected_stamp.clone())
                    .filter(|_| !blinded),
            })
        });
        Ok(EpisodeView {
            steps: Some(steps.collect::<Result<_, Rejection>>()?),
            ..EpisodeView::brief(study, episode, blinded)
        })
    }
}

/// The rejection for an episode that does not exist.
pub fn no_episode(study: &str, episode: &str) -> Rejection {
    let episode = short(episode);
    Rejection::not_found(format!("study `{study}` has no episode `{episode}`"))
}

/// A list of episodes.
#[derive(Debug, Serialize, ToSchema)]
pub struct EpisodeList {
    /// In the order of their names, without their steps.
    pub episodes: Vec<EpisodeView>,
    /// The value of `after` for the next page, if there is one.
    pub next: Option<String>,
}

/// A decision recomputed from the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayView {
    /// Whether both are equal byte for byte.
    pub equal: bool,
    /// The recorded decision.
    #[schema(value_type = Decision)]
    pub recorded: Box<RawValue>,
    /// The recomputed decision.
    #[schema(value_type = Decision)]
    pub recomputed: Box<RawValue>,
    /// The fields that differ, as JSON pointers.
    pub differs: Vec<String>,
}

impl ReplayView {
    pub fn new(recorded: String, recomputed: String) -> Result<ReplayView, Rejection> {
        let raw = |text| {
            RawValue::from_string(text).map_err(|error| Rejection::internal(error.to_string()))
        };
        Ok(ReplayView {
            equal: recorded == recomputed,
            differs: pointers(&recorded, &recomputed),
            recorded: raw(recorded)?,
            recomputed: raw(recomputed)?,
        })
    }
}
