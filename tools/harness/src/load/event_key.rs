//! Identity of the event that a request asks for: the natural key of docs/service.md, and a hash of the content.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use emab_server::domain::event::EventKind;

use super::studies::STUDIES;

/// The log must contain the key exactly once if the request was acknowledged, and at most once otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EventKey {
    /// Index in [`STUDIES`].
    pub study: u8,
    pub client: u16,
    /// Number of the client's episode.
    pub episode: u32,
    /// The wire name of the event's kind.
    pub kind: &'static str,
    /// 0 for kinds without a step.
    pub step: u16,
    /// Hash of the content.
    pub content: u64,
}

impl fmt::Display for EventKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let study = STUDIES[usize::from(self.study)].name;
        let id = episode_id(self.client, self.episode);
        write!(f, "study {study}, episode {id}: {}", self.kind)?;
        match self.step {
            0 => Ok(()),
            step => write!(f, ", step {step}"),
        }
    }
}

/// The kinds of events that clients request in time.
pub const KINDS: [&str; 13] = [
    "opened",
    "told",
    "stopped",
    "abandoned",
    "outcome",
    "amended",
    "step_amended",
    "voided",
    "imported",
    "paused",
    "resumed",
    "closed",
    "reopened",
];

/// The client number of episodes that several clients share.
pub(crate) const SHARED: u16 = u16::MAX;

pub(crate) fn episode_id(client: u16, episode: u32) -> String {
    format!("c{client}-{episode}")
}

fn parse_episode_id(id: &str) -> Option<(u16, u32)> {
    let (client, episode) = id.strip_prefix('c')?.split_once('-')?;
    Some((client.parse().ok()?, episode.parse().ok()?))
}

pub(crate) fn hash(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// A hash of an outcome by the bits of its values.
pub(crate) fn hash_outcome(costs: &[Option<f64>], rewards: &[Option<f64>]) -> u64 {
    let bits = |values: &[Option<f64>]| -> Vec<Option<u64>> {
        let bits = values.iter().map(|value| value.map(f64::to_bits));
        bits.collect()
    };
    hash((bits(costs), bits(rewards)))
}

impl EventKey {
    /// The key of an event; `None` if no client requests it. Requests about a study have ids like those of episodes.
    pub(crate) fn of(study: u8, event: &EventKind) -> Option<EventKey> {
        let (client, episode) = parse_episode_id(event.episode().or(event.request())?)?;
        let (step, content) = match event {
            EventKind::Created(_) => return None,
            EventKind::Closed(_)
            | EventKind::Reopened(_)
            | EventKind::Paused(_)
            | EventKind::Resumed(_) => (0, 0),
            EventKind::StepAmended(it) => (
                it.step,
                hash((it.feedback.as_deref().unwrap_or_default(), &*it.reason)),
            ),
            EventKind::Voided(it) => (0, hash(&*it.reason)),
            EventKind::Opened(it) => (0, hash(it.start.as_deref())),
            EventKind::StepRecorded(it) => {
                let fallback = it.policy.as_ref().map(|it| it.as_of);
                let content = (&*it.action, &*it.feedback, it.reason.as_deref(), fallback);
                (it.step, hash(content))
            }
            EventKind::Stopped(it) => (it.step, hash(it.reason.as_deref())),
            EventKind::Abandoned(it) => (0, hash(&*it.reason)),
            EventKind::OutcomeGiven(it) => {
                let outcome = hash_outcome(&it.costs, &it.rewards);
                (0, hash((outcome, it.last)))
            }
            EventKind::Amended(it) => {
                let outcome = hash_outcome(&it.costs, &it.rewards);
                (0, hash((outcome, &*it.reason)))
            }
            EventKind::Repeated(it) => (0, hash((&*it.of, &*it.fingerprint))),
            EventKind::Imported(it) => {
                let outcome = hash_outcome(&it.costs, &it.rewards);
                let content = (outcome, &it.actions, &it.feedbacks, it.start.as_deref());
                (0, hash(content))
            }
        };
        Some(EventKey {
            study,
            client,
            episode,
            kind: event.name(),
            step: step as u16,
            content,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn episode_ids_are_parsed_back() {
        assert_eq!(parse_episode_id(&episode_id(7, 123)), Some((7, 123)));
        assert_eq!(parse_episode_id("patient-1"), None);
    }
}
