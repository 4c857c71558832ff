//! Colour scales of maps.

use kuva::render::render_utils::{generate_ticks, generate_ticks_log};

use super::super::axis::Axis;

pub(crate) type Rgb = [u8; 3];

/// Light to dark blue, after ColorBrewer's Blues.
const BLUES: [u32; 8] = [
    0xe3eef8, 0xc6dbef, 0x9ecae1, 0x6baed6, 0x4292c6, 0x2171b5, 0x08519c, 0x08306b,
];

/// Light to dark orange, after ColorBrewer's Oranges.
const ORANGES: [u32; 8] = [
    0xfdecd9, 0xfdd0a2, 0xfdae6b, 0xfd8d3c, 0xf16913, 0xd94801, 0xa63603, 0x7f2704,
];

/// Purple below zero, orange above, after ColorBrewer's PuOr.
const PURPLE_ORANGE: [u32; 9] = [
    0x2d004b, 0x542788, 0x8073ac, 0xb2abd2, 0xefedee, 0xfdb863, 0xe08214, 0xb35806, 0x7f3b08,
];

/// Yellow to dark violet: viridis, perceptually uniform and ordered for colour-blind readers and in grey; reversed, so
/// that darker is more, as in the other ramps.
const REVERSED_VIRIDIS: [u32; 9] = [
    0xfde725, 0xaadc32, 0x5dc863, 0x27ad81, 0x21908c, 0x2c728e, 0x3b528b, 0x472d7b, 0x440154,
];

/// Orange for another choice, blue for the benchmark's: distinguishable for colour-blind readers, and light enough for
/// dark text.
const ORANGE_BLUE: [u32; 5] = [0xe57f2c, 0xf4b983, 0xeeeeee, 0xa6cce6, 0x5aa2d8];

/// How many ticks a colour bar aims at.
const TICKS: usize = 5;

/// Maps values to colours.
pub(crate) struct ColourScale {
    axis: Axis,
    /// From the least to the greatest value, as `0xRRGGBB`.
    ramp: &'static [u32],
    /// Whether the middle of the ramp is zero.
    around_zero: bool,
}

impl ColourScale {
    fn new(axis: Axis, ramp: &'static [u32]) -> Self {
        Self {
            axis,
            ramp,
            around_zero: false,
        }
    }

    /// Visits, on a log scale; the values must be positive.
    pub(crate) fn visits(values: impl Iterator<Item = f64>) -> Self {
        let mut values = values.map(|value| (value, value)).peekable();
        let axis = match values.peek() {
            Some(_) => Axis::over(values, true),
            None => span(1.0, 10.0, true),
        };
        Self::new(axis, &BLUES)
    }

    /// Regret, from zero up, or around zero if some is negative.
    pub(crate) fn regret(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let over = || Axis::over(values.iter().map(|value| (*value, *value)), false);
        let axis = zero_to_one_or(&values, over);
        match axis.lo < 0.0 {
            true => Self {
                around_zero: true,
                ..Self::new(axis, &PURPLE_ORANGE)
            },
            false => Self::new(axis, &ORANGES),
        }
    }

    /// Shares, from 0 to 1.
    pub(crate) fn share() -> Self {
        Self::new(span(0.0, 1.0, false), &ORANGE_BLUE)
    }

    /// Results of a sweep, from the least to the greatest, on a log scale if they are positive and span a wide range.
    pub(crate) fn results(values: &[f64]) -> Self {
        let axis = zero_to_one_or(values, || Axis::around(values));
        Self::new(axis, &REVERSED_VIRIDIS)
    }

    /// Whether equal steps of colour are equal factors.
    pub(crate) fn is_log(&self) -> bool {
        self.axis.log
    }

    /// Position of a value on the colour bar, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let Axis { log, lo, hi, .. } = self.axis;
        let value = self.axis.place(value);
        let part = if log {
            (value / lo).log10() / (hi / lo).log10()
        } else {
            (value - lo) / (hi - lo)
        };
        part.clamp(0.0, 1.0)
    }

    /// The colour at a place of the colour bar.
    pub(crate) fn colour_at(&self, place: f64) -> Rgb {
        let Axis { lo, hi, .. } = self.axis;
        let place = if self.around_zero {
            let value = lo + place * (hi - lo);
            0.5 + 0.5 * value / hi.max(-lo)
        } else {
            place
        };
        blend(self.ramp, place)
    }

    /// The colour of a value.
    pub(crate) fn colour(&self, value: f64) -> Rgb {
        self.colour_at(self.place(value))
    }

    /// The ticks of the colour bar.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let Axis { log, unit, lo, hi } = self.axis;
        let ticks = if log {
            generate_ticks_log(lo, hi)
        } else {
            generate_ticks(lo, hi, TICKS)
        };
        let tick = |tick: f64| Tick {
            place: self.place(tick * unit),
            label: self.axis.tick_label(tick),
            main: !log || (tick.log10() - tick.log10().round()).abs() < 1e-9,
        };
        ticks.into_iter().map(tick).collect()
    }
}

/// The colour at a place of a ramp, from 0 to 1.
fn blend(ramp: &[u32], place: f64) -> Rgb {
    let last = ramp.len() - 1;
    let exact = place.clamp(0.0, 1.0) * last as f64;
    let from = (exact as usize).min(last);
    let to = (from + 1).min(last);
    let part = exact - from as f64;
    let [from, to] = [ramp[from], ramp[to]].map(u32::to_be_bytes);
    [1, 2, 3].map(|i| {
        let (a, b) = (f64::from(from[i]), f64::from(to[i]));
        (a + part * (b - a)).round() as u8
    })
}

/// Colours of ordered lines, from light to dark, none too light for white paper.
pub(crate) fn light_to_dark(count: usize) -> Vec<Rgb> {
    const LIGHTEST: f64 = 0.27;
    let step = (1.0 - LIGHTEST) / (count.max(2) - 1) as f64;
    (0..count)
        .map(|i| {
            // A single line gets a medium colour.
            let place = if count == 1 {
                0.6
            } else {
                LIGHTEST + step * i as f64
            };
            blend(&REVERSED_VIRIDIS, place)
        })
        .collect()
}

/// Black or white, whichever has more contrast on a colour: at least 4.5, which WCAG requires of small text.
pub(crate) fn text_colour_on(colour: Rgb) -> Rgb {
    // Where the contrasts (L + 0.05) / 0.05 and 1.05 / (L + 0.05) are equal.
    if luminance(colour) > 0.179 {
        [0x00; 3]
    } else {
        [0xff; 3]
    }
}

/// Relative luminance of a colour, from 0 to 1 (WCAG).
pub(crate) fn luminance(colour: Rgb) -> f64 {
    let light = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    let [red, green, blue] = colour.map(light);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A tick of a colour bar.
pub(crate) struct Tick {
    /// Where on the bar, from 0 to 1.
    pub(crate) place: f64,
    pub(crate) label: String,
    /// Whether its label has priority: a power of ten on a log scale.
    pub(crate) main: bool,
}

fn span(lo: f64, hi: f64, log: bool) -> Axis {
    Axis {
        log,
        unit: 1.0,
        lo,
        hi,
    }
}

/// The axis from 0 to 1 if all values are 0, otherwise the given one.
fn zero_to_one_or(values: &[f64], axis: impl Fn() -> Axis) -> Axis {
    match values.iter().all(|value| *value == 0.0) {
        true => span(0.0, 1.0, false),
        false => axis(),
    }
}
