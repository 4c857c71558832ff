//! Figures as SVG, PNG and PDF: regret curves, results of sweeps, maps of regret over steps and states, and comparisons of
//! learners. The same input gives the same bytes.
//!
//! `curves` draws lines with bands: curves, and results of a sweep over one parameter. `sweep_map` draws a sweep over two,
//! `regret_map` where regret occurs, and `arena_map` a comparison of learners. All are built from the parts in `grid`, and
//! [`PlotOptions`] has the choices for all of them.
//!
//! A figure is a scene of the crate `kuva`, which renders SVG and PNG; `pdf` renders PDF. These modules choose ranges, tick labels,
//! colours and places, and work around limits of kuva 0.6:
//!
//! - its PNG backend restarts the dash pattern at every point of a curve, so a dashed curve with many points would be
//!   solid (`kuva_fixes`);
//! - its PNG backend ignores clip paths (`clip`) and leaves steps in flat curves (`png`);
//! - its axes lose very small and very large values (`axis`);
//! - its legend cuts long labels (`curves`).

mod arena_map;
mod axis;
mod clip;
mod curves;
mod font;
mod grid;
mod kuva_fixes;
mod options;
mod pdf;
mod png;
mod regret_map;
mod series;
mod style;
mod sweep_map;

use kuva::backend::svg::SvgBackend;
use kuva::render::render::Scene;

pub use self::arena_map::{arena_options, draw_arena};
pub use self::curves::{draw_curves, draw_sweep_lines};
pub use self::options::{AxisRange, LegendPlace, PlotOptions};
pub use self::regret_map::{draw_regret_map, read_regret_map, regret_map_csv};
pub use self::series::{Series, SeriesPoint};
pub use self::sweep_map::{HeatAxis, HeatCell, HeatMap, draw_heat_maps};

/// Largest value that is drawn: rounding up the end of the axis must not overflow.
const LIMIT: f64 = 1e305;

/// A finished figure.
#[derive(Debug)]
pub struct Picture {
    /// SVG document. It names its font (DejaVu Sans, or else a common sans-serif font) and does not embed it, which
    /// would add a megabyte.
    pub svg: String,
    /// The same for narrow screens, if it was drawn for a page.
    pub narrow: Option<String>,
    scene: Scene,
    /// SVG units per unit of the scene.
    scale: f64,
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
        "series `{0}`, point {1}: x, the value and the edges of its bands must be finite \
         (at most 1e305), and the value must be between the edges"
    )]
    BadPoint(String, usize),
    /// An invalid value of a map: the step and the state, or the title of the map; and the violated rule.
    #[error("{0}: {1}")]
    Invalid(String, String),
    /// An invalid option: its name and the violated rule.
    #[error("{0}: {1}")]
    Option(&'static str, String),
    /// A log axis without a positive value.
    #[error("a log axis needs positive values, and no series has any")]
    NotPositive,
    /// Writing the PNG failed.
    #[error("the PNG could not be written: {0}")]
    Png(String),
    /// Writing the PDF failed.
    #[error("the PDF could not be written: {0}")]
    Pdf(String),
}

impl Picture {
    fn new(scene: Scene, scale: f64) -> Picture {
        let mut svg = SvgBackend::new().render_scene(&scene);
        if scale != 1.0 {
            svg = scaled(&svg, &scene, scale);
        }
        Picture {
            svg,
            narrow: None,
            scene,
            scale,
        }
    }

    /// PNG image with two pixels per SVG unit. Drawing it takes much longer than the SVG.
    ///
    /// # Errors
    ///
    /// When the image would be too large, or cannot be encoded.
    pub fn png(&self) -> Result<Vec<u8>, PlotError> {
        png::render(&self.scene, self.scale).map_err(PlotError::Png)
    }

    /// PDF of one page that has the size of the figure. Text is text, in a subset of DejaVu Sans that is embedded.
    ///
    /// # Errors
    ///
    /// When the font cannot be embedded.
    pub fn pdf(&self) -> Result<Vec<u8>, PlotError> {
        pdf::render(&self.scene, self.scale).map_err(PlotError::Pdf)
    }
}

/// An SVG document of another size.
fn scaled(svg: &str, scene: &Scene, scale: f64) -> String {
    let Some((tag, rest)) = svg.split_once('>') else {
        return svg.to_owned();
    };
    let attributes = tag
        .split_once(" font-family")
        .map_or("", |(_, after)| after);
    let (width, height) = (scene.width, scene.height);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.2}\" height=\"{:.2}\" viewBox=\"0 0 {width} {height}\" font-family{attributes}>{rest}",
        width * scale,
        height * scale
    )
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
