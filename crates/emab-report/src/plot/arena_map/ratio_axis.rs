//! The log axis of a panel.

use emab::stats::half_width;
use emab_sim::results::Measured;

/// Largest factor between 1 and the ends of the axis: one outlier must not compress all other points.
const MAX_FACTOR: f64 = 1000.0;

/// A log axis of ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioAxis {
    lo: f64,
    hi: f64,
}

/// Position of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Position {
    /// At this fraction of the axis.
    On(f64),
    /// Below the axis, or not a number.
    Below,
    /// Above the axis.
    Above,
}

impl RatioAxis {
    /// The axis that covers these ratios, of this many runs, and 1.
    pub(super) fn new(values: impl Iterator<Item = Measured>, runs: u64) -> RatioAxis {
        let (mut lo, mut hi) = (0.5_f64, 2.0_f64);
        for value in values {
            if value.mean > 0.0 {
                // An interval may include 0: it widens the axis by at most a factor of 2.
                let arm = half_width(value.stderr, runs);
                lo = lo.min((value.mean - arm).max(value.mean / 2.0));
                hi = hi.max(value.mean + arm);
            }
        }
        RatioAxis {
            lo: nice(lo.max(1.0 / MAX_FACTOR) * 1.001, false),
            hi: nice(hi.min(MAX_FACTOR) / 1.001, true),
        }
    }

    fn fraction(self, value: f64) -> f64 {
        (value / self.lo).log10() / (self.hi / self.lo).log10()
    }

    pub(super) fn position(self, value: f64) -> Position {
        if value < self.lo || value.is_nan() {
            Position::Below
        } else if value > self.hi {
            Position::Above
        } else {
            Position::On(self.fraction(value).clamp(0.0, 1.0))
        }
    }

    /// Position of a value as a fraction of the axis, clamped to it.
    pub(super) fn clamped(self, value: f64) -> f64 {
        match self.position(value) {
            Position::On(fraction) => fraction,
            Position::Below => 0.0,
            Position::Above => 1.0,
        }
    }

    /// Position and text of each tick: powers of ten, with 2 and 5 or 3 in between on a short axis.
    pub(super) fn ticks(self) -> Vec<(f64, String)> {
        let steps: &[f64] = match (self.hi / self.lo).log10() {
            decades if decades < 1.35 => &[1.0, 2.0, 5.0],
            decades if decades < 2.3 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let decades = self.lo.log10().floor() as i32..=self.hi.log10().ceil() as i32;
        decades
            .flat_map(|decade| {
                steps
                    .iter()
                    .map(move |step| (decade, step * 10_f64.powi(decade)))
            })
            .filter(|(_, tick)| (self.lo * 0.999..=self.hi * 1.001).contains(tick))
            .map(|(decade, tick)| {
                let decimals = usize::try_from(-decade).unwrap_or(0);
                (
                    self.fraction(tick).clamp(0.0, 1.0),
                    format!("{tick:.decimals$}"),
                )
            })
            .collect()
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn nice(value: f64, up: bool) -> f64 {
    let decade = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * decade);
    let found = if up {
        steps.into_iter().find(|step| *step >= value)
    } else {
        steps.into_iter().rfind(|step| *step <= value)
    };
    found.unwrap_or(value)
}
