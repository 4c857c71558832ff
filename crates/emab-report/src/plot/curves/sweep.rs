//! Results of a sweep as lines: the result over one parameter, one line per learner or per value of another parameter.

use kuva::render::render::Scene;

use super::super::axis::Axis;
use super::super::grid::colour::light_to_dark;
use super::super::options::PlotOptions;
use super::super::series::{Series, SeriesPoint};
use super::super::style::Style;
use super::super::{Picture, PlotError};
use super::styled_scene;

/// Draws the results of a sweep over a parameter, one line per value of another parameter, `by`, in its order; with an empty `by`,
/// one line per learner.
///
/// Unlike [`draw_curves`](super::draw_curves), colours go from light to dark in the order of the values, points are dots
/// with error bars unless a line has more than 25, lines without points are omitted, and the horizontal axis need
/// not include zero; it is logarithmic if the options say so, or if the parameter is positive and spans more than a factor of 30.
///
/// ```
/// use emab_report::{PlotOptions, Series, SeriesPoint, draw_sweep_lines};
///
/// let points = [0.01, 0.1, 1.0].map(|x| SeriesPoint::mean(x, 1.0 / x, 0.5, 100));
/// let line = Series { label: "0.5".into(), points: points.to_vec(), ..Series::default() };
/// let options = PlotOptions { x_label: "delta".into(), ..PlotOptions::default() };
/// let picture = draw_sweep_lines(&[line], "c", &options)?;
/// assert!(picture.svg.contains(">delta</text>"));
/// # Ok::<(), emab_report::PlotError>(())
/// ```
///
/// # Errors
///
/// When no line has points, a value is not finite, a band does not contain its centre, no value is positive for a log axis,
/// or an option is invalid.
pub fn draw_sweep_lines(
    lines: &[Series],
    by: &str,
    options: &PlotOptions,
) -> Result<Picture, PlotError> {
    let options = &options.of_curves();
    Ok(Picture::new(scene(lines, by, options)?, options.scale()))
}

fn scene(lines: &[Series], by: &str, options: &PlotOptions) -> Result<Scene, PlotError> {
    let mut lines = lines.to_vec();
    lines.retain(|line| !line.points.is_empty());
    let points = lines.iter().flat_map(|line| &line.points);
    // `styled_scene` rejects invalid values; the axis ignores them.
    let valid: Vec<f64> = points
        .filter(|point| SeriesPoint::is_valid(point))
        .map(|point| point.x)
        .filter(|x| !options.log_x || *x > 0.0)
        .collect();
    let x_axis = match options.log_x {
        true => Axis::over(valid.iter().map(|x| (*x, *x)), true),
        false => Axis::around(&valid),
    };
    let x_axis = x_axis.padded();
    let options = PlotOptions {
        log_x: x_axis.log,
        ..options.clone()
    };
    let style = Style::Sweep {
        by,
        x_axis,
        colours: match by.is_empty() {
            true => Vec::new(),
            false => light_to_dark(lines.len()),
        },
    };
    styled_scene(&style, &lines, &options)
}

#[cfg(test)]
mod tests {
    use super::super::super::grid::colour::luminance;
    use super::super::super::tests::svg;
    use super::*;

    fn lines(xs: &[f64], labels: &[&str]) -> Vec<Series> {
        let line = |(i, label): (usize, &&str)| Series {
            label: (*label).to_owned(),
            points: xs
                .iter()
                .map(|x| SeriesPoint::mean(*x, 100.0 * (i + 1) as f64 + x, 3.0, 100))
                .collect(),
            bound: false,
        };
        labels.iter().enumerate().map(line).collect()
    }

    fn drawn(lines: &[Series]) -> String {
        let options = PlotOptions {
            x_label: "delta".to_owned(),
            ..PlotOptions::default()
        };
        svg(&scene(lines, "c", &options).expect("drawn"))
    }

    #[test]
    fn lines_are_named_ordered_and_show_their_points() {
        let mut lines = lines(&[0.001, 0.03, 0.1], &["0.5", "1", "none"]);
        lines[2].points.clear();
        let svg = drawn(&lines);
        let texts = ["delta", "c", "0.5", "1", "0.001", "0.01"];
        for text in texts.into_iter().chain(["cumulative regret (gain units)"]) {
            assert!(svg.contains(&format!(">{text}</text>")), "{text}");
        }
        assert!(!svg.contains(">none</text>"));
        for colour in light_to_dark(2) {
            let [red, green, blue] = colour;
            let text = format!("#{red:02x}{green:02x}{blue:02x}");
            assert!(svg.contains(&text), "{text}");
        }
        assert_eq!(svg.matches("<circle").count(), 6, "one a point");
        assert!(svg == drawn(&lines), "same bytes");
    }

    #[test]
    fn lines_of_many_points_have_bands() {
        let xs: Vec<f64> = (0..60).map(f64::from).collect();
        let svg = drawn(&lines(&xs, &["0.5", "1"]));
        assert_eq!(svg.matches("<circle").count(), 0);
        assert_eq!(svg.matches("opacity=\"0.2\"").count(), 2);
    }

    #[test]
    fn the_axis_is_logarithmic_where_positive_values_span_more_than_thirty() {
        for (values, log, from) in [
            (vec![1.0, 31.0], true, 1.0),
            (vec![1.0, 30.0], false, 0.0),
            (vec![0.0, 1000.0], false, 0.0),
            (vec![-1.0, 1000.0], false, -200.0),
            (vec![100.0, 130.0], false, 100.0),
            (vec![7.0], false, 0.0),
            (vec![1e300, 1e305], true, 1e300),
            (vec![], false, -1.0),
        ] {
            let axis = Axis::around(&values);
            assert_eq!(axis.log, log, "{values:?}");
            let foot = axis.lo * axis.unit;
            assert!(
                (foot - from).abs() <= 1e-9 * from.abs(),
                "{values:?} {foot}"
            );
            let padded = axis.padded();
            assert!(padded.lo < axis.lo && axis.hi < padded.hi);
        }
        // Ticks that would all read 1×10⁸ tell nothing.
        assert_eq!(Axis::around(&[1e8, 1e8 + 1.0]).lo, 0.0);
    }

    #[test]
    fn colours_of_lines_get_darker() {
        for count in [2, 3, 10, 60] {
            let colours = light_to_dark(count);
            let shades: Vec<f64> = colours.iter().map(|colour| luminance(*colour)).collect();
            assert!(shades.is_sorted_by(|a, b| a > b), "{shades:?}");
            assert!(shades[0] < 0.5, "too pale for white paper");
        }
        assert!(light_to_dark(0).is_empty());
    }

    #[test]
    fn impossible_families_are_refused() {
        let error = |lines: Vec<Series>| {
            let scene = scene(&lines, "c", &PlotOptions::default());
            scene.map(drop).expect_err("refused")
        };
        let none = error(lines(&[], &["a"]));
        assert!(matches!(none, PlotError::NoSeries));
        for x in [f64::NAN, f64::INFINITY, -f64::INFINITY] {
            let error = error(lines(&[1.0, x], &["a"]));
            assert!(matches!(error, PlotError::BadPoint(_, 1)));
        }
    }

    #[test]
    fn odd_families_are_drawn() {
        let long = "a<b> $x$ ".repeat(200);
        let labels: Vec<String> = (0..70).map(|i| format!("{i}{long}")).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        for xs in [
            vec![-1e6],
            vec![0.0],
            vec![7.0, 7.0],
            vec![1e-300, 1e305],
            vec![1e6, 1e6 + 1e-6],
            vec![-1e305, 1e305],
        ] {
            for labels in [&labels[..1], &labels] {
                let options = PlotOptions {
                    x_label: long.clone(),
                    title: long.clone(),
                    ..PlotOptions::default()
                };
                svg(&scene(&lines(&xs, labels), &long, &options).expect("drawn"));
            }
        }
    }
}
