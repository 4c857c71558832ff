//! Outcomes, and corrections of outcomes and steps.

use serde_json::value::to_raw_value;

use super::{CommandExecutor, internal};
use crate::app::CommandError;
use crate::domain::{
    Amend, AmendStep, Amended, EpisodeRecord, EventKind, GiveOutcome, Outcome, OutcomeGiven,
    RULES_3, Rejection, Repeated, Reply, StepAmended, VoidEpisode, Voided, json::Name, validate,
};

/// The largest number of recorded requests about the outcome and the steps of one episode.
const MAX_REQUESTS: usize = 1_000;

impl CommandExecutor<'_> {
    pub(super) fn give_outcome(
        &mut self,
        id: &str,
        given: &GiveOutcome,
        by: &str,
    ) -> Result<Reply, CommandError> {
        let (study, rules) = (self.state.study.clone(), self.state.head.rules);
        let episode = self.episode(id)?;
        let outcome = outcome(episode, &given.costs, &given.rewards)?;
        let kind = EventKind::OutcomeGiven(OutcomeGiven {
            episode: id.into(),
            costs: outcome.costs.clone(),
            rewards: outcome.rewards.clone(),
            last: given.last,
            outlier: study.outlier(&outcome).is_some(),
            reason: given.reason.clone(),
            request: given.request.clone(),
        });
        if is_repeated(episode, &kind, by, given.blinded)? {
            return self.episode_reply(id, false);
        }
        validate::not_voided(episode)?;
        if given.blinded {
            validate::no_values_of_others(episode, &outcome, by)?;
        }
        validate::adds_to(&episode.outcome, &outcome)?;
        let reason = given.reason.as_deref();
        validate::outliers(&study, &outcome, given.outlier, reason, rules)?;
        self.record_outcome(id, kind, &outcome, by)
    }

    pub(super) fn amend(
        &mut self,
        id: &str,
        amend: &Amend,
        by: &str,
    ) -> Result<Reply, CommandError> {
        let (study, rules) = (self.state.study.clone(), self.state.head.rules);
        let episode = self.episode(id)?;
        let outcome = outcome(episode, &amend.costs, &amend.rewards)?;
        let kind = EventKind::Amended(Amended {
            episode: id.into(),
            costs: outcome.costs.clone(),
            rewards: outcome.rewards.clone(),
            reason: amend.reason.clone(),
            outlier: study.outlier(&outcome).is_some(),
            request: amend.request.clone(),
        });
        if is_repeated(episode, &kind, by, false)? {
            return self.episode_reply(id, false);
        }
        validate::not_voided(episode)?;
        let reason = Some(&*amend.reason);
        validate::outliers(&study, &outcome, amend.outlier, reason, rules)?;
        self.record_outcome(id, kind, &outcome, by)
    }

    pub(super) fn amend_step(
        &mut self,
        id: &str,
        step: u64,
        amend: &AmendStep,
        by: &str,
    ) -> Result<Reply, CommandError> {
        let study = self.state.study.clone();
        validate::has_rules(&self.state.head, RULES_3, "the correction of steps")?;
        let episode = self.episode(id)?.clone();
        let spec = &study.spec;
        let action = |name: &Name| -> Result<String, Rejection> {
            Ok(spec.actions().name(study.action(name)?).into_owned())
        };
        let feedback = |name: &Name| -> Result<String, Rejection> {
            Ok(spec.feedbacks().name(study.feedback(name)?).into_owned())
        };
        let mut amended = StepAmended {
            episode: id.into(),
            step: step as usize,
            action: amend.action.as_ref().map(action).transpose()?,
            feedback: amend.feedback.as_ref().map(feedback).transpose()?,
            overridden: false,
            reason: amend.reason.clone(),
            current: episode.step(),
            decision: None,
            shadow: Vec::new(),
            request: amend.request.clone(),
        };
        let kind = EventKind::StepAmended(amended.clone());
        if is_repeated(&episode, &kind, by, false)? {
            return self.episode_reply(id, false);
        }
        let (action, feedback) = (amend.action.as_ref(), amend.feedback.as_ref());
        let corrected = validate::corrected_step(&study, &episode, step, action, feedback)?;
        validate::reason(&amend.reason, self.state.head.rules)?;
        amended.overridden = corrected.overridden;
        let old = &episode.steps[step as usize - 1];
        if (old.action, old.feedback) == (corrected.action, corrected.feedback) {
            return self.record_repeated(id, &kind, Vec::new(), by);
        }
        has_room(&episode)?;
        if episode.end.is_none()
            && let Some(&x) = corrected.states.last()
        {
            self.refresh()?;
            let (decision, shadow) = self.state.decide_anew(&episode, x, self.at);
            amended.decision = Some(to_raw_value(&decision).map_err(internal)?);
            amended.shadow = shadow;
        }
        self.record_for(id, EventKind::StepAmended(amended), by)
    }

    pub(super) fn void(
        &mut self,
        id: &str,
        void: &VoidEpisode,
        by: &str,
    ) -> Result<Reply, CommandError> {
        validate::has_rules(&self.state.head, RULES_3, "voiding")?;
        let episode = self.episode(id)?;
        if episode.voided.as_deref() == Some(&*void.reason) {
            return self.episode_reply(id, false);
        }
        let voided = Voided {
            episode: id.into(),
            reason: void.reason.clone(),
            request: void.request.clone(),
        };
        self.record_for(id, EventKind::Voided(voided), by)
    }

    /// Records an outcome or a correction; as a repetition if it changes nothing, so that a late copy of it changes nothing either.
    fn record_outcome(
        &mut self,
        id: &str,
        kind: EventKind,
        given: &Outcome,
        by: &str,
    ) -> Result<Reply, CommandError> {
        let episode = self.episode(id)?;
        has_room(episode)?;
        let last = matches!(&kind, EventKind::OutcomeGiven(given) if given.last);
        if validate::changes(&episode.outcome, given, last) {
            return self.record_for(id, kind, by);
        }
        self.record_repeated(id, &kind, given.positions(), by)
    }

    /// Records a request that changes nothing, so that a late copy of it changes nothing either.
    fn record_repeated(
        &mut self,
        id: &str,
        kind: &EventKind,
        values: Vec<usize>,
        by: &str,
    ) -> Result<Reply, CommandError> {
        has_room(self.episode(id)?)?;
        let repeated = Repeated {
            episode: id.into(),
            of: kind.name().into(),
            fingerprint: kind.fingerprint().map_err(internal)?,
            values,
            request: kind.request().map(str::to_owned),
        };
        self.record(EventKind::Repeated(repeated), by)?;
        self.episode_reply(id, false)
    }
}

/// The episode has room for another recorded request.
fn has_room(episode: &EpisodeRecord) -> Result<(), Rejection> {
    if episode.requests.len() < MAX_REQUESTS {
        return Ok(());
    }
    Err(Rejection::not_possible(format!(
        "episode `{}` has {MAX_REQUESTS} recorded requests about its outcome and steps, the largest number",
        episode.id
    )))
}

/// The outcome that a request gives for an episode that has ended.
fn outcome(
    episode: &EpisodeRecord,
    costs: &Option<Vec<Option<f64>>>,
    rewards: &Option<Vec<Option<f64>>>,
) -> Result<Outcome, Rejection> {
    validate::has_ended(episode)?;
    validate::outcome(episode.step(), costs.as_deref(), rewards.as_deref())
}

/// Whether the same outcome or correction was acknowledged before. With an id, the id decides, and must not have had another
/// content. To a blinded token, requests of other tokens are unknown.
fn is_repeated(
    episode: &EpisodeRecord,
    kind: &EventKind,
    by: &str,
    blinded: bool,
) -> Result<bool, CommandError> {
    let fingerprint = kind.fingerprint().map_err(internal)?;
    let mut known = episode.requests.iter().filter(|it| !blinded || it.by == by);
    let Some(id) = kind.request() else {
        return Ok(known.any(|it| it.fingerprint == fingerprint)
            || !blinded && episode.given.contains(&fingerprint));
    };
    match known.find(|it| it.id.as_deref() == Some(id)) {
        Some(request) if request.fingerprint != fingerprint => {
            let what = format!("request `{id}` was sent before with another content");
            Err(Rejection::conflict(what).at("/request").into())
        }
        request => Ok(request.is_some()),
    }
}
