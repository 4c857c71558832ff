//! Colours, dashes and marks of curves.

use kuva::plot::legend::{LegendEntry, LegendShape};

use super::axis::Axis;
use super::{Series, SeriesPoint, tidy};

/// The colours of Okabe and Ito, which colour-blind readers can tell apart, without the
/// yellow, which cannot be read on white.
pub(super) const COLOURS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
];

/// Dash patterns, one for each further round through the colours; empty is a solid line.
/// They are short, so that kuva's legend, which shows 12 to 18 units, has room for them.
const DASHES: [&str; 4] = ["", "5 3", "2 3", "7 3 2 3"];

/// A line of a family with more points than this gets a band instead of error bars.
const MOST_DOTS: usize = 25;

/// What the series are, and so what they look like.
pub(super) enum Look<'a> {
    /// One a learner: colours far apart, bands.
    Learners,
    /// One a value of a parameter, in order.
    Family {
        /// The name of the parameter, above the legend.
        by: &'a str,
        x_axis: Axis,
        colours: Vec<String>,
    },
}

impl Look<'_> {
    pub(super) fn colour(&self, index: usize) -> &str {
        match self {
            Self::Learners => COLOURS[index % COLOURS.len()],
            Self::Family { colours, .. } => &colours[index % colours.len()],
        }
    }

    pub(super) fn dashes(&self, series: &[Series], index: usize) -> Option<String> {
        let round = match self {
            Self::Learners => index / COLOURS.len(),
            Self::Family { .. } => 0,
        };
        let pattern = DASHES[(round + usize::from(series[index].dashed)) % DASHES.len()];
        (!pattern.is_empty()).then(|| pattern.to_owned())
    }

    /// Whether a stretch of a curve shows its points with error bars and not a band: where
    /// they are few, the reader must see between which the line is only a guess, and the
    /// bands of many lines on top of each other could not be told apart.
    pub(super) fn shows_points(&self, run: &[SeriesPoint]) -> bool {
        run.len() == 1 || matches!(self, Self::Family { .. }) && run.len() <= MOST_DOTS
    }

    /// The first line of the legend, if it has one. An entry without a line, as kuva would
    /// put a title askew of the entries.
    pub(super) fn heading(&self, series: &[Series]) -> Option<LegendEntry> {
        let Self::Family { by, .. } = self else {
            return None;
        };
        let needed = !by.is_empty() && series.iter().any(|one| !one.label.is_empty());
        needed.then(|| LegendEntry {
            label: tidy(by, 40),
            color: "none".to_owned(),
            shape: LegendShape::Line,
            dasharray: None,
        })
    }
}
