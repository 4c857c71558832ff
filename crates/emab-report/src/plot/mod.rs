//! Figures as SVG and PNG: regret curves, results of sweeps, maps of regret over steps and states, and comparisons of
//! learners. The same input gives the same bytes.
//!
//! `curves` draws lines with 95 % bands, `sweep_lines` and `sweep_map` the results of a sweep, `regret_map` where
//! regret occurs, and `arena_map` a comparison of learners. The maps are built from the parts in `grid`.
//!
//! The crate `kuva` renders the figures. These modules choose ranges, tick labels, colours and sizes, and work around
//! limits of kuva 0.6:
//!
//! - it numbers clip paths with a process-wide counter, so two equal pictures would differ (`kuva_fixes`);
//! - its PNG backend restarts the dash pattern at every point of a curve, so a dashed curve with many points would be
//!   solid (`kuva_fixes`);
//! - its PNG backend leaves steps in flat curves (`png`);
//! - its minor ticks do not fit a log axis (`kuva_fixes`);
//! - its axes lose very small and very large values (`axis`).

mod arena_map;
mod axis;
mod curves;
mod grid;
mod kuva_fixes;
mod png;
mod regret_map;
mod style;
mod sweep_lines;
mod sweep_map;

use kuva::backend::svg::SvgBackend;
use kuva::render::render::Scene;

use self::kuva_fixes::split_dashes;

pub use self::arena_map::draw_arena;
pub use self::curves::{PlotOptions, Series, SeriesPoint, draw_curves};
pub use self::regret_map::{draw_regret_map, read_regret_map, regret_map_csv};
pub use self::sweep_lines::draw_sweep_lines;
pub use self::sweep_map::{HeatAxis, HeatCell, HeatMap, draw_heat_maps};

/// Half the width of a 95 % band, in standard errors.
const BAND: f64 = emab::stats::NORMAL_975;

/// Largest value that is drawn: rounding up the end of the axis must not overflow.
const LIMIT: f64 = 1e305;

/// A finished figure.
#[derive(Debug)]
pub struct Picture {
    /// SVG document. It names its font (DejaVu Sans, or else a common sans-serif font) and does not embed it, which
    /// would add a megabyte.
    pub svg: String,
    scene: Scene,
}

/// Why a figure cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// No series.
    #[error("there is nothing to draw: no series was given")]
    NoSeries,
    /// The series of this label has no points.
    #[error("there is nothing to draw for series `{0}`: it has no points")]
    NoPoints(String),
    /// A value that no axis can show: the label of the series, and the position of the point in it, from 0.
    #[error(
        "series `{0}`, point {1}: x, mean and the edges of the band must be finite \
         (at most 1e305) and the standard error must not be negative"
    )]
    BadPoint(String, usize),
    /// An invalid value of a map: the step and the state, or the title of the map; and the violated rule.
    #[error("{0}: {1}")]
    Invalid(String, String),
    /// A log axis without a positive value.
    #[error("a log axis needs positive values, and no series has any")]
    NotPositive,
    /// Writing the PNG failed.
    #[error("the PNG could not be written: {0}")]
    Png(String),
}

impl Picture {
    fn new(mut scene: Scene) -> Picture {
        let svg = SvgBackend::new().render_scene(&scene);
        split_dashes(&mut scene);
        Picture { svg, scene }
    }

    /// PNG image with two pixels per SVG unit. Drawing it takes much longer than the SVG.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        png::render(&self.scene).map_err(PlotError::Png)
    }
}

/// The text without characters that XML or kuva would misread (control characters; `$`, which begins mathematics),
/// cut to at most `max` characters.
fn sanitize(text: &str, max: usize) -> String {
    let mut clean: String = text
        .chars()
        .map(|c| match c {
            '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
            c if c.is_control() => ' ',
            c => c,
        })
        .take(max)
        .collect();
    if text.chars().nth(max).is_some() {
        clean.pop();
        clean.push('…');
    }
    clean.replace('$', "\\$")
}

#[cfg(test)]
mod tests;
