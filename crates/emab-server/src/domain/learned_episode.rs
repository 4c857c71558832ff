//! An episode as it was learned, packed for the store: what a learner is taught again from.

use emab::Episode;

/// Packs it: the number of steps, then states, actions and feedbacks, then costs and rewards with all their bits.
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

/// Unpacks it; none if these are not the bytes of an episode.
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
/// assert_eq!(unpack(&[1, 2, 3]), None);
/// ```
pub fn unpack(bytes: &[u8]) -> Option<Episode> {
    let (first, mut rest) = bytes.split_first_chunk::<4>()?;
    let steps = u32::from_le_bytes(*first) as usize;
    let told = steps.checked_sub(1)?;
    if rest.len() != 4 * (steps + 2 * told) + 8 * (told + steps) {
        return None;
    }
    let mut whole = |count: usize| {
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            let (value, after) = rest.split_first_chunk::<4>()?;
            list.push(u32::from_le_bytes(*value) as usize);
            rest = after;
        }
        Some(list)
    };
    let (states, actions, feedbacks) = (whole(steps)?, whole(told)?, whole(told)?);
    let mut real = |count: usize| {
        let mut list = Vec::with_capacity(count);
        for _ in 0..count {
            let (value, after) = rest.split_first_chunk::<8>()?;
            list.push(f64::from_bits(u64::from_le_bytes(*value)));
            rest = after;
        }
        Some(list)
    };
    Some(Episode {
        states,
        actions,
        feedbacks,
        costs: real(told)?,
        rewards: real(steps)?,
    })
}
