//! Confidence intervals for a mean over runs and for a proportion.

/// The 97.5 % quantile of the normal distribution: half the width of a 95 % interval, in standard errors.
pub const NORMAL_975: f64 = 1.959_963_984_540_054;

/// Runs from which the interval of a mean uses the normal distribution; below, it uses Student's t.
const NORMAL_FROM: u64 = 30;

/// Half the width of the 95 % interval of a mean over this many runs: Student's t below 30 runs, the normal distribution from 30 on.
/// Infinite for a single run.
///
/// ```
/// use emab::stats::half_width;
/// assert!((half_width(1.0, 5) - 2.776445105).abs() < 1e-8);
/// assert_eq!(half_width(2.0, 30), 2.0 * emab::stats::NORMAL_975);
/// assert_eq!((half_width(0.0, 5), half_width(0.0, 1)), (0.0, f64::INFINITY));
/// ```
pub fn half_width(stderr: f64, runs: u64) -> f64 {
    match runs {
        0 | 1 => f64::INFINITY,
        NORMAL_FROM.. => NORMAL_975 * stderr,
        _ => student_t_975(runs - 1) * stderr,
    }
}

/// The 97.5 % quantile of Student's t distribution: `T^2 = v (1 - B) / B` with `B` beta distributed with parameters `v/2` and 1/2.
fn student_t_975(degrees: u64) -> f64 {
    let v = degrees as f64;
    let b = quantile(0.05, 0.5 * v, 0.5);
    (v * (1.0 - b) / b).sqrt()
}

/// The Clopper-Pearson interval for a probability after `hits` in `trials`: it misses with probability at most
/// `1 - confidence` for every probability.
///
/// ```
/// use emab::stats::clopper_pearson;
/// let (low, high) = clopper_pearson(0, 1000, 0.95);
/// assert_eq!(low, 0.0);
/// assert!((high - (1.0 - 0.025_f64.powf(1.0 / 1000.0))).abs() < 1e-12);
/// ```
pub fn clopper_pearson(hits: u64, trials: u64, confidence: f64) -> (f64, f64) {
    let (k, n) = (hits.min(trials) as f64, trials as f64);
    let tail = (1.0 - confidence) / 2.0;
    let low = if hits == 0 {
        0.0
    } else {
        quantile(tail, k, n - k + 1.0)
    };
    let high = if hits >= trials {
        1.0
    } else {
        quantile(1.0 - tail, k + 1.0, n - k)
    };
    (low, high)
}

/// The quantile of the beta distribution, by bisection: the distribution function only rises.
fn quantile(p: f64, a: f64, b: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    // Halving 1 a thousand times passes the smallest number there is; it ends much sooner where numbers run out.
    for _ in 0..1100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if beta(middle, a, b) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function `I_x(a, b)`, by its continued fraction (modified Lentz).
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean; on the other its mirror image does.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let front = libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b)
        + a * libm::log(x)
        + b * libm::log1p(-x);
    let tiny = 1e-300;
    let guard = |value: f64| if value.abs() < tiny { tiny } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for coefficient in [even, odd] {
            d = 1.0 / guard(1.0 + coefficient * d);
            c = guard(1.0 + coefficient / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(front) * fraction / a
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `P(X >= k)` for a binomial, term by term.
    fn at_least(k: u64, n: u64, p: f64) -> f64 {
        let term = |i: u64| {
            let choose: f64 = (0..i).map(|j| ((n - j) as f64 / (i - j) as f64).ln()).sum();
            (choose + i as f64 * p.ln() + (n - i) as f64 * (1.0 - p).ln()).exp()
        };
        (k..=n).map(term).sum()
    }

    #[test]
    fn each_tail_has_half_the_error_probability() {
        for (k, n) in [(1, 10), (5, 10), (9, 10), (3, 400), (200, 400), (399, 400)] {
            let (low, high) = clopper_pearson(k, n, 0.95);
            assert!((at_least(k, n, low) - 0.025).abs() < 1e-9, "{k} of {n}");
            assert!(
                (1.0 - at_least(k + 1, n, high) - 0.025).abs() < 1e-9,
                "{k} of {n}"
            );
        }
    }

    #[test]
    fn student_t_by_a_table() {
        // The 0.975 column of a printed table.
        for (degrees, expected) in [(1, 12.7062), (2, 4.3027), (9, 2.2622), (28, 2.0484)] {
            assert!(
                (student_t_975(degrees) - expected).abs() < 5e-5,
                "{degrees}"
            );
        }
    }

    #[test]
    fn intervals_at_the_extremes() {
        assert_eq!(clopper_pearson(0, 0, 0.95), (0.0, 1.0));
        assert_eq!(clopper_pearson(7, 7, 0.95).1, 1.0);
        let (low, high) = clopper_pearson(0, 100_000_000, 0.95);
        assert!(low == 0.0 && (high - 3.6889e-8).abs() < 1e-11, "{high}");
    }
}
