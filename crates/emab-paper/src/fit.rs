//! Weighted linear regression through measurements with errors.

/// `y = intercept + slope * x` by weighted least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// At `x = 0`.
    pub intercept: f64,
    /// The slope.
    pub slope: f64,
    /// Its standard error, from the errors of the measurements.
    pub stderr: f64,
    /// The largest distance of a measurement from the line, in its own standard errors.
    pub worst: f64,
}

impl Line {
    /// Through points `(x, y, standard error of y)`; none for fewer than two different `x` or an error that is not
    /// above 0.
    pub fn through(points: &[(f64, f64, f64)]) -> Option<Line> {
        let mut sums = [0.0; 5];
        for &(x, y, error) in points {
            let weight = 1.0 / (error * error);
            if !weight.is_finite() {
                return None;
            }
            for (sum, term) in sums.iter_mut().zip([1.0, x, y, x * x, x * y]) {
                *sum += weight * term;
            }
        }
        let [w, x, y, xx, xy] = sums;
        let determinant = w * xx - x * x;
        if determinant <= 1e-12 * w * xx {
            return None;
        }
        let slope = (w * xy - x * y) / determinant;
        let intercept = (xx * y - x * xy) / determinant;
        let away = |&(x, y, error): &(f64, f64, f64)| (y - intercept - slope * x).abs() / error;
        Some(Line {
            intercept,
            slope,
            stderr: (w / determinant).sqrt(),
            worst: points.iter().map(away).fold(0.0, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again_and_its_error_is_the_textbook_s() {
        let points: Vec<_> = (0..5)
            .map(|i| (f64::from(i), 3.0 - 2.0 * f64::from(i), 0.5))
            .collect();
        let line = Line::through(&points).unwrap();
        assert!((line.slope + 2.0).abs() < 1e-12 && (line.intercept - 3.0).abs() < 1e-12);
        // sigma / sqrt(sum (x - mean)^2) = 0.5 / sqrt(10)
        assert!((line.stderr - 0.5 / 10.0_f64.sqrt()).abs() < 1e-12);
        assert!(line.worst < 1e-9);
    }

    #[test]
    fn what_has_no_line_has_none() {
        assert_eq!(Line::through(&[(1.0, 1.0, 0.1)]), None);
        assert_eq!(Line::through(&[(1.0, 1.0, 0.1), (1.0, 2.0, 0.1)]), None);
        assert_eq!(Line::through(&[(1.0, 1.0, 0.0), (2.0, 2.0, 0.1)]), None);
    }
}
