//! Regret curves as figures: one line per learner with a shaded 95 % band, on linear or
//! log axes, as SVG text and as PNG bytes.
//!
//! [`draw`] is the way in. Built on it, `family` draws the results of a sweep against a
//! parameter; maps of such results are drawn by `heat`, and maps of where the regret comes
//! from by `place`.
//! The same input gives the same bytes.
//!
//! The drawing itself is done by the crate `kuva`; this module chooses ranges, tick labels,
//! colours and sizes, and works around what kuva 0.6 cannot do:
//!
//! - it numbers clip paths with a process-wide counter, so two equal pictures would differ
//!   (`scene`);
//! - its PNG backend starts the dash pattern afresh at every point of a curve, so that a
//!   curve with many points would come out solid (`scene`);
//! - its PNG backend leaves steps in flat curves (`png`);
//! - its minor ticks do not fit a log axis (`scene`);
//! - its axes lose values that are very small or very large (`axis`).

mod arena;
mod axis;
mod bar;
mod colour;
mod family;
mod heat;
mod legend;
mod look;
mod pen;
mod place;
mod png;
mod scene;
mod words;

use std::sync::Arc;

use kuva::backend::svg::SvgBackend;
use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{BandPlot, LinePlot, LineStyle, ScatterPlot};
use kuva::render::layout::{AxisLabelOverlap, ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};
use kuva::render::theme::Theme;

pub use self::arena::draw_arena;
use self::axis::Axis;
pub use self::family::{Family, draw_family};
pub use self::heat::{HeatAxis, HeatCell, HeatMap, draw_heat_map, draw_heat_maps};
use self::look::Look;
pub use self::place::{draw_places, places_csv};
use self::scene::{add_minor_ticks, cut_dashes, name_clip_paths};

/// Half width of a 95 % band in standard errors.
const BAND: f64 = emab::stats::NORMAL_975;

/// Size of the area between the axes; the picture grows around it.
const PLOT_WIDTH: f64 = 600.0;
const PLOT_HEIGHT: f64 = 400.0;

/// More legend rows than this do not make the picture higher; kuva then ends the legend
/// with "… (+N more)".
const MAX_LEGEND_ROWS: usize = 60;

/// Values beyond this are refused: rounding up the end of their axis could overflow.
const LIMIT: f64 = 1e305;

const LINE_WIDTH: f64 = 2.0;

/// One curve: the results of one learner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The name shown in the legend; an empty one gets no legend entry.
    pub label: String,
    /// The points of the curve, in any order (they are drawn from left to right).
    pub points: Vec<SeriesPoint>,
    /// Whether it is drawn with dashes, as a bound and not as a result.
    pub dashed: bool,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Where on the horizontal axis, for instance the number of episodes played.
    pub x: f64,
    /// The mean over the runs.
    pub mean: f64,
    /// The standard error of that mean; the 95 % band is 1.96 of these on either side.
    pub stderr: f64,
}

impl SeriesPoint {
    fn lower(&self) -> f64 {
        self.mean - BAND * self.stderr
    }

    fn upper(&self) -> f64 {
        self.mean + BAND * self.stderr
    }

    fn is_valid(&self) -> bool {
        let drawable = |value: f64| value.abs() <= LIMIT;
        drawable(self.x) && drawable(self.lower()) && drawable(self.upper()) && self.stderr >= 0.0
    }
}

/// Texts and axes of a figure.
///
/// Texts are shown as they are, cut with an ellipsis when far too long for a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotOptions {
    /// The title above the curves; none when empty.
    pub title: String,
    /// The horizontal axis; `episodes` when empty.
    pub x_label: String,
    /// The vertical axis; `cumulative regret (gain units)` when empty.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
}

/// A finished figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The figure as an SVG document. It names its font (DejaVu Sans, or else a common
    /// sans-serif) and does not embed it, which would add a megabyte.
    pub svg: String,
    /// The figure as a PNG image with two pixels for each unit of the SVG.
    pub png: Vec<u8>,
}

/// Why a figure could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// No series at all.
    #[error("there is nothing to draw: no series was given")]
    NoSeries,
    /// A series without points.
    #[error("there is nothing to draw for series `{series}`: it has no points")]
    NoPoints {
        /// The label of the series.
        series: String,
    },
    /// A value that has no place on any axis.
    #[error(
        "series `{series}`, point {index}: x, mean and the edges of the band must be finite \
         (at most 1e305) and the standard error must not be negative"
    )]
    BadPoint {
        /// The label of the series.
        series: String,
        /// The position of the point in the series, from 0.
        index: usize,
    },
    /// A step-state pair that has no place on a map.
    #[error("step {t}, state {x}: {rule}")]
    BadPlace {
        /// The step.
        t: usize,
        /// The index of the state.
        x: usize,
        /// The rule that it breaks, and by which value.
        rule: String,
    },
    /// A heat map that does not fit together, or a number that has no place on it.
    #[error("map `{map}`: {rule}")]
    BadMap {
        /// The title of the map.
        map: String,
        /// The rule that it breaks, and by which value.
        rule: String,
    },
    /// A log axis and nothing to show on it.
    #[error("a log axis needs positive values, and no series has any")]
    NotPositive,
    /// kuva could not write the PNG.
    #[error("the PNG could not be written: {0}")]
    Png(String),
}

/// Draws the series as one figure.
///
/// A linear axis always includes zero. On a log axis, points that are not positive are left
/// out and leave a gap in their curve; a series with no others keeps its place in the legend, which says so. The foot of a log axis follows the means and not the
/// bands, and a band that reaches below the foot (to zero or less, perhaps) is cut off
/// there. A log axis shows nine decades at most, down from its greatest value.
///
/// A point with no neighbour on its curve is drawn as a dot with an error bar.
///
/// Up to seven series differ in colour; beyond that the dash pattern differs too, and after
/// 28 series the styles repeat.
///
/// # Errors
///
/// When there is nothing to draw, a value is not finite, a standard error is negative, no
/// series has a point that a log axis could show, or the PNG cannot be written.
pub fn draw(series: &[Series], options: &PlotOptions) -> Result<Picture, PlotError> {
    draw_as(&Look::Learners, series, options)
}

/// Draws the series as one figure of this look.
fn draw_as(look: &Look, series: &[Series], options: &PlotOptions) -> Result<Picture, PlotError> {
    let mut scene = scene_as(look, series, options)?;
    let svg = SvgBackend::new().render_scene(&scene);
    cut_dashes(&mut scene);
    let png = png::render(&scene).map_err(PlotError::Png)?;
    Ok(Picture { svg, png })
}

/// The figure as kuva's backends take it, but for the dashes, which only the SVG's can draw.
fn scene_as(look: &Look, series: &[Series], options: &PlotOptions) -> Result<Scene, PlotError> {
    let curves = visible_runs(series, options)?;
    if curves.iter().all(Vec::is_empty) {
        return Err(PlotError::NotPositive);
    }
    let points = || curves.iter().flatten().flatten();
    let x_axis = match look {
        Look::Learners => Axis::over(points().map(|p| (p.x, p.x)), options.log_x),
        Look::Family { x_axis, .. } => *x_axis,
    };
    let y_axis = if options.log_y {
        Axis::over(points().map(|p| (p.mean, p.upper())), true)
    } else {
        Axis::over(points().map(|p| (p.lower(), p.upper())), false)
    };

    let layout = layout(look, series, &curves, options, &x_axis, &y_axis);
    let frame = ComputedLayout::from_layout(&layout);
    let mut scene = render_multiple(plots(look, series, &curves, &x_axis, &y_axis), layout);
    add_minor_ticks(&mut scene, &frame, &x_axis, &y_axis);
    name_clip_paths(&mut scene);
    Ok(scene)
}

/// The unbroken stretches of one curve.
type Runs = Vec<Vec<SeriesPoint>>;

/// Checks every point and splits each series where a log axis has to leave points out.
fn visible_runs(series: &[Series], options: &PlotOptions) -> Result<Vec<Runs>, PlotError> {
    if series.is_empty() {
        return Err(PlotError::NoSeries);
    }
    series
        .iter()
        .map(|one| {
            let name = || one.label.clone();
            if one.points.is_empty() {
                return Err(PlotError::NoPoints { series: name() });
            }
            if let Some(index) = one.points.iter().position(|p| !p.is_valid()) {
                let series = name();
                return Err(PlotError::BadPoint { series, index });
            }
            let mut points = one.points.clone();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let hidden =
                |p: &SeriesPoint| options.log_x && p.x <= 0.0 || options.log_y && p.mean <= 0.0;
            let runs: Runs = points
                .split(hidden)
                .filter(|run| !run.is_empty())
                .map(<[_]>::to_vec)
                .collect();
            Ok(runs)
        })
        .collect()
}

/// All that is drawn between the axes: bands below, then lines, the first series on top.
fn plots(
    look: &Look,
    series: &[Series],
    curves: &[Runs],
    x_axis: &Axis,
    y_axis: &Axis,
) -> Vec<Plot> {
    let mut bands = Vec::new();
    let mut lines = Vec::new();
    for (index, runs) in curves.iter().enumerate().rev() {
        for run in runs {
            let xs = || run.iter().map(|p| x_axis.place(p.x));
            let means = || run.iter().map(|p| y_axis.place(p.mean));
            let lower = || run.iter().map(|p| y_axis.place(p.lower()));
            let upper = || run.iter().map(|p| y_axis.place(p.upper()));
            if look.shows_points(run) {
                let arms: Vec<_> = lower()
                    .zip(means())
                    .zip(upper())
                    .map(|((lower, mean), upper)| (mean - lower, upper - mean))
                    .collect();
                let dots = ScatterPlot::new()
                    .with_data(xs().zip(means()))
                    .with_y_err_asymmetric(arms)
                    .with_color(look.colour(index))
                    .with_size(4.0);
                lines.push(Plot::Scatter(dots));
            } else {
                let band = BandPlot::new(xs(), lower(), upper())
                    .with_color(look.colour(index))
                    .with_opacity(0.2);
                bands.push(Plot::Band(band));
            }
            if run.len() == 1 {
                continue;
            }
            let style = look
                .dashes(series, index)
                .map_or(LineStyle::Solid, LineStyle::Custom);
            let line = LinePlot::new()
                .with_data(xs().zip(means()))
                .with_color(look.colour(index))
                .with_stroke_width(LINE_WIDTH)
                .with_line_style(style);
            lines.push(Plot::Line(line));
        }
    }
    bands.append(&mut lines);
    bands
}

/// Texts, ranges, legend and the size of the picture.
fn layout(
    look: &Look,
    series: &[Series],
    curves: &[Runs],
    options: &PlotOptions,
    x_axis: &Axis,
    y_axis: &Axis,
) -> Layout {
    let theme = Theme {
        axis_color: "#333333".to_owned(),
        tick_color: "#333333".to_owned(),
        text_color: "#1a1a1a".to_owned(),
        grid_color: "#e8e8e8".to_owned(),
        ..Theme::light()
    };
    let or = |text: &str, default: &str| tidy(if text.is_empty() { default } else { text }, 500);
    let mut layout = Layout::new((x_axis.lo, x_axis.hi), (y_axis.lo, y_axis.hi))
        .with_x_axis_min(x_axis.lo)
        .with_x_axis_max(x_axis.hi)
        .with_y_axis_min(y_axis.lo)
        .with_y_axis_max(y_axis.hi)
        .with_x_tick_format(x_axis.format())
        .with_y_tick_format(y_axis.format())
        .with_x_label_overlap(AxisLabelOverlap::Thin)
        .with_x_label(or(&options.x_label, "episodes"))
        .with_y_label(or(&options.y_label, "cumulative regret (gain units)"))
        .with_x_label_wrap(65)
        .with_y_label_wrap(43)
        .with_title_size(17)
        .with_label_size(15)
        .with_tick_size(13)
        .with_body_size(13)
        .with_theme(theme);
    if !options.title.is_empty() {
        layout = layout
            .with_title(tidy(&options.title, 180))
            .with_title_wrap(60);
    }

    let legend = series
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.label.is_empty())
        .map(|(index, one)| LegendEntry {
            label: if curves[index].is_empty() {
                format!("{} (not above 0)", tidy(&one.label, 28))
            } else {
                tidy(&one.label, 40)
            },
            color: look.colour(index).to_owned(),
            shape: LegendShape::Line,
            dasharray: look.dashes(series, index),
        });
    let legend: Vec<_> = look.heading(series).into_iter().chain(legend).collect();
    let rows = legend.len().min(MAX_LEGEND_ROWS);
    if !legend.is_empty() {
        layout = layout.with_legend_entries(legend).with_legend_box(false);
    }

    layout.log_x = x_axis.log;
    if y_axis.log {
        // kuva measures the labels of a log axis in a format of its own, and wider ones
        // would run into the axis label: measure them as those of a linear axis.
        let widest = y_axis.widest_log_label();
        layout = layout.with_y_tick_format(TickFormat::Custom(Arc::new(move |_| widest.clone())));
        let measured = ComputedLayout::from_layout(&layout);
        layout = layout
            .with_log_y()
            .with_y_tick_format(y_axis.format())
            .with_force_margins(measured.margin_left, measured.margin_right);
        let guessed = ComputedLayout::from_layout(&layout).y_tick_label_px;
        layout.y_label_offset.0 = guessed - measured.y_tick_label_px;
    }

    // Fixing the area between the axes lets the picture grow with its texts and its legend.
    let frame = ComputedLayout::from_layout(&layout);
    let height = PLOT_HEIGHT.max((rows as f64 + 2.0) * frame.legend_line_height);
    layout.width = Some((frame.margin_left + PLOT_WIDTH + frame.margin_right).ceil());
    layout.height = Some((frame.margin_top + height + frame.margin_bottom).ceil());
    layout
}

/// Makes a text fit for a figure and for XML: no control characters, at most `max`
/// characters, and no `$`, which kuva would take for mathematics.
fn tidy(text: &str, max: usize) -> String {
    let mut tidied: String = text
        .chars()
        .map(|c| match c {
            '\u{FFFE}' | '\u{FFFF}' => '\u{FFFD}',
            c if c.is_control() => ' ',
            c => c,
        })
        .take(max)
        .collect();
    if text.chars().nth(max).is_some() {
        tidied.pop();
        tidied.push('…');
    }
    tidied.replace('$', "\\$")
}

#[cfg(test)]
mod tests;
