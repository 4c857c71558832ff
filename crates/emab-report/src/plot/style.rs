//! Colours, dashes and marks of curves.

use super::axis::Axis;
use super::grid::canvas::{Marker, Stroke};
use super::grid::colour::Rgb;
use super::series::SeriesPoint;

/// Colours of twelve lines. Any two differ by at least 20 (CIEDE2000). Three consecutive ones share a dash pattern, so they differ
/// in lightness too, for print in grey, and for colour-blind readers (`palette_tests`).
pub(super) const COLOURS: [Rgb; 12] = [
    [0x0a, 0x5a, 0x90],
    [0xe9, 0x4f, 0x01],
    [0x2f, 0xcf, 0x9e],
    [0x8d, 0x28, 0x81],
    [0x89, 0x82, 0x10],
    [0xf0, 0x9a, 0xbd],
    [0x7f, 0x3c, 0x07],
    [0x43, 0x8e, 0x4b],
    [0xf2, 0xa9, 0x01],
    [0x12, 0x33, 0x12],
    [0x8a, 0x6e, 0xd1],
    [0x67, 0xc1, 0xf5],
];

/// Dash patterns, each for three colours; empty is a solid line.
pub(super) const DASHES: [&[f64]; 4] = [&[], &[7.0, 3.0], &[2.0, 2.5], &[10.0, 3.0, 2.0, 3.0]];

/// Lines that share a dash pattern.
pub(super) const PER_DASH: usize = 3;

/// Bounds are thin and grey and carry marks, which no result does.
const BOUND: Rgb = [0x4a; 3];
const MARKERS: [Marker; 4] = [
    Marker::Triangle,
    Marker::Square,
    Marker::Diamond,
    Marker::Circle,
];

const LINE_WIDTH: f64 = 2.0;
const BOUND_WIDTH: f64 = 1.1;

/// Most points of a line with error bars; a longer line gets a band.
const MAX_ERROR_BARS: usize = 25;

/// How the series of a figure are told apart.
pub(super) enum Style<'a> {
    /// One series per learner: distinct colours and dashes.
    Learners,
    /// Final results over a parameter, with points where there are few.
    Sweep {
        /// Heading of the legend; none when empty.
        by: &'a str,
        x_axis: Axis,
        /// Colours from light to dark in the order of the series; empty for distinct colours and dashes.
        colours: Vec<Rgb>,
    },
}

impl Style<'_> {
    /// The line of the result with this number, counted without bounds.
    pub(super) fn result(&self, number: usize) -> Stroke<'_> {
        let ordered = match self {
            Self::Sweep { colours, .. } => colours.get(number),
            Self::Learners => None,
        };
        let round = number / PER_DASH + number / COLOURS.len();
        let (ink, dashes): (Rgb, &[f64]) = match ordered {
            Some(colour) => (*colour, &[]),
            None => (
                COLOURS[number % COLOURS.len()],
                DASHES[round % DASHES.len()],
            ),
        };
        Stroke {
            ink,
            dashes,
            width: LINE_WIDTH,
        }
    }

    /// The line and the mark of the bound with this number, counted without results.
    pub(super) fn bound(&self, number: usize) -> (Stroke<'_>, Marker) {
        let stroke = Stroke {
            ink: BOUND,
            dashes: DASHES[number / MARKERS.len() % DASHES.len()],
            width: BOUND_WIDTH,
        };
        (stroke, MARKERS[number % MARKERS.len()])
    }

    /// Whether a segment shows points with error bars instead of a band: few points must be visible as such, and
    /// overlapping bands of many lines would be hard to read.
    pub(super) fn shows_points(&self, segment: &[SeriesPoint]) -> bool {
        segment.len() == 1 || matches!(self, Self::Sweep { .. }) && segment.len() <= MAX_ERROR_BARS
    }

    /// Heading of the legend.
    pub(super) fn heading(&self) -> Option<&str> {
        match self {
            Self::Sweep { by, .. } if !by.is_empty() => Some(by),
            _ => None,
        }
    }
}

#[cfg(test)]
mod palette_tests;
