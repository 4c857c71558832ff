//! The rules of a study, as one pure step: an event and the episode it is about, in; the episode as it then is, out.
//!
//! The live service, a replay and an import all go through [`StudyState::advance`], so that what is recomputed is what happened.

use emab::Episode;

use crate::domain::decision::Decision;
use crate::domain::episode::{End, EpisodeRecord, Outcome, Step};
use crate::domain::error::ApiError;
use crate::domain::event::{Event, EventKind, Opened, Shadow};
use crate::domain::json::Name;
use crate::domain::learners::StudyLearners;
use crate::domain::study::Study;
use crate::store::Head;

/// A study as it stands after some event.
pub struct StudyState {
    /// What it is.
    pub study: std::sync::Arc<Study>,
    /// Where its log is.
    pub head: Head,
    /// What it has learned.
    pub mind: StudyLearners,
    /// Whether what had been learned was changed: the mind has to be taught anew before it is asked.
    pub stale: bool,
}

/// What an event did.
#[derive(Debug, Default)]
pub struct Advance {
    /// The episode that it is about, as it now is.
    pub case: Option<EpisodeRecord>,
    /// The episode that was learned, with its place.
    pub lesson: Option<(u64, Episode)>,
}

/// An event that cannot follow what was there.
pub type InvalidEvent = String;

impl StudyState {
    /// A study before its first event.
    pub fn new(study: std::sync::Arc<Study>) -> Result<StudyState, ApiError> {
        Ok(StudyState {
            mind: StudyLearners::new(&study)?,
            head: Head::new(&study.name, &study.canonical),
            study,
            stale: false,
        })
    }

    /// The decision of a step of an episode, and what the shadow learners would have said.
    pub fn decide(&mut self, episode: &str, t: usize, x: usize) -> (Decision, Vec<Shadow>) {
        let decision = Decision::make(&self.study, &self.head, &mut self.mind, episode, t, x);
        let actions = self.mind.shadows(t, x);
        let named = self.study.shadows.iter().zip(actions);
        let shadows = named.map(|(config, action)| Shadow {
            learner: config.label().into(),
            action: self.study.spec.action_name(action).into_owned(),
        });
        (decision, shadows.collect())
    }

    /// The episode, step and state that the decision in an event is about, if there is one in it.
    pub fn asked<'a>(
        &self,
        what: &'a EventKind,
        case: Option<&EpisodeRecord>,
    ) -> Result<Option<(&'a str, usize, usize)>, InvalidEvent> {
        match what {
            EventKind::Opened(opened) => Ok(Some((&opened.episode, 1, self.study.spec.start()))),
            EventKind::StepRecorded(told) => {
                let missing = || format!("there is no episode `{}` before it", told.episode);
                let case = case.ok_or_else(missing)?;
                let (action, feedback) = self.names(&told.action, &told.feedback)?;
                let next = step(&self.study, case, action, feedback).map_err(detail)?;
                Ok(Some((&told.episode, case.step() + 1, next)))
            }
            _ => Ok(None),
        }
    }

    fn names(&self, action: &str, feedback: &str) -> Result<(usize, usize), InvalidEvent> {
        let name = |text: &str| Name::Text(text.into());
        let action = self.study.action(&name(action)).map_err(detail)?;
        let feedback = self.study.feedback(&name(feedback)).map_err(detail)?;
        Ok((action, feedback))
    }

    /// Takes in the next event, with the hash of its line and the episode it is about as it was before.
    pub fn advance(
        &mut self,
        event: &Event,
        hash: &str,
        case: Option<EpisodeRecord>,
    ) -> Result<Advance, InvalidEvent> {
        if event.seq != self.head.seq + 1 {
            return Err(format!(
                "it has number {}, after {}",
                event.seq, self.head.seq
            ));
        }
        if event.previous != self.head.hash {
            return Err("it does not name the hash of the event before it".into());
        }
        crate::domain::validate::check(&self.study, &self.head, case.as_ref(), &event.what)?;
        let was_open = case.as_ref().is_some_and(|case| case.end.is_none());
        let was_missing = case.as_ref().is_some_and(EpisodeRecord::is_missing);
        let was_there = case.is_some();
        let mut case = self.case_after(&event.what, case)?;
        let mut lesson = None;
        if let Some(case) = &mut case {
            if !was_there {
                case.opened = event.seq;
                self.head.episodes += 1;
            }
            case.touched = event.seq;
            if changes_outcome(&event.what) {
                let given = event.what.fingerprint();
                case.given.push(given.map_err(|error| error.to_string())?);
            }
            if case.is_settled() && changes_outcome(&event.what) {
                lesson = Some(self.place(case, event.seq));
            }
            self.head.open = self.head.open + u64::from(case.end.is_none()) - u64::from(was_open);
            self.head.missing =
                self.head.missing + u64::from(case.is_missing()) - u64::from(was_missing);
        }
        if matches!(event.what, EventKind::Closed(_)) {
            self.head.closed = true;
        }
        self.head.seq = event.seq;
        self.head.hash = hash.into();
        Ok(Advance { case, lesson })
    }

    /// Learns from a settled episode: at the end of the order, or at the place that it has.
    fn place(&mut self, case: &mut EpisodeRecord, seq: u64) -> (u64, Episode) {
        let episode = case.episode();
        let place = match case.place {
            Some(place) => {
                self.head.relearned = seq;
                self.stale = true;
                place
            }
            None => {
                let place = self.head.learned;
                self.head.learned += 1;
                if !self.stale {
                    self.mind.learn(&episode);
                }
                place
            }
        };
        case.place = Some(place);
        (place, episode)
    }

    /// The episode after an event.
    fn case_after(
        &self,
        what: &EventKind,
        case: Option<EpisodeRecord>,
    ) -> Result<Option<EpisodeRecord>, InvalidEvent> {
        let spec = &self.study.spec;
        let episode = what.episode();
        let there = || match &case {
            Some(case) => Ok(case.clone()),
            None => Err(format!(
                "there is no episode `{}` before it",
                episode.unwrap_or("")
            )),
        };
        match what {
            EventKind::Created(created) => {
                if self.head.seq != 0 || created.spec_hash != self.study.hash {
                    return Err("it creates what was created before".into());
                }
                return Ok(None);
            }
            EventKind::Closed(_) => return Ok(None),
            EventKind::Opened(_) | EventKind::Imported(_) if case.is_some() => {
                return Err(format!(
                    "episode `{}` is there before it",
                    episode.unwrap_or("")
                ));
            }
            _ if self.head.seq == 0 => return Err("nothing was created before it".into()),
            _ => {}
        }
        let case = match what {
            EventKind::Created(_) | EventKind::Closed(_) => return Ok(None),
            EventKind::Opened(opened) => EpisodeRecord {
                recommended: self.recommended(opened)?,
                ..new_case(&opened.episode, spec.start())
            },
            EventKind::StepRecorded(told) => {
                let mut case = there()?;
                let (action, feedback) = self.names(&told.action, &told.feedback)?;
                if case.end.is_some() || told.step != case.step() {
                    return Err(format!(
                        "it tells step {} of an episode elsewhere",
                        told.step
                    ));
                }
                let next = step(&self.study, &case, action, feedback).map_err(detail)?;
                case.states.push(next);
                case.steps.push(Step {
                    action,
                    feedback,
                    overridden: told.overridden,
                    reason: told.reason.clone(),
                });
                let decision = told.decision.get();
                case.recommended = self.action_of(decision)?;
                case
            }
            EventKind::Stopped(stopped) => ended(
                there()?,
                stopped.step,
                End {
                    abandoned: false,
                    overridden: stopped.overridden,
                    reason: stopped.reason.clone(),
                },
            )?,
            EventKind::Abandoned(abandoned) => ended(
                there()?,
                abandoned.step,
                End {
                    abandoned: true,
                    overridden: false,
                    reason: Some(abandoned.reason.clone()),
                },
            )?,
            EventKind::Revealed(revealed) => {
                let mut case = there()?;
                merge(&mut case.outcome.costs, &revealed.costs)?;
                merge(&mut case.outcome.rewards, &revealed.rewards)?;
                case.outcome.last |= revealed.last;
                case
            }
            EventKind::Amended(amended) => {
                let mut case = there()?;
                merge(&mut case.outcome.costs, &amended.costs)?;
                merge(&mut case.outcome.rewards, &amended.rewards)?;
                case
            }
            EventKind::Imported(past) => {
                let mut case = new_case(&past.episode, spec.start());
                for (action, feedback) in past.actions.iter().zip(&past.feedbacks) {
                    let (action, feedback) = self.names(action, feedback)?;
                    let next = step(&self.study, &case, action, feedback).map_err(detail)?;
                    case.states.push(next);
                    case.steps.push(Step {
                        action,
                        feedback,
                        overridden: false,
                        reason: None,
                    });
                }
                case.imported = true;
                let at = case.step();
                let mut case = ended(
                    case,
                    at,
                    End {
                        abandoned: false,
                        overridden: false,
                        reason: None,
                    },
                )?;
                merge(&mut case.outcome.costs, &past.costs)?;
                merge(&mut case.outcome.rewards, &past.rewards)?;
                case.outcome.last = true;
                case
            }
        };
        Ok(Some(case))
    }

    fn recommended(&self, opened: &Opened) -> Result<Option<usize>, InvalidEvent> {
        self.action_of(opened.decision.get())
    }

    /// What a decision recommends; none is `stop`.
    fn action_of(&self, decision: &str) -> Result<Option<usize>, InvalidEvent> {
        #[derive(serde::Deserialize)]
        struct Action<'a> {
            #[serde(borrow)]
            action: std::borrow::Cow<'a, str>,
        }
        let Action { action } =
            serde_json::from_str(decision).map_err(|error| format!("its decision: {error}"))?;
        if action == "stop" {
            return Ok(None);
        }
        let name = Name::Text(action.into_owned());
        self.study.action(&name).map(Some).map_err(detail)
    }
}

fn detail(refusal: ApiError) -> InvalidEvent {
    refusal.detail
}

fn changes_outcome(what: &EventKind) -> bool {
    matches!(
        what,
        EventKind::Revealed(_) | EventKind::Amended(_) | EventKind::Imported(_)
    )
}

fn new_case(id: &str, start: usize) -> EpisodeRecord {
    EpisodeRecord {
        id: id.into(),
        states: vec![start],
        steps: Vec::new(),
        recommended: None,
        end: None,
        outcome: Outcome::default(),
        place: None,
        opened: 0,
        touched: 0,
        given: Vec::new(),
        imported: false,
    }
}

fn ended(mut case: EpisodeRecord, step: usize, end: End) -> Result<EpisodeRecord, InvalidEvent> {
    if case.end.is_some() || step != case.step() {
        return Err(format!("it ends an episode elsewhere than at step {step}"));
    }
    case.end = Some(end);
    case.recommended = None;
    case.outcome.costs = vec![None; step - 1];
    case.outcome.rewards = vec![None; step];
    Ok(case)
}

/// Puts what is given over what was there.
fn merge(known: &mut [Option<f64>], given: &[Option<f64>]) -> Result<(), InvalidEvent> {
    if known.len() != given.len() {
        return Err(format!(
            "it gives {} values for {}",
            given.len(),
            known.len()
        ));
    }
    for (known, given) in known.iter_mut().zip(given) {
        *known = given.or(*known);
    }
    Ok(())
}

/// The state that a step of an episode leads to, where that action may be taken.
pub fn step(
    study: &Study,
    case: &EpisodeRecord,
    action: usize,
    feedback: usize,
) -> Result<usize, ApiError> {
    next(study, case.step(), case.state(), action, feedback)
}

/// The same from a step and a state.
pub fn next(
    study: &Study,
    t: usize,
    x: usize,
    action: usize,
    feedback: usize,
) -> Result<usize, ApiError> {
    let spec = &study.spec;
    if t >= spec.horizon() {
        return Err(ApiError::impossible(format!(
            "step {t} is the last of this study: all that can be done there is to stop"
        ))
        .at("/step"));
    }
    let wrong =
        |error: emab::spec::PointError| ApiError::impossible(error.to_string()).at("/action");
    if !spec.check_allowed(t, x, action).map_err(wrong)? {
        return Err(ApiError::impossible(format!(
            "`{}` may not be taken at step {t} in state `{}`",
            spec.actions().name(action),
            spec.states().name(x)
        ))
        .at("/action"));
    }
    let next = spec.next(t, x, action, feedback);
    next.map_err(|error| ApiError::impossible(error.to_string()).at("/feedback"))
}
