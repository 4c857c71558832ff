//! Lines with bands or error bars, on linear or log axes: regret curves, and results of sweeps.

mod content;
mod frame;
mod legend;
mod sweep;

use kuva::render::render::Scene;

use self::content::Content;
use self::frame::{Axes, Frame};
use self::legend::{Entry, LegendBox};
use super::axis::Axis;
use super::options::PlotOptions;
use super::series::{Series, SeriesPoint};
use super::style::Style;
use super::{Picture, PlotError};
use crate::runs_table::UNRELIABLE;

pub use self::sweep::draw_sweep_lines;

/// Draws regret curves as one figure.
///
/// A linear axis includes zero unless its range is set. A log axis omits points that are not positive, which leaves a gap in the
/// curve; the legend marks a series without positive points. A log axis begins below the lowest point, cuts off bands there,
/// and shows at most nine decades.
///
/// A point without a neighbour on its curve is a dot with an error bar.
///
/// Twelve results differ in colour, and after every third the dash pattern changes; styles repeat after 48. Bounds are thin and grey,
/// with marks. Labels are wrapped, and the figure grows with its legend.
///
/// # Errors
///
/// When there is nothing to draw, a value is not finite, a band does not contain its centre, no series has a positive value
/// for a log axis, no curve is between the ends of the axes, or an option is invalid.
pub fn draw_curves(series: &[Series], options: &PlotOptions) -> Result<Picture, PlotError> {
    let options = &options.of_curves();
    let scene = styled_scene(&Style::Learners, series, options)?;
    Ok(Picture::new(scene, options.scale()))
}

/// The series in a style.
pub(super) fn styled_scene(
    style: &Style,
    series: &[Series],
    options: &PlotOptions,
) -> Result<Scene, PlotError> {
    options.check()?;
    let curves = visible_segments(series, options)?;
    if curves.iter().all(Vec::is_empty) {
        return Err(PlotError::NotPositive);
    }
    check_ranges(&curves, options)?;
    let axes = Axes {
        x: x_axis(style, &curves, options),
        y: y_axis(&curves, options),
    };
    let content = Content::new(style, series, &curves);
    let mut legend = LegendBox::new(entries(style, &content), options);
    let frame = Frame::new(&axes, &mut legend, options);
    Ok(frame.draw(&axes, &content, &legend))
}

/// Checks that a part of the curves is between the ends of both axes.
fn check_ranges(curves: &[Segments], options: &PlotOptions) -> Result<(), PlotError> {
    let (x_range, y_range) = (options.x_range, options.y_range);
    let points = || curves.iter().flatten().flatten();
    x_range.check_shows("x range", points().map(|p| (p.x, p.x)))?;
    let visible = curves.iter().flatten().flat_map(|segment| {
        // A line may cross the range between two points.
        let pairs = segment.windows(2);
        let pairs = pairs.filter(|pair| x_range.overlaps(pair[0].x, pair[1].x));
        let alone = segment.iter().filter(|p| x_range.contains(p.x));
        pairs.flatten().chain(alone)
    });
    y_range.check_shows("y range", visible.map(SeriesPoint::extent))
}

fn x_axis(style: &Style, curves: &[Segments], options: &PlotOptions) -> Axis {
    let points = curves.iter().flatten().flatten();
    let covered = points.map(|p| (p.x, p.x)).chain(options.x_range.pairs());
    let axis = match style {
        Style::Learners => Axis::over(covered, options.log_x),
        Style::Sweep { x_axis, .. } => *x_axis,
    };
    axis.limited(&options.x_range)
}

/// The axis over the points between the ends of the horizontal axis.
fn y_axis(curves: &[Segments], options: &PlotOptions) -> Axis {
    let points = || curves.iter().flatten().flatten();
    let any_inside = points().any(|p| options.x_range.contains(p.x));
    let inside = points().filter(|p| !any_inside || options.x_range.contains(p.x));
    let covered = inside.map(|p| match (options.log_y, p.extent()) {
        (true, (_, upper)) => (p.centre, upper),
        (false, extent) => extent,
    });
    let covered = covered.chain(options.y_range.pairs());
    Axis::over(covered, options.log_y).limited(&options.y_range)
}

/// The entries of the legend: the heading, and the series that have a label.
fn entries<'a>(style: &'a Style, content: &'a Content<'_>) -> Vec<Entry<'a>> {
    let lines = content.lines.iter().filter(|line| !line.label.is_empty());
    let lines: Vec<Entry<'_>> = lines
        .map(|line| Entry {
            line: Some(line),
            text: match line.segments.is_empty() {
                true => format!("{} (not above 0)", line.label),
                false if line.segments.iter().flatten().any(|p| p.unreliable) => {
                    format!("{} {UNRELIABLE}", line.label)
                }
                false => line.label.to_owned(),
            },
        })
        .collect();
    if lines.is_empty() {
        return lines;
    }
    let heading = style.heading().map(|heading| Entry {
        line: None,
        text: heading.to_owned(),
    });
    heading.into_iter().chain(lines).collect()
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
                |p: &SeriesPoint| options.log_x && p.x <= 0.0 || options.log_y && p.centre <= 0.0;
            let segments: Segments = points
                .split(hidden)
                .filter(|segment| !segment.is_empty())
                .map(<[_]>::to_vec)
                .collect();
            Ok(segments)
        })
        .collect()
}

#[cfg(test)]
mod tests;
