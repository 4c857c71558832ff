//! The state of a study, and [`StudyState::advance`], which applies one event to it.
//!
//! The live service, a replay, an import and an audit all advance the same way, so that what is recomputed equals what was
//! recorded. The rules that an event must satisfy are in [`crate::domain::validate`].

use std::sync::Arc;

use emab::{Action, Episode};

use crate::domain::{
    Amended, Closed, Decision, DecisionPoint, End, EpisodeRecord, Event, EventKind, FIRST_RULES,
    Head, Imported, InFlight, Outcome, OutcomeGiven, OutcomeRequest, Paused, RULES_3, RULES_4,
    Rejection, Reopened, Resumed, Shadow, Stamp, Step, StepAmended, Study, StudyChange,
    StudyLearners, json::Name, known_positions, validate,
};

/// A study after some event of its log.
pub struct StudyState {
    pub study: Arc<Study>,
    /// The end of the log, and the counters.
    pub head: Head,
    pub learners: StudyLearners,
    /// Whether a learned episode was corrected: the learners have to be rebuilt before they are asked again.
    pub stale: bool,
    /// What is in flight; empty for learners that do not allow for it.
    in_flight: InFlight,
}

/// What an event changed.
#[derive(Debug, Default)]
pub struct Advance {
    /// The episode of the event, after it.
    pub episode: Option<EpisodeRecord>,
    /// The episode that was learned, with its position in the learning order.
    pub learned: Option<(u64, Episode)>,
}

impl StudyState {
    /// A study before its first event, which follows these rules.
    pub fn new(study: Arc<Study>, rules: u32) -> Result<StudyState, Rejection> {
        validate::rules(rules)?;
        Ok(StudyState {
            learners: StudyLearners::new(&study, rules)?,
            head: Head::new(&study.name, &study.hash, rules),
            study,
            stale: false,
            in_flight: InFlight::default(),
        })
    }

    /// Replaces the learners by ones to which nothing was announced.
    pub fn set_learners(&mut self, learners: StudyLearners) {
        self.learners = learners;
        self.in_flight.announce_all(&mut self.learners);
    }

    /// Forgets what is in flight, before the learners are replaced.
    pub fn forget_in_flight(&mut self) {
        self.in_flight = InFlight::default();
    }

    /// Removes from what is in flight the episodes that no longer count.
    pub fn settle_expired(&mut self) {
        self.in_flight.expire(self.head.seq, &mut self.learners);
    }

    /// Updates what is in flight of these episodes.
    pub fn track<'a>(&mut self, episodes: impl IntoIterator<Item = &'a EpisodeRecord>) {
        if self.learners.counts_pending() {
            for episode in episodes {
                self.in_flight.update(episode, &mut self.learners);
            }
        }
    }

    /// The decision for a step of an episode, and the choices of the shadow learners.
    pub fn decide(&mut self, point: DecisionPoint<'_>) -> (Decision, Vec<Shadow>) {
        self.settle_expired();
        let decision = Decision::make(&self.study, &self.head, &mut self.learners, point);
        let actions = self.learners.shadow_choices(point.t, point.x);
        let named = self.study.shadows.iter().zip(actions);
        let shadows = named.map(|(config, action)| Shadow {
            learner: config.label().into(),
            action: self.study.spec.action_name(action).into_owned(),
        });
        (decision, shadows.collect())
    }

    /// The decision for the current step of an episode anew, as if it had not been made: the choices of the episode do not count
    /// as being in flight.
    pub fn decide_anew(
        &mut self,
        episode: &EpisodeRecord,
        x: usize,
        at: &str,
    ) -> (Decision, Vec<Shadow>) {
        self.in_flight.remove(episode.opened, &mut self.learners);
        let decision = self.decide(DecisionPoint {
            episode: &episode.id,
            number: episode.number,
            t: episode.step(),
            x,
            at,
        });
        self.track([episode]);
        decision
    }

    /// The decision that an event should record, and the choices of the shadow learners; none if it records no decision.
    pub fn recompute(
        &mut self,
        event: &Event,
        episode: Option<&EpisodeRecord>,
    ) -> Result<Option<(Decision, Vec<Shadow>)>, Rejection> {
        let Some(point) = self.decision_point(event, episode)? else {
            return Ok(None);
        };
        Ok(Some(match (&event.kind, episode) {
            (EventKind::StepAmended(_), Some(episode)) => {
                self.decide_anew(episode, point.x, point.at)
            }
            _ => self.decide(point),
        }))
    }

    /// What an event decides; none if it records no decision.
    fn decision_point<'a>(
        &self,
        event: &'a Event,
        episode: Option<&EpisodeRecord>,
    ) -> Result<Option<DecisionPoint<'a>>, Rejection> {
        let (kind, at) = (&event.kind, &*event.at);
        let number = episode.and_then(|it| it.number);
        let point = |episode: &'a str, number, t, x| {
            Some(DecisionPoint {
                episode,
                number,
                t,
                x,
                at,
            })
        };
        match kind {
            EventKind::Opened(opened) => {
                let start = self.study.recorded_start(opened.start.as_deref())?;
                Ok(point(&opened.episode, self.next_number(), 1, start))
            }
            EventKind::StepRecorded(step) => {
                let episode = known(kind, episode)?;
                let next = self.valid_step(episode, step)?.next;
                Ok(point(&step.episode, number, episode.step() + 1, next))
            }
            EventKind::StepAmended(amended) => {
                let episode = known(kind, episode)?;
                let corrected = self.corrected_step(episode, amended)?;
                let last = corrected.states.last().filter(|_| episode.end.is_none());
                Ok(last.and_then(|&x| point(&amended.episode, number, episode.step(), x)))
            }
            _ => Ok(None),
        }
    }

    /// The number of the next episode that is opened; none for earlier rules.
    pub fn next_number(&self) -> Option<u64> {
        (self.head.rules >= RULES_3).then_some(self.head.details.opened + 1)
    }

    fn valid_step(
        &self,
        episode: &EpisodeRecord,
        step: &crate::domain::event::StepRecorded,
    ) -> Result<validate::ValidStep, Rejection> {
        let name = |text: &str| Name::Text(text.into());
        let (action, feedback) = (name(&step.action), name(&step.feedback));
        validate::step(&self.study, episode, step.step as u64, &action, &feedback)
    }

    fn corrected_step(
        &self,
        episode: &EpisodeRecord,
        amended: &StepAmended,
    ) -> Result<validate::CorrectedStep, Rejection> {
        let name = |text: &Option<String>| text.clone().map(Name::Text);
        let (action, feedback) = (name(&amended.action), name(&amended.feedback));
        let (step, study) = (amended.step as u64, &self.study);
        validate::corrected_step(study, episode, step, action.as_ref(), feedback.as_ref())
    }

    /// Applies the next event. Takes the hash of its line and its episode as it was before; changes nothing if it fails.
    pub fn advance(
        &mut self,
        event: &Event,
        hash: &str,
        episode: Option<EpisodeRecord>,
    ) -> Result<Advance, Rejection> {
        if event.seq != self.head.seq + 1 {
            let what = format!("it has number {}, after {}", event.seq, self.head.seq);
            return Err(Rejection::conflict(what));
        }
        if event.previous != self.head.hash {
            let what = "its `previous` is not the hash of the event before it";
            return Err(Rejection::conflict(what));
        }
        validate::salt(&self.head, event.salt.as_deref())?;
        validate::person(&self.head, event.person.as_deref())?;
        if self.head.rules > FIRST_RULES {
            self.check_strictly(event, episode.as_ref())?;
        }
        let was_open = episode.as_ref().is_some_and(|it| it.end.is_none());
        let was_missing = episode.as_ref().is_some_and(EpisodeRecord::is_missing);
        let is_new = episode.is_none();
        let was_awaited = episode.as_ref().and_then(EpisodeRecord::awaited_since);
        let mut episode = self.apply(event, episode)?;
        let mut learned = None;
        if let Some(episode) = &mut episode {
            if is_new {
                episode.opened = event.seq;
                episode.opened_stamp = Stamp::of(event);
                self.head.episodes += 1;
            }
            episode.touched = event.seq;
            episode.touched_stamp = Stamp::of(event);
            if event.kind.changes_outcome() {
                episode.outcome_stamp = Stamp::of(event);
            }
            acknowledge(episode, event)?;
            if event.kind.changes_learned() && episode.is_settled() {
                if self.head.rules >= RULES_4 && episode.position.is_none() {
                    episode.settled = event.seq;
                    episode.settled_at = Some(event.at.clone());
                }
                learned = Some(self.learn(episode, event.seq));
            }
            if let (EventKind::Voided(_), Some(position)) = (&event.kind, episode.position) {
                learned = Some((position, Episode::default()));
                self.head.relearned = event.seq;
                self.head.details.voided_learned += 1;
                self.stale = true;
            }
            let head = &mut self.head;
            head.open = head.open + u64::from(episode.end.is_none()) - u64::from(was_open);
            head.missing = head.missing + u64::from(episode.is_missing()) - u64::from(was_missing);
            let (awaited, delay) = (&mut head.details.awaited, self.study.expected_delay);
            match (was_awaited, episode.awaited_since()) {
                (None, Some(since)) => awaited.add(since, delay),
                (Some(since), None) => awaited.remove(since, delay),
                _ => {}
            }
        }
        if let (None, Some(id)) = (event.kind.episode(), event.kind.request()) {
            let fingerprint = study_fingerprint(&event.kind)?;
            self.head.details.remember(id, fingerprint);
        }
        match event.kind {
            EventKind::Closed(_) => self.head.closed = true,
            EventKind::Reopened(_) => self.head.closed = false,
            EventKind::Paused(_) => self.head.details.paused = true,
            EventKind::Resumed(_) => self.head.details.paused = false,
            _ => {}
        }
        if self.head.rules >= RULES_3 {
            self.head.details.count(&event.kind);
        }
        if self.head.rules >= RULES_4 {
            self.head.details.count_recent(&event.kind);
            if let Some(change) = StudyChange::of(event) {
                self.head.details.change = Some(change);
            }
            self.head.details.at = Some(event.at.clone());
        }
        self.head.salted |= event.salt.is_some();
        self.head.seq = event.seq;
        self.head.hash = hash.into();
        self.track(&episode);
        Ok(Advance { episode, learned })
    }

    /// Rejects an event that the service never wrote, and that rules 1 allow nevertheless. Takes its episode as it was before.
    pub fn check_strictly(
        &self,
        event: &Event,
        episode: Option<&EpisodeRecord>,
    ) -> Result<(), Rejection> {
        validate::provenance(event)?;
        let (costs, rewards, last) = match &event.kind {
            EventKind::OutcomeGiven(given) => (&given.costs, &given.rewards, given.last),
            EventKind::Amended(given) => (&given.costs, &given.rewards, false),
            _ => return Ok(()),
        };
        let episode = known(&event.kind, episode)?;
        validate::has_ended(episode)?;
        let given = validate::recorded_outcome(episode.step(), costs, rewards)?;
        if validate::changes(&episode.outcome, &given, last) {
            return Ok(());
        }
        let what = "it changes nothing: the values were known before";
        Err(Rejection::conflict(what))
    }

    /// Learns a settled episode: at the end of the learning order, or at the position that it has.
    fn learn(&mut self, episode: &mut EpisodeRecord, seq: u64) -> (u64, Episode) {
        let values = episode.episode();
        let position = match episode.position {
            Some(position) => {
                self.head.relearned = seq;
                self.stale = true;
                position
            }
            None => {
                let position = self.head.learned;
                self.head.learned += 1;
                if !self.stale {
                    self.learners.learn(&values);
                }
                position
            }
        };
        episode.position = Some(position);
        (position, values)
    }

    /// Validates an event and returns its episode after it.
    fn apply(
        &self,
        event: &Event,
        episode: Option<EpisodeRecord>,
    ) -> Result<Option<EpisodeRecord>, Rejection> {
        let (study, rules, kind) = (&*self.study, self.head.rules, &event.kind);
        validate::request_id(kind.request())?;
        if !matches!(kind, EventKind::Created(_)) {
            validate::created(&self.head)?;
        }
        let new = |id: &str, start: Option<&str>| {
            validate::not_closed(&self.head)?;
            validate::episode_name(id)?;
            match episode {
                Some(_) => Err(validate::name_taken(id)),
                None => Ok(EpisodeRecord {
                    id: id.into(),
                    states: vec![study.recorded_start(start)?],
                    ..EpisodeRecord::default()
                }),
            }
        };
        let there = || known(kind, episode.as_ref()).cloned();
        let has_rules = |what| validate::has_rules(&self.head, RULES_3, what);
        let at = |step: usize| {
            let episode = there()?;
            validate::is_open(&episode)?;
            validate::current_step(&episode, step as u64)?;
            Ok::<_, Rejection>(episode)
        };
        let ended = |costs: &[Option<f64>], rewards: &[Option<f64>]| {
            let episode = there()?;
            validate::not_voided(&episode)?;
            validate::has_ended(&episode)?;
            let outcome = validate::recorded_outcome(episode.step(), costs, rewards)?;
            Ok::<_, Rejection>((episode, outcome))
        };
        let outliers = |outcome: &Outcome, flag: bool, reason: Option<&str>| {
            validate::outlier_flag(study, outcome, flag)?;
            validate::outliers(study, outcome, flag, reason, rules)
        };
        Ok(Some(match kind {
            EventKind::Created(created) => {
                validate::creation(study, &self.head, created)?;
                return Ok(None);
            }
            EventKind::Closed(Closed { reason, .. }) => {
                validate::closing(&self.head, kind)?;
                if let Some(reason) = reason {
                    validate::reason(reason, rules)?;
                }
                self.changes_study(kind)?;
                return Ok(None);
            }
            EventKind::Reopened(Reopened { reason, .. })
            | EventKind::Paused(Paused { reason, .. })
            | EventKind::Resumed(Resumed { reason, .. }) => {
                has_rules("pausing and reopening")?;
                validate::reason(reason, rules)?;
                self.changes_study(kind)?;
                return Ok(None);
            }
            EventKind::Opened(opened) => {
                validate::not_paused(&self.head)?;
                EpisodeRecord {
                    recommended: self.recommended(opened.decision.get())?,
                    number: self.next_number(),
                    ..new(&opened.episode, opened.start.as_deref())?
                }
            }
            EventKind::StepRecorded(step) => {
                let mut episode = there()?;
                let valid = self.valid_step(&episode, step)?;
                let fallback = step.policy.is_some();
                validate::fallback(&self.head, fallback, step.policy.as_ref())?;
                validate::override_flag(valid.overridden && !fallback, step.overridden)?;
                let (taken, reason) = (Action::Continue(valid.action), step.reason.as_deref());
                if !fallback || reason.is_some() {
                    validate::reason_of_override(study, &episode, taken, reason, rules)?;
                }
                let keeps = rules >= RULES_3 && step.overridden;
                let recommended = episode.recommended.filter(|_| keeps);
                episode.states.push(valid.next);
                episode.steps.push(Step {
                    action: valid.action,
                    feedback: valid.feedback,
                    overridden: step.overridden,
                    reason: step.reason.clone(),
                    recommended,
                    fallback,
                    stamp: Stamp::of(event),
                    ..Step::default()
                });
                episode.recommended = self.recommended(step.decision.get())?;
                episode
            }
            EventKind::Stopped(stopped) => {
                let mut episode = at(stopped.step)?;
                let fallback = stopped.policy.is_some();
                validate::fallback(&self.head, fallback, stopped.policy.as_ref())?;
                let overridden = episode.recommended.is_some() && !fallback;
                validate::override_flag(overridden, stopped.overridden)?;
                let reason = stopped.reason.as_deref();
                if !fallback || reason.is_some() {
                    validate::reason_of_override(study, &episode, Action::Stop, reason, rules)?;
                }
                episode.finish(End {
                    abandoned: false,
                    overridden: stopped.overridden,
                    fallback,
                    reason: stopped.reason.clone(),
                    stamp: Stamp::of(event),
                });
                episode
            }
            EventKind::Abandoned(abandoned) => {
                let mut episode = at(abandoned.step)?;
                validate::reason(&abandoned.reason, rules)?;
                episode.finish(End {
                    abandoned: true,
                    reason: Some(abandoned.reason.clone()),
                    stamp: Stamp::of(event),
                    ..End::default()
                });
                episode
            }
            EventKind::OutcomeGiven(given) => {
                let (mut episode, outcome) = ended(&given.costs, &given.rewards)?;
                validate::adds_to(&episode.outcome, &outcome)?;
                outliers(&outcome, given.outlier, given.reason.as_deref())?;
                episode.outcome.merge(&outcome);
                episode.outcome.last |= given.last;
                episode
            }
            EventKind::Amended(given) => {
                let (mut episode, outcome) = ended(&given.costs, &given.rewards)?;
                validate::reason(&given.reason, rules)?;
                outliers(&outcome, given.outlier, Some(&given.reason))?;
                episode.outcome.merge(&outcome);
                episode
            }
            EventKind::StepAmended(amended) => {
                let mut episode = there()?;
                has_rules("the correction of steps")?;
                let corrected = self.corrected_step(&episode, amended)?;
                validate::override_flag(corrected.overridden, amended.overridden)?;
                validate::reason(&amended.reason, rules)?;
                let is_open = episode.end.is_none();
                if amended.current != episode.step()
                    || amended.decision.is_some() != is_open
                    || !is_open && !amended.shadow.is_empty()
                {
                    let what =
                        "its `current`, `decision` and `shadow` are not those of the episode";
                    return Err(Rejection::conflict(what));
                }
                let step = &mut episode.steps[amended.step - 1];
                if (step.action, step.feedback) == (corrected.action, corrected.feedback) {
                    let what = "it changes nothing: the step was recorded so before";
                    return Err(Rejection::conflict(what));
                }
                let recommended = match step.overridden {
                    true => step.recommended,
                    false => Some(step.action),
                };
                step.recommended = recommended.filter(|_| corrected.overridden);
                step.reported = Some(step.as_reported());
                (step.action, step.feedback) = (corrected.action, corrected.feedback);
                step.overridden = corrected.overridden;
                step.corrected = Some(amended.reason.clone());
                step.corrected_stamp = Stamp::of(event);
                episode.states = corrected.states;
                if let Some(decision) = &amended.decision {
                    episode.recommended = self.recommended(decision.get())?;
                }
                episode
            }
            EventKind::Voided(voided) => {
                let mut episode = there()?;
                has_rules("voiding")?;
                validate::not_voided(&episode)?;
                validate::reason(&voided.reason, rules)?;
                if episode.end.is_none() {
                    episode.finish(End {
                        abandoned: true,
                        stamp: Stamp::of(event),
                        ..End::default()
                    });
                }
                episode.voided = Some(voided.reason.clone());
                episode.voided_stamp = Stamp::of(event);
                episode
            }
            EventKind::Repeated(repeated) => {
                let episode = there()?;
                validate::not_voided(&episode)?;
                if repeated.of == "step_amended" {
                    has_rules("the correction of steps")?;
                } else {
                    validate::has_ended(&episode)?;
                }
                validate::repetition(&episode, repeated)?;
                episode
            }
            EventKind::Imported(past) => {
                let names = |list: &[String]| -> Vec<Name> {
                    list.iter().map(|name| Name::Text(name.clone())).collect()
                };
                let mut episode = new(&past.episode, past.start.as_deref())?;
                let (actions, feedbacks) = (names(&past.actions), names(&past.feedbacks));
                let (states, steps) =
                    validate::past_steps(study, episode.state(), &actions, &feedbacks)?;
                let outcome = validate::recorded_outcome(states.len(), &past.costs, &past.rewards)?;
                outliers(&outcome, past.outlier, past.reason.as_deref())?;
                episode.states = states;
                let steps = steps.into_iter().map(|(action, feedback)| Step {
                    action,
                    feedback,
                    ..Step::default()
                });
                episode.steps = steps.collect();
                episode.imported = true;
                episode.finish(End {
                    stamp: Stamp::of(event),
                    ..End::default()
                });
                episode.outcome = Outcome {
                    last: true,
                    ..outcome
                };
                episode
            }
        }))
    }

    /// A request about the whole study is new, and changes something.
    fn changes_study(&self, kind: &EventKind) -> Result<(), Rejection> {
        let (head, name) = (&self.head, kind.name());
        let known = |id: &str| head.details.requests.iter().any(|it| it.0 == id);
        if kind.request().is_some_and(known) {
            return Err(Rejection::conflict("the request was recorded before"));
        }
        let is_new = match kind {
            EventKind::Closed(_) => !head.closed,
            EventKind::Reopened(_) => head.closed,
            EventKind::Paused(_) => !head.details.paused,
            _ => head.details.paused,
        };
        match is_new {
            true => Ok(()),
            false => Err(Rejection::conflict(format!("the study was {name} before"))),
        }
    }

    /// The action that a recorded decision recommends; none is `stop`.
    fn recommended(&self, decision: &str) -> Result<Option<usize>, Rejection> {
        #[derive(serde::Deserialize)]
        struct Recommended<'a> {
            #[serde(borrow)]
            action: std::borrow::Cow<'a, str>,
        }
        let Recommended { action } = serde_json::from_str(decision)
            .map_err(|error| Rejection::malformed(format!("its decision: {error}")))?;
        if action == "stop" {
            return Ok(None);
        }
        self.study
            .action(&Name::Text(action.into_owned()))
            .map(Some)
    }
}

/// Records that a request about the outcome was acknowledged, and which token gave its values.
fn acknowledge(episode: &mut EpisodeRecord, event: &Event) -> Result<(), Rejection> {
    let fingerprint = match &event.kind {
        EventKind::Repeated(repeated) => repeated.fingerprint.clone(),
        kind if kind.changes_outcome() || matches!(kind, EventKind::StepAmended(_)) => {
            fingerprint(kind)?
        }
        _ => return Ok(()),
    };
    if event.salt.is_none() {
        // As earlier versions did, so that their rows stay as they are.
        episode.given.push(fingerprint);
        return Ok(());
    }
    let request = OutcomeRequest {
        fingerprint,
        by: event.by.clone(),
        id: event.kind.request().map(str::to_owned),
    };
    validate::is_new_request(episode, &request)?;
    episode.requests.push(request);
    let positions = match &event.kind {
        EventKind::OutcomeGiven(OutcomeGiven { costs, rewards, .. })
        | EventKind::Amended(Amended { costs, rewards, .. })
        | EventKind::Imported(Imported { costs, rewards, .. }) => known_positions(costs, rewards),
        EventKind::Repeated(repeated) => repeated.values.clone(),
        _ => return Ok(()),
    };
    episode.set_giver(&positions, &event.by);
    Ok(())
}

/// Identifies a request about the whole study: the same content may be one to pause and one to resume.
pub fn study_fingerprint(kind: &EventKind) -> Result<String, Rejection> {
    Ok(format!("{} {}", kind.name(), fingerprint(kind)?))
}

fn fingerprint(kind: &EventKind) -> Result<String, Rejection> {
    let fingerprint = kind.fingerprint();
    fingerprint.map_err(|error| Rejection::internal(error.to_string()))
}

/// The episode of an event, which must exist.
fn known<'a>(
    kind: &EventKind,
    episode: Option<&'a EpisodeRecord>,
) -> Result<&'a EpisodeRecord, Rejection> {
    episode.ok_or_else(|| {
        let id = kind.episode().unwrap_or("");
        Rejection::not_found(format!("there is no episode `{id}` before it"))
    })
}
