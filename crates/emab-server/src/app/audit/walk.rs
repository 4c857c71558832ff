//! Going through a log, event by event: hashes, numbers, chain, and everything recomputed as long as it holds.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::Findings;
use super::differences::of_texts;
use crate::app::replay::Replay;
use crate::domain::event::{Event, GENESIS, Record, sha256};
use crate::store::Head;

/// A decision as an event records it: the event's number and the hash of the text.
pub(super) type Mark = (u64, [u8; 32]);

/// What is wrong with an event that was changed, or whose hash was.
pub(super) const CHANGED: &str = "its hash is not that of its line: one of them was changed";

/// A log as far as it was read.
pub(super) struct Walk<'a> {
    pub replay: Replay,
    pub found: Findings,
    pub events: u64,
    pub recomputed: u64,
    pub decisions: u64,
    /// The hash of the last event, as it should be.
    pub last_hash: String,
    /// The decisions of every episode, by step, where they are kept.
    pub marks: BTreeMap<String, Vec<Mark>>,
    keeps_marks: bool,
    /// The number that comes next.
    pub next: u64,
    /// How much stands there that cannot be read and may be the next events, or nothing.
    lost: u64,
    /// What the next event may name as the hash before it; none where that cannot be known.
    before: Option<Before>,
    broken: bool,
    expect: Option<&'a str>,
    expected_at: Option<u64>,
}

/// The event before: the hash that stands beside it, and the one that its line has.
struct Before {
    beside: String,
    real: String,
}

impl<'a> Walk<'a> {
    pub fn new(expect: Option<&'a str>, keeps_marks: bool) -> Walk<'a> {
        Walk {
            replay: Replay::default(),
            found: Findings::default(),
            events: 0,
            recomputed: 0,
            decisions: 0,
            last_hash: GENESIS.into(),
            marks: BTreeMap::new(),
            keeps_marks,
            next: 1,
            lost: 0,
            before: Some(Before {
                beside: GENESIS.into(),
                real: GENESIS.into(),
            }),
            broken: false,
            expect,
            expected_at: None,
        }
    }

    /// Whether everything could be recomputed up to the last event.
    pub fn is_whole(&self) -> bool {
        !self.broken && self.lost == 0 && self.replay.board.is_some()
    }

    /// Takes the next event.
    pub fn take(&mut self, record: &Record) {
        self.events += 1;
        if record.seq < self.next {
            // It is beside the chain, which goes on without it.
            let what = format!("it comes after event {}", self.next - 1);
            return self.wrong(record.seq, what);
        }
        self.number(record.seq);
        let real = sha256(record.text.as_bytes());
        let intact = real == record.hash;
        if !intact {
            // Which of the two was changed, the next event says.
            self.wrong(record.seq, CHANGED);
        }
        match record.read() {
            Ok(event) if event.seq != record.seq => {
                if intact {
                    let what = format!("its line says that it is event {}", event.seq);
                    self.wrong(record.seq, what);
                }
                // Neither it nor what follows it has a place now.
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
            self.expected_at = Some(record.seq);
        }
        self.last_hash = real;
    }

    /// Goes on behind an event that cannot even be shown.
    pub fn unreadable(&mut self, what: &str) {
        let seq = self.next.saturating_add(self.lost);
        self.wrong(seq, format!("it cannot be read: {what}"));
        self.lost();
    }

    /// Goes on behind something that stands where the next event should.
    pub fn lost(&mut self) {
        self.lost += 1;
    }

    /// The log ends here: whether the head says so, too.
    pub fn end_at(&mut self, head: &Head) {
        let last = self.next - 1 + self.lost;
        if head.seq > last {
            let (first, count) = (last + 1, head.seq - last);
            let place = match count {
                1 => format!("event {first}"),
                _ => format!("events {first} to {}", head.seq),
            };
            self.found.add(
                place,
                format!("missing at the end: the head counts {}", head.seq),
            );
            self.broken = true;
        } else if head.seq == 0 && last == 0 {
            self.found.add("head", "the study has no event at all");
        } else if let Some(Before { beside, real }) = &self.before
            && head.hash != *real
        {
            // Then it was the line of the last event that was changed.
            if head.hash == *beside {
                self.broken = true;
            } else if self.broken {
                // Otherwise it is named with the rest of the head.
                let what = format!("`hash` is {}, and the last event has {real}", head.hash);
                self.found.add("head", what);
            }
        }
    }

    /// Whether the expected hash was met.
    pub fn expected(&mut self) {
        if let (Some(expect), None) = (self.expect, self.expected_at) {
            self.found.add(
                "head",
                format!(
                    "no event has the expected hash {expect}: what was noted then is not in this log, whose last hash is {}",
                    self.last_hash
                ),
            );
        }
    }

    pub fn expected_at(&self) -> Option<u64> {
        self.expected_at
    }

    fn wrong(&mut self, seq: u64, what: impl Into<String>) {
        self.found.add(format!("event {seq}"), what);
    }

    /// Whether this number comes next.
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
            // That was said there.
            return;
        }
        let place = match seq - next {
            1 => format!("event {next}"),
            _ => format!("events {next} to {}", seq - 1),
        };
        let before = match next {
            1 => "the log begins".into(),
            _ => format!("event {} is followed", next - 1),
        };
        let what = format!("missing: {before} with event {seq}");
        self.found.add(place, what);
    }

    fn read(&mut self, record: &Record, event: &Event, real: &str, intact: bool) {
        if let Some(Before { beside, real }) = &self.before
            && event.previous != *real
        {
            if event.previous != *beside && intact {
                self.wrong(
                    record.seq,
                    "it does not name the hash of the event before it",
                );
            }
            // Otherwise the line before was changed, which was said there.
            self.broken = true;
        }
        self.before = Some(Before {
            beside: record.hash.clone(),
            real: real.into(),
        });
        if self.broken {
            return;
        }
        match self.replay.follow(event, real) {
            Ok(mismatch) => {
                self.recomputed = event.seq;
                let Some((episode, step, text)) = Replay::decision_of(event) else {
                    return;
                };
                self.decisions += 1;
                if self.keeps_marks {
                    let mark = (event.seq, Sha256::digest(text.as_bytes()).into());
                    self.marks.entry(episode.into()).or_default().push(mark);
                }
                if let Some(mismatch) = mismatch.filter(|_| intact) {
                    let what = of_texts(&mismatch.recorded, &mismatch.recomputed);
                    self.found.add(
                        format!("decision {step} of episode {episode}"),
                        format!("event {} records it, and {what}", event.seq),
                    );
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
