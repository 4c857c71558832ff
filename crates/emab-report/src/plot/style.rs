//! Colours, dashes and markers of curves.

use kuva::plot::legend::{LegendEntry, LegendShape};

use super::axis::Axis;
use super::curves::{Series, SeriesPoint};
use super::sanitize;

/// Colours of Okabe and Ito, distinguishable for colour-blind readers, without yellow, which is hard to see on white.
pub(super) const COLOURS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
];

/// Dash patterns, one per pass through the colours; empty is a solid line. They fit the 12 to 18 units of kuva's legend.
const DASHES: [&str; 4] = ["", "5 3", "2 3", "7 3 2 3"];

/// Most points of a line with error bars; a longer line gets a band.
const MAX_ERROR_BARS: usize = 25;

/// How the series of a figure are drawn.
pub(super) enum Style<'a> {
    /// One series per learner: distinct colours, bands.
    Learners,
    /// One series per value of a parameter: colours from light to dark.
    Ordered {
        /// Name of the parameter, above the legend.
        by: &'a str,
        x_axis: Axis,
        colours: Vec<String>,
    },
}

impl Style<'_> {
    pub(super) fn colour(&self, index: usize) -> &str {
        match self {
            Self::Learners => COLOURS[index % COLOURS.len()],
            Self::Ordered { colours, .. } => &colours[index % colours.len()],
        }
    }

    pub(super) fn dashes(&self, series: &[Series], index: usize) -> Option<String> {
        let round = match self {
            Self::Learners => index / COLOURS.len(),
            Self::Ordered { .. } => 0,
        };
        let pattern = DASHES[(round + usize::from(series[index].dashed)) % DASHES.len()];
        (!pattern.is_empty()).then(|| pattern.to_owned())
    }

    /// Whether a segment shows points with error bars instead of a band: few points must be visible as such, and
    /// overlapping bands of many lines would be hard to read.
    pub(super) fn shows_points(&self, segment: &[SeriesPoint]) -> bool {
        segment.len() == 1
            || matches!(self, Self::Ordered { .. }) && segment.len() <= MAX_ERROR_BARS
    }

    /// Heading of the legend, as an entry without a line: kuva does not align a legend title with the entries.
    pub(super) fn heading(&self, series: &[Series]) -> Option<LegendEntry> {
        let Self::Ordered { by, .. } = self else {
            return None;
        };
        let needed = !by.is_empty() && series.iter().any(|one| !one.label.is_empty());
        needed.then(|| LegendEntry {
            label: sanitize(by, 40),
            color: "none".to_owned(),
            shape: LegendShape::Line,
            dasharray: None,
        })
    }
}
