//! Helpers that look at pictures, and the tests of curves with odd inputs.

use super::axis::Axis;
use super::curves::{styled_scene, visible_segments};
use super::grid::colour::luminance;
use super::grid::text::width;
use super::kuva_fixes::dash_pieces;
use super::style::Style;
use super::*;

pub(super) fn series(label: &str, values: impl IntoIterator<Item = (f64, f64, f64)>) -> Series {
    let points = values
        .into_iter()
        .map(|(x, mean, stderr)| SeriesPoint::mean(x, mean, stderr, 100));
    Series {
        bound: false,
        label: label.to_owned(),
        points: points.collect(),
    }
}

/// A curve that grows like `end * (x / 20000)^power`, with 1 % standard error.
pub(super) fn curve(label: &str, end: f64, power: f64) -> Series {
    series(
        label,
        (1..=200).map(|i| {
            let x = f64::from(i) * 100.0;
            let mean = end * (x / 20_000.0).powf(power);
            (x, mean, 0.01 * mean)
        }),
    )
}

pub(super) fn learners() -> Vec<Series> {
    vec![
        curve("FeedBAL", 366.0, 0.3),
        curve("UCB1", 1680.0, 0.9),
        curve("UCB1-V", 1456.0, 1.0),
    ]
}

pub(super) fn on(log_x: bool, log_y: bool) -> PlotOptions {
    PlotOptions {
        log_x,
        log_y,
        ..PlotOptions::default()
    }
}

/// The SVG of curves: rendering the PNG is slow.
pub(super) fn drawn(series: &[Series], options: &PlotOptions) -> String {
    let scene = styled_scene(&Style::Learners, series, options);
    svg(&scene.unwrap_or_else(|error| panic!("{}: {error}", series[0].label)))
}

/// The SVG of a scene, checked for balanced tags, quoted attributes and known entities.
pub(super) fn svg(scene: &Scene) -> String {
    let svg = SvgBackend::new().render_scene(scene);
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg.as_str();
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start]);
        rest = &rest[start..];
        if rest.starts_with("<!--") {
            rest = rest.split_once("-->").expect("a comment ends").1;
            continue;
        }
        let (tag, after) = rest[1..].split_once('>').expect("a tag ends");
        assert!(
            !tag.contains('<') && tag.matches('"').count() % 2 == 0,
            "{tag}"
        );
        check_text(tag);
        let name = tag.split([' ', '/']).next().expect("a name");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        rest = after;
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    for reference in svg.split("url(#").skip(1) {
        let id = reference.split_once(')').expect("a reference ends").0;
        assert!(svg.contains(&format!(" id=\"{id}\"")), "{id}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    svg
}

/// The first number in an attribute of this name.
pub(super) fn attribute(svg: &str, name: &str) -> f64 {
    let value = svg.split_once(&format!(" {name}=\"")).expect(name).1;
    value.split_once('"').expect(name).0.parse().expect(name)
}

/// The PNG has twice the size that the SVG announces, and more than one colour.
pub(super) fn check_png(picture: &Picture) {
    let decoder = ::png::Decoder::new(std::io::Cursor::new(picture.png().unwrap()));
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("pixels");
    let size = (f64::from(info.width), f64::from(info.height));
    let announced = ["width", "height"].map(|name| 2.0 * attribute(&picture.svg, name));
    assert_eq!(size, announced.into());
    assert!(pixels.iter().any(|value| *value != pixels[0]));
}

fn check_text(text: &str) {
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    for entity in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;", "apos;"];
        assert!(
            known.iter().any(|name| entity.starts_with(name)),
            "{entity}"
        );
    }
}

/// Position, size and colour of the filled rectangles of a picture, but not of its page.
pub(super) fn rects(svg: &str) -> Vec<([f64; 4], String)> {
    let tags = svg.split("<rect x=").skip(1);
    tags.map(|tag| {
        let parts: Vec<&str> = tag.split('"').collect();
        let number = |i: usize| parts[i].parse().expect("a number");
        (
            [number(1), number(3), number(5), number(7)],
            parts[9].to_owned(),
        )
    })
    .collect()
}

/// Position, size, anchor and content of the level texts of a picture.
pub(super) fn texts(svg: &str) -> Vec<(f64, f64, u32, String, String)> {
    let tags = svg.split("<text x=").skip(1);
    let level = tags.filter(|tag| !tag.contains("rotate("));
    level
        .map(|tag| {
            let parts: Vec<&str> = tag.split('"').collect();
            let content = tag.split(['>', '<']).nth(1).expect("content");
            let plain = [
                ("&lt;", "<"),
                ("&gt;", ">"),
                ("&quot;", "\""),
                ("&apos;", "'"),
            ]
            .iter()
            .fold(content.to_owned(), |text, (from, to)| {
                text.replace(from, to)
            })
            .replace("&amp;", "&");
            let number = |i: usize| parts[i].parse().expect("a number");
            let size = parts[5].parse().expect("a size");
            (number(1), number(3), size, parts[7].to_owned(), plain)
        })
        .collect()
}

/// The luminance of a colour such as `#0072b2`.
pub(super) fn shade(colour: &str) -> f64 {
    let part = |i: usize| u8::from_str_radix(&colour[i..i + 2], 16).expect("a colour");
    luminance([part(1), part(3), part(5)])
}

pub(super) fn words(svg: &str) -> Vec<String> {
    texts(svg).into_iter().map(|text| text.4).collect()
}

/// No text leaves the page or overlaps another, by estimated widths.
pub(super) fn check_texts(svg: &str) {
    let (full, height) = (attribute(svg, "width"), attribute(svg, "height"));
    let boxes: Vec<_> = texts(svg)
        .into_iter()
        .map(|(x, y, size, anchor, text)| {
            let wide = width(&text, size);
            let left = match anchor.as_str() {
                "start" => x,
                "middle" => x - wide / 2.0,
                _ => x - wide,
            };
            (left, left + wide, y - 0.76 * f64::from(size), y, text)
        })
        .collect();
    for (i, a) in boxes.iter().enumerate() {
        let inside = a.0 >= 0.0 && a.1 <= full;
        assert!(inside && a.2 >= 0.0 && a.3 <= height, "{a:?}");
        for b in &boxes[i + 1..] {
            let apart = a.1 <= b.0 || b.1 <= a.0 || a.3 <= b.2 || b.3 <= a.2;
            assert!(apart, "{a:?} {b:?}");
        }
    }
}

#[test]
fn same_input_gives_same_bytes() {
    let first = draw_curves(&learners(), &on(true, true)).expect("drawn");
    check_png(&first);
    // Not `assert_eq`, which would print both pictures.
    let second = draw_curves(&learners(), &on(true, true)).expect("drawn");
    assert!(first.svg == second.svg && first.png().unwrap() == second.png().unwrap());
    assert!(first.pdf().unwrap() == second.pdf().unwrap());
    assert!(drawn(&learners(), &on(false, false)) == drawn(&learners(), &on(false, false)));
}

#[test]
fn impossible_figures_are_refused() {
    let error = |series: &[Series], options: &PlotOptions| {
        draw_curves(series, options).expect_err("refused")
    };
    let linear = &on(false, false);
    assert!(matches!(error(&[], linear), PlotError::NoSeries));
    let empty = [curve("full", 1.0, 1.0), series("empty", [])];
    assert!(matches!(error(&empty, linear), PlotError::NoPoints(series) if series == "empty"));
    for bad in [
        (f64::NAN, 1.0, 0.0),
        (f64::INFINITY, 1.0, 0.0),
        (1.0, f64::NEG_INFINITY, 0.0),
        (1.0, 1.0, f64::NAN),
        (1.0, 1.0, -1.0),
        (1.0, f64::MAX, f64::MAX),
    ] {
        let error = error(&[series("a", [(0.0, 0.0, 0.0), bad])], linear);
        assert!(matches!(error, PlotError::BadPoint(_, 1)), "{bad:?}");
    }
    let origin = [series("start", [(0.0, 1.0, 0.1)])];
    assert!(matches!(
        error(&origin, &on(true, false)),
        PlotError::NotPositive
    ));
}

/// Inputs that a plotting library may stumble over, each with a positive point.
fn odd_inputs() -> Vec<Vec<Series>> {
    let many = |count: i32| {
        let name = |i| format!("learner {i}");
        let line = |i| [(1.0, f64::from(i), 0.1), (9.0, f64::from(2 * i), 0.1)];
        (1..=count).map(|i| series(&name(i), line(i))).collect()
    };
    let gap = [(1.0, 1.0, 0.1), (2.0, 0.0, 0.1), (3.0, 2.0, 0.1)];
    let huge = [(1e300, 1e300, 1e299), (LIMIT, 1e-300, 0.0)];
    let tiny = [(1e-320, 5e-324, 0.0), (2e-300, 1e-300, 0.0)];
    let wide = [(1.0, 1e-9, 0.0), (2.0, 1.0, 5.0), (3.0, 1e12, 1e12)];
    vec![
        vec![series("one point", [(100.0, 5.0, 1.0)])],
        vec![series("all equal", [(7.0, 7.0, 0.0), (7.0, 7.0, 0.0)])],
        vec![series("huge", huge)],
        vec![series("largest", [(1.0, LIMIT, 0.0), (LIMIT, 1.0, 0.0)])],
        vec![series("tiny", tiny)],
        vec![series("gap", gap), series("wide", wide)],
        vec![series("backwards", [(3.0, 2.0, 0.1), (1.0, 1.0, 0.1)])],
        vec![series("", [(3.0, 2.0, 0.1), (4.0, 1.0, 0.1)])],
        many(12),
        many(70),
    ]
}

#[test]
fn odd_inputs_are_drawn() {
    for (turn, series) in odd_inputs().iter().enumerate() {
        drawn(series, &on(true, true));
        drawn(series, &on(false, false));
        drawn(series, &on(turn % 2 == 0, turn % 2 == 1));
    }
    let line = |slope: f64, stderr: f64| {
        (0..50).map(move |i| (f64::from(i), slope * f64::from(i), stderr))
    };
    let opposite = [(-LIMIT, -LIMIT, 0.0), (LIMIT, LIMIT, 0.0)];
    for series in [
        series("negative", line(-3.0, 1.0)),
        series("benchmark", line(0.0, 0.0)),
        series("opposite", opposite),
    ] {
        drawn(&[series], &on(false, false));
    }
}

#[test]
fn a_log_axis_leaves_a_gap_where_values_are_not_positive() {
    let broken = series(
        "broken",
        (1..=6).map(|i| (f64::from(i), if i == 3 { 0.0 } else { f64::from(i) }, 0.0)),
    );
    let runs = visible_segments(&[broken], &on(false, true)).expect("visible");
    assert_eq!(runs[0].iter().map(Vec::len).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn a_log_axis_starts_at_the_means_and_cuts_the_bands() {
    let axis = Axis::over([(30.0, 40.0), (300.0, 450.0)].into_iter(), true);
    assert_eq!((axis.lo * axis.unit, axis.hi * axis.unit), (20.0, 500.0));
    assert_eq!(axis.place(-5.0), axis.lo);
    assert_eq!(axis.fraction(-5.0), 0.0);
}

#[test]
fn tick_labels_are_short() {
    for (lo, hi, log, value, label) in [
        (0.0, 20_000.0, false, 12_500.0, "12,500"),
        (0.0, 2e6, false, 1_500_000.0, "1,500,000"),
        (-300.0, 0.0, false, -250.0, "−250"),
        (0.0, 0.5, false, 0.25, "0.25"),
        (0.0, 5e8, false, 2.5e8, "2.5×10⁸"),
        (0.0, 5e8, false, 0.0, "0"),
        (0.0, 5e-8, false, 1e-8, "1×10⁻⁸"),
        (1.0, 20_000.0, true, 1000.0, "1,000"),
        (1e-6, 1.0, true, 1e-5, "10⁻⁵"),
    ] {
        let axis = Axis::over([(lo, hi)].into_iter(), log);
        assert_eq!(axis.tick_label(value / axis.unit), label);
    }
}

#[test]
fn dashes_run_on_through_the_points_of_a_line() {
    let line: Vec<_> = (0..=40).map(|i| (f64::from(i), 0.0)).collect();
    let pieces = dash_pieces(&line, &[7.0, 3.0], 0.0);
    let ends: Vec<_> = pieces.iter().map(|p| (p[0].0, p[p.len() - 1].0)).collect();
    assert_eq!(ends, [(0.0, 7.0), (10.0, 17.0), (20.0, 27.0), (30.0, 37.0)]);
    assert_eq!(dash_pieces(&line, &[], 2.0), [line]);
}
