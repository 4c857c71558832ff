//! Replays a log from its first event and recomputes everything. Estimates at a past event, audits and dry runs use it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::app::{PAGE, yield_often};
use crate::domain::{
    Decision, EpisodeRecord, Event, EventKind, Head, Record, Rejection, Shadow, Study,
    StudyLearners, StudyState, pack, unpack,
};
use crate::store::{Store, StoreError};

/// The error for an event whose hash does not match.
pub const CHANGED: &str = "its hash does not match its line: one of them was changed";

/// A log up to some event.
#[derive(Default)]
pub struct Replay {
    /// The study after the last event; none before the first.
    pub state: Option<StudyState>,
    /// By name; boxed, so that a long log does not copy them as the map grows.
    pub episodes: HashMap<String, Box<EpisodeRecord>>,
    /// The learned episodes, by position.
    pub learned: Vec<Vec<u8>>,
}

/// A recorded decision that differs from the recomputed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    pub recorded: String,
    pub recomputed: String,
}

impl Replay {
    /// Checks the hash of the next event and applies it. A decision in it is recomputed, and returned if it differs.
    pub fn feed(&mut self, record: &Record) -> Result<Option<Mismatch>, String> {
        self.follow(&read_intact(record)?, &record.hash)
    }

    /// Rejects an event that the service never wrote, whatever the rules of the study allow.
    pub fn check_strictly(&self, record: &Record) -> Result<(), String> {
        let event = read_intact(record)?;
        let episode = self.episode_of(&event);
        let Some(state) = &self.state else {
            return Ok(());
        };
        state.check_strictly(&event, episode).map_err(detail)
    }

    /// Replays the log of a study up to an event, without recomputing its decisions.
    pub fn of_store(store: &mut dyn Store, head: &Head, end: u64) -> Result<Replay, StoreError> {
        let damaged = |seq: u64, what: &str| StoreError::Damaged(format!("event {seq}: {what}"));
        let (mut replay, mut at) = (Replay::default(), 0);
        while at < end {
            let page = store.events(head.key, at, PAGE.min((end - at) as usize))?;
            at = page.last().ok_or_else(|| damaged(at + 1, "missing"))?.seq;
            for record in &page {
                read_intact(record)
                    .and_then(|event| replay.pass(&event, &record.hash))
                    .map_err(|what| damaged(record.seq, &what))?;
                yield_often(record.seq);
            }
        }
        Ok(replay)
    }

    /// Applies an event whose line has this hash, and recomputes its decision.
    pub fn follow(&mut self, event: &Event, hash: &str) -> Result<Option<Mismatch>, String> {
        self.begin(event)?;
        let mismatch = match self.recompute(event)? {
            Some((decision, shadows)) => {
                let decision = serde_json::to_string(&decision);
                mismatch(
                    event,
                    &decision.map_err(|error| error.to_string())?,
                    &shadows,
                )?
            }
            None => None,
        };
        self.pass(event, hash)?;
        Ok(mismatch)
    }

    /// Applies an event without recomputing its decision.
    pub fn pass(&mut self, event: &Event, hash: &str) -> Result<(), String> {
        self.begin(event)?;
        let episode = self.episode_of(event).cloned();
        let Some(state) = &mut self.state else {
            return Err("the study was not created before it".into());
        };
        let advance = state.advance(event, hash, episode).map_err(detail)?;
        if let Some((position, episode)) = advance.learned {
            let bytes = pack(&episode);
            match self.learned.get_mut(position as usize) {
                Some(known) => *known = bytes,
                None => self.learned.push(bytes),
            }
        }
        if let Some(episode) = advance.episode {
            self.episodes.insert(episode.id.clone(), episode.into());
        }
        Ok(())
    }

    /// The episode of an event, as it is before it.
    fn episode_of(&self, event: &Event) -> Option<&EpisodeRecord> {
        let id = event.kind.episode()?;
        self.episodes.get(id).map(|it| &**it)
    }

    fn begin(&mut self, event: &Event) -> Result<(), String> {
        if let (None, EventKind::Created(created)) = (&self.state, &event.kind) {
            let study = Study::from_canonical(&created.study, created.spec.get());
            let study = Arc::new(study.map_err(detail)?);
            self.state = Some(StudyState::new(study, created.rules).map_err(detail)?);
        }
        Ok(())
    }

    /// The decision that an event should record, if it records one.
    pub fn recompute(&mut self, event: &Event) -> Result<Option<(Decision, Vec<Shadow>)>, String> {
        if event.kind.recorded().is_none() {
            return Ok(None);
        }
        self.refresh()?;
        let id = event.kind.episode();
        let episode = id.and_then(|id| self.episodes.get(id)).map(|it| &**it);
        let Some(state) = &mut self.state else {
            return Ok(None);
        };
        state.recompute(event, episode).map_err(detail)
    }

    /// Rebuilds the learners if a learned episode was corrected.
    pub fn refresh(&mut self) -> Result<(), String> {
        let Some(state) = self.state.as_mut().filter(|state| state.stale) else {
            return Ok(());
        };
        let learners = StudyLearners::new(&state.study, state.head.rules).map_err(detail)?;
        state.set_learners(learners);
        for (i, bytes) in (0..).zip(&self.learned) {
            yield_often(i);
            state.learners.learn(&unpack(bytes).unwrap_or_default());
        }
        state.stale = false;
        Ok(())
    }

    /// The episodes, in the order of their names.
    pub fn episodes_in_order(&self) -> BTreeMap<&str, &EpisodeRecord> {
        let episodes = self.episodes.iter();
        episodes.map(|(id, episode)| (&**id, &**episode)).collect()
    }
}

/// Parses an event, and checks its hash.
fn read_intact(record: &Record) -> Result<Event, String> {
    if !record.is_intact() {
        return Err(CHANGED.into());
    }
    record.read().map_err(|error| error.to_string())
}

fn detail(rejection: Rejection) -> String {
    rejection.detail
}

/// Compares the decision that an event records with the recomputed one, and the choices of the shadow learners.
pub fn mismatch(
    event: &Event,
    decision: &str,
    shadows: &[Shadow],
) -> Result<Option<Mismatch>, String> {
    let Some((recorded, logged)) = event.kind.recorded() else {
        return Ok(None);
    };
    let found = |recorded: String, recomputed: String| {
        Ok(Some(Mismatch {
            recorded,
            recomputed,
        }))
    };
    if recorded != decision {
        return found(recorded.into(), decision.into());
    }
    if logged != shadows {
        let text = |list: &[Shadow]| serde_json::to_string(list).map_err(|error| error.to_string());
        return found(text(logged)?, text(shadows)?);
    }
    Ok(None)
}
