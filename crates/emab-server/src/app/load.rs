//! Loads the state of a study from the store: its head, and learners rebuilt from the learned episodes.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::{CommandError, Specs};
use crate::domain::{Head, IN_FLIGHT_EVENTS, Rejection, StudyLearners, StudyState, unpack};
use crate::store::{Store, StoreError};

/// The number of learned episodes in one read.
const PAGE: usize = 1_024;

/// Lets other threads run after every 64th item of long work. Otherwise a commit or an answer may wait for a time slice of some
/// milliseconds.
pub fn yield_often(item: u64) {
    if item.is_multiple_of(64) {
        std::thread::yield_now();
    }
}

/// Learned episodes that are not in the store yet, by position.
pub type Pending = BTreeMap<u64, Vec<u8>>;

/// The head of a study; fails if there is no such study.
pub fn head(store: &mut dyn Store, study: &str) -> Result<Head, CommandError> {
    let head = store.head(study)?;
    Ok(head.ok_or_else(|| no_study(study))?)
}

/// The key of a study; fails if there is no such study.
pub fn key(store: &mut dyn Store, study: &str) -> Result<i64, CommandError> {
    let key = store.key(study)?;
    Ok(key.ok_or_else(|| no_study(study))?)
}

pub fn no_study(study: &str) -> Rejection {
    Rejection::not_found(format!("there is no study `{study}`"))
}

/// The state of a study at its head, from a cached state if there is one.
pub fn load_state(
    cached: Option<StudyState>,
    head: Head,
    store: &mut dyn Store,
    specs: &Specs,
) -> Result<StudyState, CommandError> {
    // Another study of this name may be in its place.
    let cached = cached.filter(|state| state.study.hash == head.spec_hash);
    let mut state = match cached {
        Some(state) => state,
        None => StudyState::new(specs.study(store, &head)?, head.rules)?,
    };
    if !catch_up(&mut state, &head, store)? {
        state.head = head;
        state.forget_in_flight();
        rebuild(&mut state, store, &Pending::new())?;
        track_after(0, &mut state, store)?;
    }
    Ok(state)
}

/// Brings a state to a later head; false if the learners must be rebuilt.
pub fn catch_up(
    state: &mut StudyState,
    head: &Head,
    store: &mut dyn Store,
) -> Result<bool, CommandError> {
    if state.stale || head.relearned > state.head.seq {
        return Ok(false);
    }
    if state.head.hash != head.hash {
        // A restored database may not contain the events that the state was learned from.
        let log = store.events(head.key, state.head.seq.saturating_sub(1), 1)?;
        let known = log.first().map(|event| &event.hash);
        if known != Some(&state.head.hash) {
            return Ok(false);
        }
    }
    let before = state.head.seq;
    state.head = head.clone();
    learn_new(state, store, &Pending::new())?;
    track_after(before, state, store)?;
    Ok(true)
}

/// Updates what is in flight by the events after this one. Older events than those that count are not read.
fn track_after(
    seq: u64,
    state: &mut StudyState,
    store: &mut dyn Store,
) -> Result<(), CommandError> {
    if !state.learners.counts_pending() {
        return Ok(());
    }
    let (key, end) = (state.head.key, state.head.seq);
    let mut after = seq.max(end.saturating_sub(IN_FLIGHT_EVENTS));
    while after < end {
        let records = store.events(key, after, PAGE.min((end - after) as usize))?;
        let Some(last) = records.last() else {
            break;
        };
        after = last.seq;
        let mut touched = BTreeSet::new();
        for record in &records {
            let event = record.read().map_err(|error| {
                StoreError::Damaged(format!("event {} cannot be read: {error}", record.seq))
            })?;
            touched.extend(event.kind.episode().map(str::to_owned));
        }
        let names: Vec<&str> = touched.iter().map(String::as_str).collect();
        state.track(&store.episodes(key, &names)?);
    }
    Ok(())
}

/// Rebuilds the learners from all learned episodes, in order.
pub fn rebuild(
    state: &mut StudyState,
    store: &mut dyn Store,
    pending: &Pending,
) -> Result<(), CommandError> {
    let learners = StudyLearners::new(&state.study, state.head.rules)?;
    state.set_learners(learners);
    learn_new(state, store, pending)?;
    state.stale = false;
    Ok(())
}

/// Learns the episodes that the learners have not seen yet.
pub fn learn_new(
    state: &mut StudyState,
    store: &mut dyn Store,
    pending: &Pending,
) -> Result<(), CommandError> {
    let (key, end) = (state.head.key, state.head.learned);
    let missing = |position: u64| {
        let what = format!("learned episode {position} is missing or unreadable");
        StoreError::Damaged(what)
    };
    while state.learners.learned < end {
        let from = state.learners.learned;
        let page = store.learned_episodes(key, from, PAGE.min((end - from) as usize))?;
        let last = page.last().map_or(end, |it| it.position + 1);
        let mut learned: BTreeMap<u64, &Vec<u8>> =
            page.iter().map(|it| (it.position, &it.bytes)).collect();
        let pending = pending.range(from..last);
        learned.extend(pending.map(|(position, bytes)| (*position, bytes)));
        for (position, bytes) in learned {
            let next = state.learners.learned;
            let episode = unpack(bytes).filter(|_| position == next);
            let episode = episode.ok_or_else(|| missing(next))?;
            state.learners.learn(&episode);
            yield_often(position);
        }
        if state.learners.learned == from {
            return Err(missing(from).into());
        }
    }
    Ok(())
}
