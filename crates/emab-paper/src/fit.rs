//! Weighted linear regression through measurements with errors.

use crate::measurement::Estimate;

/// The slope of `y = intercept + slope * x` by weighted least squares through points `(x, y)`, with the standard error
/// that follows from those of the measurements; unknown for fewer than two different `x` or an error that is not above 0.
pub(crate) fn slope(points: &[(f64, Estimate)]) -> Estimate {
    let mut sums = [0.0; 5];
    for &(x, Estimate(y, error)) in points {
        let weight = 1.0 / (error * error);
        if !weight.is_finite() {
            return Estimate::UNKNOWN;
        }
        for (sum, term) in sums.iter_mut().zip([1.0, x, y, x * x, x * y]) {
            *sum += weight * term;
        }
    }
    let [w, x, y, xx, xy] = sums;
    let determinant = w * xx - x * x;
    if determinant <= 1e-12 * w * xx {
        return Estimate::UNKNOWN;
    }
    Estimate((w * xy - x * y) / determinant, (w / determinant).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slope_is_found_again_and_its_error_is_the_textbook_s() {
        let points: Vec<_> = (0..5)
            .map(f64::from)
            .map(|x| (x, Estimate(3.0 - 2.0 * x, 0.5)))
            .collect();
        let Estimate(slope, stderr) = slope(&points);
        assert!((slope + 2.0).abs() < 1e-12);
        // sigma / sqrt(sum (x - mean)^2) = 0.5 / sqrt(10)
        assert!((stderr - 0.5 / 10.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn points_without_a_slope_give_none() {
        let at = |x, y, error| (x, Estimate(y, error));
        for points in [
            vec![at(1.0, 1.0, 0.1)],
            vec![at(1.0, 1.0, 0.1), at(1.0, 2.0, 0.1)],
            vec![at(1.0, 1.0, 0.0), at(2.0, 2.0, 0.1)],
        ] {
            assert!(slope(&points).0.is_nan(), "{points:?}");
        }
    }
}
