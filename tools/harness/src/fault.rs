//! Faults planted in the service on purpose: whoever looks for lost writes must find them where they are lost.
//!
//! Each is a store around the real one, and nothing of it is in the product.

use std::sync::Arc;
use std::time::{Duration, Instant};

use emab_server::domain::episode::EpisodeRecord;
use emab_server::domain::event::{Event, Record};
use emab_server::store::{Answer, Backend, Cell, Changes, Head, LearnedEpisode, Store, StoreError};

use crate::chance::Chance;

/// How long what was acknowledged stays uncommitted, by [`Fault::AckEarly`].
const LATE: Duration = Duration::from_millis(40);

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers before what it wrote is committed.
    AckEarly,
    /// Leaves a row beside the log unwritten now and then.
    ForgetProjection,
    /// Records a repeated tell once more.
    TellTwice,
}

impl Fault {
    /// Every fault with its name.
    pub const ALL: [(&'static str, Fault); 3] = [
        ("ack-early", Fault::AckEarly),
        ("forget-projection", Fault::ForgetProjection),
        ("tell-twice", Fault::TellTwice),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Fault::ALL.iter().find(|(_, fault)| *fault == self);
        found.map_or("", |(name, _)| name)
    }
}

impl std::str::FromStr for Fault {
    type Err = String;

    fn from_str(text: &str) -> Result<Fault, String> {
        let found = Fault::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, fault)| *fault).ok_or_else(|| {
            let names: Vec<&str> = Fault::ALL.iter().map(|(name, _)| *name).collect();
            format!("no such fault; there are {}", names.join(", "))
        })
    }
}

/// A store with a fault.
pub struct Planted {
    inner: Arc<dyn Backend>,
    fault: Fault,
}

impl Planted {
    /// This fault around that store.
    pub fn new(inner: Arc<dyn Backend>, fault: Fault) -> Planted {
        Planted { inner, fault }
    }
}

impl Backend for Planted {
    fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(Faulty {
            inner: self.inner.writer()?,
            fault: self.fault,
            chance: Chance::new(u64::from(std::process::id())),
            uncommitted: None,
            study: String::new(),
            repeated: Vec::new(),
        }))
    }

    /// Reading is left as it is.
    fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        self.inner.reader()
    }
}

/// The connection of the one who writes, with a fault.
struct Faulty {
    inner: Box<dyn Store>,
    fault: Fault,
    chance: Chance,
    /// Since when a transaction that was said to be committed is not.
    uncommitted: Option<Instant>,
    /// The study that was locked last.
    study: String,
    /// Tells that came again in this transaction: their study, and the answer to them.
    repeated: Vec<(String, Answer)>,
}

impl Faulty {
    /// Writes down a second time what was told.
    fn tell_again(&mut self, study: &str, answer: &Answer) -> Result<(), StoreError> {
        let damaged = |what: &dyn std::fmt::Display| StoreError::Damaged(what.to_string());
        let Some(mut head) = self.inner.lock(study)? else {
            return Ok(());
        };
        let decision: emab_server::domain::decision::Decision =
            serde_json::from_str(&answer.text).map_err(|error| damaged(&error))?;
        let told = self.inner.events(head.key, decision.advice.as_of, 1)?;
        let Some(told) = told.first() else {
            return Ok(());
        };
        let again = Event {
            seq: head.seq + 1,
            previous: head.hash.clone(),
            ..told.read().map_err(|error| damaged(&error))?
        };
        let record = again.record().map_err(|error| damaged(&error))?;
        (head.seq, head.hash) = (record.seq, record.hash.clone());
        let changes = Changes {
            events: vec![record],
            ..Changes::default()
        };
        self.inner.write(&head, &changes)
    }

    /// Leaves something out.
    fn forget(&mut self, changes: &Changes) -> Changes {
        let Changes {
            events,
            cases,
            answers,
            lessons,
            cells,
        } = changes;
        let mut forgotten = |percent| self.chance.percent(percent);
        Changes {
            events: events.clone(),
            answers: answers.clone(),
            lessons: lessons.clone(),
            cells: cells.iter().filter(|_| !forgotten(12)).copied().collect(),
            // One that was learned from is not written again soon, so that it stays wrong.
            cases: cases
                .iter()
                .filter(|case| case.place.is_none() || !forgotten(3))
                .cloned()
                .collect(),
        }
    }
}

impl Store for Faulty {
    fn begin(&mut self) -> Result<(), StoreError> {
        match self.uncommitted {
            Some(since) if since.elapsed() < LATE => return Ok(()),
            Some(_) => self.inner.commit()?,
            None => {}
        }
        self.uncommitted = None;
        self.inner.begin()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        for (study, answer) in std::mem::take(&mut self.repeated) {
            self.tell_again(&study, &answer)?;
        }
        if self.fault == Fault::AckEarly {
            self.uncommitted.get_or_insert_with(Instant::now);
            return Ok(());
        }
        self.inner.commit()
    }

    fn rollback(&mut self) {
        self.uncommitted = None;
        self.repeated.clear();
        self.inner.rollback();
    }

    fn hold(&mut self) -> Result<(), StoreError> {
        self.inner.hold()
    }

    fn create(&mut self, head: &Head) -> Result<Option<i64>, StoreError> {
        self.inner.create(head)
    }

    fn lock(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        self.study = name.into();
        self.inner.lock(name)
    }

    fn write(&mut self, head: &Head, changes: &Changes) -> Result<(), StoreError> {
        if self.fault == Fault::ForgetProjection {
            let changes = self.forget(changes);
            return self.inner.write(head, &changes);
        }
        self.inner.write(head, changes)
    }

    fn head(&mut self, name: &str) -> Result<Option<Head>, StoreError> {
        self.inner.head(name)
    }

    fn heads(&mut self, after: &str, limit: usize) -> Result<Vec<Head>, StoreError> {
        self.inner.heads(after, limit)
    }

    fn cases(&mut self, study: i64, episodes: &[&str]) -> Result<Vec<EpisodeRecord>, StoreError> {
        self.inner.cases(study, episodes)
    }

    fn cases_after(
        &mut self,
        study: i64,
        after: &str,
        open: bool,
        limit: usize,
    ) -> Result<Vec<EpisodeRecord>, StoreError> {
        self.inner.cases_after(study, after, open, limit)
    }

    fn answer(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<Answer>, StoreError> {
        let answer = self.inner.answer(study, episode, step)?;
        // The one who writes looks an answer up only when something is asked for again; from step 2 on that is a tell.
        if let (Fault::TellTwice, Some(answer), Some(2..)) = (self.fault, &answer, step) {
            self.repeated.push((self.study.clone(), answer.clone()));
        }
        Ok(answer)
    }

    fn answers(&mut self, study: i64, episode: &str) -> Result<Vec<Answer>, StoreError> {
        self.inner.answers(study, episode)
    }

    fn answers_after(
        &mut self,
        study: i64,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<Answer>, StoreError> {
        self.inner.answers_after(study, after, limit)
    }

    fn events(&mut self, study: i64, after: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.inner.events(study, after, limit)
    }

    fn lessons(
        &mut self,
        study: i64,
        from: u64,
        limit: usize,
    ) -> Result<Vec<LearnedEpisode>, StoreError> {
        self.inner.lessons(study, from, limit)
    }

    fn cells(
        &mut self,
        study: i64,
        after: Option<(u32, u32, u32)>,
        limit: usize,
    ) -> Result<Vec<Cell>, StoreError> {
        self.inner.cells(study, after, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_named() {
        for (name, fault) in Fault::ALL {
            assert_eq!(name.parse(), Ok(fault));
            assert_eq!(fault.name(), name);
        }
        assert!("other".parse::<Fault>().is_err());
    }
}
