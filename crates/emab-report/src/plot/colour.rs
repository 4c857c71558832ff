//! The colours of maps: which value gets which.

use kuva::render::color::Color;
use kuva::render::render_utils::{generate_ticks, generate_ticks_log};

use super::axis::Axis;

pub(super) type Rgb = [u8; 3];

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

/// Yellow to dark violet: viridis, which is perceptually uniform and keeps its order for
/// colour-blind readers and in grey; backwards, so that darker is more, as in the others.
const SIRIDIV: [Rgb; 9] = [
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

/// Orange for another choice, blue for the benchmark's, which colour-blind readers can tell
/// apart; light enough all along for dark names to be read on them.
const ORANGE_BLUE: [Rgb; 5] = [
    [0xe5, 0x7f, 0x2c],
    [0xf4, 0xb9, 0x83],
    [0xee, 0xee, 0xee],
    [0xa6, 0xcc, 0xe6],
    [0x5a, 0xa2, 0xd8],
];

/// How many ticks a colour bar aims at.
const TICKS: usize = 5;

/// Which value gets which colour.
pub(super) struct Scale {
    axis: Axis,
    ramp: &'static [Rgb],
    /// Whether the middle of the ramp is zero.
    around_zero: bool,
}

impl Scale {
    /// Visits, on a log scale; the values must be positive.
    pub(super) fn visits(values: impl Iterator<Item = f64>) -> Self {
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

    /// Regret, from zero up, or around zero where there is regret below it.
    pub(super) fn regret(values: impl Iterator<Item = f64>) -> Self {
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
    pub(super) fn share() -> Self {
        Self {
            axis: span(0.0, 1.0, false),
            ramp: &ORANGE_BLUE,
            around_zero: false,
        }
    }

    /// The results of a sweep, from the least to the greatest, on a log scale where that
    /// spreads them better.
    pub(super) fn results(values: impl Iterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.collect();
        let axis = if values.iter().all(|value| *value == 0.0) {
            span(0.0, 1.0, false)
        } else {
            Axis::around(&values)
        };
        Self {
            axis,
            ramp: &SIRIDIV,
            around_zero: false,
        }
    }

    /// Whether equal steps of colour are equal factors.
    pub(super) fn is_log(&self) -> bool {
        self.axis.log
    }

    /// Where on the colour bar a value stands, from 0 to 1.
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
    pub(super) fn colour_at(&self, place: f64) -> Rgb {
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
    pub(super) fn colour(&self, value: f64) -> Rgb {
        self.colour_at(self.place(value))
    }

    /// The ticks of the colour bar.
    pub(super) fn ticks(&self) -> Vec<Tick> {
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

/// The colours of lines in order, from light to dark, none too light for white paper.
pub(super) fn ordered(count: usize) -> Vec<String> {
    const LIGHTEST: f64 = 0.27;
    let step = (1.0 - LIGHTEST) / (count.max(2) - 1) as f64;
    (0..count)
        .map(|i| {
            // One line alone gets the middle, which is neither pale nor nearly black.
            let place = if count == 1 {
                0.6
            } else {
                LIGHTEST + step * i as f64
            };
            let [red, green, blue] = blend(&SIRIDIV, place);
            format!("#{red:02x}{green:02x}{blue:02x}")
        })
        .collect()
}

/// Black or white, whichever can be read better on a colour: the contrast is then at least
/// 4.5, which WCAG asks of small text.
pub(super) fn ink_on(colour: Rgb) -> Rgb {
    // Where the contrasts (L + 0.05) / 0.05 and 1.05 / (L + 0.05) are equal.
    if luminance(colour) > 0.179 {
        [0x00; 3]
    } else {
        [0xff; 3]
    }
}

/// How light a colour is, from 0 to 1, as WCAG defines it.
pub(super) fn luminance(colour: Rgb) -> f64 {
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
pub(super) struct Tick {
    /// Where on the bar, from 0 to 1.
    pub(super) place: f64,
    pub(super) label: String,
    /// Whether it keeps its label longer than others: a power of ten on a log scale.
    pub(super) main: bool,
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
pub(super) fn paint([red, green, blue]: Rgb) -> Color {
    Color::Rgb(red, green, blue)
}
