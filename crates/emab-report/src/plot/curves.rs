//! Regret curves: one line per learner with a shaded 95 % band, on linear or log axes.

use std::sync::Arc;

use kuva::plot::legend::{LegendEntry, LegendShape};
use kuva::plot::{BandPlot, LinePlot, LineStyle, ScatterPlot};
use kuva::render::layout::{AxisLabelOverlap, ComputedLayout, Layout, TickFormat};
use kuva::render::plots::Plot;
use kuva::render::render::{Scene, render_multiple};
use kuva::render::theme::Theme;

use super::axis::Axis;
use super::kuva_fixes::{add_minor_ticks, name_clip_paths};
use super::style::Style;
use super::{BAND, LIMIT, Picture, PlotError, sanitize};

/// Size of the area between the axes; the picture grows around it.
const PLOT_WIDTH: f64 = 600.0;
const PLOT_HEIGHT: f64 = 400.0;

/// Legend rows that increase the height of the picture; kuva ends a longer legend with "… (+N more)".
const MAX_LEGEND_ROWS: usize = 60;

const LINE_WIDTH: f64 = 2.0;

/// One curve, such as the regret of one learner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend; without a name there is no entry.
    pub label: String,
    /// Points, in any order.
    pub points: Vec<SeriesPoint>,
    /// Whether the line is dashed: bounds are, results are not.
    pub dashed: bool,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SeriesPoint {
    /// Position on the horizontal axis, such as the number of episodes.
    pub x: f64,
    /// Mean over the runs.
    pub mean: f64,
    /// Standard error of the mean; the 95 % band is 1.96 standard errors on either side.
    pub stderr: f64,
}

impl SeriesPoint {
    fn lower(&self) -> f64 {
        self.mean - BAND * self.stderr
    }

    fn upper(&self) -> f64 {
        self.mean + BAND * self.stderr
    }

    pub(super) fn is_valid(&self) -> bool {
        let drawable = |value: f64| value.abs() <= LIMIT;
        drawable(self.x) && drawable(self.lower()) && drawable(self.upper()) && self.stderr >= 0.0
    }
}

/// Texts and axes of a figure.
///
/// Texts that are too long are cut with an ellipsis.
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

/// Draws regret curves as one figure.
///
/// A linear axis includes zero. A log axis omits points that are not positive, which leaves a gap in the curve; the
/// legend marks a series without positive points. A log axis begins below the lowest mean, cuts off bands there, and
/// shows at most nine decades.
///
/// A point without a neighbour on its curve is a dot with an error bar.
///
/// Seven series differ in colour, further ones also in the dash pattern; styles repeat after 28 series.
///
/// # Errors
///
/// When there is nothing to draw, a value is not finite, a standard error is negative, no series has a positive value
/// for a log axis, or the PNG cannot be written.
pub fn draw_curves(series: &[Series], options: &PlotOptions) -> Result<Picture, PlotError> {
    Ok(Picture::new(styled_scene(
        &Style::Learners,
        series,
        options,
    )?))
}

/// The series in a style.
pub(super) fn styled_scene(
    style: &Style,
    series: &[Series],
    options: &PlotOptions,
) -> Result<Scene, PlotError> {
    let curves = visible_segments(series, options)?;
    if curves.iter().all(Vec::is_empty) {
        return Err(PlotError::NotPositive);
    }
    let points = || curves.iter().flatten().flatten();
    let x_axis = match style {
        Style::Learners => Axis::over(points().map(|p| (p.x, p.x)), options.log_x),
        Style::Ordered { x_axis, .. } => *x_axis,
    };
    let y_axis = if options.log_y {
        Axis::over(points().map(|p| (p.mean, p.upper())), true)
    } else {
        Axis::over(points().map(|p| (p.lower(), p.upper())), false)
    };

    let layout = layout(style, series, &curves, options, &x_axis, &y_axis);
    let frame = ComputedLayout::from_layout(&layout);
    let mut scene = render_multiple(plots(style, series, &curves, &x_axis, &y_axis), layout);
    add_minor_ticks(&mut scene, &frame, &x_axis, &y_axis);
    name_clip_paths(&mut scene);
    Ok(scene)
}

/// Consecutive visible points of one curve.
pub(super) type Segments = Vec<Vec<SeriesPoint>>;

/// Checks every point and splits each series at the points that a log axis omits.
pub(super) fn visible_segments(
    series: &[Series],
    options: &PlotOptions,
) -> Result<Vec<Segments>, PlotError> {
    if series.is_empty() {
        return Err(PlotError::NoSeries);
    }
    series
        .iter()
        .map(|one| {
            if one.points.is_empty() {
                return Err(PlotError::NoPoints(one.label.clone()));
            }
            if let Some(index) = one.points.iter().position(|p| !p.is_valid()) {
                return Err(PlotError::BadPoint(one.label.clone(), index));
            }
            let mut points = one.points.clone();
            points.sort_by(|a, b| a.x.total_cmp(&b.x));
            let hidden =
                |p: &SeriesPoint| options.log_x && p.x <= 0.0 || options.log_y && p.mean <= 0.0;
            let segments: Segments = points
                .split(hidden)
                .filter(|segment| !segment.is_empty())
                .map(<[_]>::to_vec)
                .collect();
            Ok(segments)
        })
        .collect()
}

/// The content between the axes: bands below, then lines, the first series on top.
fn plots(
    style: &Style,
    series: &[Series],
    curves: &[Segments],
    x_axis: &Axis,
    y_axis: &Axis,
) -> Vec<Plot> {
    let mut bands = Vec::new();
    let mut lines = Vec::new();
    for (index, segments) in curves.iter().enumerate().rev() {
        for segment in segments {
            let xs = || segment.iter().map(|p| x_axis.place(p.x));
            let means = || segment.iter().map(|p| y_axis.place(p.mean));
            let lower = || segment.iter().map(|p| y_axis.place(p.lower()));
            let upper = || segment.iter().map(|p| y_axis.place(p.upper()));
            if style.shows_points(segment) {
                let arms: Vec<_> = lower()
                    .zip(means())
                    .zip(upper())
                    .map(|((lower, mean), upper)| (mean - lower, upper - mean))
                    .collect();
                let dots = ScatterPlot::new()
                    .with_data(xs().zip(means()))
                    .with_y_err_asymmetric(arms)
                    .with_color(style.colour(index))
                    .with_size(4.0);
                lines.push(Plot::Scatter(dots));
            } else {
                let band = BandPlot::new(xs(), lower(), upper())
                    .with_color(style.colour(index))
                    .with_opacity(0.2);
                bands.push(Plot::Band(band));
            }
            if segment.len() == 1 {
                continue;
            }
            let line_style = style
                .dashes(series, index)
                .map_or(LineStyle::Solid, LineStyle::Custom);
            let line = LinePlot::new()
                .with_data(xs().zip(means()))
                .with_color(style.colour(index))
                .with_stroke_width(LINE_WIDTH)
                .with_line_style(line_style);
            lines.push(Plot::Line(line));
        }
    }
    bands.append(&mut lines);
    bands
}

/// Texts, ranges, legend and size of the picture.
fn layout(
    style: &Style,
    series: &[Series],
    curves: &[Segments],
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
    let or =
        |text: &str, default: &str| sanitize(if text.is_empty() { default } else { text }, 500);
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
            .with_title(sanitize(&options.title, 180))
            .with_title_wrap(60);
    }

    let legend = series
        .iter()
        .enumerate()
        .filter(|(_, one)| !one.label.is_empty())
        .map(|(index, one)| LegendEntry {
            label: if curves[index].is_empty() {
                format!("{} (not above 0)", sanitize(&one.label, 28))
            } else {
                sanitize(&one.label, 40)
            },
            color: style.colour(index).to_owned(),
            shape: LegendShape::Line,
            dasharray: style.dashes(series, index),
        });
    let legend: Vec<_> = style.heading(series).into_iter().chain(legend).collect();
    let rows = legend.len().min(MAX_LEGEND_ROWS);
    if !legend.is_empty() {
        layout = layout.with_legend_entries(legend).with_legend_box(false);
    }

    layout.log_x = x_axis.log;
    if y_axis.log {
        // kuva measures the labels of a log axis in another format, and wider ones would
        // overlap the axis label: measure them as those of a linear axis.
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
