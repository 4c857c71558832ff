//! The points of a curve.

use emab::stats::{Quantiles, half_width};
use emab_sim::results::{CurvePoint, LearnerResult};

use super::LIMIT;

/// One curve, such as the regret of one learner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend; without a name there is no entry.
    pub label: String,
    /// Points, in any order.
    pub points: Vec<SeriesPoint>,
    /// Whether this is a bound instead of a result: bounds are thin grey lines with marks.
    pub bound: bool,
}

/// One point of a curve, with the edges of its bands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Position on the horizontal axis, such as the number of episodes.
    pub x: f64,
    /// The line: the mean or the median.
    pub centre: f64,
    /// Lower and upper edge of the band.
    pub band: (f64, f64),
    /// Lower and upper edge of a wider, lighter band, if there is one.
    pub outer: Option<(f64, f64)>,
    /// Whether the band is an interval that is unreliable, because the runs form two groups: a dagger marks the label of the series.
    pub unreliable: bool,
}

impl Series {
    /// Whether an interval of the series is unreliable.
    pub fn is_unreliable(&self) -> bool {
        self.points.iter().any(|point| point.unreliable)
    }
}

impl SeriesPoint {
    /// A value without a band.
    pub fn exact(x: f64, value: f64) -> SeriesPoint {
        SeriesPoint {
            x,
            centre: value,
            band: (value, value),
            ..SeriesPoint::default()
        }
    }

    /// A mean with its 95 % interval ([`half_width`]); no band for a single run.
    ///
    /// ```
    /// use emab_report::SeriesPoint;
    /// let (lower, upper) = SeriesPoint::mean(100.0, 5.0, 1.0, 1000).band;
    /// assert!((lower - 3.04).abs() < 1e-3 && (upper - 6.96).abs() < 1e-3);
    /// ```
    pub fn mean(x: f64, mean: f64, stderr: f64, runs: u64) -> SeriesPoint {
        if runs < 2 {
            return SeriesPoint::exact(x, mean);
        }
        let half = half_width(stderr, runs);
        SeriesPoint {
            band: (mean - half, mean + half),
            ..SeriesPoint::exact(x, mean)
        }
    }

    /// The median, with the quartiles and the 5 % and 95 % quantiles as bands.
    pub fn quantiles(x: f64, quantiles: &Quantiles) -> SeriesPoint {
        SeriesPoint {
            x,
            centre: quantiles.q50,
            band: (quantiles.q25, quantiles.q75),
            outer: Some((quantiles.q05, quantiles.q95)),
            ..SeriesPoint::default()
        }
    }

    /// The mean regret of a learner at a point of its curve; unreliable at the last one if the runs form two groups.
    pub fn of_mean(x: f64, learner: &LearnerResult, point: &CurvePoint, runs: u64) -> SeriesPoint {
        let is_last = learner.curve.last() == Some(point);
        SeriesPoint {
            unreliable: is_last && learner.groups.is_some(),
            ..SeriesPoint::mean(x, point.regret, point.stderr, runs)
        }
    }

    /// The bands, the wider one first.
    pub(super) fn bands(&self) -> impl Iterator<Item = (f64, f64)> + use<> {
        self.outer.into_iter().chain([self.band])
    }

    /// The edges of the widest band.
    pub(super) fn extent(&self) -> (f64, f64) {
        self.outer.unwrap_or(self.band)
    }

    pub(super) fn is_valid(&self) -> bool {
        let drawable = |value: f64| value.abs() <= LIMIT;
        let around = |(lower, upper): (f64, f64)| {
            drawable(lower) && drawable(upper) && lower <= self.centre && self.centre <= upper
        };
        drawable(self.x) && drawable(self.centre) && self.bands().all(around)
    }
}
