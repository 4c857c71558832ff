//! Colour scales of maps.

use kuva::render::color::Color;
use kuva::render::render_utils::{generate_ticks, generate_ticks_log};

use super::super::axis::Axis;

pub(crate) type Rgb = [u8; 3];

/// Light to dark blue, after ColorBrewer's Blues.
const BLUES: [Rgb; 8] = [
    [0xe3, 0xee, 0xf8],
    [0xc6, 0xdb, 0xef],
    [0x9e, 0xca, 0xe1],
    [0x6b, 0xae, 0xd6],
    [0x42, 0x92, 0xc6],
    [0x21, 0x71, 0xb5],
    [0x08, 0x51, 0x9c],
    [0x08, 0x30, 0x6b],
];

/// Light to dark orange, after ColorBrewer's Oranges.
const ORANGES: [Rgb; 8] = [
    [0xfd, 0xec, 0xd9],
    [0xfd, 0xd0, 0xa2],
    [0xfd, 0xae, 0x6b],
    [0xfd, 0x8d, 0x3c],
    [0xf1, 0x69, 0x13],
    [0xd9, 0x48, 0x01],
    [0xa6, 0x36, 0x03],
    [0x7f, 0x27, 0x04],
];

/// Purple below zero, orange above, after ColorBrewer's PuOr.
const PURPLE_ORANGE: [Rgb; 9] = [
    [0x2d, 0x00, 0x4b],
    [0x54, 0x27, 0x88],
    [0x80, 0x73, 0xac],
    [0xb2, 0xab, 0xd2],
    [0xef, 0xed, 0xee],
    [0xfd, 0xb8, 0x63],
    [0xe0, 0x82, 0x14],
    [0xb3, 0x58, 0x06],
    [0x7f, 0x3b, 0x08],
];

/// Yellow to dark violet: viridis, perceptually uniform and ordered for colour-blind readers and in grey; reversed, so
/// that darker is more, as in the other ramps.
const REVERSED_VIRIDIS: [Rgb; 9] = [
    [0xfd, 0xe7, 0x25],
    [0xaa, 0xdc, 0x32],
    [0x5d, 0xc8, 0x63],
    [0x27, 0xad, 0x81],
    [0x21, 0x90, 0x8c],
    [0x2c, 0x72, 0x8e],
    [0x3b, 0x52, 0x8b],
    [0x47, 0x2d, 0x7b],
    [0x44, 0x01, 0x54],
];

/// Orange for another choice, blue for the benchmark's: distinguishable for colour-blind readers, and light enough for
/// dark text.
const ORANGE_BLUE: [Rgb; 5] = [
    [0xe5, 0x7f, 0x2c],
    [0xf4, 0xb9, 0x83],
    [0xee, 0xee, 0xee],
    [0xa6, 0xcc, 0xe6],
    [0x5a, 0xa2, 0xd8],
];

/// How many ticks a colour bar aims at.
const TICKS: usize = 5;

/// Maps values to colours.
pub(crate) struct ColourScale {
    axis: Axis,
    ramp: &'static [Rgb],
    /// Whether the middle of the ramp is zero.
    around_zero: bool,
}

impl ColourScale {
    /// Visits, on a log scale; the values must be positive.
    pub(crate) fn visits(values: impl Iterator<Item = f64>) -> Self {
        let mut values = values.peekable();
        let axis = if values.peek().is_some() {
            Axis::over(values.map(|value| (value, value)), true)
        } else {
            span(1.0, 10.0, true)
        };
        Self {
            axis,
            ramp: &BLUES,
            around_zero: false,
        }
    }

    /// Regret, from zero up, or around zero if some is negative.
    pub(crate) fn regret(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let axis = if values.iter().all(|value| *value == 0.0) {
            span(0.0, 1.0, false)
        } else {
            Axis::over(values.iter().map(|value| (*value, *value)), false)
        };
        let around_zero = axis.lo < 0.0;
        Self {
            axis,
            ramp: if around_zero {
                &PURPLE_ORANGE
            } else {
                &ORANGES
            },
            around_zero,
        }
    }

    /// Shares, from 0 to 1.
    pub(crate) fn share() -> Self {
        Self {
            axis: span(0.0, 1.0, false),
            ramp: &ORANGE_BLUE,
            around_zero: false,
        }
    }

    /// Results of a sweep, from the least to the greatest, on a log scale if they are positive and span a wide range.
    pub(crate) fn results(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let axis = if values.iter().all(|value| *value == 0.0) {
            span(0.0, 1.0, false)
        } else {
            Axis::around(&values)
        };
        Self {
            axis,
            ramp: &REVERSED_VIRIDIS,
            around_zero: false,
        }
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
fn blend(ramp: &[Rgb], place: f64) -> Rgb {
    let last = ramp.len() - 1;
    let exact = place.clamp(0.0, 1.0) * last as f64;
    let from = (exact as usize).min(last);
    let to = (from + 1).min(last);
    let part = exact - from as f64;
    let mix = |i: usize| {
        let (a, b) = (f64::from(ramp[from][i]), f64::from(ramp[to][i]));
        (a + part * (b - a)).round() as u8
    };
    [mix(0), mix(1), mix(2)]
}

/// Colours of ordered lines, from light to dark, none too light for white paper.
pub(crate) fn light_to_dark(count: usize) -> Vec<String> {
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
            let [red, green, blue] = blend(&REVERSED_VIRIDIS, place);
            format!("#{red:02x}{green:02x}{blue:02x}")
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

/// A colour as kuva takes it.
pub(crate) fn paint([red, green, blue]: Rgb) -> Color {
    Color::Rgb(red, green, blue)
}
