use emab::learners::Access;
use emab_sim::results::{
    ArenaCellResult, ArenaProblem, ArenaResult, ArenaSetting, ExcludedLearner, Measured,
};

use super::super::options::PlotOptions;
use super::super::tests::{attribute, svg};
use super::ratio_axis::{Position, RatioAxis};
use super::{arena_options, draw_arena, scene};

fn cell(label: &str, sees: Access, finals: [f64; 3]) -> (Access, ArenaCellResult) {
    let cell = ArenaCellResult {
        label: label.into(),
        finals: finals.to_vec(),
        ..ArenaCellResult::default()
    };
    (sees, cell)
}

fn result(feedbal: [f64; 3]) -> ArenaResult {
    let problem = |name: &str| {
        let mut ground = ArenaSetting {
            problem: name.into(),
            ..ArenaSetting::default()
        };
        ground.values.optimal_value = Some(0.0);
        let cells = [
            cell("feedbal", Access::Spec, feedbal),
            cell("a & <b>", Access::Spec, [30.0, 35.0, 32.0]),
            cell("far", Access::Spec, [1e9, 1e9, 2e9]),
            cell("optimal", Access::Problem, [0.0; 3]),
        ];
        let left = ExcludedLearner {
            label: "ucb1".into(),
            why: "too many".into(),
        };
        ArenaProblem::judge(ground, 10, &cells, vec![left])
    };
    ArenaResult {
        version: String::new(),
        seed: 1,
        runs: 3,
        episodes: 10,
        problems: ["one", "two", "three", "four", "five"].map(problem).into(),
    }
}

fn svg_of(feedbal: [f64; 3]) -> String {
    let result = result(feedbal);
    svg(&scene(&result, &arena_options(&result)).unwrap())
}

#[test]
fn every_learner_has_its_row_and_every_problem_its_panel() {
    let drawn = svg_of([10.0, 12.0, 11.0]);
    let count = |text: &str| drawn.matches(&format!(">{text}</text>")).count();
    // Five panels stand in two rows, and each row names the learners.
    for name in ["feedbal", "a &amp; &lt;b&gt;", "far", "ucb1", "optimal"] {
        assert_eq!(count(name), 2, "{name}");
    }
    assert_eq!(count("does not apply"), 5);
    assert_eq!(count("five"), 1);
    assert!(drawn == svg_of([10.0, 12.0, 11.0]));
}

#[test]
fn the_legend_has_the_marks_of_the_figure() {
    let all = result([10.0, 12.0, 11.0]);
    let legend = |result: &ArenaResult| {
        let svg = svg(&scene(result, &arena_options(result)).unwrap());
        [
            "better than FeedBAL",
            "worse than FeedBAL",
            "off the axis, or zero regret",
        ]
        .map(|text| svg.contains(&format!(">{text}</text>")))
    };
    assert_eq!(legend(&all), [false, true, true]);
    let mut alone = all;
    for problem in &mut alone.problems {
        problem.learners.retain(|one| one.label == "feedbal");
        problem.left_out.clear();
    }
    assert_eq!(legend(&alone), [false, false, false]);
}

#[test]
fn no_ratio_is_said_and_nothing_at_all_is_refused() {
    let drawn = svg_of([0.0; 3]);
    assert!(drawn.contains("FeedBAL lost nothing"));
    let nothing = ArenaResult {
        problems: Vec::new(),
        ..result([0.0; 3])
    };
    assert!(draw_arena(&nothing, &arena_options(&nothing)).is_err());
}

#[test]
fn the_axis_has_one_in_it_and_an_end() {
    let of = |means: &[f64]| {
        let measured = means.iter().map(|&mean| Measured { mean, stderr: 0.0 });
        RatioAxis::new(measured, 40)
    };
    assert_eq!(of(&[]).position(1.0), Position::On(0.5));
    let wide = of(&[0.03, 1e12, 0.0, -4.0]);
    assert_eq!(wide.position(1e12), Position::Above);
    assert_eq!(wide.position(0.0), Position::Below);
    assert_eq!(wide.position(f64::NAN), Position::Below);
    assert!(matches!(wide.position(0.03), Position::On(_)));
    let texts = |axis: RatioAxis| -> Vec<String> {
        let ticks = axis.ticks().into_iter();
        ticks.map(|(_, text)| text).collect()
    };
    assert_eq!(texts(wide), ["0.1", "1", "10", "100", "1000"]);
    assert_eq!(texts(of(&[0.7, 1.5])), ["0.5", "1", "2"]);
    assert_eq!(texts(of(&[0.2, 5.0])), ["0.3", "1", "3"]);
}

#[test]
fn a_narrow_figure_fits_a_phone() {
    let result = result([10.0, 12.0, 11.0]);
    let options = PlotOptions {
        narrow: true,
        ..arena_options(&result)
    };
    let svg = svg(&scene(&result, &options).unwrap());
    assert!(attribute(&svg, "width") <= 400.0);
    assert!(svg.matches(">far</text>").count() == 5, "one column");
}
