//! Confidence sequences for a mean: intervals that hold at all counts at once, so that data may be added until they decide.
//!
//! Let `X_1, X_2, ...` be independent with the same mean `mu`, `m` their mean and `v` their variance (divisor `n`) after `n` of them, and
//! `s = (m - mu)^2 / v`. For normal observations of any variance, and any `c > 0` with `g = c^2 / (n + c^2)`,
//!
//! `E_n = sqrt(g) ((1 + s) / (1 + g s))^(n/2)`
//!
//! is a nonnegative martingale that begins at 1, with respect to the statistics that do not depend on the scale: the likelihood ratio
//! with a normal prior of variance `1/c^2` on the standardised mean and the right Haar measure on the scale (Lai 1976; Wang and Ramdas 2025,
//! "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance"). By Ville's inequality it reaches
//! `1/error` at any time with probability at most `error`. Solved for `mu`, with `a = (error sqrt(g))^(-2/n)`:
//!
//! `|m - mu| < sqrt(v (a - 1) / (1 - a g))`, or no bound where `a g >= 1`.
//!
//! So the intervals are exact for normal observations. For others they are asymptotic: since `a - 1 >= log a` and `1 - a g <= 1 - g`, the
//! interval contains `sqrt(v 2 (n + c^2)/n^2 log(1 / (error sqrt(g))))`, the asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and
//! Ramdas (2024, "Time-uniform central limit theory and asymptotic confidence sequences", Theorem 2.2 with `rho = 1/c`), which needs more than two
//! moments. Both widths have the same limit.

/// A confidence sequence for the mean of independent, identically distributed observations.
///
/// ```
/// use emab::stats::ConfidenceSequence;
/// let mut sequence = ConfidenceSequence::new(0.05, 200);
/// (0..100).for_each(|i| sequence.add(f64::from(i % 2)));
/// // 0.5 in 100 observations with a standard deviation of 0.5: an interval for one time only has 1.96 * 0.05 = 0.098.
/// assert_eq!(sequence.mean(), 0.5);
/// assert!((sequence.half_width() - 0.1587).abs() < 1e-4);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConfidenceSequence {
    /// `log(1/error)`.
    log: f64,
    /// `c^2`.
    prior: f64,
    count: u64,
    mean: f64,
    /// The sum of squared deviations from the mean.
    squares: f64,
}

impl ConfidenceSequence {
    /// A sequence of intervals that all contain the mean, except with this probability. They are tightest, for their count, at
    /// about `tightest` observations.
    pub fn new(error: f64, tightest: u64) -> ConfidenceSequence {
        let log = -libm::log(error);
        // The minimum over c of the width at this count, to first order (Waudby-Smith et al. 2024, Appendix B.2).
        let prior = tightest.max(1) as f64 / (2.0 * log + libm::log1p(2.0 * log));
        ConfidenceSequence {
            log,
            prior,
            count: 0,
            mean: 0.0,
            squares: 0.0,
        }
    }

    /// Adds an observation.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// The number of observations.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of the observations.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Half the width of the interval, which is centred at the mean; infinite for few observations.
    pub fn half_width(&self) -> f64 {
        let n = self.count as f64;
        if self.count == 0 {
            return f64::INFINITY;
        }
        let g = self.prior / (n + self.prior);
        let power = (2.0 * self.log - libm::log(g)) / n;
        let left = 1.0 - g * libm::exp(power);
        if left <= 0.0 {
            return f64::INFINITY;
        }
        (self.squares / n * libm::expm1(power) / left).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Role, Stream};

    fn sequence(error: f64, values: &[f64]) -> ConfidenceSequence {
        let mut sequence = ConfidenceSequence::new(error, 50);
        values.iter().for_each(|&value| sequence.add(value));
        sequence
    }

    /// The logarithm of the evidence against a mean of 0, from the sums of Wang and Ramdas, Theorem 4.7.
    fn log_evidence(values: &[f64], prior: f64) -> f64 {
        let n = values.len() as f64;
        let sum: f64 = values.iter().sum();
        let squares: f64 = values.iter().map(|value| value * value).sum();
        let ratio = (n + prior) * squares / ((n + prior) * squares - sum * sum);
        0.5 * (prior / (n + prior)).ln() + 0.5 * n * ratio.ln()
    }

    #[test]
    fn the_evidence_at_the_ends_of_an_interval_is_one_over_the_error() {
        let mut stream = Stream::new(4, 0, Role::Learner);
        for n in [20, 100, 1000] {
            let values: Vec<f64> = (0..n).map(|_| 3.0 + 0.5 * stream.normal()).collect();
            let one = sequence(0.01, &values);
            for end in [one.mean() - one.half_width(), one.mean() + one.half_width()] {
                let centred: Vec<f64> = values.iter().map(|value| value - end).collect();
                let evidence = log_evidence(&centred, one.prior);
                assert!((evidence - 100_f64.ln()).abs() < 1e-6, "{n}: {evidence}");
            }
        }
    }

    #[test]
    fn the_evidence_is_a_martingale() {
        // Its mean stays 1 without a difference, by numerical integration over the third observation.
        let (values, prior) = ([0.4, -1.3], 2.0);
        let before = log_evidence(&values, prior);
        // Given the scale-free statistics, the next observation in units of sqrt(sum of squares) has density
        // proportional to (1 + y^2)^(-3/2): Student's t with two degrees, up to scale.
        let norm = (0.4_f64 * 0.4 + 1.3 * 1.3).sqrt();
        let (mut total, mut weight) = (0.0, 0.0);
        let steps = 200_000;
        for i in 0..steps {
            // y = tan(angle), dy = (1 + y^2) d(angle).
            let angle = ((f64::from(i) + 0.5) / f64::from(steps) - 0.5) * std::f64::consts::PI;
            let y = angle.tan();
            let density = (1.0 + y * y).powf(-0.5);
            total += density * log_evidence(&[0.4, -1.3, y * norm], prior).exp();
            weight += density;
        }
        assert!((total / weight / before.exp() - 1.0).abs() < 1e-4);
    }

    #[test]
    fn wider_than_the_asymptotic_sequence_and_soon_equal() {
        let mut stream = Stream::new(5, 0, Role::Learner);
        let values: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        for (n, most) in [(20, 2.0), (200, 1.1), (100_000, 1.001)] {
            let one = sequence(0.05, &values[..n]);
            let (n, c2) = (n as f64, one.prior);
            let variance = one.squares / n;
            let log = ((n / c2 + 1.0).sqrt() / 0.05).ln();
            let asymptotic = (variance * 2.0 * (n + c2) / (n * n) * log).sqrt();
            let ratio = one.half_width() / asymptotic;
            assert!((1.0..most).contains(&ratio), "{n}: {ratio}");
        }
    }

    #[test]
    fn the_extremes() {
        assert_eq!(sequence(0.05, &[]).half_width(), f64::INFINITY);
        assert_eq!(sequence(0.05, &[3.0]).half_width(), f64::INFINITY);
        assert_eq!(sequence(1e-9, &[1.0, 2.0, 4.0]).half_width(), f64::INFINITY);
        let constant = sequence(0.05, &[0.1; 50]);
        assert_eq!((constant.mean(), constant.half_width()), (0.1, 0.0));
    }

    #[test]
    fn few_sequences_of_normal_observations_miss_their_mean_at_any_time() {
        let misses = (0..400).filter(|&run| {
            let mut stream = Stream::new(6, run, Role::Learner);
            let mut sequence = ConfidenceSequence::new(0.1, 50);
            (0..1000).any(|_| {
                sequence.add(stream.normal());
                sequence.mean().abs() > sequence.half_width()
            })
        });
        // At most 40 are expected, with a standard deviation of 6.
        let misses = misses.count();
        assert!((4..58).contains(&misses), "{misses}");
    }
}
