//! Poisson probabilities, with the same bits on every machine.
//!
//! The probability follows Loader, *Fast and accurate computation of binomial probabilities* (2000): the logarithm is a
//! sum of small terms, and does not cancel where the mean is large. A tail is the sum of the terms on its smaller side.

use std::f64::consts::{PI, TAU};

/// The largest mean, and the largest number of events. A tail at the largest mean has some 300,000 terms.
pub(super) const LARGEST: f64 = 1e9;

/// `P(N = k)`, or why it is not defined.
pub(super) fn probability(k: f64, mean: f64) -> Result<f64, &'static str> {
    check(k, mean)?;
    Ok(term(k, mean))
}

/// `P(N >= k)`, or why it is not defined.
pub(super) fn tail(k: f64, mean: f64) -> Result<f64, &'static str> {
    check(k, mean)?;
    if k == 0.0 {
        return Ok(1.0);
    }
    if k > mean {
        return Ok(sum(term(k, mean), |i| mean / (k + i)));
    }
    // Terms below k, from k - 1 downward; the factor of the term after the last, for no events, is 0.
    Ok(1.0 - sum(term(k - 1.0, mean), |i| (k - i) / mean))
}

fn check(k: f64, mean: f64) -> Result<(), &'static str> {
    if k.fract() != 0.0 || !(0.0..=LARGEST).contains(&k) {
        return Err("the number of events must be a whole number from 0 to 1e9");
    }
    if !(0.0..=LARGEST).contains(&mean) {
        return Err("the mean must be a number from 0 to 1e9");
    }
    Ok(())
}

/// A sum whose term `i` is the one before it times `factor(i)`; the factors decrease from at most 1.
fn sum(first: f64, factor: impl Fn(f64) -> f64) -> f64 {
    let (mut term, mut sum, mut i) = (first, first, 1.0);
    while term > sum * 1e-17 {
        term *= factor(i);
        sum += term;
        i += 1.0;
    }
    sum.min(1.0)
}

fn term(k: f64, mean: f64) -> f64 {
    if mean == 0.0 {
        return if k == 0.0 { 1.0 } else { 0.0 };
    }
    if k == 0.0 {
        return libm::exp(-mean);
    }
    libm::exp(-stirling_error(k) - deviance(k, mean)) / (TAU * k).sqrt()
}

/// `ln k! - ln(sqrt(2 pi k) (k / e)^k)`.
fn stirling_error(k: f64) -> f64 {
    if k < 16.0 {
        let mut factorial = 1.0;
        let mut i = 2.0;
        while i <= k {
            factorial *= i;
            i += 1.0;
        }
        return libm::log(factorial) - 0.5 * libm::log(2.0 * PI * k) - k * libm::log(k) + k;
    }
    let square = k * k;
    let series = 1.0 / 1680.0 - 1.0 / 1188.0 / square;
    let series = 1.0 / 1260.0 - series / square;
    let series = 1.0 / 360.0 - series / square;
    (1.0 / 12.0 - series / square) / k
}

/// `k ln(k / mean) + mean - k`, at least 0.
fn deviance(k: f64, mean: f64) -> f64 {
    let difference = k - mean;
    if difference.abs() >= 0.1 * (k + mean) {
        return k * libm::log(k / mean) + mean - k;
    }
    // With v = (k - mean) / (k + mean): ln(k / mean) = 2 (v + v^3 / 3 + v^5 / 5 + ...).
    let v = difference / (k + mean);
    let square = v * v;
    let (mut power, mut total, mut odd) = (2.0 * k * v, difference * v, 1.0);
    loop {
        power *= square;
        odd += 2.0;
        let next = total + power / odd;
        if next == total {
            return next;
        }
        total = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the definition, with exact factorials: good for small numbers.
    fn plain(k: u32, mean: f64) -> f64 {
        let factors = (1..=k).map(|i| mean / f64::from(i));
        factors.product::<f64>() * (-mean).exp()
    }

    fn close(got: f64, expected: f64, tolerance: f64) {
        let error = (got - expected).abs();
        assert!(
            error <= tolerance * expected.abs(),
            "{got}, expected {expected}"
        );
    }

    #[test]
    fn probabilities_follow_the_definition() {
        for mean in [1e-6, 0.01, 0.5, 1.0, 3.7, 15.0, 16.0, 40.0, 120.0] {
            for k in 0..150 {
                let expected = plain(k, mean);
                if expected > 1e-290 {
                    close(probability(f64::from(k), mean).unwrap(), expected, 2e-13);
                }
            }
        }
    }

    #[test]
    fn probabilities_and_tails_sum_to_1() {
        for mean in [0.0, 1e-6, 0.3, 2.0, 15.9, 100.0, 1000.0, 10_000.0] {
            for last in [1, 2, 10, 99, 100, 101, 1000, 10_100] {
                let below: f64 = (0..last).map(|k| term(f64::from(k), mean)).sum();
                let sum = below + tail(f64::from(last), mean).unwrap();
                assert!((sum - 1.0).abs() < 2e-12, "{mean} {last}: {sum}");
            }
        }
    }

    #[test]
    fn large_means_and_the_ends() {
        // The mean of the distribution is its median to within 1: both sides have about one half.
        for mean in [1e6, 1e9] {
            close(tail(mean, mean).unwrap(), 0.5, 1e-3);
            close(
                probability(mean, mean).unwrap(),
                1.0 / (TAU * mean).sqrt(),
                1e-6,
            );
        }
        assert_eq!(probability(0.0, 0.0), Ok(1.0));
        assert_eq!(probability(3.0, 0.0), Ok(0.0));
        assert_eq!((tail(0.0, 0.0), tail(1.0, 0.0)), (Ok(1.0), Ok(0.0)));
        assert_eq!(tail(1e9, 1.0), Ok(0.0));
        close(tail(1.0, 1e-12).unwrap(), 1e-12, 1e-11);
        assert_eq!(tail(5.0, 1e6), Ok(1.0));
        for wrong in [0.5, -1.0, 2e9] {
            assert!(
                probability(wrong, 1.0)
                    .unwrap_err()
                    .contains("whole number")
            );
        }
        for wrong in [-0.1, 2e9] {
            assert!(tail(1.0, wrong).unwrap_err().contains("the mean"));
        }
    }
}
