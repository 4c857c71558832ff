//! Ack journal: what a client knows about the requests that it sent.

use std::collections::HashMap;

use bytes::Bytes;

use super::event_key::EventKey;
use crate::http::Request;
use crate::rng::Rng;

/// Responses in the sample of a client.
const SAMPLE: usize = 200;

/// The status of a request that asks for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckStatus {
    /// Sent, not answered: the event may be in the log.
    Unanswered,
    /// Answered with success: the event must be in the log exactly once.
    Acknowledged,
    /// Rejected because of a conflict: the event must not be in the log.
    Rejected,
}

/// A request and the bytes of its response.
#[derive(Clone, Debug)]
pub(crate) struct Exchange {
    pub request: Request,
    pub body: Bytes,
}

#[derive(Debug, Default)]
pub(crate) struct AckJournal {
    statuses: HashMap<EventKey, AckStatus>,
    /// Acknowledged since the last check of the log.
    unchecked: Vec<EventKey>,
    /// A uniform sample of exchanges whose response never changes.
    sample: Vec<Exchange>,
    sampled_from: u64,
}

impl AckJournal {
    pub(crate) fn record_sent(&mut self, key: EventKey) {
        self.statuses.entry(key).or_insert(AckStatus::Unanswered);
    }

    pub(crate) fn record_acknowledged(&mut self, key: EventKey) {
        self.statuses.insert(key, AckStatus::Acknowledged);
        self.unchecked.push(key);
    }

    pub(crate) fn record_rejected(&mut self, key: EventKey) {
        self.statuses.insert(key, AckStatus::Rejected);
    }

    /// Adds an exchange to the sample with the probability that keeps it uniform.
    pub(crate) fn add_to_sample(&mut self, exchange: &Exchange, rng: &mut Rng) {
        self.sampled_from += 1;
        if self.sample.len() < SAMPLE {
            self.sample.push(exchange.clone());
            return;
        }
        let index = rng.below(self.sampled_from) as usize;
        if let Some(old) = self.sample.get_mut(index) {
            *old = exchange.clone();
        }
    }

    pub(crate) fn draw_from_sample(&self, rng: &mut Rng) -> Option<Exchange> {
        rng.choose(&self.sample).cloned()
    }

    pub(crate) fn status(&self, key: &EventKey) -> Option<AckStatus> {
        self.statuses.get(key).copied()
    }

    pub(crate) fn take_unchecked(&mut self) -> Vec<EventKey> {
        std::mem::take(&mut self.unchecked)
    }

    pub(crate) fn acknowledged(&self) -> impl Iterator<Item = &EventKey> {
        let all = self.statuses.iter();
        all.filter(|(_, status)| **status == AckStatus::Acknowledged)
            .map(|(key, _)| key)
    }
}
