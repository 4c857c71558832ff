//! Problems whose episodes begin in one of several states: values weighted by the distribution, and its rules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use emab::learners::FeedBalParameters;
use emab::oracle::{Iteration, Pairs, Solution, SolvedMdp, Variation};
use emab::theory::Bounds;
use emab::{Action, Environment, Episode, Learner, Model, Problem, Spec, Stream};

/// Two steps. In state `x` at step 1 a test costs 0.1 and leads to state 3 or 4 with reward 0 or 1, where it fails with
/// probability 0.9, 0.5 or 0.2; stopping pays 0.3 there.
fn groups(starts: &[usize], probabilities: &[f64]) -> Arc<Problem> {
    let spec = Spec::numbered(2, 5, 1, 2)
        .unwrap()
        .transition(|_t, _x, _a, f| (3 + f) as f64)
        .start_in(starts)
        .unwrap();
    let model = Model::new(
        |_t, x, _a, f| {
            let fails = [0.9, 0.5, 0.2, 1.0, 1.0][x];
            if f == 0 { fails } else { 1.0 - fails }
        },
        |t, x, _a, _f| {
            if t == 1 {
                0.3
            } else {
                [9.0, 9.0, 9.0, 0.0, 1.0][x]
            }
        },
    )
    .cost(|_t, _x, _a, _f| 0.1)
    .start(probabilities);
    Arc::new(Problem::new("groups", spec, model))
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() < 1e-12
}

#[test]
fn values_are_weighted_by_the_distribution() {
    // By hand: stop for 0.3 in state 0, and test for 0.5 - 0.1 and 0.8 - 0.1 in states 1 and 2.
    let problem = groups(&[2, 0, 1], &[0.2, 0.7, 0.1]);
    let by_hand = 0.2 * 0.7 + 0.7 * 0.3 + 0.1 * 0.4;
    let solution = Solution::of(problem.clone(), 1000).unwrap();
    assert!(close(solution.benchmark_value, by_hand));
    assert!(close(solution.optimal_value, by_hand));
    let choices: Vec<_> = solution.rows[..3].iter().map(|row| row.benchmark).collect();
    let test = Action::Continue(0);
    assert_eq!(choices, [Action::Stop, test, test]);
    // A sequence is the same in all states: the test pays 0.2 * 0.7 + 0.7 * 0 + 0.1 * 0.4 = 0.18, stopping 0.3.
    assert!(close(solution.best_fixed.unwrap().value, 0.3));
    assert!(close(solution.best_repeated.value, 0.3));
    let likely = Solution::of(groups(&[0, 1, 2], &[0.1, 0.1, 0.8]), 1000).unwrap();
    let fixed = likely.best_fixed.unwrap();
    assert_eq!(fixed.actions, [0]);
    assert!(close(fixed.value, 0.8 * 0.7 + 0.1 * 0.4));

    let solved = SolvedMdp::new(problem.clone()).unwrap();
    assert_eq!(solved.mdp.starts(), [(2, 0.2), (0, 0.7), (1, 0.1)]);
    assert!(close(solved.benchmark, by_hand));
    assert!(close(solved.mdp.start_value(&solved.values), by_hand));
    for found in [
        Iteration::of_values(&solved.mdp, 1000),
        Iteration::of_policies(&solved.mdp, 1000),
    ] {
        assert!(close(
            solved.mdp.start_value(&found.unwrap().values),
            by_hand
        ));
    }
    let mut environment = Environment::new(problem).unwrap();
    let (value, stderr) = environment.benchmark_value(1).unwrap();
    assert!(close(value, by_hand) && stderr == 0.0);
    assert!(close(
        environment.optimal_value().unwrap().unwrap(),
        by_hand
    ));
}

/// Bounds and variation cover every start, whatever its probability: the bounds of the union are not below those of its
/// parts.
#[test]
fn bounds_cover_every_start() {
    let bounds = |starts: &[usize], probabilities: &[f64]| {
        let parameters = FeedBalParameters::new(0.1, 0.05).unwrap();
        Bounds::new(groups(starts, probabilities), &parameters, 1000).unwrap()
    };
    let both = bounds(&[0, 2], &[1.0, 0.0]);
    assert_eq!(
        both.theorem1.tight,
        bounds(&[0, 2], &[0.5, 0.5]).theorem1.tight
    );
    for start in [0, 2] {
        let one = bounds(&[start], &[1.0]);
        assert!(one.theorem1.tight < both.theorem1.tight);
        assert!(one.omega_max <= both.omega_max);
    }
    let mut pairs = Pairs::new(groups(&[0, 2], &[1.0, 0.0])).unwrap();
    assert_eq!(pairs.len(), 2);
    assert_eq!(Variation::of(&mut pairs, 1000).unwrap().spread, 1.0);
}

#[test]
fn draws_follow_the_bounds() {
    let pairs = Pairs::new(groups(&[4, 0, 2, 1], &[0.0, 0.25, 0.75, 0.0])).unwrap();
    let drawn =
        [0.0, 0.2499, 0.25, 0.9, 1.0 - f64::EPSILON].map(|u| pairs.state(pairs.draw_start(u)));
    assert_eq!(drawn, [0, 0, 2, 2, 2]);
    // Probabilities that sum to slightly less than 1 leave no gap.
    let pairs = Pairs::new(groups(&[0, 1, 2], &[1.0 / 3.0 - 1e-10; 3])).unwrap();
    assert_eq!(pairs.state(pairs.draw_start(1.0 - f64::EPSILON)), 2);
}

#[test]
fn the_distribution_has_rules() {
    for (starts, probabilities, expected) in [
        (
            &[0, 1][..],
            &[][..],
            "the model has 0 probabilities, expected 2",
        ),
        (&[0, 1], &[1.0], "the model has 1 probabilities, expected 2"),
        (
            &[0, 1],
            &[0.5, f64::NAN],
            "x = 1: got NaN, expected a probability from 0 to 1",
        ),
        (
            &[0, 1],
            &[1.25, -0.25],
            "x = 0: got 1.25, expected a probability from 0 to 1",
        ),
        (
            &[0, 1],
            &[0.5, 0.4],
            "the probabilities sum to 0.9, expected 1",
        ),
        (&[3], &[0.5], "the probabilities sum to 0.5, expected 1"),
    ] {
        let error = Pairs::new(groups(starts, probabilities))
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.starts_with("`start` at t = 1, "), "{error}");
    }
    for probabilities in [&[][..], &[1.0], &[1.0 - 1e-10]] {
        let problem = groups(&[3], probabilities);
        assert_eq!(problem.start_distribution().unwrap(), [1.0]);
    }
    let spec = || Spec::numbered(2, 3, 1, 1).unwrap();
    for (starts, expected) in [
        (
            &[][..],
            "`start` must list at least one state, got an empty list",
        ),
        (&[0, 3], "`start` must be a state from 0 to 2, got 3"),
        (&[1, 0, 1], "`start` must list each state once, got 1 twice"),
    ] {
        assert_eq!(spec().start_in(starts).unwrap_err().to_string(), expected);
    }
}

/// Results of a seed must not change with a version: the first starts of two runs.
#[test]
fn first_starts_are_unchanged() {
    struct Stops;
    impl Learner for Stops {
        fn choose(&mut self, _t: usize, _x: usize) -> Action {
            Action::Stop
        }
        fn learn(&mut self, _episode: &Episode) {}
        fn reset(&mut self, _stream: Stream) {}
    }
    let mut environment = Environment::new(groups(&[0, 1, 2], &[0.5, 0.3, 0.2])).unwrap();
    let begun = [0, 1].map(|run| {
        environment.restart(1, run);
        [(); 16].map(|()| {
            environment.play(&mut Stops).unwrap();
            environment.episode().states[0]
        })
    });
    let expected = [
        [0, 2, 0, 0, 0, 0, 0, 0, 2, 2, 0, 0, 1, 0, 1, 0],
        [2, 2, 1, 1, 1, 0, 1, 1, 1, 2, 1, 2, 2, 0, 1, 0],
    ];
    assert_eq!(begun, expected);
}
