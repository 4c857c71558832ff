//! The layout of a figure with lines: texts around the plot area, axes, and the legend.

use kuva::render::render::{Scene, TextAnchor};

use super::super::axis::Axis;
use super::super::clip::Area;
use super::super::grid::canvas::Canvas;
use super::super::grid::colour::Rgb;
use super::super::grid::text::{width, wrap};
use super::super::options::{BODY, LegendPlace, PlotOptions};
use super::content::{Content, Plane};
use super::legend::{LegendBox, LegendColumns};

/// The area between the axes without a size of the figure, and its least size with one.
const AREA: (f64, f64) = (600.0, 400.0);
const LEAST: (f64, f64) = (120.0, 110.0);

/// The share of the width below which axes are narrow.
const NARROW: f64 = 0.5;

/// Space around the figure.
const MARGIN: f64 = 10.0;
const LABEL: u32 = 15;
const LABEL_LINE: f64 = 19.0;
/// Space between the axes and their ticks' labels, and the height of these.
const TICK: f64 = 5.0;
const MINOR_TICK: f64 = 3.0;
const TICK_LINE: f64 = 15.0;
/// Space between the plot area and the legend on its right.
const LEGEND_GAP: f64 = 16.0;

const AXIS: Rgb = [0x33; 3];
const GRID: Rgb = [0xe8; 3];

/// Both axes of a figure.
pub(super) struct Axes {
    pub(super) x: Axis,
    pub(super) y: Axis,
}

/// Where the parts of a figure are.
pub(super) struct Frame<'a> {
    options: &'a PlotOptions,
    area: Area,
    width: f64,
    x_label: Vec<String>,
    y_label: Vec<String>,
    /// The legend on the right or below.
    legend: Option<LegendColumns>,
}

/// A tick with a label: its place from 0 to 1 and its text.
type Tick = (f64, String);

impl<'a> Frame<'a> {
    /// The layout. A legend without a requested place moves below axes that are narrow beside it, and a legend between the axes
    /// where it does not fit.
    pub(super) fn new(axes: &Axes, legend: &mut LegendBox<'_>, options: &'a PlotOptions) -> Self {
        let frame = Self::fitted(axes, legend, options);
        let narrow = frame.area.right - frame.area.left < NARROW * frame.width;
        let fits = match legend.place {
            LegendPlace::Right => {
                !narrow || options.legend != LegendPlace::Auto || options.size.is_none()
            }
            LegendPlace::Inside => legend.fits_inside(frame.area),
            _ => true,
        };
        if fits {
            return frame;
        }
        legend.place = LegendPlace::Below;
        Self::fitted(axes, legend, options)
    }

    /// The layout with the label of the vertical axis wrapped to its length, which depends on everything else.
    fn fitted(axes: &Axes, legend: &LegendBox<'_>, options: &'a PlotOptions) -> Self {
        let first = Self::with_room(axes, legend, options, AREA.1);
        match first.area.bottom - first.area.top {
            room if room < AREA.1 => Self::with_room(axes, legend, options, room),
            _ => first,
        }
    }

    /// The layout with this room for the label of the vertical axis.
    fn with_room(axes: &Axes, legend: &LegendBox<'_>, options: &'a PlotOptions, room: f64) -> Self {
        let size = options.layout_size();
        let or = |text: &'a str, default: &'a str| if text.is_empty() { default } else { text };
        let y_label = or(&options.y_label, "cumulative regret (gain units)");
        let y_label = wrap(y_label, room, LABEL, 3);
        let texts = labels(&axes.y)
            .into_iter()
            .map(|(_, text)| width(&text, BODY));
        let left =
            MARGIN + LABEL_LINE * y_label.len() as f64 + texts.fold(0.0, f64::max) + TICK + 8.0;

        let beside = (legend.place == LegendPlace::Right)
            .then(|| legend.column(size.map_or(f64::INFINITY, |(width, _)| width)));
        let last_tick = labels(&axes.x)
            .pop()
            .map_or(0.0, |(_, text)| width(&text, BODY) / 2.0);
        let right = match &beside {
            Some(column) => LEGEND_GAP.max(last_tick) + column.width + MARGIN,
            None => MARGIN.max(last_tick + 2.0) + 4.0,
        };
        let wide = size.map_or(AREA.0, |(width, _)| (width - left - right).max(LEAST.0));
        let full = tidy(left + wide + right, options);
        let below =
            (legend.place == LegendPlace::Below).then(|| legend.columns_below(full - 2.0 * MARGIN));

        let x_label = wrap(
            or(&options.x_label, "episodes"),
            wide.max(LEAST.0),
            LABEL,
            3,
        );
        // Title and caption are drawn once to measure them.
        let mut canvas = Canvas::new(full);
        let top = match options.title.is_empty() {
            true => MARGIN + 6.0,
            false => canvas.title(&options.title, 3, 2.0),
        };
        let under = TICK + TICK_LINE + LABEL_LINE * x_label.len() as f64 + 4.0;
        let legend_high = below.as_ref().map_or(0.0, |columns| columns.height + 8.0);
        let caption = canvas.caption(&options.caption, 0.0, MARGIN);
        let rest = top + under + legend_high + caption + MARGIN;
        let high = size.map_or(AREA.1, |(_, height)| (height - rest).max(LEAST.1));
        let high = high.max(beside.as_ref().map_or(0.0, |column| column.height));
        Self {
            options,
            area: Area {
                left,
                top,
                right: left + wide,
                bottom: top + high,
            },
            width: full,
            x_label,
            y_label,
            legend: beside.or(below),
        }
    }

    pub(super) fn draw(&self, axes: &Axes, content: &Content<'_>, legend: &LegendBox<'_>) -> Scene {
        let mut canvas = Canvas::new(self.width);
        canvas.title(&self.options.title, 3, 2.0);
        self.draw_axes(&mut canvas, axes);
        let area = self.area;
        let plane = Plane { axes, area };
        content.draw(&mut canvas, &plane);
        let mut end = self.draw_labels(&mut canvas);
        match (legend.place, &self.legend) {
            (LegendPlace::Inside, _) => {
                legend.draw_inside(&mut canvas, area, &content.places(&plane));
            }
            (LegendPlace::Right, Some(column)) => {
                let left = self.width - MARGIN - column.width;
                legend.draw(&mut canvas, column, (left, area.top));
            }
            (_, Some(columns)) => {
                let left = (self.width - columns.width) / 2.0;
                legend.draw(&mut canvas, columns, (left.max(MARGIN), end + 8.0));
                end += columns.height + 8.0;
            }
            (_, None) => {}
        }
        let end = canvas.caption(&self.options.caption, end, MARGIN);
        canvas.finish_at(tidy(end + MARGIN, self.options))
    }

    fn draw_axes(&self, canvas: &mut Canvas, axes: &Axes) {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.area;
        let x = |place: f64| left + place * (right - left);
        let y = |place: f64| bottom - place * (bottom - top);
        let x_ticks = apart(&axes.x, right - left, |text| width(text, BODY) + 10.0);
        let y_ticks = apart(&axes.y, bottom - top, |_| f64::from(BODY) + 4.0);
        for (place, _) in &x_ticks {
            canvas.coloured_line((x(*place), top), (x(*place), bottom), GRID, 1.0);
        }
        for (place, _) in &y_ticks {
            canvas.coloured_line((left, y(*place)), (right, y(*place)), GRID, 1.0);
        }
        canvas.coloured_line((left, bottom), (right, bottom), AXIS, 1.0);
        canvas.coloured_line((left, top), (left, bottom), AXIS, 1.0);
        for tick in axes.x.minor_ticks() {
            let x = x(axes.x.fraction(tick * axes.x.unit));
            canvas.coloured_line((x, bottom), (x, bottom + MINOR_TICK), AXIS, 1.0);
        }
        for tick in axes.y.minor_ticks() {
            let y = y(axes.y.fraction(tick * axes.y.unit));
            canvas.coloured_line((left - MINOR_TICK, y), (left, y), AXIS, 1.0);
        }
        for (place, text) in &x_ticks {
            let x = x(*place);
            canvas.coloured_line((x, bottom), (x, bottom + TICK), AXIS, 1.0);
            let at = (x, bottom + TICK + 13.0);
            canvas.text(at, BODY, TextAnchor::Middle, text);
        }
        for (place, text) in &y_ticks {
            let y = y(*place);
            canvas.coloured_line((left - TICK, y), (left, y), AXIS, 1.0);
            canvas.text((left - TICK - 4.0, y + 4.5), BODY, TextAnchor::End, text);
        }
    }

    /// Writes the labels of the axes; returns where the lower one ends.
    fn draw_labels(&self, canvas: &mut Canvas) -> f64 {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.area;
        for (i, line) in self.y_label.iter().enumerate() {
            let at = (MARGIN + LABEL_LINE * i as f64 + 13.0, (top + bottom) / 2.0);
            canvas.upward_text(at, LABEL, TextAnchor::Middle, line);
        }
        let first = bottom + TICK + TICK_LINE + 4.0;
        for (i, line) in self.x_label.iter().enumerate() {
            let at = ((left + right) / 2.0, first + LABEL_LINE * i as f64 + 13.0);
            canvas.text(at, LABEL, TextAnchor::Middle, line);
        }
        first + LABEL_LINE * self.x_label.len() as f64
    }
}

/// A side of the figure: the requested length without rounding errors, otherwise whole units.
fn tidy(length: f64, options: &PlotOptions) -> f64 {
    match options.size {
        Some(_) => (1e3 * length).round() / 1e3,
        None => length.ceil(),
    }
}

/// All ticks of an axis with their labels.
fn labels(axis: &Axis) -> Vec<Tick> {
    let ticks = axis.ticks().into_iter();
    ticks
        .map(|(tick, _)| (axis.fraction(tick * axis.unit), axis.tick_label(tick)))
        .collect()
}

/// The ticks whose labels do not overlap on an axis of this length: all, else those with priority, else every n-th of them.
fn apart(axis: &Axis, length: f64, room: impl Fn(&str) -> f64) -> Vec<Tick> {
    let fits = |ticks: &[Tick]| {
        ticks.windows(2).all(|pair| {
            let needed = (room(&pair[0].1) + room(&pair[1].1)) / 2.0;
            (pair[1].0 - pair[0].0) * length >= needed
        })
    };
    let all = labels(axis);
    if fits(&all) {
        return all;
    }
    let main: Vec<Tick> = axis
        .ticks()
        .iter()
        .zip(all)
        .filter(|((_, main), _)| *main)
        .map(|(_, tick)| tick)
        .collect();
    let every = |n: usize| main.iter().step_by(n).cloned().collect::<Vec<Tick>>();
    (1..=main.len())
        .map(every)
        .find(|ticks| fits(ticks))
        .unwrap_or_default()
}
