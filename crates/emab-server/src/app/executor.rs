//! Carrying out commands on one study, inside a transaction: checked first, then recorded as events.
//!
//! A command is either refused and has changed nothing, or was carried out before and is answered as it was then, or
//! becomes one event. Only an import becomes one for each line, and where a line is refused those before it stand.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::value::to_raw_value;

use crate::app::error::CommandError;
use crate::app::learning::rebuild;
use crate::app::replay::differs;
use crate::domain::command::{Abandon, Amend, Body, Command, Past, Reply, Reveal, Stop, Tell};
use crate::domain::decision::Decision;
use crate::domain::episode::EpisodeRecord;
use crate::domain::error::ApiError;
use crate::domain::event::{
    Abandoned, Amended, Closed, Created, Event, EventKind, Opened, Record, Revealed, Shadow,
    StepRecorded, Stopped,
};
use crate::domain::given::{given, reason_for, required_reason, right_step, still_open};
use crate::domain::json::{LenientU64, short};
use crate::domain::learned_episode::pack;
use crate::domain::learners::TripletKey;
use crate::domain::past::{check_past, closed, in_line};
use crate::domain::state::{StudyState, step};
use crate::domain::study::{NAME_RULE, Study, is_name};
use crate::store::{Answer, Changes, LearnedEpisode, Store, StoreError};

fn broken(error: impl std::fmt::Display) -> CommandError {
    CommandError::Refused(ApiError::internal(error.to_string()))
}

/// What commands do to one study in one transaction.
pub struct CommandExecutor<'a> {
    board: &'a mut StudyState,
    store: &'a mut dyn Store,
    at: &'a str,
    cases: HashMap<String, EpisodeRecord>,
    touched: BTreeSet<String>,
    events: Vec<Record>,
    answers: Vec<Answer>,
    lessons: BTreeMap<u64, Vec<u8>>,
    counted: BTreeSet<TripletKey>,
}

impl<'a> CommandExecutor<'a> {
    /// Work on a study whose row is locked, at this time, with these episodes at hand.
    pub fn new(
        board: &'a mut StudyState,
        store: &'a mut dyn Store,
        at: &'a str,
        cases: Vec<EpisodeRecord>,
    ) -> CommandExecutor<'a> {
        CommandExecutor {
            board,
            store,
            at,
            cases: cases.into_iter().map(|c| (c.id.clone(), c)).collect(),
            touched: BTreeSet::new(),
            events: Vec::new(),
            answers: Vec::new(),
            lessons: BTreeMap::new(),
            counted: BTreeSet::new(),
        }
    }

    /// Carries out a command for somebody.
    pub fn carry_out(&mut self, command: &Command, by: &str) -> Result<Reply, CommandError> {
        match command {
            Command::Create(study) => self.create(study, by),
            Command::Close => self.close(by),
            Command::Open(id) => self.open(id.as_deref(), by),
            Command::Tell(id, tell) => self.tell(id, tell, by),
            Command::Stop(id, stop) => self.stop(id, stop, by),
            Command::Abandon(id, abandon) => self.abandon(id, abandon, by),
            Command::Reveal(id, reveal) => self.reveal(id, reveal, by),
            Command::Amend(id, amend) => self.amend(id, amend, by),
            Command::Import(past) => self.import(past, by),
            Command::Restore(records) => self.restore(records),
        }
    }

    /// Writes everything that changed.
    pub fn write(mut self) -> Result<(), CommandError> {
        if self.events.is_empty() {
            return Ok(());
        }
        self.refresh()?;
        let mind = &self.board.mind;
        let cells = self.counted.iter().map(|&place| mind.cell(place));
        let changes = Changes {
            cells: cells.filter(|cell| cell.count > 0).collect(),
            events: self.events,
            cases: self
                .touched
                .iter()
                .filter_map(|id| self.cases.remove(id))
                .collect(),
            answers: self.answers,
            lessons: self
                .lessons
                .into_iter()
                .map(|(place, bytes)| LearnedEpisode { place, bytes })
                .collect(),
        };
        Ok(self.store.write(&self.board.head, &changes)?)
    }

    fn create(&mut self, study: &Study, by: &str) -> Result<Reply, CommandError> {
        let new = self.board.head.seq == 0;
        if new {
            let spec = serde_json::value::RawValue::from_string(study.canonical.clone());
            self.record(
                EventKind::Created(Created {
                    study: study.name.clone(),
                    spec: spec.map_err(broken)?,
                    spec_hash: study.hash.clone(),
                }),
                by,
            )?;
        } else if self.board.head.spec_hash != study.hash {
            return Err(ApiError::conflict(format!(
                "study `{}` was created from another specification (hash {}, this is {}); a study never changes: create \
                 one with another name",
                study.name, self.board.head.spec_hash, study.hash
            ))
            .into());
        }
        Ok(self.study_reply(new))
    }

    fn close(&mut self, by: &str) -> Result<Reply, CommandError> {
        let new = !self.board.head.closed;
        if new {
            self.record(EventKind::Closed(Closed {}), by)?;
        }
        Ok(self.study_reply(new))
    }

    fn study_reply(&self, new: bool) -> Reply {
        Reply {
            new,
            body: Body::Study(Box::new(self.board.head.clone())),
        }
    }

    fn open(&mut self, id: Option<&str>, by: &str) -> Result<Reply, CommandError> {
        let made_up;
        let id = match id {
            Some(id) if is_name(id) => id,
            Some(id) => {
                return Err(ApiError::impossible(format!(
                    "`{}` cannot be the name of an episode: {NAME_RULE}",
                    short(id)
                ))
                .at("/id")
                .into());
            }
            None => {
                made_up = make_up_name()?;
                &made_up
            }
        };
        if let Some(case) = self.cases.get(id) {
            if case.imported {
                return Err(ApiError::conflict(format!(
                    "episode `{id}` was imported whole; it was never open"
                ))
                .into());
            }
            return self.repeat(id, 1);
        }
        if self.board.head.closed {
            return Err(closed(&self.board.head.name).into());
        }
        let start = self.board.study.spec.start();
        let (decision, shadow) = self.decide(id, 1, start)?;
        let what = EventKind::Opened(Opened {
            episode: id.into(),
            decision: to_raw_value(&decision).map_err(broken)?,
            shadow,
        });
        self.record(what, by)?;
        answered(&decision)
    }

    fn tell(&mut self, id: &str, tell: &Tell, by: &str) -> Result<Reply, CommandError> {
        let study = self.board.study.clone();
        let case = self.case(id)?.clone();
        let (LenientU64(at), now) = (tell.step, case.step());
        if at > 0 && at < now as u64 {
            // Told before: the same again is answered as it was, whatever has happened since.
            let was = &case.steps[at as usize - 1];
            let same = study.action(&tell.action) == Ok(was.action)
                && study.feedback(&tell.feedback) == Ok(was.feedback)
                && (tell.reason.is_none() || tell.reason == was.reason);
            if same && !case.imported {
                return self.repeat(id, now.min(at as usize + 1));
            }
            return Err(ApiError::conflict(format!(
                "step {at} of episode `{id}` was told before, with action `{}` and feedback `{}`; it is now at step {now}",
                study.spec.actions().name(was.action),
                study.spec.feedbacks().name(was.feedback)
            ))
            .current(now)
            .into());
        }
        still_open(&case)?;
        right_step(&case, tell.step)?;
        let action = study.action(&tell.action)?;
        let feedback = study.feedback(&tell.feedback)?;
        let next = step(&study, &case, action, feedback)?;
        let overridden = case.recommended != Some(action);
        let reason = reason_for(tell.reason.as_deref(), overridden, || {
            let recommended = case
                .recommended
                .map_or(emab::Action::Stop, emab::Action::Continue);
            format!(
                "`{}` was recommended and `{}` was done",
                study.spec.action_name(recommended),
                study.spec.actions().name(action)
            )
        })?;
        let (decision, shadow) = self.decide(id, now + 1, next)?;
        let what = EventKind::StepRecorded(StepRecorded {
            episode: id.into(),
            step: now,
            action: study.spec.actions().name(action).into_owned(),
            feedback: study.spec.feedbacks().name(feedback).into_owned(),
            overridden,
            reason,
            decision: to_raw_value(&decision).map_err(broken)?,
            shadow,
        });
        self.record(what, by)?;
        answered(&decision)
    }

    fn stop(&mut self, id: &str, stop: &Stop, by: &str) -> Result<Reply, CommandError> {
        let case = self.case(id)?;
        if let Some(end) = &case.end {
            let same = !end.abandoned
                && !case.imported
                && stop.step == LenientU64(case.step() as u64)
                && (stop.reason.is_none() || stop.reason == end.reason);
            if same {
                return Ok(self.case_reply(id, false)?);
            }
        }
        still_open(case)?;
        right_step(case, stop.step)?;
        let overridden = case.recommended.is_some();
        let reason = reason_for(stop.reason.as_deref(), overridden, || {
            let action = case
                .recommended
                .map_or(emab::Action::Stop, emab::Action::Continue);
            let name = self.board.study.spec.action_name(action);
            format!("`{name}` was recommended, not `stop`")
        })?;
        let step = case.step();
        let what = EventKind::Stopped(Stopped {
            episode: id.into(),
            step,
            overridden,
            reason,
        });
        self.record(what, by)?;
        Ok(self.case_reply(id, true)?)
    }

    fn abandon(&mut self, id: &str, abandon: &Abandon, by: &str) -> Result<Reply, CommandError> {
        let case = self.case(id)?;
        if let Some(end) = &case.end
            && end.abandoned
            && end.reason.as_deref() == Some(&*abandon.reason)
        {
            return Ok(self.case_reply(id, false)?);
        }
        still_open(case)?;
        let what = EventKind::Abandoned(Abandoned {
            episode: id.into(),
            step: case.step(),
            reason: required_reason(&abandon.reason)?,
        });
        self.record(what, by)?;
        Ok(self.case_reply(id, true)?)
    }

    fn reveal(&mut self, id: &str, reveal: &Reveal, by: &str) -> Result<Reply, CommandError> {
        let case = self.case(id)?;
        let given = given(case, &reveal.costs, &reveal.rewards)?;
        let what = EventKind::Revealed(Revealed {
            episode: id.into(),
            costs: given.costs.clone(),
            rewards: given.rewards.clone(),
            last: reveal.last,
        });
        if case.given.contains(&what.fingerprint().map_err(broken)?) {
            return Ok(self.case_reply(id, false)?);
        }
        let known = &case.outcome;
        for (field, known, given) in [
            ("costs", &known.costs, &given.costs),
            ("rewards", &known.rewards, &given.rewards),
        ] {
            for (i, (known, given)) in known.iter().zip(given).enumerate() {
                let Some(given) = given else { continue };
                let pointer = format!("/{field}/{i}");
                match known {
                    Some(known) if known == given => {}
                    // The other value is not told: whoever sends this may be one who must not compare.
                    Some(_) => {
                        return Err(ApiError::conflict(format!(
                            "{given} is not what was given before; a correction goes to POST …/outcome:amend, with its \
                             reason"
                        ))
                        .at(pointer)
                        .into());
                    }
                    None if case.outcome.last => {
                        return Err(ApiError::conflict(
                            "the outcome was said to be final; what came after it goes to POST …/outcome:amend, with the \
                             reason",
                        )
                        .at(pointer)
                        .into());
                    }
                    None => {}
                }
            }
        }
        let something = adds(&known.costs, &given.costs) || adds(&known.rewards, &given.rewards);
        // After the last value there is nothing more to be final about.
        let ends = reveal.last && !known.last && !known.is_whole();
        if !something && !ends {
            return Ok(self.case_reply(id, false)?);
        }
        self.record(what, by)?;
        Ok(self.case_reply(id, true)?)
    }

    fn amend(&mut self, id: &str, amend: &Amend, by: &str) -> Result<Reply, CommandError> {
        let case = self.case(id)?;
        let given = given(case, &amend.costs, &amend.rewards)?;
        let what = EventKind::Amended(Amended {
            episode: id.into(),
            costs: given.costs.clone(),
            rewards: given.rewards.clone(),
            reason: required_reason(&amend.reason)?,
        });
        // A copy that comes late must not undo what was corrected since.
        if case.given.contains(&what.fingerprint().map_err(broken)?) {
            return Ok(self.case_reply(id, false)?);
        }
        let known = &case.outcome;
        let differs = |known: &[Option<f64>], given: &[Option<f64>]| {
            let mut pairs = known.iter().zip(given);
            pairs.any(|(known, given)| given.is_some() && known != given)
        };
        if !differs(&known.costs, &given.costs) && !differs(&known.rewards, &given.rewards) {
            return Ok(self.case_reply(id, false)?);
        }
        self.record(what, by)?;
        Ok(self.case_reply(id, true)?)
    }

    fn import(&mut self, list: &[(u64, Past)], by: &str) -> Result<Reply, CommandError> {
        let (mut new, mut repeated) = (0, 0);
        for (line, past) in list {
            let there = self.cases.get(&past.id);
            match check_past(&self.board.study, past, there) {
                Ok(None) => repeated += 1,
                Ok(Some(_)) if self.board.head.closed => {
                    return Err(in_line(*line, closed(&self.board.head.name)).into());
                }
                Ok(Some(imported)) => {
                    self.record(EventKind::Imported(imported), by)?;
                    new += 1;
                }
                Err(refusal) => return Err(in_line(*line, refusal).into()),
            }
        }
        Ok(Reply {
            new: new > 0,
            body: Body::Taken { new, repeated },
        })
    }

    /// Events of an exported study, as they are: same numbers, same hashes.
    fn restore(&mut self, records: &[Record]) -> Result<Reply, CommandError> {
        let (mut new, mut repeated) = (0, 0);
        for record in records {
            let wrong = |what: &str| ApiError::conflict(format!("event {}: {what}", record.seq));
            if !record.is_intact() {
                return Err(wrong("its hash is not that of its line: it was changed").into());
            }
            if record.seq <= self.board.head.seq {
                let key = self.board.head.key;
                let there = self.store.events(key, record.seq.saturating_sub(1), 1)?;
                let there = there.first().or_else(|| {
                    // Written in this very transaction.
                    self.events.iter().find(|event| event.seq == record.seq)
                });
                if there.is_none_or(|there| there.hash != record.hash) {
                    return Err(wrong("the study has another event of this number").into());
                }
                repeated += 1;
                continue;
            }
            let event = record
                .read()
                .map_err(|error| ApiError::impossible(format!("event {}: {error}", record.seq)))?;
            if let Some(id) = event.what.episode()
                && !self.cases.contains_key(id)
            {
                for case in self.store.cases(self.board.head.key, &[id])? {
                    self.cases.insert(case.id.clone(), case);
                }
            }
            let case = event.what.episode().and_then(|id| self.cases.get(id));
            let asked = self.board.asked(&event.what, case);
            if let Some((id, t, x)) = asked.map_err(|misfit| wrong(&misfit))? {
                let (decision, shadows) = self.decide(id, t, x)?;
                let differs = differs(&event, &decision, &shadows).map_err(broken)?;
                if differs.is_some() {
                    return Err(wrong("its decision is not what the log leads to").into());
                }
            }
            self.take(&event, record.clone())?;
            new += 1;
        }
        Ok(Reply {
            new: new > 0,
            body: Body::Taken { new, repeated },
        })
    }

    /// The episode, which must be there.
    fn case(&self, id: &str) -> Result<&EpisodeRecord, ApiError> {
        self.cases.get(id).ok_or_else(|| {
            let study = &self.board.head.name;
            ApiError::not_found(format!("study `{study}` has no episode `{}`", short(id)))
        })
    }

    fn case_reply(&self, id: &str, new: bool) -> Result<Reply, ApiError> {
        let case = Box::new(self.case(id)?.clone());
        Ok(Reply {
            new,
            body: Body::EpisodeRecord(case, self.board.study.clone()),
        })
    }

    /// The answer to what was asked before: the decision that was given then.
    fn repeat(&mut self, id: &str, step: usize) -> Result<Reply, CommandError> {
        let written = self
            .answers
            .iter()
            .find(|answer| answer.episode == id && answer.step == step as u32);
        let text = match written {
            Some(answer) => answer.text.clone(),
            None => {
                let key = self.board.head.key;
                let answer = self.store.answer(key, id, Some(step as u32))?;
                let missing =
                    || StoreError::Damaged(format!("decision {step} of `{id}` is missing"));
                answer.ok_or_else(missing)?.text
            }
        };
        Ok(Reply {
            new: false,
            body: Body::Decision(text),
        })
    }

    fn decide(
        &mut self,
        id: &str,
        t: usize,
        x: usize,
    ) -> Result<(Decision, Vec<Shadow>), CommandError> {
        self.refresh()?;
        Ok(self.board.decide(id, t, x))
    }

    /// Makes an event of it.
    fn record(&mut self, what: EventKind, by: &str) -> Result<(), CommandError> {
        let event = Event {
            seq: self.board.head.seq + 1,
            at: self.at.into(),
            by: by.into(),
            previous: self.board.head.hash.clone(),
            what,
        };
        let record = event.record().map_err(broken)?;
        self.take(&event, record)
    }

    fn take(&mut self, event: &Event, record: Record) -> Result<(), CommandError> {
        let case = event.what.episode().and_then(|id| self.cases.get(id));
        let advance = self
            .board
            .advance(event, &record.hash, case.cloned())
            .map_err(|misfit| ApiError::conflict(format!("event {}: {misfit}", event.seq)))?;
        if let EventKind::Opened(Opened {
            episode, decision, ..
        })
        | EventKind::StepRecorded(StepRecorded {
            episode, decision, ..
        }) = &event.what
        {
            self.answers.push(Answer {
                episode: episode.clone(),
                step: advance.case.as_ref().map_or(1, |case| case.step() as u32),
                text: decision.get().into(),
            });
        }
        if let Some((place, episode)) = advance.lesson {
            self.counted.extend(self.board.mind.places(&episode));
            self.lessons.insert(place, pack(&episode));
        }
        if let Some(case) = advance.case {
            self.touched.insert(case.id.clone());
            self.cases.insert(case.id.clone(), case);
        }
        self.events.push(record);
        Ok(())
    }

    /// Teaches the mind anew if what it was taught has changed.
    fn refresh(&mut self) -> Result<(), CommandError> {
        if self.board.stale {
            rebuild(self.board, self.store, &self.lessons)?;
        }
        Ok(())
    }
}

fn answered(decision: &Decision) -> Result<Reply, CommandError> {
    let text = serde_json::to_string(decision).map_err(broken)?;
    Ok(Reply {
        new: true,
        body: Body::Decision(text),
    })
}

fn adds(known: &[Option<f64>], given: &[Option<f64>]) -> bool {
    let mut pairs = known.iter().zip(given);
    pairs.any(|(known, given)| known.is_none() && given.is_some())
}

fn make_up_name() -> Result<String, CommandError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(broken)?;
    Ok(format!("e{:016x}", u64::from_le_bytes(bytes)))
}
