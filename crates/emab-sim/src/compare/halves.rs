//! The regret of the two halves of a run: whether a learner has begun to learn.

use emab::stats::half_width;

use super::ranking::ratio;
use super::ratios::STANDARD_ERRORS;
use crate::results::{ArenaCellResult, Measured};

/// The cost of an episode of the second half, as a share of one of the first half, from which a learner has not begun to learn. Regret of
/// order `n^p` has `2^p - 1`: 0.41 for `p = 1/2`, and 0.9 for `p = 0.93`.
const NOT_LEARNING: f64 = 0.9;

/// The regret per episode of the first and of the second half of each run.
pub(super) struct Halves {
    /// The regret at half length.
    pub(super) regret: Measured,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl Halves {
    /// Of runs of this many episodes; none if the regret at half length was not recorded.
    pub(super) fn of(cell: &ArenaCellResult, episodes: u64) -> Option<Halves> {
        let half = episodes / 2;
        if half == 0 || cell.halves.is_empty() || cell.halves.len() != cell.finals.len() {
            return None;
        }
        let rest = (episodes - half) as f64;
        let runs = cell.halves.iter().zip(&cell.finals);
        Some(Halves {
            regret: Measured::of(cell.halves.iter().copied()),
            first: cell.halves.iter().map(|a| a / half as f64).collect(),
            second: runs.map(|(a, b)| (b - a) / rest).collect(),
        })
    }

    /// The cost of an episode of the second half divided by that of the first half; none where the first half does not cost more than
    /// four standard errors.
    pub(super) fn growth(&self) -> Option<Measured> {
        let first = Measured::of(self.first.iter().copied());
        let costs = first.mean > STANDARD_ERRORS * first.stderr;
        let ratio = costs.then(|| ratio(&self.second, &self.first, 0.0));
        ratio.flatten()
    }

    /// Whether a learner with this regret has not begun to learn: the 95 % interval of the regret lies above 0, and that of the cost of an
    /// episode of the second half, less [`NOT_LEARNING`] times that of the first half, does not lie below 0 at any point.
    pub(super) fn not_learning(&self, regret: Measured) -> bool {
        let runs = self.first.len() as u64;
        let low = |it: Measured| it.mean - half_width(it.stderr, runs);
        let pairs = self.first.iter().zip(&self.second);
        let excess = Measured::of(pairs.map(|(first, second)| second - NOT_LEARNING * first));
        low(regret) > 0.0 && low(excess) >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(runs: &[(f64, f64)], episodes: u64) -> (Halves, bool) {
        let cell = ArenaCellResult {
            halves: runs.iter().map(|(half, _)| *half).collect(),
            finals: runs.iter().map(|(_, full)| *full).collect(),
            ..ArenaCellResult::default()
        };
        let halves = Halves::of(&cell, episodes).unwrap();
        let flag = halves.not_learning(Measured::of(cell.finals));
        (halves, flag)
    }

    #[test]
    fn growth_by_hand() {
        // Second halves 2, 4, 6 after 10, 12, 8: mean 4 against 10.
        let (learns, flag) = halves(&[(10.0, 12.0), (12.0, 16.0), (8.0, 14.0)], 100);
        let growth = learns.growth().unwrap();
        assert!((growth.mean - 0.4).abs() < 1e-12);
        // Residuals 2 - 4, 4 - 4.8, 6 - 3.2: -2, -0.8, 2.8.
        let variance: f64 = (4.0 + 0.64 + 7.84) / 2.0;
        assert!((growth.stderr - (variance / 3.0).sqrt() / 10.0).abs() < 1e-12);
        assert!(!flag);
        assert_eq!(learns.regret.mean, 10.0);
        // Of 3 episodes the second half has two: the same cost an episode.
        let (odd, flag) = halves(&[(1.0, 3.0), (1.0, 3.0)], 3);
        assert_eq!(
            odd.growth().unwrap(),
            Measured {
                mean: 1.0,
                stderr: 0.0
            }
        );
        assert!(flag);
    }

    #[test]
    fn who_has_not_begun_to_learn() {
        let flag = |runs: &[(f64, f64)]| halves(runs, 100).1;
        // Linear regret, with and without noise.
        assert!(flag(&[(10.0, 20.0); 5]));
        let noise = |i: u32| f64::from(i % 5) / 10.0;
        let linear: Vec<(f64, f64)> = (0..40)
            .map(|i| (10.0 + noise(i), 20.0 + noise(i + 2)))
            .collect();
        assert!(flag(&linear));
        // The same with so much noise that 0.9 cannot be excluded.
        assert!(!flag(&[(10.0, 20.0), (14.0, 21.0), (6.0, 19.0)]));
        // No regret, less than none, and the benchmark's.
        assert!(!flag(&[(0.0, 0.0); 5]) && !flag(&[(-1.0, -2.0); 5]));
        // Regret only in the second half, as after a change.
        assert!(flag(&[(0.0, 10.0), (0.0, 12.0), (0.0, 11.0)]));
        // Slow learning is learning.
        assert!(!flag(&[(10.0, 18.0); 5]));
    }

    #[test]
    fn what_cannot_be_told() {
        let old = ArenaCellResult {
            finals: vec![1.0, 2.0],
            ..ArenaCellResult::default()
        };
        assert!(Halves::of(&old, 100).is_none());
        let one = ArenaCellResult {
            halves: vec![1.0, 2.0],
            ..old
        };
        assert!(Halves::of(&one, 1).is_none());
        // A first half within noise of 0 has no ratio.
        assert_eq!(halves(&[(1.0, 2.0), (-1.0, 3.0)], 10).0.growth(), None);
    }
}
