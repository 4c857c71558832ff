//! The log axis of a panel.

use emab_sim::results::Measured;

use super::super::BAND;

/// The axis never reaches further than this from 1, so that one outlier does not press all others together.
const FURTHEST: f64 = 1000.0;

/// From one ratio to another, on a log scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    lo: f64,
    hi: f64,
}

/// Where a value stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Spot {
    /// At this share of the axis.
    On(f64),
    /// Before its beginning, or nothing at all.
    Below,
    /// Behind its end.
    Above,
}

impl Range {
    /// The range of these ratios, with 1 in it.
    pub(super) fn of(values: impl Iterator<Item = Measured>) -> Range {
        let (mut lo, mut hi) = (0.5_f64, 2.0_f64);
        for value in values {
            if value.mean > 0.0 {
                // An interval may reach to 0 and below: it widens the axis by no more than a factor 2.
                let arm = BAND * value.stderr;
                lo = lo.min((value.mean - arm).max(value.mean / 2.0));
                hi = hi.max(value.mean + arm);
            }
        }
        Range {
            lo: nice(lo.max(1.0 / FURTHEST) * 1.001, false),
            hi: nice(hi.min(FURTHEST) / 1.001, true),
        }
    }

    fn share(self, value: f64) -> f64 {
        (value / self.lo).log10() / (self.hi / self.lo).log10()
    }

    pub(super) fn spot(self, value: f64) -> Spot {
        if value < self.lo || value.is_nan() {
            Spot::Below
        } else if value > self.hi {
            Spot::Above
        } else {
            Spot::On(self.share(value).clamp(0.0, 1.0))
        }
    }

    /// A value's share of the axis, held within it.
    pub(super) fn held(self, value: f64) -> f64 {
        match self.spot(value) {
            Spot::On(share) => share,
            Spot::Below => 0.0,
            Spot::Above => 1.0,
        }
    }

    /// Share and text of each tick: the powers of ten, and some between them where these are few.
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
                    self.share(tick).clamp(0.0, 1.0),
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
