//! At which episodes regret is recorded.

use thiserror::Error;

/// Checkpoints that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    /// Outside of the run.
    #[error("a checkpoint must be from 1 to the number of episodes, {episodes}, got {got}")]
    Range {
        /// What was given.
        got: u64,
        /// The number of episodes.
        episodes: u64,
    },
    /// More than are kept.
    #[error("at most {most} checkpoints are supported, got {got}")]
    TooMany {
        /// How many were given.
        got: usize,
        /// The most.
        most: usize,
    },
}

/// The most checkpoints: each keeps four exact sums for each learner.
const MOST: usize = 10_000;

/// About twenty a decade, evenly spaced on a log axis, the first and the last episode among them.
///
/// ```
/// let at = emab_sim::log_spaced(1000);
/// assert_eq!(at[..6], [1, 2, 3, 4, 5, 6]);
/// assert_eq!(at.last(), Some(&1000));
/// ```
pub fn log_spaced(episodes: u64) -> Vec<u64> {
    // The Renard series R20: the rounded powers of 10^(1/20) that engineers agreed on, exact on every machine.
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

/// Sorts checkpoints, adds the last episode, and refuses those outside of the run.
pub fn check_checkpoints(mut at: Vec<u64>, episodes: u64) -> Result<Vec<u64>, CheckpointError> {
    if let Some(&got) = at.iter().find(|&&n| n == 0 || n > episodes) {
        return Err(CheckpointError::Range { got, episodes });
    }
    at.push(episodes);
    at.sort_unstable();
    at.dedup();
    if at.len() > MOST {
        return Err(CheckpointError::TooMany {
            got: at.len(),
            most: MOST,
        });
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_and_within() {
        for episodes in [1, 2, 10, 999, 20_000, u64::MAX] {
            let at = log_spaced(episodes);
            assert!(at.windows(2).all(|w| w[0] < w[1]));
            assert_eq!(at.last(), Some(&episodes));
            assert_eq!(at[0], 1);
        }
    }

    #[test]
    fn outside_is_named() {
        let error = check_checkpoints(vec![5, 200], 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a checkpoint must be from 1 to the number of episodes, 100, got 200"
        );
        assert_eq!(check_checkpoints(vec![50, 5, 5], 100), Ok(vec![5, 50, 100]));
    }
}
