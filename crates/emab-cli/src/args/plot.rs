//! The arguments of `emab plot`.

use std::path::PathBuf;

use clap::ValueEnum;
use emab_report::{AxisRange, LegendPlace, PlotOptions};

#[derive(clap::Args)]
pub struct Plot {
    /// A folder of `emab run --out`, `emab sweep --out` or `emab arena --out`.
    pub folder: PathBuf,
    /// Only this learner, by its label or name; may be repeated, for several in this order (in an arena, by rank) [default: all].
    #[arg(long, value_name = "NAME")]
    pub learner: Vec<String>,
    /// The name of a learner in the figure; may be repeated.
    #[arg(long, value_name = "NAME=TEXT")]
    pub label: Vec<String>,
    /// The bands of lines: the 95 % interval of the mean, or the median with quartiles and 5 % and 95 % quantiles of the runs.
    #[arg(long, value_name = "BAND", default_value = "ci")]
    pub band: Band,
    /// Draw Theorem 1 beside the curves of `feedbal`, on a log axis, in bound.svg and bound.png.
    #[arg(long)]
    pub bound: bool,
    /// Draw the lower bound beside the curves: what every learner loses, here or in an alternative. In bound.svg and bound.png.
    #[arg(long)]
    pub lower: bool,

    /// The .pdf, .svg or .png file to write [default: regret.*, bound.*, sweep.* or arena.*, as SVG and PNG, in the folder].
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Width and height of the figure, such as 3.5x2.6in, 9x6.5cm, 90x65mm, or 640x480 in pixels of 1/96 inch [default: as large
    /// as its content needs].
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    pub size: Option<(f64, f64)>,
    /// The size of the text at ticks and in the legend, in points; labels, lines and marks scale with it [default: 9.75].
    #[arg(long, value_name = "POINTS", value_parser = points)]
    pub font_size: Option<f64>,
    /// The title; "" for none [default: the problem's name and the number of runs].
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// A text below the figure; "" for none [default: what the figure needs to be read correctly].
    #[arg(long, value_name = "TEXT")]
    pub caption: Option<String>,
    /// The label of the horizontal axis.
    #[arg(long, value_name = "TEXT")]
    pub x_label: Option<String>,
    /// The label of the vertical axis.
    #[arg(long, value_name = "TEXT")]
    pub y_label: Option<String>,
    /// A log axis for episodes, or for the parameter of a sweep.
    #[arg(long)]
    pub log_x: bool,
    /// Regret on a log axis.
    #[arg(long)]
    pub log_y: bool,
    /// The ends of the horizontal axis; either may be left out, as in 100: or :5000.
    #[arg(long, value_name = "FROM:TO", value_parser = range, allow_hyphen_values = true)]
    pub x_range: Option<AxisRange>,
    /// The ends of the vertical axis.
    #[arg(long, value_name = "FROM:TO", value_parser = range, allow_hyphen_values = true)]
    pub y_range: Option<AxisRange>,
    /// The place of the legend [default: right, or below in a narrow figure].
    #[arg(long, value_name = "PLACE")]
    pub legend: Option<Place>,

    /// Of a sweep: the parameter on the horizontal axis [default: the first varied parameter].
    #[arg(long, value_name = "NAME")]
    pub x: Option<String>,
    /// Of a sweep: the parameter on the vertical axis of a heat map [default: the second varied parameter].
    #[arg(long, value_name = "NAME")]
    pub y: Option<String>,
    /// Of a sweep: only cells with this value; may be repeated.
    #[arg(long = "where", value_name = "NAME=VALUE")]
    pub only: Vec<String>,
    /// Of a sweep: final regret over --x, one line for each combination of the rest, instead of a heat map.
    #[arg(long, conflicts_with_all = ["curves", "y"])]
    pub lines: bool,
    /// Of a sweep: regret over episodes, one curve for each cell.
    #[arg(long)]
    pub curves: bool,
    /// For a narrow screen, in a report.
    #[arg(skip)]
    pub narrow: bool,
}

/// What the line and the bands of a curve are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Band {
    /// The mean with its 95 % interval.
    Ci,
    /// The median with quartiles and 5 % and 95 % quantiles.
    Quantile,
}

/// The place of a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    Right,
    Below,
    Inside,
    None,
}

impl Plot {
    /// The default options, with those that were given.
    pub fn options(&self, default: PlotOptions) -> PlotOptions {
        let or = |given: &Option<String>, default: String| given.clone().unwrap_or(default);
        PlotOptions {
            title: or(&self.title, default.title),
            caption: or(&self.caption, default.caption),
            x_label: or(&self.x_label, default.x_label),
            y_label: or(&self.y_label, default.y_label),
            log_x: self.log_x || default.log_x,
            log_y: self.log_y || default.log_y,
            x_range: self.x_range.unwrap_or(default.x_range),
            y_range: self.y_range.unwrap_or(default.y_range),
            legend: self.legend.map_or(default.legend, |place| match place {
                Place::Right => LegendPlace::Right,
                Place::Below => LegendPlace::Below,
                Place::Inside => LegendPlace::Inside,
                Place::None => LegendPlace::None,
            }),
            size: self.size.or(default.size),
            font_size: self.font_size.or(default.font_size),
            narrow: self.narrow,
        }
    }

    /// The given options that only sweeps have.
    pub fn sweep_options(&self) -> Vec<&'static str> {
        given([
            ("--x", self.x.is_some()),
            ("--y", self.y.is_some()),
            ("--where", !self.only.is_empty()),
            ("--lines", self.lines),
            ("--curves", self.curves),
        ])
    }

    /// The given options that only figures with lines have.
    pub fn line_options(&self) -> Vec<&'static str> {
        given([
            ("--log-x", self.log_x),
            ("--log-y", self.log_y),
            ("--x-range", self.x_range.is_some()),
            ("--y-range", self.y_range.is_some()),
            ("--legend", self.legend.is_some()),
        ])
    }
}

fn given<const N: usize>(options: [(&'static str, bool); N]) -> Vec<&'static str> {
    let given = options.into_iter().filter(|(_, given)| *given);
    given.map(|(name, _)| name).collect()
}

/// Width and height in units of 1/96 inch.
fn size(text: &str) -> Result<(f64, f64), String> {
    const UNITS: [(&str, f64); 4] = [
        ("in", 96.0),
        ("cm", 96.0 / 2.54),
        ("mm", 9.6 / 2.54),
        ("px", 1.0),
    ];
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (numbers, name, unit) = unit.map_or((text, "", 1.0), |(name, unit)| {
        (text.trim_end_matches(name), *name, *unit)
    });
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let sides = numbers
        .split_once(['x', '×'])
        .and_then(|(width, height)| Some((number(width)?, number(height)?)));
    let (width, height) = sides
        .ok_or("must be a width and a height, such as 3.5x2.6in, 9x6.5cm, 90x65mm or 640x480")?;
    let (least, most) = PlotOptions::SIDES;
    let (least, most) = (least / unit, most / unit);
    match [width, height]
        .iter()
        .all(|side| (least..=most).contains(side))
    {
        true => Ok((unit * width, unit * height)),
        false => Err(format!(
            "width and height must be from {} to {} {}",
            tidy(least),
            tidy(most),
            if name.is_empty() { "px" } else { name }
        )),
    }
}

/// Without rounding errors.
fn tidy(length: f64) -> f64 {
    (1e6 * length).round() / 1e6
}

/// A font size in points.
fn points(text: &str) -> Result<f64, String> {
    let (least, most) = PlotOptions::FONT_SIZES;
    let number = text.trim().trim_end_matches("pt").parse::<f64>().ok();
    number
        .filter(|points| (least..=most).contains(points))
        .ok_or_else(|| format!("must be a number of points from {least} to {most}, such as 8"))
}

/// The ends of an axis.
fn range(text: &str) -> Result<AxisRange, String> {
    let end = |text: &str| match text.trim() {
        "" => Some(None),
        text => text
            .parse::<f64>()
            .ok()
            .filter(|end| end.is_finite())
            .map(Some),
    };
    text.split_once(':')
        .and_then(|(from, to)| {
            Some(AxisRange {
                from: end(from)?,
                to: end(to)?,
            })
        })
        .ok_or_else(|| {
            "must be two numbers with a colon between them, such as 100:5000, 100: or :5000".into()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("640x480"), Ok((640.0, 480.0)));
        assert_eq!(size("640x480px"), Ok((640.0, 480.0)));
        assert_eq!(size("3.5x2.5in"), Ok((336.0, 240.0)));
        assert_eq!(
            size("2.54x5.08cm").map(|(w, h)| (w.round(), h.round())),
            Ok((96.0, 192.0))
        );
        assert_eq!(
            size("25.4 x 50.8mm").map(|(w, h)| (w.round(), h.round())),
            Ok((96.0, 192.0))
        );
        for bad in ["", "640", "x", "axb", "3x4pt", "in"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_out_of_range_are_named_in_their_unit() {
        for (text, rule) in [
            ("0.1x0.1in", "width and height must be from 0.5 to 100 in"),
            ("1x9cm", "width and height must be from 1.27 to 254 cm"),
            ("1x1", "width and height must be from 48 to 9600 px"),
        ] {
            assert_eq!(size(text), Err(rule.into()), "{text}");
        }
        assert_eq!(points("8"), Ok(8.0));
        assert_eq!(points("8pt"), Ok(8.0));
        for bad in ["", "8px", "nan", "1", "1e9"] {
            assert!(points(bad).unwrap_err().contains("from 2 to 100"), "{bad}");
        }
    }

    #[test]
    fn ranges_have_one_or_two_ends() {
        let both = |from, to| Ok(AxisRange { from, to });
        assert_eq!(range("100:5e3"), both(Some(100.0), Some(5000.0)));
        assert_eq!(range("-1:"), both(Some(-1.0), None));
        assert_eq!(range(":7"), both(None, Some(7.0)));
        for bad in ["", "7", "a:b", "1:2:3", "nan:", ":inf"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
