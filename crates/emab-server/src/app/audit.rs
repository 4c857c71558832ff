//! Audits: checks a store or an export against its own log.
//!
//! An audit checks the hash and number of every event and the chain. It recomputes every decision and compares it byte by byte.
//! In a store it also compares every projection (head, episodes, decisions, learned episodes, gain sums) with what the log leads
//! to, and reports missing and extra rows; [`Store::check_store`] checks what concerns no single study. After a break in the log only the chain can be checked, and projections cannot;
//! [`Report::recomputed`] is the last event before the break.
//!
//! An audit cannot detect a log that was rewritten completely from some event on, with valid decisions and hashes. To detect
//! that, keep a hash in another place: the hash of the last event, or any decision, which contains the hash of the event before
//! it (`previous`). [`Options::expect`] looks for such a hash, and [`Options::checkpoints`] compares signed ones.

mod beside;
pub(crate) mod differences;
mod export;
mod fallbacks;
mod rows;
mod walk;

use serde::Serialize;

use crate::app::state_hash;
pub use crate::domain::Finding;
pub use crate::domain::Statement;
use crate::domain::{Head, Record, Restore};
use crate::store::{Store, StoreError};

pub use export::{audit_export, audit_export_with};

use walk::Walk;

/// The largest number of findings in a report.
const MAX_FINDINGS: usize = 100;
/// The number of events or rows in one read.
const PAGE: usize = 1_000;

/// The result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The study; none for an export whose first event cannot be read.
    pub study: Option<String>,
    /// The number of events.
    pub events: u64,
    /// The last event that was recomputed.
    pub recomputed: u64,
    /// The time of that event, RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// The number of recomputed decisions.
    pub decisions: u64,
    /// The number of episodes.
    pub episodes: u64,
    /// The number of learned episodes.
    pub learned: u64,
    /// The hash of the last event, to be kept in another place.
    pub head_hash: String,
    /// The hash of the state that the log leads to, see [`state_hash`]; none if the log is broken.
    pub state_hash: Option<String>,
    /// The number of the event with the expected hash.
    pub expected: Option<u64>,
    /// The time of that event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_at: Option<String>,
    /// Who restored the study from an export, and when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restore: Option<Restore>,
    /// The event that the checkpoint in the store covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<u64>,
    /// The time at which it was signed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_at: Option<String>,
    /// The number of choices that were made from a table of the policy and were not recomputed, because the export cannot be
    /// read twice.
    #[serde(skip_serializing_if = "is_zero")]
    pub fallbacks_not_recomputed: u64,
    /// The faults.
    pub findings: Vec<Finding>,
    /// The number of findings beyond those listed.
    pub more: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Report {
    /// Whether there are no findings.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }

    fn count(&self) -> u64 {
        self.findings.len() as u64 + self.more
    }

    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.findings.len() >= MAX_FINDINGS {
            self.more += 1;
            return;
        }
        self.findings.push(Finding::new(place, what));
    }
}

/// Options of an audit.
#[derive(Default)]
pub struct Options<'a> {
    /// A hash that one of the events must have, in lower case.
    pub expect: Option<&'a str>,
    /// Statements with their places; of an export those about other studies are skipped. Their signatures are
    /// [checked](Statement::verify) before.
    pub checkpoints: Vec<(Statement, String)>,
    /// Opens the export again: choices that were made from a table of the policy are recomputed in a second pass.
    pub reopen_export: Option<&'a dyn Fn() -> std::io::Result<Box<dyn std::io::BufRead>>>,
    /// Called with the number of events read so far.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

/// Audits one study of a store. While a service may be writing, begin a [snapshot](Store::begin_snapshot) before the head is read.
///
/// A row that cannot be read is a finding; an error means that the store cannot be reached.
pub fn audit_study(store: &mut dyn Store, head: Head) -> Result<Report, StoreError> {
    audit_study_with(store, &head, Options::default())
}

/// Audits one study of a store, with options.
pub fn audit_study_with(
    store: &mut dyn Store,
    head: &Head,
    mut options: Options<'_>,
) -> Result<Report, StoreError> {
    let mut walk = Walk::new(options.expect, true);
    if !options.checkpoints.is_empty() {
        // One that cannot be read is reported below.
        let restore = store.restore(head.key).unwrap_or_default();
        for (statement, place) in &options.checkpoints {
            if let Some(what) = beside::wrong_restored(statement, restore.as_ref()) {
                walk.found.add(place.clone(), what);
            }
        }
    }
    walk.checkpoints = by_event(&mut options);
    let (mut after, mut limit) = (0, PAGE);
    loop {
        let page = match store.events(head.key, after, limit) {
            // One by one, to find the unreadable event.
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
        if let Some(progress) = &mut options.progress {
            progress(walk.found.events);
        }
    }
    walk.end_at(head);
    if walk.is_whole() {
        rows::compare(store, head, &mut walk)?;
        let mut claims = std::mem::take(&mut walk.claims);
        fallbacks::drop_voided(&mut claims, &walk.replay);
        if let Some((&last, _)) = claims.last_key_value() {
            fallbacks::check(claims, log(store, head.key, last), &mut walk.found);
        }
    }
    beside::check(store, head, &mut walk)?;
    let mut report = report(walk);
    report.study = Some(head.name.clone());
    Ok(report)
}

/// The events of a study up to one, page by page; fewer if one cannot be read.
fn log(store: &mut dyn Store, key: i64, last: u64) -> impl Iterator<Item = Record> {
    let mut after = 0;
    let pages = std::iter::from_fn(move || {
        let page = store.events(key, after, PAGE).ok()?;
        after = page.last().filter(|_| after < last)?.seq;
        Some(page)
    });
    pages.flatten()
}

/// The checkpoints by the number of their event.
fn by_event(options: &mut Options<'_>) -> walk::Checkpoints {
    let mut checkpoints = walk::Checkpoints::new();
    for (statement, place) in std::mem::take(&mut options.checkpoints) {
        let event = checkpoints.entry(statement.seq).or_default();
        event.push((statement, place));
    }
    checkpoints
}

fn report(mut walk: Walk<'_>) -> Report {
    walk.expected();
    walk.end_of_checkpoints();
    if walk.is_whole() {
        walk.found.state_hash = state_hash::of_replay(&mut walk.replay).ok();
    }
    let mut report = walk.found;
    if let Some(state) = &walk.replay.state {
        report.study = Some(state.head.name.clone());
        report.episodes = state.head.counted_episodes();
        report.learned = state.head.counted_learned();
    }
    report
}
