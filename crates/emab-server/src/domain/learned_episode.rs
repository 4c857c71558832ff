//! Learned episodes, packed for the store. Learners are rebuilt from them.

use emab::Episode;

/// A learned episode as the store keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct LearnedEpisode {
    /// Its position in the learning order, from 0.
    pub position: u64,
    /// The episode, as [`pack`] writes it.
    pub bytes: Vec<u8>,
}

/// Packs an episode, an empty one for an episode that was voided: the number of steps, then states, actions and feedbacks, then costs and rewards with all their bits.
pub fn pack(episode: &Episode) -> Vec<u8> {
    let steps = episode.states.len();
    let mut bytes = Vec::with_capacity(4 + 28 * steps);
    let mut put = |value: usize| bytes.extend_from_slice(&(value as u32).to_le_bytes());
    put(steps);
    episode.states.iter().for_each(|&x| put(x));
    episode.actions.iter().for_each(|&a| put(a));
    episode.feedbacks.iter().for_each(|&f| put(f));
    for value in episode.costs.iter().chain(&episode.rewards) {
        bytes.extend_from_slice(&value.to_bits().to_le_bytes());
    }
    bytes
}

/// Unpacks an episode; none if the bytes are not those of an episode.
///
/// ```
/// use emab::Episode;
/// use emab_server::domain::learned_episode::{pack, unpack};
/// let mut episode = Episode::default();
/// episode.begin(3);
/// episode.advance(0, 1, 4);
/// episode.costs.push(0.5);
/// episode.rewards.extend([-0.0, 2.0]);
/// assert_eq!(unpack(&pack(&episode)), Some(episode));
/// assert_eq!(unpack(&pack(&Episode::default())), Some(Episode::default()));
/// assert_eq!(unpack(&[1, 2, 3]), None);
/// ```
pub fn unpack(bytes: &[u8]) -> Option<Episode> {
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    let steps = u32::from_le_bytes(*first) as usize;
    if steps == 0 && rest.is_empty() {
        return Some(Episode::default());
    }
    let actions = steps.checked_sub(1)?;
    let (indices, values) = rest.split_at_checked(4 * (steps + 2 * actions))?;
    if values.len() != 8 * (actions + steps) {
        return None;
    }
    let (indices, values) = (indices.as_chunks::<4>().0, values.as_chunks::<8>().0);
    let mut indices = indices.iter().map(|it| u32::from_le_bytes(*it) as usize);
    let mut values = values
        .iter()
        .map(|it| f64::from_bits(u64::from_le_bytes(*it)));
    Some(Episode {
        states: indices.by_ref().take(steps).collect(),
        actions: indices.by_ref().take(actions).collect(),
        feedbacks: indices.collect(),
        costs: values.by_ref().take(actions).collect(),
        rewards: values.collect(),
    })
}
