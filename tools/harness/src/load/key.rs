//! What makes an event the one that a request asked for: the natural key of service.md, and what it says.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use emab_server::domain::event::EventKind;

use super::studies::STUDIES;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An episode was opened.
    Opened,
    /// A step was told.
    StepRecorded,
    /// An episode was stopped.
    Stopped,
    /// An episode was given up.
    Abandoned,
    /// A part of an outcome was given.
    Outcome,
    /// An outcome was corrected.
    Amended,
    /// A past episode was taken in.
    Imported,
}

/// The event that a request becomes. A log must have it once if the request was acknowledged, and once at most if not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The study, by its place in [`STUDIES`].
    pub study: u8,
    /// Whose episode.
    pub client: u16,
    /// Which of theirs.
    pub episode: u32,
    /// What happened.
    pub kind: Kind,
    /// The step; 0 where there may be one of the kind in an episode, or several that differ in what they say.
    pub step: u16,
    /// A hash of what it says.
    pub content: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let study = STUDIES.get(usize::from(self.study)).map_or("?", |s| s.name);
        let kind = format!("{:?}", self.kind).to_lowercase();
        let name = name(self.client, self.episode);
        write!(f, "study {study}, episode {name}: {kind}")?;
        match self.step {
            0 => Ok(()),
            step => write!(f, ", step {step}"),
        }
    }
}

/// Whose episodes those are that several clients tell of at once.
pub const EVERYBODY: u16 = u16::MAX;

/// The name of a client's episode.
pub fn name(client: u16, episode: u32) -> String {
    format!("c{client}-{episode}")
}

fn read_name(name: &str) -> Option<(u16, u32)> {
    let (client, episode) = name.strip_prefix('c')?.split_once('-')?;
    Some((client.parse().ok()?, episode.parse().ok()?))
}

/// A hash of anything.
pub fn content(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A hash of values that may be missing, by their bits.
pub fn values(costs: &[Option<f64>], rewards: &[Option<f64>]) -> u64 {
    let bits = |values: &[Option<f64>]| -> Vec<Option<u64>> {
        let bits = values.iter().map(|value| value.map(f64::to_bits));
        bits.collect()
    };
    content((bits(costs), bits(rewards)))
}

impl Key {
    /// The key of an event; none if it is not about an episode of a client's.
    pub fn of(study: u8, what: &EventKind) -> Option<Key> {
        let (client, episode) = read_name(what.episode()?)?;
        let (kind, step, content) = match what {
            EventKind::Created(_) | EventKind::Closed(_) => return None,
            EventKind::Opened(_) => (Kind::Opened, 0, 0),
            EventKind::StepRecorded(told) => {
                let said = (&*told.action, &*told.feedback, told.reason.as_deref());
                (Kind::StepRecorded, told.step as u16, content(said))
            }
            EventKind::Stopped(stopped) => (
                Kind::Stopped,
                stopped.step as u16,
                content(stopped.reason.as_deref()),
            ),
            EventKind::Abandoned(abandoned) => (Kind::Abandoned, 0, content(&*abandoned.reason)),
            EventKind::Revealed(outcome) => (
                Kind::Outcome,
                0,
                content((values(&outcome.costs, &outcome.rewards), outcome.last)),
            ),
            EventKind::Amended(outcome) => (
                Kind::Amended,
                0,
                content((values(&outcome.costs, &outcome.rewards), &*outcome.reason)),
            ),
            EventKind::Imported(past) => (
                Kind::Imported,
                0,
                content((
                    values(&past.costs, &past.rewards),
                    &past.actions,
                    &past.feedbacks,
                )),
            ),
        };
        Some(Key {
            study,
            client,
            episode,
            kind,
            step,
            content,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        assert_eq!(read_name(&name(7, 123)), Some((7, 123)));
        assert_eq!(read_name("patient-1"), None);
    }
}
