//! Delays of outcomes, counted in episodes.

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::parameter::ParameterError;
use crate::rng::Stream;

/// The delay of outcomes, as the number of later episodes that begin before the outcome arrives.
///
/// ```
/// use emab::conditions::Delay;
/// assert!(Delay::Fixed(0).is_none());
/// assert_eq!(Delay::batches(0).unwrap_err().to_string(), "`size` must be a whole number of at least 1, got 0");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DelayDto", into = "DelayDto")]
pub enum Delay {
    /// Before the next episode begins.
    #[default]
    None,
    /// After this number of later episodes have begun: with `d`, `d + 1` episodes are pending.
    Fixed(u64),
    /// After a geometric number of later episodes: `P(D = k) = (1 - p)^k p` with `p = 1 / (1 + mean)`.
    Geometric(DelayMean),
    /// The outcomes of this number of episodes together, after the last of them.
    Batches(NonZeroU64),
}

/// The mean of a geometric delay: a finite number of at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayMean(f64);

impl DelayMean {
    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl Delay {
    /// A geometric delay of this mean.
    pub fn geometric(mean: f64) -> Result<Delay, ParameterError> {
        if (0.0..=1e15).contains(&mean) {
            Ok(Delay::Geometric(DelayMean(mean + 0.0)))
        } else {
            let rule = "be a number from 0 to 1e15";
            Err(ParameterError::new("mean", rule, mean))
        }
    }

    /// Outcomes in batches of this size.
    pub fn batches(size: u64) -> Result<Delay, ParameterError> {
        NonZeroU64::new(size)
            .map(Delay::Batches)
            .ok_or_else(|| ParameterError::new("size", "be a whole number of at least 1", size))
    }

    /// Whether every outcome arrives before the next episode begins.
    pub fn is_none(&self) -> bool {
        match self {
            Delay::None | Delay::Fixed(0) => true,
            Delay::Fixed(_) => false,
            Delay::Geometric(mean) => mean.0 == 0.0,
            Delay::Batches(size) => size.get() == 1,
        }
    }

    /// The episode before which the outcome of episode `n` arrives, both counted from 1; later than `n`.
    pub(crate) fn due(&self, n: u64, stream: &mut Stream) -> u64 {
        match self {
            Delay::Geometric(mean) => after(n, geometric(mean.0, stream.uniform())),
            Delay::None | Delay::Fixed(_) | Delay::Batches(_) => self.expected_due(n),
        }
    }

    /// The same for the expected delay.
    pub(crate) fn expected_due(&self, n: u64) -> u64 {
        let late = match self {
            Delay::None => 0,
            Delay::Fixed(others) => *others,
            Delay::Geometric(mean) => mean.0 as u64,
            // Episodes count from 1: a batch is complete after a multiple of its size.
            Delay::Batches(size) => (size.get() - n % size.get()) % size.get(),
        };
        after(n, late)
    }
}

/// The episode after `n` and this many others.
fn after(n: u64, others: u64) -> u64 {
    n.saturating_add(1).saturating_add(others)
}

/// A geometric number of failures with success probability `1 / (1 + mean)`, by inversion of a uniform.
fn geometric(mean: f64, uniform: f64) -> u64 {
    let fails = mean / (1.0 + mean);
    // 0 / -inf is 0 where the mean is 0.
    (libm::log1p(-uniform) / libm::log(fails)) as u64
}

/// A delay in the problem file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum DelayDto {
    Episodes(u64),
    Kind(Kind),
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind {
    Fixed { episodes: u64 },
    Geometric { mean: f64 },
    Batches { size: u64 },
}

impl TryFrom<DelayDto> for Delay {
    type Error = ParameterError;

    fn try_from(written: DelayDto) -> Result<Delay, ParameterError> {
        match written {
            DelayDto::Episodes(0) => Ok(Delay::None),
            DelayDto::Episodes(n) | DelayDto::Kind(Kind::Fixed { episodes: n }) => {
                Ok(Delay::Fixed(n))
            }
            DelayDto::Kind(Kind::Geometric { mean }) => Delay::geometric(mean),
            DelayDto::Kind(Kind::Batches { size }) => Delay::batches(size),
        }
    }
}

impl From<Delay> for DelayDto {
    fn from(delay: Delay) -> DelayDto {
        match delay {
            Delay::None => DelayDto::Episodes(0),
            Delay::Fixed(n) => DelayDto::Episodes(n),
            Delay::Geometric(mean) => DelayDto::Kind(Kind::Geometric { mean: mean.0 }),
            Delay::Batches(size) => DelayDto::Kind(Kind::Batches { size: size.get() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Role;

    fn due(delay: Delay, n: u64) -> u64 {
        delay.due(n, &mut Stream::new(1, 0, Role::Delay))
    }

    #[test]
    fn when_outcomes_are_due() {
        let all = |delay| [1, 2, 3, 4, 5, 6].map(|n| due(delay, n));
        assert_eq!(all(Delay::None), [2, 3, 4, 5, 6, 7]);
        assert_eq!(all(Delay::Fixed(2)), [4, 5, 6, 7, 8, 9]);
        assert_eq!(all(Delay::batches(3).unwrap()), [4, 4, 4, 7, 7, 7]);
        assert_eq!(all(Delay::geometric(0.0).unwrap()), [2, 3, 4, 5, 6, 7]);
        assert_eq!(due(Delay::Fixed(u64::MAX), u64::MAX), u64::MAX);
        assert_eq!(Delay::geometric(4.5).unwrap().expected_due(10), 15);
        assert_eq!(Delay::batches(3).unwrap().expected_due(4), 7);
    }

    #[test]
    fn geometric_delays_have_their_distribution() {
        let (mean, n) = (4.0, 200_000_u32);
        let mut stream = Stream::new(2, 0, Role::Delay);
        let mut counts = [0_u32; 64];
        let mut sum = 0.0;
        for _ in 0..n {
            let late = Delay::geometric(mean).unwrap().due(0, &mut stream) - 1;
            sum += late as f64;
            counts[(late as usize).min(63)] += 1;
        }
        let n = f64::from(n);
        // The variance is m (1 + m).
        assert!((sum / n - mean).abs() < 4.5 * (mean * (1.0 + mean) / n).sqrt());
        for (k, &count) in counts.iter().enumerate().take(20) {
            let p = 0.2 * 0.8_f64.powi(k as i32);
            let z = (f64::from(count) - n * p) / (n * p * (1.0 - p)).sqrt();
            assert!(z.abs() < 4.5, "{k}: {z} standard errors off");
        }
    }
}
