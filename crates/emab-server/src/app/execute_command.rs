//! Executes commands on one study inside a transaction: validates them, then records them as events.
//!
//! A command is rejected and changes nothing, or it repeats an earlier one and gets the same answer, or it becomes one event.
//! An import becomes one event for each line; lines before a rejected one stay. The rules are in [`crate::domain::validate`].

mod corrections;
mod restore;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use emab::Action;
use serde_json::value::{RawValue, to_raw_value};

use crate::app::loader::PreparedLearners;
use crate::app::{CommandError, Pending, learn_new, rebuild};
use crate::domain::{
    Abandon, Abandoned, Author, CloseStudy, Closed, Command, Created, DecisionPoint, EpisodeRecord,
    Event, EventKind, HASH_FIELD, Head, LearnedEpisode, MAX_LINE, Open, Opened, PastEpisode,
    Paused, RULES_3, RULES_4, Reason, Record, Rejection, Reopened, Reply, ReplyBody, Resumed,
    Shadow, StepRecorded, Stop, Stopped, StoredDecision, Study, StudyState, Tell, TripletKey,
    json::LenientU64, json::short, pack, study_fingerprint, validate,
};
use crate::store::{Changes, Store, StoreError};

fn internal(error: impl std::fmt::Display) -> CommandError {
    CommandError::Rejected(Rejection::internal(error.to_string()))
}

/// What came with rules 3, for an error.
const PAUSING: &str = "pausing and reopening";
/// The number of random bytes that are drawn at a time.
const BLOCK: usize = 1 << 12;

/// The changes of one study in one transaction.
pub struct CommandExecutor<'a> {
    state: &'a mut StudyState,
    store: &'a mut dyn Store,
    at: &'a str,
    /// The person of the command in execution.
    person: String,
    episodes: HashMap<String, EpisodeRecord>,
    touched: BTreeSet<String>,
    /// To be written, without episodes, learned episodes and gain sums.
    changes: Changes,
    learned: Pending,
    changed_gains: BTreeSet<TripletKey>,
    /// Whether the restoration of the study was ended: it needs a checkpoint, even without a new event.
    restored: bool,
    /// Whether learned episodes may be corrected: otherwise such a command is [`CommandError::Deferred`].
    pub may_correct: bool,
}

impl<'a> CommandExecutor<'a> {
    /// An executor for a study whose row is locked, with the time of its events and the episodes its commands need.
    pub fn new(
        state: &'a mut StudyState,
        store: &'a mut dyn Store,
        at: &'a str,
        episodes: Vec<EpisodeRecord>,
    ) -> CommandExecutor<'a> {
        CommandExecutor {
            state,
            store,
            at,
            person: String::new(),
            episodes: episodes.into_iter().map(|e| (e.id.clone(), e)).collect(),
            touched: BTreeSet::new(),
            changes: Changes::default(),
            learned: Pending::new(),
            changed_gains: BTreeSet::new(),
            restored: false,
            may_correct: false,
        }
    }

    /// Executes a command.
    pub fn execute(&mut self, command: &Command, author: &Author) -> Result<Reply, CommandError> {
        let Author { token: by, person } = author;
        self.person.clone_from(person);
        let restores = matches!(command, Command::Restore(_) | Command::FinishRestore(_));
        if self.state.head.restoring && !restores {
            let study = &self.state.head.name;
            return Err(Rejection::conflict(format!(
                "study `{study}` is being restored; import the rest of its export first"
            ))
            .into());
        }
        match command {
            Command::Create(study) => self.create(study, by),
            Command::Close(given) => self.close(given, by),
            Command::Reopen(given) => self.reopen(given, by),
            Command::Pause(given) => self.pause(given, by),
            Command::Resume(given) => self.resume(given, by),
            Command::Open(open) => self.open(open, by),
            Command::Tell(id, tell) => self.tell(id, tell, by),
            Command::Stop(id, stop) => self.stop(id, stop, by),
            Command::Abandon(id, abandon) => self.abandon(id, abandon, by),
            Command::GiveOutcome(id, given) => self.give_outcome(id, given, by),
            Command::Amend(id, amend) => self.amend(id, amend, by),
            Command::AmendStep(id, step, amend) => self.amend_step(id, *step, amend, by),
            Command::Void(id, void) => self.void(id, void, by),
            Command::Import(past) => self.import(past, by),
            Command::Restore(events) => self.restore(events, by),
            Command::FinishRestore(end) => self.finish_restore(end.as_ref(), by),
            Command::DiscardRestore => Err(internal("a discard is executed without a state")),
        }
    }

    /// The episodes that were learned or corrected, by position.
    pub fn into_learned(self) -> Pending {
        self.learned
    }

    /// Replaces the learners after corrections by prepared ones; false if these do not fit. Takes the head before the corrections.
    pub fn install(
        &mut self,
        prepared: PreparedLearners,
        before: &Head,
    ) -> Result<bool, CommandError> {
        if !prepared.fit(before, &self.learned, self.store)? {
            return Ok(false);
        }
        self.state.set_learners(prepared.learners);
        learn_new(self.state, self.store, &self.learned)?;
        self.state.stale = false;
        self.may_correct = false;
        Ok(true)
    }

    /// The changes, to be written with the head of the study; none if there are none.
    pub fn finish(mut self) -> Result<Option<Changes>, CommandError> {
        if self.changes.events.is_empty() && self.changed_gains.is_empty() && !self.restored {
            return Ok(None);
        }
        if self.state.head.restoring {
            self.changed_gains.clear();
        } else {
            self.refresh()?;
        }
        let learners = &self.state.learners;
        let gain_sums = self.changed_gains.iter().map(|&key| learners.gain_sum(key));
        let (gain_sums, removed) = gain_sums.partition::<Vec<_>, _>(|gains| gains.count > 0);
        let touched = self.touched.iter();
        let learned = self.learned.into_iter();
        Ok(Some(Changes {
            gain_sums,
            removed_gain_sums: removed.iter().map(|it| (it.t, it.x, it.a)).collect(),
            episodes: touched.filter_map(|id| self.episodes.remove(id)).collect(),
            learned_episodes: learned
                .map(|(position, bytes)| LearnedEpisode { position, bytes })
                .collect(),
            ..self.changes
        }))
    }

    fn create(&mut self, study: &Study, by: &str) -> Result<Reply, CommandError> {
        let new = self.state.head.seq == 0;
        if new {
            let spec = RawValue::from_string(study.canonical.clone());
            let created = Created {
                study: study.name.clone(),
                spec: spec.map_err(internal)?,
                spec_hash: study.hash.clone(),
                rules: self.state.head.rules,
            };
            self.record(EventKind::Created(created), by)?;
        } else if self.state.head.spec_hash != study.hash {
            return Err(Rejection::conflict(format!(
                "study `{}` was created from another specification (hash {}, this one has {}); a study is immutable: create \
                 one with another name",
                study.name, self.state.head.spec_hash, study.hash
            ))
            .into());
        }
        Ok(self.study_reply(new))
    }

    fn close(&mut self, given: &CloseStudy, by: &str) -> Result<Reply, CommandError> {
        let CloseStudy { reason, request } = given.clone();
        let closed = EventKind::Closed(Closed { reason, request });
        validate::closing(&self.state.head, &closed)?;
        self.change_study(!self.state.head.closed, closed, by)
    }

    fn reopen(&mut self, given: &Reason, by: &str) -> Result<Reply, CommandError> {
        let Reason { reason, request } = given.clone();
        let reopened = EventKind::Reopened(Reopened { reason, request });
        validate::has_rules(&self.state.head, RULES_3, PAUSING)?;
        self.change_study(self.state.head.closed, reopened, by)
    }

    fn pause(&mut self, given: &Reason, by: &str) -> Result<Reply, CommandError> {
        let Reason { reason, request } = given.clone();
        let paused = EventKind::Paused(Paused { reason, request });
        validate::has_rules(&self.state.head, RULES_3, PAUSING)?;
        self.change_study(!self.state.head.details.paused, paused, by)
    }

    fn resume(&mut self, given: &Reason, by: &str) -> Result<Reply, CommandError> {
        let Reason { reason, request } = given.clone();
        let resumed = EventKind::Resumed(Resumed { reason, request });
        validate::has_rules(&self.state.head, RULES_3, PAUSING)?;
        self.change_study(self.state.head.details.paused, resumed, by)
    }

    /// Records a change of the study, unless it has no effect or repeats an earlier request.
    fn change_study(
        &mut self,
        has_effect: bool,
        kind: EventKind,
        by: &str,
    ) -> Result<Reply, CommandError> {
        let head = &self.state.head;
        let known = |id: &str| head.details.requests.iter().find(|it| it.0 == id);
        let new = match kind.request().and_then(known) {
            Some((id, earlier)) if *earlier != study_fingerprint(&kind)? => {
                let what = format!("request `{id}` was sent before with another content");
                return Err(Rejection::conflict(what).at("/request").into());
            }
            Some(_) => false,
            None => has_effect,
        };
        if new {
            self.record(kind, by)?;
        }
        Ok(self.study_reply(new))
    }

    fn study_reply(&self, new: bool) -> Reply {
        let body = ReplyBody::Study(Box::new(self.state.head.clone()));
        Reply { new, body }
    }

    fn open(&mut self, open: &Open, by: &str) -> Result<Reply, CommandError> {
        let id = &match &open.id {
            Some(id) => id.clone(),
            None => generate_name()?,
        };
        validate::episode_name(id)?;
        let study = self.state.study.clone();
        let start = study.start(open.start.as_ref())?;
        if let Some(episode) = self.episodes.get(id) {
            let opened = episode.states.first().copied().unwrap_or_default();
            if opened != start {
                let name = study.spec.states().name(opened);
                let what = format!(
                    "episode `{id}` was opened in state `{name}`; if that was wrong, POST …:void and open another one"
                );
                return Err(Rejection::conflict(what).at("/start").into());
            }
            if episode.imported {
                let what = format!("episode `{id}` was imported; it was never open");
                return Err(Rejection::conflict(what).into());
            }
            return self.repeat(id, 1);
        }
        validate::not_closed(&self.state.head)?;
        validate::not_paused(&self.state.head)?;
        let (decision, shadow) = self.decide(DecisionPoint {
            episode: id,
            number: self.state.next_number(),
            t: 1,
            x: start,
            at: self.at,
        })?;
        let opened = Opened {
            episode: id.clone(),
            start: study.start_name(start),
            decision: decision.clone(),
            shadow,
            request: open.request.clone(),
        };
        self.record(EventKind::Opened(opened), by)?;
        Ok(decision_reply(true, decision.get()))
    }

    fn tell(&mut self, id: &str, tell: &Tell, by: &str) -> Result<Reply, CommandError> {
        let study = self.state.study.clone();
        let spec = &study.spec;
        let episode = self.episode(id)?;
        let (LenientU64(at), now) = (tell.step, episode.step());
        if at > 0 && at < now as u64 {
            // A recorded step: a repeated request gets the answer of the first one, whatever has happened since.
            let step = &episode.steps[at as usize - 1];
            let told = (study.action(&tell.action), study.feedback(&tell.feedback));
            let is = |(action, feedback)| told == (Ok(action), Ok(feedback));
            let same_step = is(step.as_reported()) || is((step.action, step.feedback));
            let same_origin = tell.decided_by.is_some() == step.fallback;
            let same_reason = tell.reason.is_none() || tell.reason == step.reason;
            if same_step && same_origin && same_reason && !episode.imported {
                return self.repeat(id, now.min(at as usize + 1));
            }
            if same_step && !episode.imported {
                let (field, how) = match same_reason {
                    false if step.reason.is_some() => ("reason", "another `reason`"),
                    false => ("reason", "no `reason`"),
                    true if step.fallback => ("decided_by", "`decided_by`"),
                    true => ("decided_by", "no `decided_by`"),
                };
                let what = format!(
                    "step {at} of episode `{id}` was recorded before, with this action and feedback and {how}; send the same \
                     request to repeat it; the episode is at step {now}"
                );
                let wrong = Rejection::conflict(what).at(format!("/{field}"));
                return Err(wrong.current(now).into());
            }
            return Err(Rejection::conflict(format!(
                "step {at} of episode `{id}` was recorded before, with action `{}` and feedback `{}`; correct it with POST \
                 …/steps/{at}:amend and a reason; the episode is at step {now}",
                spec.actions().name(step.action),
                spec.feedbacks().name(step.feedback)
            ))
            .current(now)
            .into());
        }
        let step = validate::step(&study, episode, at, &tell.action, &tell.feedback)?;
        let (taken, reason) = (Action::Continue(step.action), tell.reason.as_deref());
        let (fallback, head) = (tell.decided_by.is_some(), &self.state.head);
        validate::fallback(head, fallback, tell.policy.as_ref())?;
        if !fallback || reason.is_some() {
            validate::reason_of_override(&study, episode, taken, reason, head.rules)?;
        }
        let (decision, shadow) = self.decide(DecisionPoint {
            episode: id,
            number: episode.number,
            t: now + 1,
            x: step.next,
            at: self.at,
        })?;
        let recorded = StepRecorded {
            episode: id.into(),
            step: now,
            action: spec.actions().name(step.action).into_owned(),
            feedback: spec.feedbacks().name(step.feedback).into_owned(),
            overridden: step.overridden && !fallback,
            reason: tell.reason.clone(),
            policy: tell.policy.clone(),
            decision: decision.clone(),
            shadow,
            request: tell.request.clone(),
        };
        self.record(EventKind::StepRecorded(recorded), by)?;
        Ok(decision_reply(true, decision.get()))
    }

    fn stop(&mut self, id: &str, stop: &Stop, by: &str) -> Result<Reply, CommandError> {
        let episode = self.episode(id)?;
        let LenientU64(step) = stop.step;
        if let Some(end) = &episode.end {
            let same = !end.abandoned
                && !episode.imported
                && step == episode.step() as u64
                && stop.decided_by.is_some() == end.fallback
                && (stop.reason.is_none() || stop.reason == end.reason);
            if same {
                return self.episode_reply(id, false);
            }
        }
        let fallback = stop.decided_by.is_some();
        validate::fallback(&self.state.head, fallback, stop.policy.as_ref())?;
        let stopped = Stopped {
            episode: id.into(),
            step: step as usize,
            overridden: episode.recommended.is_some() && !fallback,
            reason: stop.reason.clone(),
            policy: stop.policy.clone(),
            request: stop.request.clone(),
        };
        self.record_for(id, EventKind::Stopped(stopped), by)
    }

    fn abandon(&mut self, id: &str, abandon: &Abandon, by: &str) -> Result<Reply, CommandError> {
        let episode = self.episode(id)?;
        if let Some(end) = &episode.end
            && end.abandoned
            && end.reason.as_deref() == Some(&*abandon.reason)
        {
            return self.episode_reply(id, false);
        }
        let abandoned = Abandoned {
            episode: id.into(),
            step: episode.step(),
            reason: abandon.reason.clone(),
            request: abandon.request.clone(),
        };
        self.record_for(id, EventKind::Abandoned(abandoned), by)
    }

    fn import(&mut self, list: &[(u64, PastEpisode)], by: &str) -> Result<Reply, CommandError> {
        let (mut new, mut repeated) = (0, 0);
        for (line, past) in list {
            let in_line = |rejection: Rejection| rejection.in_line(*line);
            let existing = self.episodes.get(&past.id);
            let imported = past.imported(&self.state.study, existing);
            match imported.map_err(in_line)? {
                None => repeated += 1,
                Some(imported) => {
                    validate::not_closed(&self.state.head).map_err(in_line)?;
                    self.record(EventKind::Imported(imported), by)?;
                    new += 1;
                }
            }
        }
        Ok(imported_reply(new, repeated))
    }

    /// The episode; fails if there is no such episode.
    fn episode(&self, id: &str) -> Result<&EpisodeRecord, Rejection> {
        self.episodes.get(id).ok_or_else(|| {
            let study = &self.state.head.name;
            Rejection::not_found(format!("study `{study}` has no episode `{}`", short(id)))
        })
    }

    fn episode_reply(&self, id: &str, new: bool) -> Result<Reply, CommandError> {
        let episode = Box::new(self.episode(id)?.clone());
        let body = ReplyBody::Episode(episode, self.state.study.clone());
        Ok(Reply { new, body })
    }

    /// The reply to a repeated request: the recorded decision.
    fn repeat(&mut self, id: &str, step: usize) -> Result<Reply, CommandError> {
        let mut pending = self.changes.decisions.iter();
        let text = match pending.find(|it| it.episode == id && it.step == step as u32) {
            Some(decision) => decision.text.clone(),
            None => {
                let key = self.state.head.key;
                let decision = self.store.decision(key, id, Some(step as u32))?;
                let missing =
                    || StoreError::Damaged(format!("decision {step} of `{id}` is missing"));
                decision.ok_or_else(missing)?.text
            }
        };
        Ok(decision_reply(false, &text))
    }

    /// The decision for a step of an episode as JSON, and the choices of the shadow learners.
    fn decide(
        &mut self,
        point: DecisionPoint<'_>,
    ) -> Result<(Box<RawValue>, Vec<Shadow>), CommandError> {
        self.refresh()?;
        let (decision, shadows) = self.state.decide(point);
        Ok((to_raw_value(&decision).map_err(internal)?, shadows))
    }

    fn record(&mut self, kind: EventKind, by: &str) -> Result<(), CommandError> {
        let episode = kind.episode().and_then(|id| self.episodes.get(id));
        let corrects = kind.changes_learned() && episode.is_some_and(|it| it.position.is_some());
        if corrects && !self.may_correct {
            return Err(CommandError::Deferred);
        }
        let event = Event {
            seq: self.state.head.seq + 1,
            at: self.at.into(),
            by: by.into(),
            person: (self.state.head.rules >= RULES_4).then(|| self.person.clone()),
            previous: self.state.head.hash.clone(),
            salt: Some(random_hex::<16>()?),
            kind,
        };
        let record = event.record().map_err(internal)?;
        let length = record.text.len() + HASH_FIELD;
        if length > MAX_LINE {
            let what = format!(
                "the event has {length} bytes, and an event has at most {MAX_LINE}; use shorter names"
            );
            return Err(Rejection::not_possible(what).into());
        }
        Ok(self.append(&event, record)?)
    }

    /// Records a new event of an episode, and replies with the episode.
    fn record_for(&mut self, id: &str, kind: EventKind, by: &str) -> Result<Reply, CommandError> {
        self.record(kind, by)?;
        self.episode_reply(id, true)
    }

    /// Applies an event and keeps its changes to be written.
    fn append(&mut self, event: &Event, record: Record) -> Result<(), Rejection> {
        let episode = event.kind.episode().and_then(|id| self.episodes.get(id));
        let advance = self.state.advance(event, &record.hash, episode.cloned())?;
        if let Some(before) =
            episode.filter(|it| it.position.is_some() && advance.learned.is_some())
        {
            // What a correction has taken away.
            let keys = self.state.learners.keys(&before.episode());
            self.changed_gains.extend(keys);
        }
        if let Some((episode, step, text)) = event.decision() {
            if matches!(event.kind, EventKind::StepAmended(_)) {
                let decisions = &mut self.changes.decisions;
                decisions.retain(|it| (it.step, &*it.episode) != (step, episode));
            }
            self.changes.decisions.push(StoredDecision {
                episode: episode.into(),
                step,
                text: text.into(),
            });
        }
        if let Some((position, episode)) = advance.learned {
            let keys = self.state.learners.keys(&episode);
            self.changed_gains.extend(keys);
            self.learned.insert(position, pack(&episode));
        }
        if let Some(episode) = advance.episode {
            self.touched.insert(episode.id.clone());
            self.episodes.insert(episode.id.clone(), episode);
        }
        self.changes.events.push(record);
        Ok(())
    }

    /// Rebuilds the learners if a learned episode was corrected.
    fn refresh(&mut self) -> Result<(), CommandError> {
        if self.state.stale {
            rebuild(self.state, self.store, &self.learned)?;
        }
        Ok(())
    }
}

fn decision_reply(new: bool, text: &str) -> Reply {
    Reply {
        new,
        body: ReplyBody::Decision(text.into()),
    }
}

fn imported_reply(new: u64, repeated: u64) -> Reply {
    Reply {
        new: new > 0,
        body: ReplyBody::Imported { new, repeated },
    }
}

fn generate_name() -> Result<String, CommandError> {
    Ok(format!("e{}", random_hex::<8>()?))
}

/// Random bytes in hexadecimal. They are drawn in blocks, since each draw is a system call.
fn random_hex<const N: usize>() -> Result<String, CommandError> {
    thread_local!(static DRAWN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    DRAWN.with_borrow_mut(|drawn| {
        if drawn.len() < N {
            drawn.resize(BLOCK, 0);
            if let Err(error) = getrandom::fill(drawn) {
                drawn.clear();
                return Err(internal(error));
            }
        }
        let bytes = drawn.split_off(drawn.len() - N);
        Ok(emab_problem::hex(&bytes))
    })
}
