//! Whether an import could be done, found out without doing it: what it says is what would happen now.

use std::collections::HashMap;

use super::Report;
use crate::app::error::CommandError;
use crate::app::replay::Replay;
use crate::app::service::{PAGE, head};
use crate::domain::command::Past;
use crate::domain::error::ApiError;
use crate::domain::event::{EventKind, Record, sha256};
use crate::domain::past::{another_episode, check_past, closed, in_line};
use crate::domain::study::{Study, is_name};
use crate::store::{Head, Store, StoreError};

/// What was looked at so far.
#[derive(Default)]
pub struct DryRun {
    /// New episodes, each with the hash of what would be recorded.
    episodes: HashMap<String, String>,
    /// The log as it would be; none before its first event.
    log: Option<Log>,
}

struct Log {
    /// The study as it is, if it is there.
    head: Option<Head>,
    replay: Replay,
    /// The hashes of the events that would be added.
    added: Vec<String>,
}

impl DryRun {
    /// Looks at episodes of the past, by the number of their line.
    pub fn episodes(
        &mut self,
        store: &mut dyn Store,
        study: &str,
        lines: &[(u64, Result<Past, ApiError>)],
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let head = head(store, study)?;
        let study = Study::from_canonical(&head.name, &head.spec)?;
        let given = lines.iter().filter_map(|(_, past)| past.as_ref().ok());
        let ids: Vec<&str> = given
            .map(|past| &*past.id)
            .filter(|id| is_name(id))
            .collect();
        let there = store.cases(head.key, &ids)?;
        let there: HashMap<&str, _> = there.iter().map(|case| (&*case.id, case)).collect();
        for (number, line) in lines {
            let judged = line.clone().and_then(|past| {
                let wrong = |refusal| in_line(*number, refusal);
                let case = there.get(&*past.id).copied();
                let Some(new) = check_past(&study, &past, case).map_err(wrong)? else {
                    return Ok(false);
                };
                if head.closed {
                    return Err(wrong(closed(&head.name)));
                }
                let text = serde_json::to_string(&new).unwrap_or_default();
                let hash = sha256(text.as_bytes());
                match self.episodes.get(&past.id) {
                    Some(before) if *before == hash => Ok(false),
                    Some(_) => Err(wrong(another_episode(&past.id))),
                    None => {
                        self.episodes.insert(past.id, hash);
                        Ok(true)
                    }
                }
            });
            match judged {
                Ok(true) => report.taken += 1,
                Ok(false) => report.repeated += 1,
                Err(refusal) => report.mistake(refusal.detail),
            }
        }
        Ok(())
    }

    /// Looks at events of an exported study. After one that cannot follow, nothing can be judged.
    pub fn events(
        &mut self,
        store: &mut dyn Store,
        study: &str,
        records: &[Record],
        report: &mut Report,
    ) -> Result<(), CommandError> {
        let log = match &mut self.log {
            Some(log) => log,
            empty => empty.insert(Log::begin(store, study)?),
        };
        for record in records {
            let wrong = |what: &str| ApiError::conflict(format!("event {}: {what}", record.seq));
            if let Some(hash) = log.hash_of(store, record.seq)? {
                if hash != record.hash {
                    return Err(wrong("the study has another event of this number").into());
                }
                report.repeated += 1;
                continue;
            }
            if log.replay.board.is_none() {
                creates(study, record)?;
            }
            let fed = log.replay.feed(record).map_err(|what| wrong(&what))?;
            if fed.is_some() {
                report.mistake(format!(
                    "event {}: its decision is not what the log leads to",
                    record.seq
                ));
            }
            log.added.push(record.hash.clone());
            report.taken += 1;
        }
        Ok(())
    }
}

impl Log {
    /// The log of the study as it is.
    fn begin(store: &mut dyn Store, study: &str) -> Result<Log, CommandError> {
        let head = store.head(study)?;
        let mut replay = Replay::default();
        if let Some(head) = &head {
            let mut at = 0;
            while at < head.seq {
                let page = store.events(head.key, at, PAGE.min((head.seq - at) as usize))?;
                let damaged = |seq, what: &str| StoreError::Damaged(format!("event {seq}: {what}"));
                at = page.last().ok_or_else(|| damaged(at + 1, "missing"))?.seq;
                for record in &page {
                    let fed = replay.feed(record);
                    fed.map_err(|what| damaged(record.seq, &what))?;
                }
            }
        }
        Ok(Log {
            head,
            replay,
            added: Vec::new(),
        })
    }

    /// The hash of the event that has this number, if one has.
    fn hash_of(&self, store: &mut dyn Store, seq: u64) -> Result<Option<String>, StoreError> {
        let stored = self.head.as_ref().map_or(0, |head| head.seq);
        if let Some(place) = seq.checked_sub(stored + 1) {
            return Ok(self.added.get(place as usize).cloned());
        }
        let Some(head) = &self.head else {
            return Ok(None);
        };
        let there = store.events(head.key, seq.saturating_sub(1), 1)?;
        Ok(there.into_iter().next().map(|record| record.hash))
    }
}

/// Whether this event creates the study.
fn creates(study: &str, record: &Record) -> Result<(), ApiError> {
    let event = record.read();
    let event = event.map_err(|error| ApiError::impossible(error.to_string()))?;
    match event.what {
        EventKind::Created(created) if created.study == study => Ok(()),
        EventKind::Created(created) => Err(ApiError::impossible(format!(
            "these are the events of study `{}`, not of `{study}`",
            created.study
        ))),
        _ => Err(ApiError::impossible(format!(
            "study `{study}` is not there, and the first event does not create it"
        ))),
    }
}
