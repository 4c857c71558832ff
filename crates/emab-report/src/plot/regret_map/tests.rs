use super::super::grid::colour::{ColourScale, luminance};
use super::super::grid::text::{shorten, width, wrap};
use super::super::tests::{attribute, check_texts, rects, shade, svg, texts, words};
use super::*;

fn titled(title: &str) -> PlotOptions {
    PlotOptions {
        title: title.to_owned(),
        ..PlotOptions::default()
    }
}

fn place(t: usize, x: usize) -> StateRegret {
    StateRegret {
        t,
        x,
        state: format!("s{x}"),
        visits: 100.0,
        regret: 1.0,
        benchmark: "cont".to_owned(),
        learned: Some("cont".to_owned()),
        agree: 0.75,
    }
}

/// The states 0 to t - 1 at each step t, with other visits and regret each.
fn triangle(steps: usize) -> Vec<StateRegret> {
    let pairs = (1..=steps).flat_map(|t| (0..t).map(move |x| (t, x)));
    pairs
        .map(|(t, x)| StateRegret {
            visits: 1000.0 / (1 + t * x) as f64,
            regret: (t * (x + 1)) as f64,
            ..place(t, x)
        })
        .collect()
}

fn drawn(places: &[StateRegret]) -> String {
    let svg = svg(&scene(places, &titled("Where")).expect("drawn"));
    check_texts(&svg);
    svg
}

/// The cells of the three panels, from left to right, when these are side by side: the
/// rectangles below the colour bars and above the key.
fn cells(svg: &str, high: f64) -> Vec<([f64; 4], String)> {
    let mut cells = rects(svg);
    cells.retain(|(rect, fill)| rect[3] == high && fill != "none");
    cells.sort_by(|a, b| a.0[0].total_cmp(&b.0[0]).then(b.0[1].total_cmp(&a.0[1])));
    cells
}

#[test]
fn same_input_gives_same_bytes() {
    let (first, again) = (drawn(&triangle(5)), drawn(&triangle(5)));
    // Not `assert_eq`, which would print both pictures.
    assert!(first == again);
    let mut backwards = triangle(5);
    backwards.reverse();
    assert!(first == drawn(&backwards), "the order matters");
}

#[test]
fn a_figure_shows_its_texts() {
    let mut places = triangle(10);
    places[54].visits = 0.0;
    places[54].learned = None;
    places[53].learned = Some("stop".to_owned());
    let picture = drawn(&places);
    let texts = words(&picture);
    let count = |text: &str| texts.iter().filter(|other| *other == text).count();
    for text in ["Where", "visits per run", "regret paid per run"] {
        assert_eq!(count(text), 1, "{text}");
    }
    assert_eq!(["s0", "s9", "stop"].map(count), [1; 3]);
    assert_eq!(count("learned choice against the benchmark's"), 1);
    assert_eq!((count("step"), count("10")), (3, 3 + 1), "10 visits too");
    assert_eq!(count("cont"), 54, "one a visited cell");
    assert_eq!(picture.matches(">state</text>").count(), 1);
    assert!(!texts.iter().any(|text| text.contains("shown")));
}

#[test]
fn pairs_that_are_not_given_stay_blank() {
    // 29 high: a thirtieth of a panel of 300 for ten states, less the gap.
    let picture = drawn(&triangle(10));
    assert_eq!(cells(&picture, 29.0).len(), 3 * 55);
    let blank = "blank: cannot be reached</text>";
    assert!(picture.contains(blank));
    let full: Vec<StateRegret> = (0..4).map(|i| place(i / 2 + 1, i % 2)).collect();
    assert!(!drawn(&full).contains(blank));
}

#[test]
fn unvisited_pairs_are_hatched_in_every_panel() {
    let hatch = "stroke=\"#9a9a9a\"";
    let mut places = triangle(3);
    assert!(!drawn(&places).contains(hatch));
    places[5].visits = 0.0;
    places[5].regret = 0.0;
    places[5].learned = None;
    let picture = drawn(&places);
    assert_eq!(picture.matches(hatch).count(), 3 + 1, "panels and key");
    let pale = cells(&picture, 59.0);
    assert_eq!(pale.iter().filter(|cell| cell.1 == "#f2f2f2").count(), 3);
}

#[test]
fn colours_get_darker_with_the_value() {
    let values = || (1..=50).map(f64::from);
    for scale in [ColourScale::visits(values()), ColourScale::regret(values())] {
        let shades: Vec<f64> = values().map(|v| luminance(scale.colour(v))).collect();
        assert!(shades.is_sorted_by(|a, b| a > b), "{shades:?}");
    }
    // In the picture, too: states side by side with regret 1 to 4.
    let place = |t: usize| StateRegret {
        regret: t as f64,
        ..place(t, 0)
    };
    let places: Vec<StateRegret> = (1..=4).map(place).collect();
    let cells = cells(&drawn(&places), 59.0);
    let shades: Vec<f64> = cells[4..8].iter().map(|(_, fill)| shade(fill)).collect();
    assert!(shades.is_sorted_by(|a, b| a > b), "{shades:?}");
}

#[test]
fn visits_are_on_a_log_scale() {
    let scale = ColourScale::visits([1.0, 10_000.0].into_iter());
    assert_eq!(scale.colour(100.0), scale.colour_at(0.5));
    let linear = ColourScale::regret([1.0, 10_000.0].into_iter());
    assert_eq!(linear.colour(5000.0), linear.colour_at(0.5));
}

#[test]
fn regret_below_zero_gets_another_hue() {
    let scale = ColourScale::regret([-40.0, 80.0].into_iter());
    let is_purple = |[red, green, blue]: [u8; 3]| blue > red && red > green;
    let is_orange = |[red, green, blue]: [u8; 3]| red > green && green > blue;
    assert!(is_purple(scale.colour(-10.0)) && is_orange(scale.colour(10.0)));
    let same = (luminance(scale.colour(-40.0)) - luminance(scale.colour(40.0))).abs();
    assert!(same < 0.25, "equal sizes are about equally dark: {same}");

    let mut places = triangle(4);
    places[3].regret = -3.0;
    let picture = drawn(&places);
    assert!(picture.contains(">\u{2212}5</text>"), "a tick below zero");
}

#[test]
fn names_can_be_read_on_every_share() {
    let scale = ColourScale::share();
    for i in 0..=100 {
        let ink = luminance([0x1a; 3]);
        let contrast = (luminance(scale.colour_at(f64::from(i) / 100.0)) + 0.05) / (ink + 0.05);
        assert!(contrast > 5.0, "{i}: {contrast}");
    }
}

#[test]
fn another_choice_is_marked_and_names_the_benchmark_below() {
    let outline = "stroke-width=\"2\"";
    assert!(!drawn(&[place(1, 0)]).contains(outline));
    let other = StateRegret {
        learned: Some("stop".to_owned()),
        ..place(1, 0)
    };
    let picture = drawn(&[other]);
    assert_eq!(picture.matches(outline).count(), 2, "cell and key");
    let texts = texts(&picture);
    let height = |name: &str| texts.iter().find(|text| text.4 == name).expect(name).1;
    assert!(height("stop") < height("cont"));
}

#[test]
fn long_and_odd_names_are_made_to_fit() {
    let nasty = "a<b>&\"c'\u{1}\n$x$ \u{FFFF}".to_owned() + &"W".repeat(3000);
    let places: Vec<StateRegret> = (0..4)
        .map(|i| StateRegret {
            state: format!("{nasty}{i}"),
            benchmark: format!("{nasty} one"),
            learned: Some(format!("{nasty} two")),
            ..place(i / 2 + 1, i % 2)
        })
        .collect();
    let picture = svg(&scene(&places, &titled(&nasty)).expect("drawn"));
    check_texts(&picture);
    // The names differ at their ends only, and still do.
    let texts = words(&picture);
    for end in ["W0", "W1", "one", "two"] {
        assert!(texts.iter().any(|text| text.ends_with(end)), "{end}");
    }
    for i in [1, 12, 100] {
        let shorten = shorten(&nasty, 10.0 * f64::from(i), 11);
        assert!(i == 1 || width(&shorten.replace('\\', ""), 11) <= 10.0 * f64::from(i));
    }
    assert_eq!(wrap("one two three", 60.0, 11, 2), ["one two", "three"]);
    assert_eq!(shorten("administer-high", 70.0, 11), "admi…high");
}

#[test]
fn names_that_would_look_the_same_are_numbered_or_left_out() {
    let same = |x: usize| StateRegret {
        state: "V".repeat(50),
        benchmark: "V".repeat(50) + "a" + &"V".repeat(50),
        learned: Some("V".repeat(50) + "b" + &"V".repeat(50)),
        ..place(1, x)
    };
    let picture = drawn(&[same(0), same(1)]);
    let texts = words(&picture);
    let with = |what: &str| texts.iter().filter(|text| text.starts_with(what)).count();
    assert_eq!((with("0:"), with("1:")), (1, 1));
    assert_eq!(with("VV"), 2, "the states, and nothing in the cells");
}

#[test]
fn the_states_with_the_most_regret_are_shown() {
    // Every tenth state pays; the other rows go to those with the most visits.
    let place = |(t, x): (usize, usize)| StateRegret {
        regret: if x % 10 == 7 { -1.0 } else { 0.0 },
        visits: 1.0 + x as f64,
        ..place(t, x)
    };
    let pairs = (0..500).flat_map(|x| (1..=3).map(move |t| (t, x)));
    let places: Vec<StateRegret> = pairs.map(place).collect();
    let picture = drawn(&places);
    let note = ">60 of 500 states shown, those with the most regret</text>";
    assert!(picture.contains(note));
    let texts = words(&picture);
    let shows = |x: usize| texts.contains(&format!("s{x}"));
    assert!((0..500).filter(|x| x % 10 == 7).all(shows));
    assert!(shows(499) && shows(490) && !shows(480) && !shows(0));
    let states = texts.iter().filter(|text| text.starts_with('s'));
    assert_eq!(states.count(), 60 + 3 + 1);
}

#[test]
fn the_first_steps_are_shown() {
    let places: Vec<StateRegret> = (1..=100).map(|t| place(t, 0)).collect();
    let picture = drawn(&places);
    assert!(picture.contains(">60 of 100 steps shown, the first ones</text>"));
    let shows = |step: &str| words(&picture).iter().any(|text| text == step);
    assert!(shows("60") && !shows("65"));
}

#[test]
fn every_shape_is_drawn_without_overlaps() {
    for (steps, states) in [
        (1, 1),
        (1, 60),
        (13, 1),
        (13, 12),
        (13, 13),
        (60, 3),
        (60, 60),
    ] {
        for (visits, regret) in [
            (1e305, 1e305),
            (1e-300, -1e-300),
            (12_345.0, 0.0),
            (0.0, 0.0),
        ] {
            let pairs = (1..=steps).flat_map(|t| (0..states).map(move |x| (t, x)));
            let places: Vec<StateRegret> = pairs
                .map(|(t, x)| StateRegret {
                    visits: visits / (t * t * (x + 1)) as f64,
                    regret: regret / t as f64,
                    ..place(t, x)
                })
                .collect();
            drawn(&places);
        }
    }
}

#[test]
fn wrong_numbers_are_refused() {
    let bad = |change: fn(&mut StateRegret)| {
        let mut bad = place(1, 2);
        change(&mut bad);
        bad
    };
    let bad = [
        bad(|pair| pair.t = 0),
        bad(|pair| pair.visits = f64::NAN),
        bad(|pair| pair.visits = -1.0),
        bad(|pair| pair.regret = f64::INFINITY),
        bad(|pair| pair.regret = f64::NAN),
        bad(|pair| pair.agree = 1.5),
        bad(|pair| pair.agree = f64::NAN),
        place(1, 1),
    ];
    for place in bad {
        let places = [self::place(1, 1), place];
        let error = draw_regret_map(&places, &titled("")).expect_err("refused");
        let place = format!("step {}, state {}: ", places[1].t, places[1].x);
        assert!(error.to_string().starts_with(&place), "{error}");
    }
    let error = draw_regret_map(&[], &titled("Where")).expect_err("refused");
    assert!(matches!(error, PlotError::NoPoints(_)), "{error}");
}

#[test]
fn all_places_are_in_the_csv() {
    let odd = StateRegret {
        state: "a \"b\", c".to_owned(),
        regret: -0.5,
        ..place(1, 0)
    };
    let none = StateRegret {
        visits: 0.0,
        learned: None,
        ..place(2, 1)
    };
    let csv = regret_map_csv(&[("ucb1(delta=0.1, c=2)".to_owned(), vec![odd, none])]);
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "learner,t,x,state,visits,regret,benchmark,learned,agree"
    );
    let label = "\"ucb1(delta=0.1, c=2)\"";
    assert_eq!(
        lines[1],
        format!("{label},1,0,\"a \"\"b\"\", c\",100,-0.5,\"cont\",\"cont\",0.75")
    );
    assert_eq!(lines[2], format!("{label},2,1,\"s1\",0,1,\"cont\",,"));
    assert_eq!(lines.len(), 3);
    let many = regret_map_csv(&[
        ("a".to_owned(), triangle(100)),
        ("b".to_owned(), triangle(2)),
    ]);
    assert_eq!(many.lines().count(), 1 + 5050 + 3);
}

#[test]
fn the_csv_reads_back() {
    let pair = |t, x, learned: Option<&str>| StateRegret {
        t,
        x,
        state: format!("s, \"{x}\""),
        visits: 1.5,
        regret: -0.25,
        benchmark: "stop".into(),
        learned: learned.map(str::to_owned),
        agree: if learned.is_some() { 0.5 } else { 0.0 },
    };
    let pairs = vec![pair(1, 0, Some("a")), pair(2, 1, None)];
    // The same label twice: two settings of one learner can be asked for by the same text.
    let learners = vec![
        ("ucb1:c=1,d=2".to_owned(), pairs.clone()),
        ("ucb1:c=1,d=2".to_owned(), pairs),
    ];
    assert_eq!(read_regret_map(&regret_map_csv(&learners)), Ok(learners));
    let fault = read_regret_map("header\nfeedbal,one,0,s,1,2,stop,,\n");
    assert_eq!(fault.unwrap_err(), "row 2: `one` is not a count");
}

#[test]
fn a_narrow_figure_fits_a_phone() {
    for steps in [2, 6, 20] {
        let options = PlotOptions {
            narrow: true,
            ..titled("Section 5's problem: feedbal (1,000 runs of 5,000 episodes)")
        };
        let svg = svg(&scene(&triangle(steps), &options).expect("drawn"));
        check_texts(&svg);
        assert!(attribute(&svg, "width") <= 400.0);
    }
}
