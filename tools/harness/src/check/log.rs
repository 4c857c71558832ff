//! The log against what the clients were promised.

use std::collections::HashMap;

use emab_server::domain::event::GENESIS;
use emab_server::store::{Store, StoreError};

use super::{Check, Findings};
use crate::load::client::Client;
use crate::load::journal::Fate;
use crate::load::key::{EVERYBODY, Key};
use crate::load::studies::STUDIES;

/// How many events are read at once.
const PAGE: usize = 2_000;

/// How far the log of a study has been read.
#[derive(Clone, Debug)]
struct Read {
    seq: u64,
    hash: String,
}

/// The logs of all studies, as far as they have been read.
#[derive(Debug)]
pub struct Logs {
    read: Vec<Read>,
    counts: HashMap<Key, u32>,
}

impl Default for Logs {
    fn default() -> Logs {
        let start = Read {
            seq: 0,
            hash: GENESIS.into(),
        };
        Logs {
            read: vec![start; STUDIES.len()],
            counts: HashMap::new(),
        }
    }
}

impl Logs {
    /// How many events were read.
    pub fn events(&self) -> u64 {
        self.read.iter().map(|read| read.seq).sum()
    }

    /// Reads what is new and checks it against the clients, none of whom has anything on its way.
    pub fn check(
        &mut self,
        store: &mut dyn Store,
        clients: &mut [&mut Client],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        for study in 0..STUDIES.len() {
            self.read(store, study, clients, findings)?;
        }
        for client in clients {
            for key in client.journal.take_fresh() {
                self.is_there(&key, findings);
            }
        }
        Ok(())
    }

    /// Checks everything that was ever acknowledged.
    pub fn check_all(&self, clients: &[&mut Client], findings: &mut Findings) {
        for client in clients {
            for key in client.journal.all_acknowledged() {
                self.is_there(key, findings);
            }
        }
    }

    fn is_there(&self, key: &Key, findings: &mut Findings) {
        let there = self.counts.contains_key(key);
        findings.check(Check::Acknowledged, there, || {
            format!("{key}: acknowledged, and not in the log")
        });
    }

    fn read(
        &mut self,
        store: &mut dyn Store,
        study: usize,
        clients: &mut [&mut Client],
        findings: &mut Findings,
    ) -> Result<(), StoreError> {
        let name = STUDIES[study].name;
        let Some(head) = store.head(name)? else {
            findings.broken(Check::Acknowledged, format!("study {name} is gone"));
            return Ok(());
        };
        loop {
            let Read { seq, hash } = self.read[study].clone();
            let page = store.events(head.key, seq, PAGE)?;
            let (mut seq, mut hash) = (seq, hash);
            for record in &page {
                let broken = |what: &str| format!("study {name}, event {}: {what}", record.seq);
                findings.check(Check::Chain, record.seq == seq + 1, || {
                    broken(&format!("it comes after event {seq}"))
                });
                findings.check(Check::Chain, record.is_intact(), || {
                    broken("its hash is not its own")
                });
                let event = match record.read() {
                    Ok(event) => event,
                    Err(error) => {
                        findings.broken(Check::Chain, broken(&error.to_string()));
                        return Ok(());
                    }
                };
                findings.check(Check::Chain, event.previous == hash, || {
                    broken("it does not name the hash of the one before")
                });
                if let Some(key) = Key::of(study as u8, &event.what) {
                    self.count(key, record.seq, clients, findings);
                }
                (seq, hash) = (record.seq, record.hash.clone());
            }
            self.read[study] = Read { seq, hash };
            if page.len() < PAGE {
                break;
            }
        }
        let read = &self.read[study];
        let at_end = (head.seq, &head.hash) == (read.seq, &read.hash);
        findings.check(Check::Chain, at_end, || {
            format!(
                "study {name}: its head is at event {}, and its log ends with {}",
                head.seq, read.seq
            )
        });
        Ok(())
    }

    fn count(&mut self, key: Key, seq: u64, clients: &mut [&mut Client], findings: &mut Findings) {
        let count = self.counts.entry(key).or_default();
        *count += 1;
        let times = *count;
        findings.check(Check::Once, times == 1, || {
            format!("{key}: event {seq} is the {times}th of it")
        });
        let fate = match key.client {
            // Several may have asked for the same, and one of them is enough.
            EVERYBODY => clients.iter().find_map(|client| client.journal.fate(&key)),
            client => clients
                .get(usize::from(client))
                .and_then(|client| client.journal.fate(&key)),
        };
        let asked = !matches!(fate, None | Some(Fate::Refused));
        findings.check(Check::Asked, asked, || match fate {
            None => format!("{key}: event {seq}, and nobody asked for it"),
            _ => format!("{key}: event {seq}, and it was refused"),
        });
    }
}
