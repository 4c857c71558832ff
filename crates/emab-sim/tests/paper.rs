//! The paper's setting against the expected regret that a separate program found in 400,000 runs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use common::{experiment, finish};
use emab::Environment;

const AT: [u64; 5] = [100, 1000, 5000, 10_000, 20_000];

/// `shared/paper/README.md`, fact 1.
const REFERENCE: [(&str, [f64; 5]); 6] = [
    ("feedbal", [17.17, 67.10, 174.96, 256.34, 366.51]),
    ("feedbal:sigma2=0.4", [16.88, 75.21, 218.71, 334.56, 497.93]),
    (
        "feedbal:sigma2=0.05",
        [20.31, 70.40, 151.23, 203.55, 269.98],
    ),
    (
        "feedbal:sigma2=0.02",
        [26.04, 120.51, 366.31, 610.50, 1046.30],
    ),
    ("ucb1", [20.56, 132.09, 506.88, 918.60, 1680.42]),
    ("ucb1v", [13.78, 98.47, 415.73, 775.61, 1455.88]),
];

#[test]
fn regret_is_within_four_standard_errors() {
    let learners = REFERENCE.map(|(learner, _)| learner);
    let experiment = experiment("resource", &learners, 500, 20_000, &AT);
    let mut state = experiment.state();
    finish(&experiment, &mut state, 0);
    let results = experiment.results(&state);
    for (result, (learner, reference)) in results.iter().zip(REFERENCE) {
        for (point, expected) in result.curve.iter().zip(reference) {
            // The reference has errors of its own, a twentieth of ours or less; sigma^2 = 0.02 has heavy tails.
            let away = (point.regret - expected).abs() / point.stderr;
            assert!(
                away < 4.0,
                "{learner} at {}: {} for {expected}, {away:.1} errors",
                point.episode,
                point.regret
            );
        }
    }
    // A band this narrow notices a wrong constant: a sigma^2 of 0.21 for 0.2 moves the regret by 2 %.
    let feedbal = &results[0].curve[4];
    assert!(feedbal.stderr < 0.01 * feedbal.regret, "{}", feedbal.stderr);
    // Fact 2: what the regret is made of, and a standard deviation of 47.6 over runs.
    let causes = results[0].causes;
    assert!(
        (causes.late_stop - 324.0).abs() < 10.0 && (causes.early_stop - 44.0).abs() < 5.0,
        "{causes:?}"
    );
    assert_eq!(causes.wrong_action, 0.0);
    let deviation = feedbal.stderr * 500.0_f64.sqrt();
    assert!((deviation - 47.6).abs() < 6.0, "{deviation}");
    // The gain, as realised, is what the regret leaves of the benchmark's.
    let value = Environment::new(experiment.problem.clone())
        .unwrap()
        .benchmark_value(1)
        .unwrap()
        .0;
    for result in &results {
        let last = result.curve[4];
        let left = 20_000.0 * value - last.regret;
        assert!(
            (last.gain - left).abs() < 4.0 * last.gain_stderr.hypot(last.stderr),
            "{}: {} {left}",
            result.label,
            last.gain
        );
    }
}

#[test]
fn the_value_of_the_benchmark() {
    let experiment = experiment("resource", &["feedbal"], 1, 1, &[]);
    assert!(
        (Environment::new(experiment.problem.clone())
            .unwrap()
            .benchmark_value(1)
            .unwrap()
            .0
            - 1.605673568)
            .abs()
            < 5e-10
    );
}

#[test]
fn the_truth_has_no_regret_and_fixed_sequences_have_what_they_must() {
    let experiment = experiment(
        "resource",
        &["benchmark", "optimal", "best-fixed"],
        300,
        1000,
        &[],
    );
    let mut state = experiment.state();
    finish(&experiment, &mut state, 0);
    let results = experiment.results(&state);
    assert!(
        results[0]
            .curve
            .iter()
            .all(|point| point.regret == 0.0 && point.stderr == 0.0)
    );
    assert!(results[1].curve.iter().all(|point| point.regret == 0.0));
    let fixed = results[2].curve.last().unwrap();
    let expected = 1000.0 * (1.605673568 - 1.547522);
    assert!(
        (fixed.regret - expected).abs() < 4.0 * fixed.stderr,
        "{} {expected}",
        fixed.regret
    );
}
