//! Checkpoints: the episodes at which regret is recorded.

use thiserror::Error;

/// Why a list of checkpoints is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// A checkpoint is outside a run of this many episodes.
    #[error("a checkpoint must be from 1 to the number of episodes, {1}, got {0}")]
    Range(u64, u64),
    /// There are too many: their number, and the limit.
    #[error("at most {1} checkpoints are supported, got {0}")]
    TooMany(usize, usize),
}

/// The most checkpoints; each stores four exact sums for each learner.
const MOST: usize = 10_000;

/// About twenty checkpoints per decade, evenly spaced on a log axis, including the first and the last episode.
///
/// ```
/// let at = emab_sim::log_spaced(1000);
/// assert_eq!(at[..6], [1, 2, 3, 4, 5, 6]);
/// assert_eq!(at.last(), Some(&1000));
/// ```
pub fn log_spaced(episodes: u64) -> Vec<u64> {
    // The Renard series R20 (ISO 3): rounded powers of 10^(1/20), exact on every machine.
    const R20: [u64; 20] = [
        100, 112, 125, 140, 160, 180, 200, 224, 250, 280, 315, 355, 400, 450, 500, 560, 630, 710,
        800, 900,
    ];
    let mut at = Vec::new();
    let mut decade: u64 = 1;
    'all: loop {
        for step in R20 {
            let n = (u128::from(step) * u128::from(decade)).div_ceil(100);
            if n >= u128::from(episodes) {
                break 'all;
            }
            at.push(n as u64);
        }
        decade = decade.saturating_mul(10);
    }
    at.push(episodes);
    at.sort_unstable();
    at.dedup();
    at
}

/// Sorts checkpoints and adds the last episode. Fails if one is outside the run or there are too many.
pub fn check_checkpoints(mut at: Vec<u64>, episodes: u64) -> Result<Vec<u64>, CheckpointError> {
    if let Some(&got) = at.iter().find(|&&n| n == 0 || n > episodes) {
        return Err(CheckpointError::Range(got, episodes));
    }
    at.push(episodes);
    at.sort_unstable();
    at.dedup();
    if at.len() > MOST {
        return Err(CheckpointError::TooMany(at.len(), MOST));
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_checkpoints_increase_and_end_at_the_last_episode() {
        for episodes in [1, 2, 10, 999, 20_000, u64::MAX] {
            let at = log_spaced(episodes);
            assert!(at.windows(2).all(|w| w[0] < w[1]));
            assert_eq!(at.last(), Some(&episodes));
            assert_eq!(at[0], 1);
        }
    }

    #[test]
    fn rejects_a_checkpoint_outside_the_run() {
        let error = check_checkpoints(vec![5, 200], 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a checkpoint must be from 1 to the number of episodes, 100, got 200"
        );
        assert_eq!(check_checkpoints(vec![50, 5, 5], 100), Ok(vec![5, 50, 100]));
    }
}
