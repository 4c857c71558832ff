//! The range of an axis and the text of its ticks.

use std::collections::BTreeSet;

use kuva::render::render_utils::{auto_nice_range, generate_ticks, generate_ticks_log};

use super::options::AxisRange;
use crate::text_table::fixed;

/// How many ticks a linear axis aims at.
const TICKS: usize = 5;

/// A log axis reaches at most this far below its greatest value: kuva draws no value
/// below 1e-10, and more decades than this would hide the part worth seeing.
const LOG_FLOOR: f64 = 1e-9;

/// Positive values that span more than this factor get a log axis where that is left to us.
const SPAN: f64 = 30.0;

/// The range of one axis and how to write its ticks.
///
/// Values are given to kuva in multiples of `unit`, a power of ten near the greatest value:
/// kuva takes spans below 2e-16 for empty and loses spans beyond the range of `f64`.
#[derive(Clone, Copy)]
pub(super) struct Axis {
    pub(super) log: bool,
    pub(super) unit: f64,
    pub(super) lo: f64,
    pub(super) hi: f64,
}

impl Axis {
    /// The axis that covers the given pairs of low and high values.
    pub(super) fn over(values: impl Iterator<Item = (f64, f64)>, log: bool) -> Self {
        let (mut lo, mut hi) = if log {
            (f64::MAX, f64::MIN_POSITIVE)
        } else {
            (0.0, 0.0)
        };
        for (low, high) in values {
            lo = lo.min(low);
            hi = hi.max(high);
        }
        let greatest = hi.max(-lo);
        let unit = if greatest > 0.0 {
            // Below 1e-300 a power of ten would lose its digits.
            10_f64.powf(greatest.log10().floor().max(-300.0))
        } else {
            1.0
        };
        (lo, hi) = (lo / unit, hi / unit);
        (lo, hi) = if log {
            nice_log_range(lo.max(LOG_FLOOR), hi.max(LOG_FLOOR))
        } else if lo < hi {
            auto_nice_range(lo, hi, TICKS)
        } else {
            // Nothing but zeros: keep the line off the edge of the picture.
            (-1.0, 1.0)
        };
        Self { log, unit, lo, hi }
    }

    /// The axis from the least to the greatest of some values, zero included or not, and
    /// logarithmic where they are positive and span more than a factor 30.
    pub(super) fn around(values: &[f64]) -> Self {
        let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log = lo > 0.0 && hi / SPAN > lo;
        let over = Self::over([(lo, hi)].into_iter(), log);
        if log || lo >= hi {
            return over;
        }
        let (lo, hi) = auto_nice_range(lo / over.unit, hi / over.unit, TICKS);
        let near = Self { lo, hi, ..over };
        let ticks = generate_ticks(lo, hi, TICKS);
        let labels: BTreeSet<_> = ticks.iter().map(|tick| near.tick_label(*tick)).collect();
        // Values that differ in their last digits only would get ticks that look the same.
        if lo < hi && ticks.len() > 1 && labels.len() == ticks.len() {
            near
        } else {
            over
        }
    }

    /// The axis with some room at both ends, so that marks do not stand on its corners.
    pub(super) fn padded(self) -> Self {
        const PART: f64 = 0.03;
        let Self { lo, hi, .. } = self;
        let (lo, hi) = if self.log {
            let room = (hi / lo).powf(PART);
            (lo / room, hi * room)
        } else {
            let room = PART * (hi - lo);
            (lo - room, hi + room)
        };
        Self { lo, hi, ..self }
    }

    /// The value as kuva gets it, never below the foot of the axis.
    pub(super) fn place(&self, value: f64) -> f64 {
        (value / self.unit).max(self.lo)
    }

    /// The text of a tick: `12,500` where all ticks of the axis are short that way, else
    /// `2.5×10⁸`.
    pub(super) fn tick_label(&self, tick: f64) -> String {
        let value = tick * self.unit;
        if !self.log && tick.abs() < 1e-9 {
            return "0".to_owned();
        }
        let greatest = self.unit * self.hi.max(-self.lo);
        // A log axis with room at its ends begins somewhat before its first tick.
        let (least, short) = if self.log {
            (self.unit * self.lo, 0.501e-3)
        } else {
            (greatest, 0.999e-3)
        };
        let text = if greatest < 1e7 && least >= short {
            trim_zeros(&fixed(value, 6)).to_owned()
        } else {
            power_of_ten(value, self.log)
        };
        text.replace('-', "\u{2212}")
    }

    /// Ticks in increasing order: their values as kuva gets them, and whether they have priority, as powers of ten do on a log axis.
    pub(super) fn ticks(&self) -> Vec<(f64, bool)> {
        let Self { log, lo, hi, .. } = *self;
        if !log {
            let ticks = generate_ticks(lo, hi, TICKS).into_iter();
            let slack = 1e-9 * (hi - lo);
            let inside = ticks.filter(|tick| (lo - slack..=hi + slack).contains(tick));
            return inside.map(|tick| (tick, true)).collect();
        }
        let power = |tick: f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        let ticks = generate_ticks_log(lo, hi).into_iter();
        ticks.map(|tick| (tick, power(tick))).collect()
    }

    /// Position of a value from 0 at the lower end of the axis to 1 at the upper end, and beyond.
    pub(super) fn fraction(&self, value: f64) -> f64 {
        /// Far outside; larger numbers would lose the digits of the positions inside.
        const FAR: f64 = 1e4;
        let Self { log, unit, lo, hi } = *self;
        let value = value / unit;
        let fraction = match log {
            false => (value - lo) / (hi - lo),
            // The edge of a band may be negative.
            true if value <= 0.0 => 0.0,
            true => (value / lo).log10() / (hi / lo).log10(),
        };
        fraction.clamp(-FAR, FAR)
    }

    /// The axis with the ends of a range, where it has any.
    pub(super) fn limited(self, range: &AxisRange) -> Self {
        let lo = range.from.map_or(self.lo, |from| from / self.unit);
        let hi = range.to.map_or(self.hi, |to| to / self.unit);
        // An end beyond all values is the only one that was asked for: the other end follows.
        let (lo, hi) = match (lo < hi, self.log, range.from.is_some()) {
            (true, _, _) => (lo, hi),
            (false, true, true) => (lo, lo * 10.0),
            (false, true, false) => (hi / 10.0, hi),
            (false, false, true) => (lo, lo + lo.abs().max(1.0)),
            (false, false, false) => (hi - hi.abs().max(1.0), hi),
        };
        Self { lo, hi, ..self }
    }

    /// The places of the minor ticks: none on a linear axis.
    pub(super) fn minor_ticks(&self) -> Vec<f64> {
        if !self.log {
            return Vec::new();
        }
        let decades = self.lo.log10().floor() as i32..=self.hi.log10().ceil() as i32;
        decades
            .flat_map(|decade| (2..10).map(move |step| f64::from(step) * 10_f64.powi(decade)))
            .filter(|tick| (self.lo..=self.hi).contains(tick))
            .collect()
    }
}

/// Widens a range to 1, 2 or 5 times powers of ten, so that both ends carry a tick.
fn nice_log_range(lo: f64, hi: f64) -> (f64, f64) {
    // The slack takes a value that division has moved off its power of ten for that power.
    const SLACK: f64 = 1e-9;
    let decade = |v: f64| 10_f64.powf((v * (1.0 + SLACK)).log10().floor());
    let (low, high) = (decade(lo), decade(hi));
    let below = [5.0, 2.0]
        .into_iter()
        .find(|m| m * low <= lo * (1.0 + SLACK));
    let above = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|m| m * high >= hi * (1.0 - SLACK));
    let (lo, hi) = (below.unwrap_or(1.0) * low, above.unwrap_or(10.0) * high);
    if lo < hi {
        (lo, hi)
    } else {
        (lo / 10.0, hi * 10.0)
    }
}

fn trim_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

/// Writes a number as `2.5×10⁸`; on a log axis `1×10⁸` is just `10⁸`.
fn power_of_ten(value: f64, log: bool) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let text = format!("{value:.2e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = trim_zeros(mantissa);
    let exponent: String = exponent
        .chars()
        .map(|c| c.to_digit(10).map_or('⁻', |digit| DIGITS[digit as usize]))
        .collect();
    if log && mantissa == "1" {
        format!("10{exponent}")
    } else {
        format!("{mantissa}×10{exponent}")
    }
}
