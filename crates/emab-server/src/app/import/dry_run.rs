//! Dry runs: checks an import against the store without writing.

use std::collections::HashMap;

use super::{ImportReport, restored};
use crate::app::{CommandError, Replay, Specs, head};
use crate::domain::{Head, PastEpisode, Record, Rejection, is_name, sha256, validate};
use crate::store::{Store, StoreError};

/// What the lines so far would add.
#[derive(Default)]
pub struct DryRun {
    /// New episodes, each with the hash of the event that would be recorded.
    episodes: HashMap<String, String>,
    /// The log as it would be; none before the first event.
    log: Option<Log>,
}

struct Log {
    head: Option<Head>,
    replay: Replay,
    /// The hashes of the events that would be added.
    added: Vec<String>,
}

impl DryRun {
    pub fn past_episodes(
        &mut self,
        store: &mut dyn Store,
        specs: &Specs,
        study: &str,
        lines: &[(u64, Result<PastEpisode, Rejection>)],
        report: &mut ImportReport,
    ) -> Result<(), CommandError> {
        let head = head(store, study)?;
        let study = specs.study(store, &head)?;
        let past = lines.iter().filter_map(|(_, past)| past.as_ref().ok());
        let ids = past.map(|past| &*past.id).filter(|id| is_name(id));
        let ids: Vec<&str> = ids.collect();
        let existing = store.episodes(head.key, &ids)?;
        let existing: HashMap<&str, _> = existing.iter().map(|it| (&*it.id, it)).collect();
        for (number, line) in lines {
            let checked = line.clone().and_then(|past| {
                let in_line = |rejection: Rejection| rejection.in_line(*number);
                let existing = existing.get(&*past.id).copied();
                let Some(new) = past.imported(&study, existing).map_err(in_line)? else {
                    return Ok(false);
                };
                validate::not_closed(&head).map_err(in_line)?;
                let text = serde_json::to_string(&new).unwrap_or_default();
                let hash = sha256(text.as_bytes());
                match self.episodes.get(&past.id) {
                    Some(before) if *before == hash => Ok(false),
                    Some(_) => Err(in_line(validate::name_taken(&past.id))),
                    None => {
                        self.episodes.insert(past.id, hash);
                        Ok(true)
                    }
                }
            });
            match checked {
                Ok(true) => report.taken += 1,
                Ok(false) => report.repeated += 1,
                Err(rejection) => report.mistake(rejection.to_string()),
            }
        }
        Ok(())
    }

    /// Checks events of an exported study. Fails at the first one that cannot follow: later ones cannot be checked.
    pub fn events(
        &mut self,
        store: &mut dyn Store,
        study: &str,
        records: &[Record],
        report: &mut ImportReport,
    ) -> Result<(), CommandError> {
        let log = match &mut self.log {
            Some(log) => log,
            empty => empty.insert(Log::begin(store, study)?),
        };
        for record in records {
            let wrong = |what: &str| Rejection::conflict(format!("event {}: {what}", record.seq));
            if let Some(hash) = log.hash_of(store, record.seq)? {
                if hash != record.hash {
                    return Err(wrong("the study has another event of this number").into());
                }
                report.repeated += 1;
                continue;
            }
            if log.replay.state.is_none() {
                restored(study, record)?;
            } else if log.head.as_ref().is_some_and(|head| !head.restoring) {
                return Err(wrong(
                    "the study exists; an export is restored into a study that does not exist",
                )
                .into());
            }
            let strict = log.replay.check_strictly(record);
            let fed = strict.and_then(|()| log.replay.feed(record));
            let fed = fed.map_err(|what| wrong(&what))?;
            if fed.is_some() {
                return Err(wrong("its decision is not the one the log leads to").into());
            }
            log.added.push(record.hash.clone());
            report.taken += 1;
        }
        Ok(())
    }
}

impl DryRun {
    /// The number and hash of the last event that the study would have.
    pub fn end(&self) -> Option<(u64, String)> {
        let head = &self.log.as_ref()?.replay.state.as_ref()?.head;
        Some((head.seq, head.hash.clone()))
    }
}

impl Log {
    /// Replays the log of the existing study.
    fn begin(store: &mut dyn Store, study: &str) -> Result<Log, CommandError> {
        let head = store.head(study)?;
        let replay = match &head {
            Some(head) => Replay::of_store(store, head, head.seq)?,
            None => Replay::default(),
        };
        Ok(Log {
            head,
            replay,
            added: Vec::new(),
        })
    }

    /// The hash of the event with this number, if there is one.
    fn hash_of(&self, store: &mut dyn Store, seq: u64) -> Result<Option<String>, StoreError> {
        let stored = self.head.as_ref().map_or(0, |head| head.seq);
        if let Some(index) = seq.checked_sub(stored + 1) {
            return Ok(self.added.get(index as usize).cloned());
        }
        let Some(head) = &self.head else {
            return Ok(None);
        };
        let events = store.events(head.key, seq.saturating_sub(1), 1)?;
        Ok(events.into_iter().next().map(|record| record.hash))
    }
}
