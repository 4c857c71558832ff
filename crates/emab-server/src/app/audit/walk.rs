//! Walks through a log event by event: checks hashes, numbers and the chain, and recomputes everything up to the first break.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Report;
use super::differences::of_texts;
use super::fallbacks::{self, Claims};
use crate::app::{CHANGED, Replay};
use crate::domain::{Event, EventKind, GENESIS, Head, Record, Statement, Study, sha256};

/// A recorded decision: the number of its event and the hash of its text.
pub(super) type Mark = (u64, [u8; 32]);

/// Statements with their places, by the number of their event.
pub(super) type Checkpoints = BTreeMap<u64, Vec<(Statement, String)>>;

/// The log up to some event.
#[derive(Default)]
pub(super) struct Walk<'a> {
    pub replay: Replay,
    pub found: Report,
    /// The decisions of every episode, by step, if they are collected.
    pub marks: BTreeMap<String, Vec<Mark>>,
    keeps_marks: bool,
    /// The next number.
    pub next: u64,
    /// The number of unreadable entries since the last event.
    lost: u64,
    /// The hashes that the next event may have as `previous`; none if they are not known.
    before: Option<Before>,
    broken: bool,
    expect: Option<&'a str>,
    /// Choices that were made from tables of the policy.
    pub claims: Claims,
    /// The checkpoints of events that have not come yet.
    pub checkpoints: Checkpoints,
}

/// The event before: its stored hash, and the hash of its line.
struct Before {
    beside: String,
    real: String,
}

impl<'a> Walk<'a> {
    pub fn new(expect: Option<&'a str>, keeps_marks: bool) -> Walk<'a> {
        Walk {
            found: Report {
                head_hash: GENESIS.into(),
                ..Report::default()
            },
            keeps_marks,
            next: 1,
            before: Some(Before {
                beside: GENESIS.into(),
                real: GENESIS.into(),
            }),
            expect,
            ..Walk::default()
        }
    }

    /// Whether every event was recomputed.
    pub fn is_whole(&self) -> bool {
        !self.broken && self.lost == 0 && self.replay.state.is_some()
    }

    /// Checks the next event.
    pub fn take(&mut self, record: &Record) {
        self.found.events += 1;
        if record.seq < self.next {
            // It is not part of the chain, which continues without it.
            let what = format!("it comes after event {}", self.next - 1);
            return self.wrong(record.seq, what);
        }
        self.number(record.seq);
        let real = sha256(record.text.as_bytes());
        let intact = real == record.hash;
        if !intact {
            // The next event shows which of the two was changed.
            self.wrong(record.seq, CHANGED);
        }
        match record.read() {
            Ok(event) if event.seq != record.seq => {
                if intact {
                    let what = format!("its line has the number {}", event.seq);
                    self.wrong(record.seq, what);
                }
                // The chain is broken here.
                self.broken = true;
                self.before = None;
            }
            Ok(event) => self.read(record, &event, &real, intact),
            Err(error) => {
                if intact {
                    self.wrong(record.seq, error.to_string());
                }
                self.broken = true;
                self.before = Some(Before {
                    beside: record.hash.clone(),
                    real: real.clone(),
                });
            }
        }
        if self.expect == Some(&*real) {
            self.found.expected = Some(record.seq);
            self.found.expected_at = record.read().ok().map(|event| event.at);
        }
        for (statement, place) in self.checkpoints.remove(&record.seq).unwrap_or_default() {
            if statement.hash != real && self.is_about(&statement) {
                let what = format!("event {} had another hash when it was signed", record.seq);
                self.found.add(place, what);
            }
        }
        self.found.head_hash = real;
    }

    /// Whether a statement is about this study, as far as its name is known.
    fn is_about(&self, statement: &Statement) -> bool {
        let state = self.replay.state.as_ref();
        state.is_none_or(|state| state.head.name == statement.study)
    }

    /// Reports the checkpoints of events that did not come.
    pub fn end_of_checkpoints(&mut self) {
        let last = self.next - 1;
        for (statement, place) in std::mem::take(&mut self.checkpoints)
            .into_values()
            .flatten()
        {
            if self.is_about(&statement) {
                let seq = statement.seq;
                let what = format!(
                    "the log had event {seq} when it was signed, and ends with event {last}"
                );
                self.found.add(place, what);
            }
        }
    }

    /// Continues after an event that cannot be read.
    pub fn unreadable(&mut self, what: &str) {
        let seq = self.next.saturating_add(self.lost);
        self.lost(format!("event {seq}"), format!("it cannot be read: {what}"));
    }

    /// Continues after an unreadable entry in place of the next event.
    pub fn lost(&mut self, place: String, what: impl Into<String>) {
        self.found.add(place, what);
        self.lost += 1;
    }

    /// Compares the end of the log with the head.
    pub fn end_at(&mut self, head: &Head) {
        let last = self.next - 1 + self.lost;
        if head.seq > last {
            let what = format!("missing at the end: the head has number {}", head.seq);
            self.found.add(events(last + 1, head.seq), what);
            self.broken = true;
        } else if head.seq == 0 && last == 0 {
            self.found.add("head", "the study has no events");
        } else if let Some(Before { beside, real }) = &self.before
            && head.hash != *real
        {
            // The line of the last event was changed.
            if head.hash == *beside {
                self.broken = true;
            } else if self.broken {
                // Otherwise the comparison of the heads reports it.
                let hash = &head.hash;
                let what = format!("`hash` is {hash}, and the hash of the last event is {real}");
                self.found.add("head", what);
            }
        }
    }

    /// Reports an expected hash that no event has.
    pub fn expected(&mut self) {
        if let (Some(expect), None) = (self.expect, self.found.expected) {
            let last = format!("the last hash of this log is {}", self.found.head_hash);
            let what = format!("no event has the expected hash {expect}; {last}");
            self.found.add("head", what);
        }
    }

    fn wrong(&mut self, seq: u64, what: impl Into<String>) {
        self.found.add(format!("event {seq}"), what);
    }

    /// Checks the number of an event.
    fn number(&mut self, seq: u64) {
        let next = self.next;
        self.next = seq.saturating_add(1);
        let lost = std::mem::take(&mut self.lost);
        if seq == next {
            return;
        }
        self.before = None;
        self.broken = true;
        if seq - next <= lost {
            // Reported before.
            return;
        }
        let before = match next {
            1 => "the log begins".into(),
            _ => format!("event {} is followed", next - 1),
        };
        let what = format!("missing: {before} with event {seq}");
        self.found.add(events(next, seq - 1), what);
    }

    fn read(&mut self, record: &Record, event: &Event, real: &str, intact: bool) {
        if let Some(Before { beside, real }) = &self.before
            && event.previous != *real
        {
            if event.previous != *beside && intact {
                let what = "its `previous` is not the hash of the event before it";
                self.wrong(record.seq, what);
            }
            // Otherwise the line before was changed, which is reported there.
            self.broken = true;
        }
        self.before = Some(Before {
            beside: record.hash.clone(),
            real: real.into(),
        });
        if self.broken {
            return;
        }
        // Before the event is applied; the rules of an earlier version do not require it.
        let strict = match &event.kind {
            EventKind::Created(created) => {
                let checked = Study::check_canonical(&created.study, created.spec.get());
                checked.err().map(|rejection| rejection.detail)
            }
            _ => self.replay.check_strictly(record).err(),
        };
        match self.replay.follow(event, real) {
            Ok(mismatch) => {
                if let Some(what) = strict.filter(|_| intact) {
                    let import = "an import of an earlier version accepted it, and no request can have written it";
                    self.wrong(record.seq, format!("{what}; {import}"));
                }
                self.found.recomputed = event.seq;
                self.found.last_at = Some(event.at.clone());
                if let Some(state) = &self.replay.state {
                    let episode = event.kind.episode();
                    let episode = episode.and_then(|id| self.replay.episodes.get(id));
                    let episode = episode.map(|it| &**it);
                    fallbacks::collect(&mut self.claims, &event.kind, &state.study, episode);
                }
                let Some((episode, step, text)) = event.decision() else {
                    return;
                };
                self.found.decisions += 1;
                if self.keeps_marks {
                    let mark = (event.seq, Sha256::digest(text.as_bytes()).into());
                    let marks = self.marks.entry(episode.into()).or_default();
                    match marks.get_mut(step as usize - 1) {
                        // A correction has replaced the decision.
                        Some(known) => *known = mark,
                        None => marks.push(mark),
                    }
                }
                if let Some(mismatch) = mismatch.filter(|_| intact) {
                    let what = of_texts(&mismatch.recorded, &mismatch.recomputed);
                    let what = format!("event {} records it, and {what}", event.seq);
                    let place = format!("decision {step} of episode {episode}");
                    self.found.add(place, what);
                }
            }
            Err(what) => {
                if intact {
                    self.wrong(record.seq, what);
                }
                self.broken = true;
            }
        }
    }
}

fn events(first: u64, last: u64) -> String {
    match last - first {
        0 => format!("event {first}"),
        _ => format!("events {first} to {last}"),
    }
}
