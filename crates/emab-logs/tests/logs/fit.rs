use emab::Episode;
use emab_logs::assumptions::Stated;
use emab_logs::{DecisionLog, FittedModel, LoggedEpisode};
use emab_problem::{Family, OutcomeRange, ProblemFile};

use crate::simulate::log_of;

#[test]
fn a_fitted_model_is_within_its_errors() {
    for name in ["resource", "tutoring", "treatment", "screening-risk"] {
        let file = ProblemFile::find(name).unwrap();
        let problem = file.problem().unwrap();
        let log = log_of(&file, "random", 100_000, 1);
        let model = FittedModel::of(&log, &Stated::default()).unwrap();
        let mut numbers = 0;
        for (f, (share, count)) in model.starts.iter().enumerate() {
            let truth = problem.start_distribution().unwrap()[f];
            assert!(
                (share - truth).abs() <= model.start_error,
                "{name} start {f}: {share}, {truth}"
            );
            assert!(*count > 0);
        }
        for (&(t, x), pair) in &model.pairs {
            let near = |value: f64, truth: f64, error: f64| {
                assert!(
                    (value - truth).abs() <= error,
                    "{name} t = {t}, x = {x}: {value}, {truth} ± {error}"
                );
            };
            if pair.reward.count > 0 {
                near(
                    pair.reward.value,
                    problem.reward(t, x).unwrap(),
                    pair.reward.error,
                );
                numbers += 1;
            }
            for (a, action) in pair.actions.iter().enumerate() {
                let Some(action) = action.as_ref().filter(|action| action.count() > 0) else {
                    continue;
                };
                let mut shares = vec![0.0; action.feedback.len()];
                problem.feedback_distribution(t, x, a, &mut shares).unwrap();
                for (&share, truth) in action.feedback.iter().zip(shares) {
                    near(share, truth, action.error);
                    numbers += 1;
                }
                near(
                    action.cost.value,
                    problem.cost(t, x, a).unwrap(),
                    action.cost.error,
                );
            }
        }
        assert!(numbers > 10);
        // The file is the same model.
        let text = model.toml("a log");
        let fitted = ProblemFile::parse("fitted.toml", &text).unwrap();
        fitted.check(100_000).unwrap();
        assert_eq!(
            fitted.spec().compare(file.spec(), 100_000).unwrap(),
            emab::reach::SpecComparison::Same
        );
        let value = |problem| {
            emab::oracle::Solution::of(problem, 0)
                .unwrap()
                .optimal_value
        };
        let [one, other] = [fitted.problem().unwrap(), model.problem()].map(value);
        assert!((one - other).abs() < 1e-12);
        let truth = value(problem);
        assert!(
            (one - truth).abs() < 0.1 * truth.abs(),
            "{name}: {one}, {truth}"
        );
    }
}

#[test]
fn draws_spread_around_the_fit_and_narrow_with_the_log() {
    let file = Family::parse("small").unwrap().problem(2, 1).unwrap();
    let spread = |episodes: u64| {
        let log = log_of(&file, "random", episodes, 1);
        let model = FittedModel::of(&log, &Stated::default()).unwrap();
        let start = (1, 0);
        let fitted = model.pairs[&start].reward.value;
        let drawn: Vec<f64> = (0..200)
            .map(|number| model.draw(1, number).pairs[&start].reward.value)
            .collect();
        let mean = drawn.iter().sum::<f64>() / 200.0;
        let sd = (drawn.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / 199.0).sqrt();
        assert!((mean - fitted).abs() < 4.0 * sd / 200_f64.sqrt() + 0.02);
        sd
    };
    let (few, many) = (spread(20), spread(2000));
    assert!(many < 0.3 * few, "{many}, {few}");
    let log = log_of(&file, "random", 100, 1);
    let model = FittedModel::of(&log, &Stated::default()).unwrap();
    let text = |seed, number| model.draw(seed, number).draw_toml("a log", seed, number);
    assert_eq!(text(1, 3), text(1, 3));
    assert_ne!(text(1, 3), text(2, 3));
    ProblemFile::parse("draw.toml", &text(1, 3))
        .unwrap()
        .check(1000)
        .unwrap();
}

#[test]
fn one_observation_leaves_a_mean_uncertain() {
    let text = r#"
        horizon = 2
        states = 2
        actions = ["go"]
        feedbacks = 2
        transition = "f"
        [learning]
        sigma2 = 0.04
        reward_range = [0, 4]
        outcome_range = { reward = [0, 4] }
    "#;
    let file = ProblemFile::parse("one.toml", text).unwrap();
    let episode = Episode {
        states: vec![0, 1],
        actions: vec![0],
        feedbacks: vec![1],
        costs: vec![0.5],
        rewards: vec![1.0, 1.7],
    };
    let range = OutcomeRange {
        cost: Some([0.0, 1.0]),
        ..OutcomeRange::default()
    };
    let log = DecisionLog::new(
        file,
        range,
        vec![LoggedEpisode::past("p1".into(), episode, 1)],
    );
    let stated = Stated {
        cost_range: Some((0.25, 0.75)),
        ..Stated::default()
    };
    let model = FittedModel::of(&log, &stated).unwrap();
    let drawn = |number| model.draw(1, number).pairs[&(2, 1)].reward.value;
    let sd = (0..400)
        .map(|number| (drawn(number) - 1.7_f64).powi(2))
        .sum::<f64>();
    let sd = (sd / 400.0).sqrt();
    assert!((sd - 0.2).abs() < 0.03, "{sd}");
    // The ranges of observed values are those of the problem and of the log; that of expected costs is not one of them.
    let fitted = ProblemFile::parse("fitted.toml", &model.toml("a log")).unwrap();
    let range = fitted.outcome_range();
    assert_eq!(
        (range.reward, range.cost),
        (Some([0.0, 4.0]), Some([0.0, 1.0]))
    );
}

#[test]
fn a_line_break_in_the_name_of_a_log_does_not_end_the_comment() {
    let file = ProblemFile::find("resource").unwrap();
    let log = log_of(&file, "random", 10, 1);
    let model = FittedModel::of(&log, &Stated::default()).unwrap();
    let text = model.toml("a\nhorizon = 1");
    let fitted = ProblemFile::parse("fitted.toml", &text).unwrap();
    assert_eq!(fitted.spec().horizon(), 10);
}
