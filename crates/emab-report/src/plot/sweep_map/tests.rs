use super::super::grid::colour::{ColourScale, luminance, text_colour_on};
use super::super::tests::{attribute, check_png, check_texts, rects, svg, words};
use super::*;
use crate::runs_table::UNRELIABLE_NOTE;

fn axis(name: &str, count: usize) -> HeatAxis {
    HeatAxis {
        name: name.to_owned(),
        values: (0..count).map(|i| format!("0.{i:02}")).collect(),
    }
}

/// A map whose values are those of a function of column and row.
fn map(columns: usize, rows: usize, value: impl Fn(usize, usize) -> f64) -> HeatMap {
    let cell = |x, y| {
        let centre = value(x, y);
        let half_width = 0.02 * centre.abs();
        Some(HeatCell {
            centre,
            half_width,
            unreliable: false,
        })
    };
    HeatMap {
        title: "feedbal".to_owned(),
        x: axis("delta", columns),
        y: axis("exploration", rows),
        cells: (0..rows)
            .map(|y| (0..columns).map(|x| cell(x, y)).collect())
            .collect(),
        label: "regret".to_owned(),
    }
}

fn hill(columns: usize, rows: usize) -> HeatMap {
    map(columns, rows, |x, y| (100 + 10 * x + y) as f64)
}

fn titled(title: &str) -> PlotOptions {
    PlotOptions {
        title: title.to_owned(),
        ..PlotOptions::default()
    }
}

fn drawn(title: &str, maps: &[HeatMap]) -> String {
    let svg = svg(&scene(maps, &titled(title)).expect("drawn"));
    check_texts(&svg);
    svg
}

#[test]
fn a_map_shows_its_texts_and_the_same_bytes_twice() {
    let mut one = hill(3, 2);
    one.cells[1][2] = None;
    let picture = draw_heat_maps(&[one.clone()], &titled("")).expect("drawn");
    check_png(&picture);
    check_texts(&picture.svg);
    let words = words(&picture.svg);
    for text in [
        "feedbal",
        "delta",
        "regret",
        "0.02",
        "100",
        "±2.0",
        "111",
        "lowest",
        "no result",
        "mean ± 95 % confidence",
    ] {
        assert!(words.iter().any(|word| word == text), "{text} {words:?}");
    }
    assert!(picture.svg.contains(">exploration</text>"));
    assert!(!words.contains(&"121".to_owned()), "it is missing");
    assert!(picture.svg == drawn("", &[one]));
}

#[test]
fn unreliable_cells_are_marked_and_explained() {
    for (columns, rows, mark) in [(3, 2, "100 †"), (30, 30, "†")] {
        let mut one = hill(columns, rows);
        assert!(!drawn("", &[one.clone()]).contains('†'));
        one.cells[0][0].as_mut().expect("a cell").unreliable = true;
        let words = words(&drawn("", &[one]));
        assert!(words.contains(&mark.into()), "{words:?}");
        assert!(words.join(" ").contains(UNRELIABLE_NOTE), "{words:?}");
    }
}

#[test]
fn names_of_parameters_are_wrapped_and_not_cut() {
    let mut one = hill(2, 3);
    one.x.name = "problem.conditions.missing_rewards".to_owned();
    one.y.name = "problem.conditions.missing_costs".to_owned();
    let svg = drawn("", &[one]);
    assert!(!svg.contains('…'));
    for text in [
        ">problem.",
        "missing_rewards</text>",
        "missing_costs</text>",
    ] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn rows_go_up_and_cells_are_equal() {
    // 76 by 44, less the gap.
    let mut cells = rects(&drawn("", &[hill(3, 2)]));
    cells.retain(|(rect, fill)| rect[2..] == [75.0, 43.0] && fill != "none");
    assert_eq!(cells.len(), 6);
    let lowest = ColourScale::results(&[100.0, 121.0]).colour(100.0);
    let [red, green, blue] = lowest;
    assert_eq!(cells[0].1, format!("#{red:02x}{green:02x}{blue:02x}"));
    let (first, last) = (cells[0].0, cells[5].0);
    assert!(first[0] < last[0] && first[1] > last[1]);
}

#[test]
fn the_lowest_of_each_map_is_framed_if_another_is_higher() {
    let frames = |maps: &[HeatMap]| {
        let rects = rects(&drawn("", maps));
        // A black and a white one a cell.
        rects.iter().filter(|(_, fill)| fill == "none").count() / 2
    };
    let flat = map(3, 2, |_, _| 5.0);
    assert_eq!(frames(&[hill(3, 2)]), 1 + 1, "a cell and the key");
    assert_eq!(frames(&[hill(3, 2), hill(2, 2)]), 2 + 1);
    assert_eq!(frames(std::slice::from_ref(&flat)), 0);
    assert_eq!(frames(&[hill(1, 1)]), 0);
    let ties = map(3, 2, |x, _| if x == 1 { 1.0 } else { 2.0 });
    assert_eq!(frames(&[ties, flat]), 2 + 1);
}

#[test]
fn colours_are_uniform_and_their_numbers_can_be_read() {
    let scale = ColourScale::results(&[0.0, 1.0]);
    let colours: Vec<_> = (0..=100)
        .map(|i| scale.colour_at(f64::from(i) / 100.0))
        .collect();
    // L* of CIELAB, which is what remains in grey.
    let grey = |colour: &[u8; 3]| 116.0 * luminance(*colour).cbrt() - 16.0;
    let greys: Vec<f64> = colours.iter().map(grey).collect();
    for pair in greys.windows(11) {
        let step = pair[0] - pair[10];
        assert!((5.0..10.0).contains(&step), "{step}");
    }
    for colour in colours {
        let (a, b) = (luminance(colour), luminance(text_colour_on(colour)));
        let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
        assert!(contrast > 4.5, "{colour:?} {contrast}");
    }
}

#[test]
fn wide_spans_get_a_log_scale_that_says_so() {
    let wide = map(4, 1, |x, _| 10_f64.powi(x as i32));
    assert!(words(&drawn("", &[wide])).contains(&"regret (log scale)".to_owned()));
    let zero = map(4, 1, |x, _| 1000.0 * x as f64);
    assert!(words(&drawn("", &[zero])).contains(&"regret".to_owned()));
}

#[test]
fn maps_share_a_scale_and_their_values() {
    let mut other = hill(3, 2);
    other.title = "ucb1".to_owned();
    let count = |maps: &[HeatMap], text: &str| {
        let words = words(&drawn("treatment", maps));
        words.iter().filter(|word| *word == text).count()
    };
    let mut maps = [hill(3, 2), other];
    for text in ["treatment", "feedbal", "ucb1", "regret"] {
        assert_eq!(count(&maps, text), 1, "{text}");
    }
    assert_eq!(count(&maps, "0.01"), 3, "two below, one beside");
    maps[1].y.name = "other".to_owned();
    assert_eq!(count(&maps, "0.01"), 4);
    let four: Vec<HeatMap> = (0..4).map(|_| hill(3, 2)).collect();
    assert_eq!(count(&four, "0.01"), 4 + 2, "in two rows");
}

#[test]
fn every_shape_is_drawn_without_overlaps() {
    for (columns, rows) in [
        (1, 1),
        (1, 60),
        (60, 1),
        (7, 5),
        (30, 30),
        (60, 60),
        (100, 3),
    ] {
        for unit in [1.0, -1e-3, 1e6, 1e300, 1e-300, 0.0] {
            let one = map(columns, rows, |x, y| unit * (1 + x * y) as f64);
            let words = words(&drawn("Shapes", std::slice::from_ref(&one)));
            assert!(words.contains(&"delta".to_owned()));
            if columns * rows == 1 {
                drawn("Shapes", &[one.clone(), one.clone(), one]);
            }
        }
    }
    let twelve: Vec<HeatMap> = (1..=12).map(|i| hill(i, 13 - i)).collect();
    drawn("Twelve", &twelve);
}

#[test]
fn numbers_are_left_out_where_cells_are_small() {
    let means = |columns: usize| {
        let one = map(columns, 2, |x, y| (300 + x + 99 * y) as f64);
        words(&drawn("", &[one])).contains(&"399".to_owned())
    };
    assert!(means(15) && !means(40));
}

#[test]
fn maps_without_results_are_hatched() {
    let mut none = hill(3, 2);
    none.cells = vec![vec![None; 3]; 2];
    let all = words(&drawn("", std::slice::from_ref(&none)));
    assert!(all.contains(&"no result".to_owned()) && !all.contains(&"regret".to_owned()));
    let some = words(&drawn("", &[none, hill(3, 2)]));
    assert!(some.contains(&"no result".to_owned()) && some.contains(&"regret".to_owned()));
}

#[test]
fn long_and_odd_texts_are_made_to_fit() {
    let nasty = "a<b>&\"c'\u{1}\n$x$ \u{FFFF}".to_owned() + &"W".repeat(3000);
    let mut one = hill(4, 3);
    one.label = nasty.clone();
    for axis in [&mut one.x, &mut one.y] {
        axis.name = nasty.clone();
        for (i, value) in axis.values.iter_mut().enumerate() {
            *value = format!("{nasty}{i}");
        }
    }
    one.title = nasty.clone();
    let picture = drawn(&nasty, &[one.clone(), one]);
    // The values differ at their ends only, and still do.
    let words = words(&picture);
    assert!(words.iter().any(|word| word.ends_with("W2")), "{words:?}");
    let same = HeatMap {
        x: HeatAxis {
            name: String::new(),
            values: vec![String::new(); 4],
        },
        ..hill(4, 3)
    };
    drawn("", &[same]);
}

#[test]
fn impossible_maps_are_refused() {
    type Change = fn(&mut HeatMap);
    let rule = |change: Change| {
        let mut one = hill(3, 2);
        change(&mut one);
        match draw_heat_maps(&[hill(3, 2), one], &titled("Sweep")).expect_err("refused") {
            PlotError::Invalid(place, rule) if place == "map `feedbal`" => rule,
            error => panic!("another error: {error}"),
        }
    };
    let cases: [(Change, &str); 9] = [
        (
            |map| map.x.values.clear(),
            "`delta` must have 1 to 100 values, got 0",
        ),
        (
            |map| map.y = axis("c", 101),
            "`c` must have 1 to 100 values, got 101",
        ),
        (|map| map.cells.clear(), "2 rows of cells, got 0"),
        (
            |map| map.cells[1].truncate(1),
            "row 1 must have 3 cells, got 1",
        ),
        (
            |map| map.cells[1][2] = bad(f64::NAN, 0.0),
            "row 1, column 2: ",
        ),
        (
            |map| map.cells[0][0] = bad(f64::INFINITY, 0.0),
            "got inf and 0",
        ),
        (|map| map.cells[0][0] = bad(1.0, -1.0), "got 1 and -1"),
        (|map| map.cells[0][0] = bad(1.0, f64::NAN), "got 1 and NaN"),
        (
            |map| map.label = "gain".to_owned(),
            "got `gain` and `regret`",
        ),
    ];
    for (change, part) in cases {
        let rule = rule(change);
        assert!(rule.contains(part), "{rule}");
    }
    let none = draw_heat_maps(&[], &titled("Sweep")).expect_err("refused");
    assert!(matches!(none, PlotError::NoSeries));
    let many = draw_heat_maps(&vec![hill(1, 1); 13], &titled("Sweep")).expect_err("refused");
    assert_eq!(
        many.to_string(),
        "map `Sweep`: at most 12 fit one figure, got 13"
    );
    assert!(draw_heat_maps(&[HeatMap::default()], &titled("")).is_err());
}

fn bad(centre: f64, half_width: f64) -> Option<HeatCell> {
    Some(HeatCell {
        centre,
        half_width,
        unreliable: false,
    })
}

#[test]
fn a_narrow_figure_fits_a_phone() {
    let maps = [hill(5, 5), hill(5, 5)];
    let options = PlotOptions {
        narrow: true,
        ..titled("a title of several words, which is wrapped")
    };
    let svg = svg(&scene(&maps, &options).expect("drawn"));
    check_texts(&svg);
    assert!(attribute(&svg, "width") <= 400.0);
}
