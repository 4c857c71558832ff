//! Fault injection: stores with a deliberate fault, to test that the checks find it. The product contains none of this.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use emab_server::domain::decision::Decision;
use emab_server::domain::episode::EpisodeRecord;
use emab_server::domain::event::{Event, Record};
use emab_server::store::{
    Backend, Changes, Checkpoint, Finding, GainSum, Head, LearnedEpisode, Restore, Session, Store,
    StoreError, StoredDecision, Which,
};

use crate::rng::Rng;

/// How long [`Fault::AckEarly`] delays a commit after the acknowledgement.
const COMMIT_DELAY: Duration = Duration::from_millis(40);

/// A fault of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// Acknowledges writes before they are committed.
    AckEarly,
    /// Omits some rows beside the log.
    ForgetProjection,
    /// Records a repeated tell again.
    TellTwice,
}

/// A store whose writer has a fault.
pub(crate) struct FaultyBackend {
    pub inner: Arc<dyn Backend>,
    pub fault: Fault,
}

impl Backend for FaultyBackend {
    fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(FaultyStore {
            inner: self.inner.writer()?,
            fault: self.fault,
            rng: Rng::new(u64::from(std::process::id())),
            uncommitted_since: None,
            names: HashMap::new(),
            repeated: Vec::new(),
        }))
    }

    fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        self.inner.reader()
    }
}

struct FaultyStore {
    inner: Box<dyn Store>,
    fault: Fault,
    rng: Rng,
    /// When the first write of an acknowledged but uncommitted transaction came.
    uncommitted_since: Option<Instant>,
    /// The names of studies, by key.
    names: HashMap<i64, String>,
    /// Repeated tells of this transaction: the study, and the recorded answer.
    repeated: Vec<(String, StoredDecision)>,
}

impl FaultyStore {
    /// Appends the event of a repeated tell to the log again.
    fn record_again(&mut self, study: &str, decision: &StoredDecision) -> Result<(), StoreError> {
        let damaged = |error: &dyn std::fmt::Display| StoreError::Damaged(error.to_string());
        let Some(mut head) = self.inner.lock(study)? else {
            return Ok(());
        };
        let decision: Decision =
            serde_json::from_str(&decision.text).map_err(|error| damaged(&error))?;
        let events = self.inner.events(head.key, decision.advice.as_of, 1)?;
        let Some(first) = events.first() else {
            return Ok(());
        };
        let again = Event {
            seq: head.seq + 1,
            previous: head.hash.clone(),
            ..first.read().map_err(|error| damaged(&error))?
        };
        let record = again.record().map_err(|error| damaged(&error))?;
        (head.seq, head.hash) = (record.seq, record.hash.clone());
        let changes = Changes {
            events: vec![record],
            ..Changes::default()
        };
        self.inner.write(&head, &changes)
    }

    /// Omits some projections.
    fn omit_rows(&mut self, changes: &Changes) -> Changes {
        let mut changes = changes.clone();
        let mut kept = |percent| !self.rng.percent(percent);
        changes.gain_sums.retain(|_| kept(12));
        // A learned episode is not written again soon, so that the omission stays.
        let episodes = &mut changes.episodes;
        episodes.retain(|episode| episode.position.is_none() || kept(3));
        changes
    }
}

/// Methods that pass every call to the real store.
macro_rules! delegate {
    ($(fn $name:ident(&mut self $(, $argument:ident: $type:ty)*) -> $returns:ty;)*) => {
        $(fn $name(&mut self $(, $argument: $type)*) -> Result<$returns, StoreError> {
            self.inner.$name($($argument),*)
        })*
    };
}

impl Store for FaultyStore {
    fn begin(&mut self) -> Result<(), StoreError> {
        match self.uncommitted_since {
            Some(since) if since.elapsed() < COMMIT_DELAY => return Ok(()),
            Some(_) => self.inner.commit()?,
            None => {}
        }
        self.uncommitted_since = None;
        self.inner.begin()
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        for (study, decision) in std::mem::take(&mut self.repeated) {
            self.record_again(&study, &decision)?;
        }
        if self.fault == Fault::AckEarly {
            self.uncommitted_since.get_or_insert_with(Instant::now);
            return Ok(());
        }
        self.inner.commit()
    }

    fn rollback(&mut self) {
        self.uncommitted_since = None;
        self.repeated.clear();
        self.inner.rollback();
    }

    fn lock_all(&mut self, names: &[&str]) -> Result<Vec<Head>, StoreError> {
        let heads = self.inner.lock_all(names)?;
        let names = heads.iter().map(|head| (head.key, head.name.clone()));
        self.names.extend(names);
        Ok(heads)
    }

    fn write_all(&mut self, studies: &[(&Head, &Changes)]) -> Result<(), StoreError> {
        if self.fault != Fault::ForgetProjection {
            return self.inner.write_all(studies);
        }
        for (head, changes) in studies {
            let changes = self.omit_rows(changes);
            self.inner.write(head, &changes)?;
        }
        Ok(())
    }

    fn decision(
        &mut self,
        study: i64,
        episode: &str,
        step: Option<u32>,
    ) -> Result<Option<StoredDecision>, StoreError> {
        let decision = self.inner.decision(study, episode, step)?;
        // The writer reads an answer only for a repeated request; from step 2 on that is a tell.
        if let (Fault::TellTwice, Some(decision), Some(2..)) = (self.fault, &decision, step) {
            let name = self.names.get(&study).cloned().unwrap_or_default();
            self.repeated.push((name, decision.clone()));
        }
        Ok(decision)
    }

    delegate! {
        fn begin_snapshot(&mut self) -> ();
        fn create(&mut self, head: &Head, spec: &str) -> Option<i64>;
        fn put_restore(&mut self, study: i64, restore: &Restore) -> ();
        fn discard(&mut self, study: i64) -> ();
        fn put_checkpoint(&mut self, study: i64, checkpoint: &Checkpoint) -> ();
        fn put_session(&mut self, session: &Session) -> ();
        fn remove_session(&mut self, hash: &str) -> ();
        fn session(&mut self, hash: &str) -> Option<Session>;
        fn check_store(&mut self) -> Vec<Finding>;
        fn spec(&mut self, study: i64) -> Option<String>;
        fn restore(&mut self, study: i64) -> Option<Restore>;
        fn checkpoint(&mut self, study: i64) -> Option<Checkpoint>;
        fn head(&mut self, name: &str) -> Option<Head>;
        fn heads(&mut self, after: &str, limit: usize) -> Vec<Head>;
        fn uncovered(&mut self, after: &str, limit: usize) -> Vec<Head>;
        fn episodes_of(&mut self, keys: &[(i64, &str)]) -> Vec<(i64, EpisodeRecord)>;
        fn episodes_after(&mut self, study: i64, after: &str, which: Which, limit: usize) -> Vec<EpisodeRecord>;
        fn decisions(&mut self, study: i64, episode: &str) -> Vec<StoredDecision>;
        fn decisions_after(&mut self, study: i64, after: Option<(&str, u32)>, limit: usize) -> Vec<StoredDecision>;
        fn events(&mut self, study: i64, after: u64, limit: usize) -> Vec<Record>;
        fn events_at(&mut self, study: i64, seqs: &[u64]) -> Vec<Record>;
        fn learned_episodes(&mut self, study: i64, from: u64, limit: usize) -> Vec<LearnedEpisode>;
        fn gain_sums(&mut self, study: i64, after: Option<(u32, u32, u32)>, limit: usize) -> Vec<GainSum>;
    }
}
