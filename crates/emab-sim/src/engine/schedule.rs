//! The episodes at which a run is measured.

use super::stuck;

/// The episodes at which the regret and the gain of a run are taken, and what each of them is for.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Increasing; the last one is the last episode of the run.
    pub(crate) episodes: Vec<u64>,
    /// The positions of the checkpoints of the curve.
    pub(crate) curve: Vec<usize>,
    /// The positions of the episodes that are recorded for every run.
    pub(crate) recorded: Vec<usize>,
    /// The position of the middle of the run; none where a run is too short to be stuck.
    pub(crate) half: Option<usize>,
}

impl Schedule {
    /// The schedule of a run with these checkpoints, the last of which is its last episode. `recorded` are some of them.
    pub(crate) fn new(checkpoints: &[u64], recorded: &[u64]) -> Schedule {
        let last = checkpoints.last().copied().unwrap_or(0);
        let half = stuck::half(last);
        let mut episodes: Vec<u64> = checkpoints.iter().copied().chain(half).collect();
        episodes.sort_unstable();
        episodes.dedup();
        let position = |episode: &u64| episodes.binary_search(episode).ok();
        Schedule {
            curve: checkpoints.iter().filter_map(position).collect(),
            recorded: recorded.iter().filter_map(position).collect(),
            half: half.as_ref().and_then(position),
            episodes,
        }
    }
}
