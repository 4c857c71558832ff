use super::super::LegendPlace;
use super::super::options::AxisRange;
use super::super::style::COLOURS;
use super::super::tests::{
    attribute, check_png, check_texts, curve, drawn, learners, on, series, words,
};
use super::*;

fn hex([red, green, blue]: [u8; 3]) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Twelve learners with labels of sixty characters.
fn many() -> Vec<Series> {
    let label =
        |i: i32| format!("feedbal-model:sigma2=0.{i},delta=0.001,width=sound,trust_rule={i}0");
    (0..12)
        .map(|i| curve(&label(i), 100.0 * f64::from(i + 1), 0.5))
        .collect()
}

#[test]
fn a_figure_shows_its_texts_and_curves() {
    let options = PlotOptions {
        title: "Regret".to_owned(),
        caption: "A sentence below the figure.".to_owned(),
        ..on(false, false)
    };
    let svg = drawn(&learners(), &options);
    check_texts(&svg);
    for text in [
        "Regret",
        "FeedBAL",
        "UCB1",
        "UCB1-V",
        "episodes",
        "20,000",
        "1,500",
        "cumulative regret (gain units)",
        "A sentence below the figure.",
    ] {
        assert!(svg.contains(&format!(">{text}</text>")), "{text}");
    }
    for colour in &COLOURS[..3] {
        let used = svg.matches(&hex(*colour)).count();
        assert_eq!(used, 3, "band, line and legend in {colour:?}");
    }
}

#[test]
fn long_labels_are_wrapped_and_never_cut() {
    for (legend, size) in [
        (LegendPlace::Auto, None),
        (LegendPlace::Right, Some((500.0, 300.0))),
        (LegendPlace::Auto, Some((336.0, 240.0))),
        (LegendPlace::Below, Some((700.0, 400.0))),
        (LegendPlace::Below, None),
        (LegendPlace::Right, Some((100.0, 60.0))),
        (LegendPlace::Inside, Some((336.0, 250.0))),
        (LegendPlace::Inside, None),
    ] {
        let options = PlotOptions {
            legend,
            size,
            caption: "word ".repeat(60),
            ..on(true, true)
        };
        let svg = drawn(&many(), &options);
        check_texts(&svg);
        let cut: Vec<String> = words(&svg)
            .into_iter()
            .filter(|word| word.contains('…'))
            .collect();
        assert!(
            cut.is_empty() && !svg.contains('…'),
            "{legend:?} {size:?} {cut:?}"
        );
        let all = words(&svg).concat();
        assert!(
            many().iter().all(|one| all.contains(&one.label)),
            "{legend:?} {size:?}"
        );
    }
}

#[test]
fn a_figure_has_the_size_and_the_scale_that_are_asked_for() {
    let options = PlotOptions {
        size: Some((336.0, 240.0)),
        font_size: Some(7.8),
        ..on(false, false)
    };
    let picture = draw_curves(&learners(), &options).expect("drawn");
    let size = ["width", "height"].map(|name| attribute(&picture.svg, name));
    assert!(
        (size[0] - 336.0).abs() < 1.0 && (size[1] - 240.0).abs() < 1.0,
        "{size:?}"
    );
    // Small texts have 13 units of the layout, which are 7.8 points.
    let units = picture.svg.split_once("viewBox=\"0 0 ").expect("scaled").1;
    let wide: f64 = units
        .split(' ')
        .next()
        .expect("a width")
        .parse()
        .expect("a number");
    assert!((13.0 * 0.75 * size[0] / wide - 7.8).abs() < 0.05);
    let normal = draw_curves(&learners(), &on(false, false)).expect("drawn");
    check_png(&normal);
    assert!(!normal.svg.contains("viewBox"));
}

#[test]
fn lines_end_at_the_ends_of_the_axes() {
    let options = PlotOptions {
        x_range: AxisRange {
            from: Some(5000.0),
            to: Some(10_000.0),
        },
        y_range: AxisRange {
            from: None,
            to: Some(400.0),
        },
        legend: LegendPlace::None,
        ..on(false, false)
    };
    let svg = drawn(&learners(), &options);
    assert!(!words(&svg).iter().any(|word| word == "UCB1"));
    assert!(words(&svg).iter().any(|word| word == "400"));
    let numbers = svg
        .split("<path d=\"M")
        .skip(1)
        .map(|path| path.split('"').next().expect("a path"));
    let points: Vec<f64> = numbers
        .flat_map(|path| {
            path.split(['M', 'L', 'Z', ',', ' '])
                .filter_map(|number| number.parse().ok())
        })
        .collect();
    let high = attribute(&svg, "height").max(attribute(&svg, "width"));
    assert!(points.len() > 100 && points.iter().all(|value| (0.0..=high).contains(value)));
}

#[test]
fn a_range_without_curves_is_rejected() {
    let rejected = |x_range: AxisRange, y_range: AxisRange| {
        let options = PlotOptions {
            x_range,
            y_range,
            ..on(false, false)
        };
        draw_curves(&learners(), &options).map_err(|error| error.to_string())
    };
    let range = |from, to| AxisRange { from, to };
    let all = AxisRange::default();
    for (x, y, part) in [
        (range(Some(30_000.0), None), all, "to 20,000, got 30000:"),
        (
            range(None, Some(-5.0)),
            all,
            "x range: it must overlap the values, which reach from",
        ),
        (all, range(Some(1e6), Some(1e7)), "got 1000000:10000000"),
        (
            range(None, Some(100.0)),
            range(Some(1000.0), None),
            "y range: ",
        ),
    ] {
        let error = rejected(x, y).expect_err("rejected");
        assert!(error.contains(part), "{error}");
    }
    // Between two points.
    assert!(rejected(range(Some(10_001.0), Some(10_002.0)), all).is_ok());
}

#[test]
fn bounds_are_thin_and_carry_marks() {
    let mut bound = curve("Theorem 1", 900.0, 0.1);
    bound.bound = true;
    let svg = drawn(&[curve("FeedBAL", 300.0, 0.4), bound], &on(false, false));
    let grey = hex([0x4a; 3]);
    // The line, its entry in the legend, and their marks; no band.
    assert_eq!(svg.matches(&grey).count(), 9);
    assert!(svg.contains("stroke-width=\"1.1\""));
    assert_eq!(svg.matches("opacity=\"0.2\"").count(), 1);
}

#[test]
fn quantiles_are_two_bands() {
    let quantiles = emab::stats::Quantiles {
        q05: 1.0,
        q25: 2.0,
        q50: 4.0,
        q75: 5.0,
        q95: 9.0,
    };
    let points = [1.0, 2.0, 3.0].map(|x| SeriesPoint::quantiles(x, &quantiles));
    let one = Series {
        label: "a".to_owned(),
        points: points.to_vec(),
        bound: false,
    };
    let svg = drawn(std::slice::from_ref(&one), &on(false, false));
    assert_eq!(svg.matches("opacity=\"0.13\"").count(), 1);
    assert_eq!(svg.matches("opacity=\"0.22\"").count(), 1);
    assert!(
        words(&svg).iter().any(|word| word == "10"),
        "the axis covers the widest band"
    );
}

#[test]
fn a_series_with_unreliable_intervals_is_marked() {
    let mut line = curve("FeedBAL", 300.0, 0.4);
    line.points[199].unreliable = true;
    assert!(line.is_unreliable());
    let all = words(&drawn(
        &[line, curve("UCB1", 900.0, 0.9)],
        &on(false, false),
    ));
    assert!(all.contains(&"FeedBAL †".into()) && all.contains(&"UCB1".into()));
}

#[test]
fn a_legend_between_the_axes_avoids_the_curves() {
    let options = PlotOptions {
        legend: LegendPlace::Inside,
        ..on(false, false)
    };
    // A curve along the lower and right edges leaves the upper left corner.
    let line = series(
        "late",
        (0..=100).map(|i| (f64::from(i), if i < 95 { 1.0 } else { 100.0 }, 0.0)),
    );
    let svg = drawn(&[line], &options);
    check_texts(&svg);
    let place = super::super::tests::texts(&svg)
        .into_iter()
        .find(|text| text.4 == "late")
        .expect("a label");
    assert!(place.0 < 200.0 && place.1 < 100.0, "{place:?}");
}

#[test]
fn a_legend_that_does_not_fit_between_the_axes_is_below() {
    let options = PlotOptions {
        legend: LegendPlace::Inside,
        size: Some((336.0, 250.0)),
        font_size: Some(8.0),
        ..on(false, false)
    };
    let is_below = |labels: &[&str]| {
        let curves: Vec<Series> = labels.iter().map(|label| curve(label, 3.0, 0.5)).collect();
        let svg = drawn(&curves, &options);
        check_texts(&svg);
        let top = |word: &str| {
            let mut texts = super::super::tests::texts(&svg).into_iter();
            let begins = |text: &str| !text.is_empty() && word.starts_with(text);
            texts.find(|text| begins(&text.4)).expect("a text").1
        };
        top(labels[0]) > top("episodes")
    };
    assert!(!is_below(&["FeedBAL", "UCB1", "UCB1-V"]));
    assert!(is_below(&["UCB1"; 14]), "higher than the axes");
    let long = ["feedbal-pooled:width=sound"; 6];
    assert!(is_below(&long), "half of the area");
}

#[test]
fn labels_break_between_words_first() {
    let options = PlotOptions {
        size: Some((336.0, 250.0)),
        ..on(false, false)
    };
    let labels = ["feedbal-pooled", "explore-then-commit", "benchmark"];
    let curves = labels.map(|label| curve(label, 3.0, 0.5));
    for legend in [LegendPlace::Right, LegendPlace::Inside, LegendPlace::Below] {
        let options = PlotOptions {
            legend,
            ..options.clone()
        };
        let all = words(&drawn(&curves, &options));
        let parts = labels.iter().flat_map(|label| label.split_inclusive('-'));
        for part in parts {
            assert!(all.iter().any(|word| word.contains(part)), "{part} {all:?}");
        }
    }
}

#[test]
fn invalid_options_are_rejected() {
    let range = |from, to| AxisRange {
        from: Some(from),
        to: Some(to),
    };
    let linear = on(false, false);
    for (options, part) in [
        (
            PlotOptions {
                size: Some((0.0, 100.0)),
                ..linear.clone()
            },
            "got 0 by 100 units",
        ),
        (
            PlotOptions {
                size: Some((f64::NAN, 100.0)),
                ..linear.clone()
            },
            "size: ",
        ),
        (
            PlotOptions {
                font_size: Some(0.0),
                ..linear.clone()
            },
            "font size: it must be from 2 to 100 points, got 0",
        ),
        (
            PlotOptions {
                x_range: range(2.0, 1.0),
                ..linear.clone()
            },
            "x range: it must begin below its end, got 2:1",
        ),
        (
            PlotOptions {
                y_range: range(0.0, f64::INFINITY),
                ..linear.clone()
            },
            "y range: ",
        ),
        (
            PlotOptions {
                x_range: range(0.0, 10.0),
                ..on(true, false)
            },
            "must be above 0, got 0:10",
        ),
    ] {
        let error = draw_curves(&learners(), &options)
            .expect_err("rejected")
            .to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_curve_that_a_log_axis_cannot_show_keeps_its_colour_and_says_so() {
    let flat = series("oracle", [(1.0, 0.0, 0.0), (2.0, -1.0, 0.0)]);
    let both = [flat, curve("good", 5.0, 1.0)];
    let svg = drawn(&both, &on(false, true));
    assert!(svg.contains("oracle (not above 0)</text>"));
    // The second curve has the second colour, whether the first is shown or not.
    assert!(svg.contains(&format!("stroke=\"{}\"", hex(COLOURS[1]))));
}

#[test]
fn labels_are_escaped() {
    let nasty = "a<b>&\"c'\u{1}\n$x$ \u{FFFF}";
    let options = PlotOptions {
        title: nasty.to_owned(),
        caption: nasty.to_owned(),
        x_label: nasty.to_owned(),
        y_label: nasty.to_owned(),
        ..on(false, false)
    };
    let svg = drawn(&[curve(nasty, 3.0, 1.0)], &options);
    assert_eq!(svg.matches("a&lt;b&gt;&amp;&quot;c&apos;").count(), 5);
    assert_eq!(svg.matches("$x$ \u{FFFD}</text>").count(), 5);
    let long = "word ".repeat(2000) + &"W".repeat(2000);
    let options = PlotOptions {
        title: long.clone(),
        x_label: long.clone(),
        y_label: long.clone(),
        ..on(false, false)
    };
    check_texts(&drawn(
        &[curve(&long, 3.0, 1.0), curve(&"W".repeat(100), 2.0, 1.0)],
        &options,
    ));
}
