//! Going through a log from its beginning, recomputing everything: what time travel, audit and import of a study rest on.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::domain::decision::Decision;
use crate::domain::episode::EpisodeRecord;
use crate::domain::event::{Event, EventKind, Opened, Record, Shadow, StepRecorded};
use crate::domain::learned_episode::{pack, unpack};
use crate::domain::learners::StudyLearners;
use crate::domain::state::StudyState;
use crate::domain::study::Study;

/// A log as far as it was read.
#[derive(Default)]
pub struct Replay {
    /// The study after the last event; none before the first.
    pub board: Option<StudyState>,
    /// All episodes.
    pub cases: HashMap<String, EpisodeRecord>,
    /// What was learned, by place.
    pub lessons: Vec<Vec<u8>>,
}

/// A decision that is not what the log leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// The event that records it.
    pub seq: u64,
    /// As recorded.
    pub recorded: String,
    /// As recomputed.
    pub recomputed: String,
}

impl Replay {
    /// Takes in the next event of a log: its hash, its place in the chain, and whether it can follow what was there; an
    /// error says what is wrong with it. A decision in it is recomputed, and given back where it differs.
    pub fn feed(&mut self, record: &Record) -> Result<Option<Mismatch>, String> {
        if !record.is_intact() {
            return Err("its hash is not that of its line: it was changed".into());
        }
        let event = record.read().map_err(|error| error.to_string())?;
        self.follow(&event, &record.hash)
    }

    /// The same for an event whose line is known to have this hash.
    pub fn follow(&mut self, event: &Event, hash: &str) -> Result<Option<Mismatch>, String> {
        self.begin(event)?;
        let mismatch = match self.recompute(event)? {
            Some((decision, shadows)) => differs(event, &decision, &shadows)?,
            None => None,
        };
        self.pass(event, hash)?;
        Ok(mismatch)
    }

    /// The same without recomputing its decision: for whoever only wants to know what was known then.
    pub fn pass(&mut self, event: &Event, hash: &str) -> Result<(), String> {
        self.begin(event)?;
        let Some(board) = &mut self.board else {
            return Err("nothing was created before it".into());
        };
        let case = event.what.episode().and_then(|id| self.cases.get(id));
        let advance = board.advance(event, hash, case.cloned())?;
        if let Some((place, episode)) = advance.lesson {
            let bytes = pack(&episode);
            match self.lessons.get_mut(place as usize) {
                Some(there) => *there = bytes,
                None => self.lessons.push(bytes),
            }
        }
        if let Some(case) = advance.case {
            self.cases.insert(case.id.clone(), case);
        }
        Ok(())
    }

    fn begin(&mut self, event: &Event) -> Result<(), String> {
        if let (None, EventKind::Created(created)) = (&self.board, &event.what) {
            let study = Study::from_canonical(&created.study, created.spec.get());
            let study = study.map_err(|refusal| refusal.detail)?;
            let board = StudyState::new(Arc::new(study)).map_err(|refusal| refusal.detail)?;
            self.board = Some(board);
        }
        Ok(())
    }

    /// The decision that an event should record, if it is one that records a decision.
    pub fn recompute(&mut self, event: &Event) -> Result<Option<(Decision, Vec<Shadow>)>, String> {
        let case = event.what.episode().and_then(|id| self.cases.get(id));
        let Some(board) = &self.board else {
            return Ok(None);
        };
        let Some((id, t, x)) = board.asked(&event.what, case)? else {
            return Ok(None);
        };
        self.refresh()?;
        Ok(self.board.as_mut().map(|board| board.decide(id, t, x)))
    }

    /// Teaches the mind anew if what it was taught has changed.
    pub fn refresh(&mut self) -> Result<(), String> {
        let Some(board) = self.board.as_mut().filter(|board| board.stale) else {
            return Ok(());
        };
        board.mind = StudyLearners::new(&board.study).map_err(|refusal| refusal.detail)?;
        for bytes in &self.lessons {
            board.mind.learn(&unpack(bytes).unwrap_or_default());
        }
        board.stale = false;
        Ok(())
    }

    /// The decisions of all episodes as their events record them, for an audit that has the log at hand.
    pub fn decision_of(event: &Event) -> Option<(&str, u32, &str)> {
        match &event.what {
            EventKind::Opened(Opened {
                episode, decision, ..
            }) => Some((episode, 1, decision.get())),
            EventKind::StepRecorded(StepRecorded {
                episode,
                step,
                decision,
                ..
            }) => {
                let step = u32::try_from(*step).ok()?.checked_add(1)?;
                Some((episode, step, decision.get()))
            }
            _ => None,
        }
    }

    /// The episodes, in the order of their names.
    pub fn cases_in_order(&self) -> BTreeMap<&str, &EpisodeRecord> {
        self.cases
            .iter()
            .map(|(id, case)| (id.as_str(), case))
            .collect()
    }
}

/// The decision that an event records, and the one it should record, where they are not the same.
pub fn differs(
    event: &Event,
    decision: &Decision,
    shadows: &[Shadow],
) -> Result<Option<Mismatch>, String> {
    let (recorded, logged) = match &event.what {
        EventKind::Opened(Opened {
            decision, shadow, ..
        })
        | EventKind::StepRecorded(StepRecorded {
            decision, shadow, ..
        }) => (decision.get(), shadow),
        _ => return Ok(None),
    };
    let text = |value: Result<String, serde_json::Error>| value.map_err(|error| error.to_string());
    let recomputed = text(serde_json::to_string(decision))?;
    if recorded != recomputed {
        return Ok(Some(Mismatch {
            seq: event.seq,
            recorded: recorded.into(),
            recomputed,
        }));
    }
    if logged.as_slice() != shadows {
        return Ok(Some(Mismatch {
            seq: event.seq,
            recorded: text(serde_json::to_string(logged))?,
            recomputed: text(serde_json::to_string(shadows))?,
        }));
    }
    Ok(None)
}
