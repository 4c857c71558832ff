//! What a client was promised, and what it does not know.

use std::collections::HashMap;

use super::key::Key;
use crate::chance::Chance;
use crate::wire::Message;

/// Answers that are kept to be asked for again.
const KEPT: usize = 200;

/// What became of a request that asks for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was sent, and no answer has come.
    Unanswered,
    /// It was answered with success: the event is in the log, once, for ever.
    Acknowledged,
    /// It was refused for good, since somebody else had been there before: it is not in the log.
    Refused,
}

/// A request and the very bytes that it was answered with.
#[derive(Clone, Debug)]
pub struct Kept {
    /// The request.
    pub message: Message,
    /// The body of its answer.
    pub body: Vec<u8>,
}

/// The journal of a client.
#[derive(Debug, Default)]
pub struct Journal {
    fates: HashMap<Key, Fate>,
    /// What was acknowledged since it was last looked at.
    fresh: Vec<Key>,
    /// Requests whose answer never changes, a sample of all there ever were.
    kept: Vec<Kept>,
    seen: u64,
}

impl Journal {
    /// A request for an event is about to be sent.
    pub fn sent(&mut self, key: Key) {
        self.fates.entry(key).or_insert(Fate::Unanswered);
    }

    /// It was acknowledged.
    pub fn acknowledged(&mut self, key: Key) {
        self.fates.insert(key, Fate::Acknowledged);
        self.fresh.push(key);
    }

    /// It was refused for good.
    pub fn refused(&mut self, key: Key) {
        self.fates.insert(key, Fate::Refused);
    }

    /// Keeps an answer that must stay the same, or not: each that ever came is as likely to be kept.
    pub fn keep(&mut self, kept: Kept, chance: &mut Chance) {
        self.seen += 1;
        if self.kept.len() < KEPT {
            self.kept.push(kept);
            return;
        }
        let place = chance.below(self.seen) as usize;
        if let Some(old) = self.kept.get_mut(place) {
            *old = kept;
        }
    }

    /// One of the kept.
    pub fn any(&self, chance: &mut Chance) -> Option<&Kept> {
        chance.one_of(&self.kept)
    }

    /// What became of a request.
    pub fn fate(&self, key: &Key) -> Option<Fate> {
        self.fates.get(key).copied()
    }

    /// What was acknowledged since this was last asked.
    pub fn take_fresh(&mut self) -> Vec<Key> {
        std::mem::take(&mut self.fresh)
    }

    /// All that was ever acknowledged.
    pub fn all_acknowledged(&self) -> impl Iterator<Item = &Key> {
        let all = self.fates.iter();
        all.filter(|(_, fate)| **fate == Fate::Acknowledged)
            .map(|(key, _)| key)
    }
}
