//! What the service shows of studies and episodes.

use emab::Action;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::domain::decision::{Advice, Decision};
use crate::domain::episode::{EpisodeRecord, Status};
use crate::domain::error::ApiError;
use crate::domain::state::StudyState;
use crate::domain::study::Study;
use crate::store::{Answer, Head};

/// A study.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudyView {
    /// Its name.
    pub study: String,
    /// Who recommends.
    pub learner: String,
    /// What it was created from.
    pub spec: Value,
    /// SHA-256 of that.
    pub spec_hash: String,
    /// Whether it takes no new episodes.
    pub closed: bool,
    /// How many episodes it has.
    pub episodes: u64,
    /// How many of them are open.
    pub open: u64,
    /// How many were learned from.
    pub learned: u64,
    /// How many ended with an outcome that is missing for good, in whole or in part.
    pub missing: u64,
    /// Why no decision of it has a certificate, if so.
    pub withheld: Option<String>,
    /// The sequence number of its last event.
    pub seq: u64,
    /// The hash of its last event.
    pub hash: String,
}

impl StudyView {
    /// For somebody who may or may not know of the shadow learners.
    pub fn new(study: &Study, head: &Head, shadows: bool) -> Result<StudyView, ApiError> {
        let mut spec: Value = serde_json::from_str(&head.spec)
            .map_err(|error| ApiError::internal(error.to_string()))?;
        if let (false, Value::Object(fields)) = (shadows, &mut spec) {
            fields.remove("shadow");
        }
        Ok(StudyView {
            study: head.name.clone(),
            learner: study.learner.label().into(),
            spec,
            spec_hash: head.spec_hash.clone(),
            closed: head.closed,
            episodes: head.episodes,
            open: head.open,
            learned: head.learned,
            missing: head.missing,
            withheld: study.unsound.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
        })
    }
}

/// Studies.
#[derive(Debug, Serialize, ToSchema)]
pub struct StudyList {
    /// In the order of their names.
    pub studies: Vec<StudyView>,
    /// What to ask for as `after` to see more, if there is more.
    pub next: Option<String>,
}

/// One step of an episode.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepView {
    /// The step, from 1.
    pub step: usize,
    /// The state, by name.
    pub state: String,
    /// What was recommended there; `null` in an episode that was imported.
    #[schema(value_type = Option<Decision>)]
    pub decision: Option<Box<RawValue>>,
    /// What was done, by name; `null` where nothing was told yet.
    pub action: Option<String>,
    /// What was seen, by name.
    pub feedback: Option<String>,
    /// Whether something else had been recommended.
    #[serde(rename = "override")]
    pub overridden: bool,
    /// Why.
    pub reason: Option<String>,
}

/// An outcome: `null` is what is not known.
#[derive(Debug, Serialize, ToSchema)]
pub struct OutcomeView {
    /// The cost of every step but the last.
    pub costs: Vec<Option<f64>>,
    /// The terminal reward of every step.
    pub rewards: Vec<Option<f64>>,
    /// Whether it was said that nothing more will come.
    #[serde(rename = "final")]
    pub last: bool,
}

/// An episode.
#[derive(Debug, Serialize, ToSchema)]
pub struct EpisodeView {
    /// The study.
    pub study: String,
    /// Its name.
    pub episode: String,
    /// Where it stands.
    pub status: Status,
    /// The step where it is, from 1.
    pub step: usize,
    /// The state where it is, by name.
    pub state: String,
    /// Its steps; only where the whole episode is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepView>>,
    /// What is known of its outcome, once it has ended; `null` for a token that is `blinded`.
    pub outcome: Option<OutcomeView>,
    /// Its place in the order of learning, from 0, once it was learned from.
    pub learned: Option<u64>,
    /// Whether it was imported.
    pub imported: bool,
    /// The sequence number of the event that opened it.
    pub opened: u64,
    /// The sequence number of the last event about it.
    pub touched: u64,
}

impl EpisodeView {
    /// Without its steps. Whoever is blinded sees no outcome: estimates could be computed from many of them.
    pub fn brief(study: &Study, case: &EpisodeRecord, blinded: bool) -> EpisodeView {
        EpisodeView {
            study: study.name.clone(),
            episode: case.id.clone(),
            status: case.status(),
            step: case.step(),
            state: study.spec.states().name(case.state()).into_owned(),
            steps: None,
            outcome: case.end.as_ref().filter(|_| !blinded).map(|_| OutcomeView {
                costs: case.outcome.costs.clone(),
                rewards: case.outcome.rewards.clone(),
                last: case.outcome.last,
            }),
            learned: case.place.filter(|_| !blinded),
            imported: case.imported,
            opened: case.opened,
            touched: case.touched,
        }
    }

    /// With its steps and their decisions.
    pub fn whole(
        study: &Study,
        case: &EpisodeRecord,
        answers: Vec<Answer>,
        blinded: bool,
    ) -> Result<EpisodeView, ApiError> {
        let broken = |error: serde_json::Error| ApiError::internal(format!("a decision: {error}"));
        let spec = &study.spec;
        let steps = case.states.iter().enumerate().map(|(i, &x)| {
            let answer = answers.iter().find(|answer| answer.step as usize == i + 1);
            let decision = match answer {
                None => None,
                Some(answer) if blinded => {
                    let advice: Advice = serde_json::from_str(&answer.text).map_err(broken)?;
                    Some(serde_json::value::to_raw_value(&advice).map_err(broken)?)
                }
                Some(answer) => Some(RawValue::from_string(answer.text.clone()).map_err(broken)?),
            };
            let told = case.steps.get(i);
            let end = case.end.as_ref().filter(|_| i + 1 == case.step());
            let stopped = end.filter(|end| !end.abandoned).map(|_| "stop".to_owned());
            Ok(StepView {
                step: i + 1,
                state: spec.states().name(x).into_owned(),
                decision,
                action: told
                    .map(|told| spec.actions().name(told.action).into_owned())
                    .or(stopped),
                feedback: told.map(|told| spec.feedbacks().name(told.feedback).into_owned()),
                overridden: told.is_some_and(|told| told.overridden)
                    || end.is_some_and(|end| end.overridden),
                reason: told
                    .and_then(|told| told.reason.clone())
                    .or_else(|| end.and_then(|end| end.reason.clone())),
            })
        });
        Ok(EpisodeView {
            steps: Some(steps.collect::<Result<_, ApiError>>()?),
            ..EpisodeView::brief(study, case, blinded)
        })
    }
}

/// Episodes.
#[derive(Debug, Serialize, ToSchema)]
pub struct EpisodeList {
    /// In the order of their names, without their steps.
    pub episodes: Vec<EpisodeView>,
    /// What to ask for as `after` to see more, if there is more.
    pub next: Option<String>,
}

/// What is known of one action in one step and state.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct EstimateRow {
    /// The step, from 1.
    pub step: u32,
    /// The state, by name.
    pub state: String,
    /// The action by name, or `stop`.
    pub action: String,
    /// How often its gain was observed.
    pub count: u64,
    /// The sample mean of its gain.
    pub mean: f64,
    /// How far that may be off; `null` where that is infinite or not said.
    pub width: Option<f64>,
    /// What it is compared by; `null` where that is infinite or not said.
    pub index: Option<f64>,
}

/// What a study knows.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct Estimates {
    /// The study.
    pub study: String,
    /// Who recommends.
    pub learner: String,
    /// The sequence number of the last event that it knows of.
    pub as_of: u64,
    /// The hash of that event.
    pub hash: String,
    /// How many episodes were learned from.
    pub learned: u64,
    /// Every step, state and action that was observed.
    pub estimates: Vec<EstimateRow>,
}

impl Estimates {
    /// What a study knows.
    pub fn of(board: &mut StudyState) -> Estimates {
        let (study, mind) = (board.study.clone(), &mut board.mind);
        let spec = &study.spec;
        let rows = mind.cells().into_iter().map(|cell| {
            let (t, x, a) = (cell.t as usize, cell.x as usize, cell.a as usize);
            let action = if a < spec.actions().len() {
                Action::Continue(a)
            } else {
                Action::Stop
            };
            let known = mind.candidate(t, x, action);
            let finite = |value: f64| Some(value).filter(|value| value.is_finite());
            EstimateRow {
                step: cell.t,
                state: spec.states().name(x).into_owned(),
                action: spec.action_name(action).into_owned(),
                count: known.map_or(cell.count, |known| known.count),
                mean: known.map_or(cell.sum / cell.count as f64, |known| known.mean),
                width: known.and_then(|known| finite(known.width)),
                index: known.and_then(|known| finite(known.index)),
            }
        });
        let estimates = rows.collect();
        Estimates {
            study: study.name.clone(),
            learner: study.learner.label().into(),
            as_of: board.head.seq,
            hash: board.head.hash.clone(),
            learned: board.head.learned,
            estimates,
        }
    }
}

/// A decision recomputed from the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReplayView {
    /// Whether it is what was recorded, byte for byte.
    pub equal: bool,
    /// As it was recorded.
    #[schema(value_type = Decision)]
    pub recorded: Box<RawValue>,
    /// As it comes out of the log.
    #[schema(value_type = Decision)]
    pub recomputed: Box<RawValue>,
    /// The fields that differ, as JSON pointers.
    pub differs: Vec<String>,
}
