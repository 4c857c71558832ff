//! Reads the episodes of a study in the order in which they were opened, for its test of drift.
//!
//! The order of learning is not the right one: where outcomes come later after some results than after others, the first learned episodes are a selection. In
//! the order of opening each episode waits for the earlier ones. One that waits for too long is left out, whatever its values.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde::Deserialize;

use crate::app::{CommandError, PAGE, yield_often};
use crate::domain::{DriftMonitor, EpisodeRecord, Status, StudyState};
use crate::store::{Store, StoreError};

/// How long an episode is waited for, in expected delays: an open one from its begin, another one from its end.
const DELAYS: [u32; 2] = [4, 2];
/// The number of events for which an episode is waited for, if the study states no expected delay.
const EVENTS: u64 = 10_000;

/// The test of a study, and how much of the log it includes.
#[derive(Debug)]
pub struct DriftReader {
    monitor: DriftMonitor,
    /// The hash of the specification.
    spec: String,
    /// The last event that is included.
    after: u64,
    /// The last event of the study when it was read.
    seen: u64,
    /// The hash of that event.
    hash: String,
}

/// What is done with an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Include,
    Skip,
    Wait,
}

/// The fields of an event that tell which episode it begins.
#[derive(Deserialize)]
struct Begin<'a> {
    kind: &'a str,
    #[serde(borrow)]
    data: Episode<'a>,
}

#[derive(Deserialize)]
struct Episode<'a> {
    #[serde(borrow, default)]
    episode: Option<&'a str>,
}

impl DriftReader {
    fn new(state: &StudyState) -> DriftReader {
        DriftReader {
            monitor: DriftMonitor::new(&state.study),
            spec: state.study.hash.clone(),
            after: 0,
            seen: 0,
            hash: String::new(),
        }
    }

    /// The test up to the present event, from an earlier one if that is still right.
    pub fn read(
        earlier: Option<DriftReader>,
        state: &StudyState,
        store: &mut dyn Store,
    ) -> Result<DriftReader, CommandError> {
        let head = &state.head;
        let earlier = match earlier {
            // A correction changes what was included.
            Some(it) if it.spec == state.study.hash && head.relearned <= it.seen => {
                let last = store.events(head.key, it.seen.saturating_sub(1), 1)?;
                let known = last.first().is_some_and(|event| event.hash == it.hash);
                Some(it).filter(|_| known)
            }
            _ => None,
        };
        let mut reader = earlier.unwrap_or_else(|| DriftReader::new(state));
        reader.advance(state, store)?;
        (reader.seen, reader.hash) = (head.seq, head.hash.clone());
        Ok(reader)
    }

    pub fn monitor(&self) -> &DriftMonitor {
        &self.monitor
    }

    fn advance(&mut self, state: &StudyState, store: &mut dyn Store) -> Result<(), CommandError> {
        let head = &state.head;
        while self.after < head.seq {
            let most = PAGE.min((head.seq - self.after) as usize);
            let page = store.events(head.key, self.after, most)?;
            let Some(last) = page.last().map(|event| event.seq) else {
                break;
            };
            let mut begun = Vec::new();
            for event in &page {
                let damaged = |error| StoreError::Damaged(format!("event {}: {error}", event.seq));
                let begin: Begin<'_> = serde_json::from_str(&event.text).map_err(damaged)?;
                if let ("opened" | "imported", Some(id)) = (begin.kind, begin.data.episode) {
                    begun.push((event.seq, id));
                }
            }
            let names: Vec<&str> = begun.iter().map(|(_, id)| *id).collect();
            let episodes = store.episodes(head.key, &names)?.into_iter();
            let episodes: HashMap<String, EpisodeRecord> =
                episodes.map(|it| (it.id.clone(), it)).collect();
            for (seq, id) in begun {
                yield_often(seq);
                let Some(episode) = episodes.get(id) else {
                    continue;
                };
                match turn(episode, state) {
                    Turn::Wait => return Ok(()),
                    Turn::Skip => {}
                    Turn::Include => self.monitor.learn(&episode.episode()),
                }
                self.after = seq;
            }
            self.after = last;
        }
        Ok(())
    }
}

/// Depends on the log alone: the time is that of the last event.
fn turn(episode: &EpisodeRecord, state: &StudyState) -> Turn {
    let (head, delay) = (&state.head, state.study.expected_delay);
    let abandoned = episode.end.as_ref().is_some_and(|end| end.abandoned);
    if abandoned || episode.status() == Status::Voided {
        return Turn::Skip;
    }
    let time = |text: Option<&String>| text.and_then(|text| humantime::parse_rfc3339(text).ok());
    let settled = episode.position.is_some();
    let is_late = match delay {
        None => {
            let now = if settled { episode.settled } else { head.seq };
            now.saturating_sub(episode.opened) > EVENTS
        }
        Some(delay) => {
            let end = episode.end.as_ref().and_then(|end| end.stamp.as_ref());
            let (begin, delays) = match end {
                None => (episode.opened_stamp.as_ref(), DELAYS[0]),
                Some(_) => (end, DELAYS[1]),
            };
            let now = match settled {
                true => time(episode.settled_at.as_ref()),
                false => time(head.details.at.as_ref()),
            };
            is_after(
                now,
                time(begin.map(|it| &it.at)),
                delay.saturating_mul(delays),
            )
        }
    };
    match (settled, is_late) {
        (_, true) => Turn::Skip,
        (true, false) => Turn::Include,
        (false, false) => Turn::Wait,
    }
}

/// Whether a time is later than another one by more than this; false if one of them is not known.
fn is_after(now: Option<SystemTime>, begin: Option<SystemTime>, wait: Duration) -> bool {
    let passed = now
        .zip(begin)
        .and_then(|(now, begin)| now.duration_since(begin).ok());
    passed.is_some_and(|passed| passed > wait)
}
