//! The translation into a Markov decision process, against the tables it was made from, and three ways to solve it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;

use common::{Tables, small_problem};
use emab::oracle::{Benchmark, Iteration, Optimal};
use emab::{Action, Mdp, Model, Problem, Spec};
use proptest::prelude::*;

const ENOUGH: usize = 1_000_000;

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

fn translate(problem: Problem) -> (Benchmark, Optimal, Mdp) {
    let mut benchmark = Benchmark::new(Arc::new(problem)).unwrap();
    let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
    let mdp = Mdp::new(benchmark.pairs_mut()).unwrap();
    (benchmark, optimal, mdp)
}

/// The definition of one action in one pair, from the tables: reward, and probability by state of the next step.
fn defined(p: &Tables, t: usize, x: usize, a: usize) -> Option<(f64, Vec<f64>)> {
    if t == p.horizon || !p.allowed(t, x, a) {
        return None;
    }
    let mut chance = vec![0.0; p.states];
    for f in 0..p.feedbacks {
        chance[p.next(t, x, a, f)] += p.chance(t, x, a, f);
    }
    Some((-p.cost(t, x, a), chance))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_mdp_agrees_with_its_definition(p in small_problem(4, 4, 3, 5)) {
        let (benchmark, _, mdp) = translate(p.problem());
        prop_assert_eq!(mdp.len(), benchmark.pairs().len() + 1);
        prop_assert_eq!(mdp.actions(), p.actions + 1);
        prop_assert_eq!(mdp.pair(mdp.starts()[0].0), Some((1, 0)));
        let all: Vec<_> = (0..mdp.end()).map(|s| mdp.pair(s).unwrap()).collect();
        prop_assert!(all.is_sorted_by(|a, b| a < b));
        let mut transitions = 0;
        for (s, &(t, x)) in all.iter().enumerate() {
            prop_assert_eq!(mdp.find(t, x), Some(s));
            for a in 0..p.actions {
                let led: Vec<_> = mdp.transitions(s, a).collect();
                transitions += led.len();
                let Some((reward, chance)) = defined(&p, t, x, a) else {
                    prop_assert_eq!((mdp.reward(s, a), led.len()), (None, 0));
                    continue;
                };
                prop_assert_eq!(mdp.reward(s, a), Some(reward));
                // Each state once, and nothing left out.
                prop_assert!(led.is_sorted_by(|a, b| a.0 < b.0));
                prop_assert_eq!(led.len(), chance.iter().filter(|c| **c > 0.0).count());
                for (to, probability) in led {
                    let (next_t, next_x) = mdp.pair(to).unwrap();
                    prop_assert_eq!(next_t, t + 1);
                    prop_assert!(close(probability, chance[next_x]));
                }
            }
            prop_assert_eq!(mdp.reward(s, mdp.stop()), Some(p.reward(t, x)));
            let led: Vec<_> = mdp.transitions(s, mdp.stop()).collect();
            prop_assert_eq!(led, [(mdp.end(), 1.0)]);
            transitions += 1;
        }
        for a in 0..mdp.actions() {
            prop_assert_eq!(mdp.reward(mdp.end(), a), Some(0.0));
            let led: Vec<_> = mdp.transitions(mdp.end(), a).collect();
            prop_assert_eq!(led, [(mdp.end(), 1.0)]);
        }
        prop_assert_eq!(mdp.transition_count(), transitions + mdp.actions());
    }

    #[test]
    fn three_solvers_agree(p in small_problem(6, 5, 3, 3)) {
        let (mut benchmark, optimal, mdp) = translate(p.problem());
        let values = Iteration::of_values(&mdp, ENOUGH).unwrap();
        let policies = Iteration::of_policies(&mdp, ENOUGH).unwrap();
        prop_assert_eq!(&values.values, &policies.values);
        prop_assert_eq!(&values.policy, &policies.policy);
        prop_assert!(values.rounds <= p.horizon + 1);
        prop_assert!(policies.rounds <= p.horizon);
        let stopped = mdp.evaluate(&vec![mdp.stop(); mdp.len()]).unwrap();
        let first = mdp.improve(&stopped).unwrap();
        let earned = mdp.evaluate(&first).unwrap();
        for s in 0..mdp.end() {
            let (t, x) = mdp.pair(s).unwrap();
            let pair = benchmark.pairs().find(t, x).unwrap();
            prop_assert!(close(values.values[s], optimal.value(pair)));
            prop_assert_eq!(mdp.action(values.policy[s]), optimal.choice(pair));
            // To improve once on stopping everywhere is the benchmark.
            prop_assert_eq!(mdp.action(first[s]), benchmark.choice(pair).unwrap());
            prop_assert!(close(earned[s], benchmark.value(pair).unwrap()));
        }
        prop_assert_eq!((values.values[mdp.end()], values.policy[mdp.end()]), (0.0, mdp.stop()));
    }
}

/// Three steps. `safe` earns 1.2 for 0.1 at once; `explore` nothing for 0.3, and then, for 0.2 more, 5 with a probability of
/// 0.1 + 0.3 and else 0.5.
fn detour() -> Problem {
    const REWARD: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [1.2, 0.0, 0.0], [0.7, 5.0, 0.5]];
    let spec = Spec::numbered(3, 3, 2, 3).unwrap();
    let spec = spec.transition(|t, x, a, f| match (t, a) {
        (1, 1) => [1.0, 1.0, 2.0][f],
        _ => x as f64,
    });
    let model = Model::new(
        |_t, _x, _a, f| [0.1, 0.3, 0.6][f],
        |t: usize, x: usize, _a: usize, _f: usize| REWARD[t - 1][x],
    )
    .cost(|t, _x, a, _f| if t == 1 { [0.1, 0.3][a] } else { 0.2 });
    Problem::new("detour", spec, model)
}

#[test]
fn finds_a_policy_that_needs_two_steps() {
    let (mut benchmark, optimal, mdp) = translate(detour());
    let start = benchmark.pairs().starts().next().unwrap().0;
    // By hand: the benchmark takes 1.2 - 0.1 and stops; exploring is 0.4 (5 - 0.2) + 0.6 (0.5 - 0.2) - 0.3.
    assert!(close(benchmark.value(start).unwrap(), 1.1));
    assert!(close(optimal.value(start), 1.8));
    // Step 1 in state 0; step 2 and 3 in states 0, 1, 2; the end.
    assert_eq!((mdp.len(), mdp.actions()), (8, 3));
    let explored: Vec<_> = mdp.transitions(mdp.starts()[0].0, 1).collect();
    assert_eq!(explored, [(2, 0.1 + 0.3), (3, 0.6)]);
    let (safe, explore, stop) = (0, 1, 2);
    let values = Iteration::of_values(&mdp, ENOUGH).unwrap();
    let expected = [1.8, 1.2, 4.8, 0.3, 0.7, 5.0, 0.5, 0.0];
    for (value, expected) in values.values.iter().zip(expected) {
        assert!(close(*value, expected), "{value} {expected}");
    }
    // At step 2 both actions are as good: the lower index wins.
    let policy = [explore, stop, safe, safe, stop, stop, stop, stop];
    assert_eq!(values.policy, policy);
    assert_eq!(values.rounds, 4);
    let policies = Iteration::of_policies(&mdp, ENOUGH).unwrap();
    assert_eq!(policies.policy, policy);
    // Stopping, the benchmark, the detour.
    assert_eq!(policies.rounds, 3);
    assert!(close(policies.values[mdp.starts()[0].0], 1.8));
}

#[test]
fn stop_wins_ties_up_to_rounding() {
    // Stopping earns 0.3; going on 0.1 + 0.2, the larger in its last bit.
    let spec = Spec::numbered(2, 2, 1, 2).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let reward = |t, x, _a, _f| if t == 1 { 0.3 } else { 2.0 * [0.1, 0.2][x] };
    let tie = Problem::new("tie", spec, Model::new(|_t, _x, _a, _f| 0.5, reward));
    // Going on earns 1,000,000.3 for 1,000,000, which is 5e-11 more when it is rounded.
    let spec = Spec::numbered(2, 1, 1, 1).unwrap();
    let reward = |t: usize, _x, _a, _f| [0.3, 1e6 + 0.3][t - 1];
    let model = Model::new(|_t, _x, _a, _f| 1.0, reward).cost(|_t, _x, _a, _f| 1e6);
    for problem in [tie, Problem::new("large", spec, model)] {
        let (mut benchmark, optimal, mdp) = translate(problem);
        let start = benchmark.pairs().starts().next().unwrap().0;
        assert_eq!(benchmark.choice(start).unwrap(), Action::Stop);
        assert_eq!(optimal.choice(start), Action::Stop);
        let values = Iteration::of_values(&mdp, ENOUGH).unwrap();
        assert_eq!(values.values[mdp.starts()[0].0], 0.3);
        let policies = Iteration::of_policies(&mdp, ENOUGH).unwrap();
        for solved in [values, policies] {
            assert_eq!(solved.policy[mdp.starts()[0].0], mdp.stop());
        }
    }
}

#[test]
fn rejects_invalid_policies_and_too_much_work() {
    let (_, _, mdp) = translate(detour());
    let stop = mdp.stop();
    assert_eq!(mdp.evaluate(&[stop; 7]), None);
    assert_eq!(mdp.improve(&[0.0; 9]), None);
    // `safe` is not allowed at the horizon, and nothing is called 3.
    assert_eq!(mdp.evaluate(&[0, 0, 0, 0, 0, stop, stop, stop]), None);
    assert_eq!(mdp.evaluate(&[3; 8]), None);
    let mut last = [stop; 8];
    last[7] = 3;
    assert_eq!(mdp.evaluate(&last), None);
    assert_eq!((mdp.pair(8), mdp.reward(8, 0)), (None, None));
    assert_eq!(mdp.allowed(usize::MAX).count(), 0);
    let count = mdp.transition_count();
    assert_eq!(Iteration::of_values(&mdp, 4 * count - 1), None);
    assert!(Iteration::of_values(&mdp, 4 * count).is_some());
    assert_eq!(Iteration::of_policies(&mdp, 5 * count), None);
    assert!(Iteration::of_policies(&mdp, 6 * count).is_some());
}
