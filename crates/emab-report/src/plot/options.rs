//! The choices that all kinds of figures share.

use super::{LIMIT, Picture, PlotError};
use crate::text_table::number;

/// Size of the small texts (ticks, legend) in SVG units, and in points at the default scale.
pub(super) const BODY: u32 = 13;
const BODY_POINTS: f64 = 9.75;

/// Size of curves on a phone, and of their small texts in points.
const NARROW: (f64, f64) = (330.0, 300.0);
const NARROW_POINTS: f64 = 8.5;

/// Texts, axes, legend and size of a figure.
///
/// Curves and the lines of sweeps use all fields; maps use `title`, `caption`, `size` and `font_size`.
///
/// ```
/// use emab_report::{LegendPlace, PlotOptions};
/// let column = PlotOptions {
///     size: Some((336.0, 240.0)),
///     font_size: Some(8.0),
///     legend: LegendPlace::Inside,
///     ..PlotOptions::default()
/// };
/// assert!(column.check().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlotOptions {
    /// The title above the figure; none when empty.
    pub title: String,
    /// Sentences below the figure, wrapped to its width; none when empty.
    pub caption: String,
    /// The horizontal axis; `episodes` when empty.
    pub x_label: String,
    /// The vertical axis; `cumulative regret (gain units)` when empty.
    pub y_label: String,
    /// Whether the horizontal axis is logarithmic.
    pub log_x: bool,
    /// Whether the vertical axis is logarithmic.
    pub log_y: bool,
    /// The ends of the horizontal axis; an end that is not set follows the points.
    pub x_range: AxisRange,
    /// The ends of the vertical axis.
    pub y_range: AxisRange,
    /// The place of the legend.
    pub legend: LegendPlace,
    /// Width and height of the whole figure in SVG units of 1/96 inch. The area between the axes takes what the texts leave; the figure
    /// grows where that would be too little. Without a size, the area is 600 by 400 and the figure grows around it. A map is
    /// scaled to the size, with its texts.
    pub size: Option<(f64, f64)>,
    /// The size of ticks and legend in points of 1/72 inch, 9.75 if not set; other texts, lines and marks scale with it.
    pub font_size: Option<f64>,
    /// Whether the layout is for a phone: about 360 units wide, with panels below each other. Curves have a set size and no title then.
    pub narrow: bool,
}

/// Lower and upper end of an axis, each optional.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisRange {
    /// The lower end.
    pub from: Option<f64>,
    /// The upper end.
    pub to: Option<f64>,
}

/// Where the legend is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LegendPlace {
    /// On the right, or below the axes if the figure is too narrow for that.
    #[default]
    Auto,
    /// On the right of the axes.
    Right,
    /// Below the axes.
    Below,
    /// Between the axes, in the corner that covers least of the curves; below the axes if it is higher than they are or covers more
    /// than half of the area between them.
    Inside,
    /// No legend.
    None,
}

impl AxisRange {
    pub(super) fn contains(&self, value: f64) -> bool {
        self.from.is_none_or(|from| value >= from) && self.to.is_none_or(|to| value <= to)
    }

    pub(super) fn overlaps(&self, low: f64, high: f64) -> bool {
        self.from.is_none_or(|from| high >= from) && self.to.is_none_or(|to| low <= to)
    }

    /// Checks that the range shows some of these pairs of low and high values.
    pub(super) fn check_shows(
        &self,
        field: &'static str,
        data: impl Iterator<Item = (f64, f64)>,
    ) -> Result<(), PlotError> {
        let all = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = data.fold(all, |(low, high), one| (low.min(one.0), high.max(one.1)));
        if low > high || self.overlaps(low, high) {
            return Ok(());
        }
        let rule = format!(
            "it must overlap the values, which reach from {} to {}, got {}",
            number(low),
            number(high),
            self.shown()
        );
        Err(PlotError::Option(field, rule))
    }

    fn shown(&self) -> String {
        let shown = |end: Option<f64>| end.map_or(String::new(), |end| end.to_string());
        format!("{}:{}", shown(self.from), shown(self.to))
    }

    fn ends(&self) -> impl Iterator<Item = f64> + use<> {
        self.from.into_iter().chain(self.to)
    }

    /// The ends as pairs that an axis must cover.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (f64, f64)> + use<> {
        self.ends().map(|end| (end, end))
    }

    fn violated_rule(&self, log: bool) -> Option<String> {
        let got = format!("got {}", self.shown());
        if !self.ends().all(|end| end.abs() <= LIMIT) {
            return Some(format!("its ends must be finite (at most 1e305), {got}"));
        }
        if log && self.ends().any(|end| end <= 0.0) {
            return Some(format!("the ends of a log axis must be above 0, {got}"));
        }
        let (from, to) = (self.from?, self.to?);
        (from >= to).then(|| format!("it must begin below its end, {got}"))
    }
}

impl PlotOptions {
    /// The least and the greatest side of a figure, in units of 1/96 inch: 0.5 and 100 inches.
    pub const SIDES: (f64, f64) = (48.0, 9600.0);
    /// The least and the greatest font size, in points.
    pub const FONT_SIZES: (f64, f64) = (2.0, 100.0);

    /// Draws a figure of a page: with these options, and for narrow screens where that is possible.
    ///
    /// # Errors
    ///
    /// When the figure cannot be drawn with these options.
    pub fn for_page(
        &self,
        draw: impl Fn(&PlotOptions) -> Result<Picture, PlotError>,
    ) -> Result<Picture, PlotError> {
        let narrow = PlotOptions {
            narrow: true,
            ..self.clone()
        };
        Ok(Picture {
            narrow: draw(&narrow).ok().map(|picture| picture.svg),
            ..draw(self)?
        })
    }

    /// The options of curves, which have a set size on a narrow screen.
    pub(super) fn of_curves(&self) -> PlotOptions {
        match self.narrow {
            false => self.clone(),
            true => PlotOptions {
                title: String::new(),
                legend: LegendPlace::Below,
                size: Some(NARROW),
                font_size: Some(NARROW_POINTS),
                ..self.clone()
            },
        }
    }

    /// Checks sizes and ranges; every function that draws does so too.
    ///
    /// # Errors
    ///
    /// When a size is not positive or far too large, or a range is empty or does not fit its axis.
    pub fn check(&self) -> Result<(), PlotError> {
        let bad = |field, rule: String| Err(PlotError::Option(field, rule));
        if let Some((width, height)) = self.size
            && ![width, height]
                .iter()
                .all(|side| within(Self::SIDES, *side))
        {
            let rule =
                "width and height must be from 0.5 to 100 inches (48 to 9,600 units of 1/96 inch)";
            return bad("size", format!("{rule}, got {width} by {height} units"));
        }
        if let Some(points) = self.font_size
            && !within(Self::FONT_SIZES, points)
        {
            return bad(
                "font size",
                format!("it must be from 2 to 100 points, got {points}"),
            );
        }
        let axes = [
            ("x range", self.x_range, self.log_x),
            ("y range", self.y_range, self.log_y),
        ];
        for (field, range, log) in axes {
            if let Some(rule) = range.violated_rule(log) {
                return bad(field, rule);
            }
        }
        Ok(())
    }

    /// SVG units per unit of the layout, in which the small texts have [`BODY`] units.
    pub(super) fn scale(&self) -> f64 {
        self.font_size.map_or(1.0, |points| points / BODY_POINTS)
    }

    /// The size of the figure in units of the layout.
    pub(super) fn layout_size(&self) -> Option<(f64, f64)> {
        let scale = self.scale();
        self.size
            .map(|(width, height)| (width / scale, height / scale))
    }

    /// The scale of a map of this natural size: it has the requested size, or the requested size of texts.
    pub(super) fn map_scale(&self, width: f64, height: f64) -> Result<f64, PlotError> {
        match (self.size, self.font_size) {
            (Some(_), Some(_)) => Err(PlotError::Option(
                "size and font size",
                "a map is scaled to its size with its texts; give one of them".into(),
            )),
            (Some((wide, high)), None) => Ok((wide / width).min(high / height)),
            (None, _) => Ok(self.scale()),
        }
    }
}

fn within((least, most): (f64, f64), value: f64) -> bool {
    (least..=most).contains(&value)
}
