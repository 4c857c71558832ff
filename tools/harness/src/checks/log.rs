//! Compares the log with the clients' ack journals, and audits the store.

use std::collections::{BTreeSet, HashMap};

use emab_server::audit::audit_study;
use emab_server::domain::event::GENESIS;
use emab_server::store::{Store, StoreError};

use super::{Check, Findings};
use crate::load::ack_journal::AckStatus;
use crate::load::client::EpisodeClient;
use crate::load::event_key::{EventKey, SHARED};
use crate::load::studies::STUDIES;

/// Events of one read.
const PAGE: usize = 2_000;

/// The logs of all studies, as far as they have been read.
#[derive(Debug)]
pub(crate) struct LogChecker {
    /// Sequence number and hash of the last event of each study.
    ends: Vec<(u64, String)>,
    counts: HashMap<EventKey, u32>,
}

impl LogChecker {
    /// Of the first studies, this many.
    pub(crate) fn new(studies: usize) -> LogChecker {
        LogChecker {
            ends: vec![(0, GENESIS.into()); studies],
            counts: HashMap::new(),
        }
    }
}

impl LogChecker {
    /// How many events were read.
    pub(crate) fn events(&self) -> u64 {
        self.ends.iter().map(|(seq, _)| seq).sum()
    }

    /// The kinds of the events that clients have requested.
    pub(crate) fn kinds(&self) -> BTreeSet<&'static str> {
        self.counts.keys().map(|key| key.kind).collect()
    }

    /// Reads new events and compares them with the journals. No request may be in flight.
    pub(crate) fn check(
        &mut self,
        store: &mut dyn Store,
        clients: &mut [&mut EpisodeClient],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        for study in 0..self.ends.len() {
            self.read_log(store, study, clients, findings)?;
        }
        for client in clients {
            for key in client.journal.take_unchecked() {
                self.check_acknowledged(&key, findings);
            }
        }
        Ok(())
    }

    /// Compares all acknowledgements with the events that were read.
    pub(crate) fn check_all(&self, clients: &[&mut EpisodeClient], findings: &mut Findings) {
        for key in clients.iter().flat_map(|it| it.journal.acknowledged()) {
            self.check_acknowledged(key, findings);
        }
    }

    fn check_acknowledged(&self, key: &EventKey, findings: &mut Findings) {
        let found = self.counts.contains_key(key);
        findings.check(Check::Acknowledged, found, || {
            format!("{key}: acknowledged, but not in the log")
        });
    }

    fn read_log(
        &mut self,
        store: &mut dyn Store,
        study: usize,
        clients: &[&mut EpisodeClient],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let name = STUDIES[study].name;
        let Some(head) = store.head(name)? else {
            findings.violated(Check::Acknowledged, format!("study {name} is missing"));
            return Ok(());
        };
        let (mut seq, mut hash) = self.ends[study].clone();
        loop {
            let page = store.events(head.key, seq, PAGE)?;
            for record in &page {
                let at = |finding: &str| format!("study {name}, event {}: {finding}", record.seq);
                findings.check(Check::Chain, record.seq == seq + 1, || {
                    at(&format!("it follows event {seq}"))
                });
                findings.check(Check::Chain, record.is_intact(), || at("its hash is wrong"));
                let event = match record.read() {
                    Ok(event) => event,
                    Err(error) => {
                        findings.violated(Check::Chain, at(&error.to_string()));
                        return Ok(());
                    }
                };
                findings.check(Check::Chain, event.previous == hash, || {
                    at("it does not contain the hash of the event before it")
                });
                if let Some(key) = EventKey::of(study as u8, &event.kind) {
                    self.check_event(key, record.seq, clients, findings);
                }
                (seq, hash) = (record.seq, record.hash.clone());
            }
            if page.len() < PAGE {
                break;
            }
        }
        let complete = (head.seq, &head.hash) == (seq, &hash);
        findings.check(Check::Chain, complete, || {
            format!(
                "study {name}: its head is event {}, its log ends with {seq}",
                head.seq
            )
        });
        self.ends[study] = (seq, hash);
        Ok(())
    }

    fn check_event(
        &mut self,
        key: EventKey,
        seq: u64,
        clients: &[&mut EpisodeClient],
        findings: &mut Findings,
    ) {
        let count = self.counts.entry(key).or_default();
        *count += 1;
        findings.check(Check::Once, *count == 1, || {
            format!("{key}: event {seq} is occurrence {count}")
        });
        let status = match key.client {
            // One of the clients that share the episode requested the event.
            SHARED => clients.iter().find_map(|it| it.journal.status(&key)),
            client => clients
                .get(usize::from(client))
                .and_then(|it| it.journal.status(&key)),
        };
        let requested = !matches!(status, None | Some(AckStatus::Rejected));
        findings.check(Check::Requested, requested, || match status {
            None => format!("{key}: event {seq} was not requested"),
            _ => format!("{key}: event {seq} was rejected"),
        });
    }
}

/// Runs the product's audit: recomputes all projections of all studies from the log and compares them with the store.
pub(crate) fn audit(store: &mut dyn Store, findings: &mut Findings) -> Result<(), StoreError> {
    for study in &STUDIES {
        let Some(head) = store.head(study.name)? else {
            continue;
        };
        let report = audit_study(store, head)?;
        findings.checked(Check::Replay, report.events);
        for finding in &report.findings {
            let finding = format!("study {}, {}: {}", study.name, finding.place, finding.what);
            findings.violated(Check::Replay, finding);
        }
    }
    Ok(())
}
