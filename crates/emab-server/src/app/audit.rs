//! Audit: whether a store or an export is what the service wrote, found out from nothing but itself.
//!
//! Every event's hash, the chain of them and their numbers are checked; every decision is computed again from the log
//! and compared byte by byte; and of a store everything that it keeps beside the log (head, episodes, decisions,
//! learned episodes, counts and sums) is compared with what the log leads to, both ways: what is missing, and what is
//! too many. Where the log itself breaks, what comes after it can be checked for its chain only, and the rows beside it
//! not at all: there is nothing left to compare them with. [`Report::recomputed`] says how far it held.
//!
//! What this cannot find: somebody who writes the *whole* log anew from some event on, with this very program, decisions
//! and all, has made another log that is as sound as the first. Against that something must be kept where they cannot
//! reach: the hash of the last event, noted from time to time, or any decision that somebody was given, since it names
//! the hash of the event before it (`previous`). [`Options::expect`] looks for such a hash.

mod differences;
mod export;
mod rows;
mod walk;

use serde::Serialize;

use crate::app::state_hash;
use crate::store::{Head, Store, StoreError};

pub use export::{audit_export, audit_export_with};

use walk::Walk;

/// The most findings that are kept: who finds a hundred need not read a million.
const KEPT: usize = 100;
/// How many events or rows are read at once.
const PAGE: usize = 1_000;

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Where: `event 17`, `episode p3`, `decision 2 of episode p3`, `learned episode 4`, `count of (2, 5, 0)`, `head`.
    pub place: String,
    /// What is wrong there.
    pub what: String,
}

/// What an audit found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The study; none in an export whose first event cannot be read.
    pub study: Option<String>,
    /// Events that were read.
    pub events: u64,
    /// The last event up to which everything was recomputed.
    pub recomputed: u64,
    /// Decisions that were recomputed.
    pub decisions: u64,
    /// Episodes that the log leads to.
    pub episodes: u64,
    /// How many of them were learned from.
    pub learned: u64,
    /// SHA-256 of the last event: worth noting elsewhere.
    pub head_hash: String,
    /// The hash of the state that the log leads to, see [`state_hash`]; none where it breaks.
    pub state_hash: Option<String>,
    /// The number of the event that has the expected hash, if one was expected and found.
    pub expected: Option<u64>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// How many more findings there were.
    pub more: u64,
}

impl Report {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// What else an audit is asked to do.
#[derive(Default)]
pub struct Options<'a> {
    /// A hash noted earlier that one of the events must have, in lower case.
    pub expect: Option<&'a str>,
    /// Is told how many events have been read.
    pub watch: Option<&'a mut dyn FnMut(u64)>,
}

/// Audits one study of a store. Where somebody may be writing, it has to be [held](Store::hold) before the head is read.
///
/// What cannot be read is a finding; an error is a store that cannot be reached.
pub fn audit_study(store: &mut dyn Store, head: Head) -> Result<Report, StoreError> {
    audit_study_with(store, &head, Options::default())
}

/// The same, with options.
pub fn audit_study_with(
    store: &mut dyn Store,
    head: &Head,
    mut options: Options<'_>,
) -> Result<Report, StoreError> {
    let mut walk = Walk::new(options.expect, true);
    let (mut after, mut limit) = (0, PAGE);
    loop {
        let page = match store.events(head.key, after, limit) {
            // One by one, to find out which.
            Err(StoreError::Damaged(_)) if limit > 1 => {
                limit = 1;
                continue;
            }
            Err(StoreError::Damaged(what)) => {
                walk.unreadable(&what);
                after += 1;
                if after >= head.seq {
                    break;
                }
                continue;
            }
            page => page?,
        };
        let Some(last) = page.last() else { break };
        after = last.seq;
        page.iter().for_each(|record| walk.take(record));
        if let Some(watch) = &mut options.watch {
            watch(walk.events);
        }
    }
    walk.end_at(head);
    if walk.is_whole() {
        rows::compare(store, head, &mut walk)?;
    }
    let mut report = report(walk);
    report.study = Some(head.name.clone());
    Ok(report)
}

fn report(mut walk: Walk<'_>) -> Report {
    walk.expected();
    let state_hash = walk
        .is_whole()
        .then(|| state_hash::of_replay(&mut walk.replay).ok())
        .flatten();
    let head = walk.replay.board.as_ref().map(|board| &board.head);
    Report {
        study: head.map(|head| head.name.clone()),
        events: walk.events,
        recomputed: walk.recomputed,
        decisions: walk.decisions,
        episodes: head.map_or(0, |head| head.episodes),
        learned: head.map_or(0, |head| head.learned),
        state_hash,
        expected: walk.expected_at(),
        head_hash: walk.last_hash,
        findings: walk.found.kept,
        more: walk.found.more,
    }
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    kept: Vec<Finding>,
    more: u64,
}

impl Findings {
    fn count(&self) -> u64 {
        self.kept.len() as u64 + self.more
    }

    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.kept.len() >= KEPT {
            self.more += 1;
            return;
        }
        self.kept.push(Finding {
            place: place.into(),
            what: what.into(),
        });
    }
}
