//! The oracle against brute force, on random small problems.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use std::sync::Arc;

use common::{Tables, small_problem};
use emab::oracle::{Benchmark, Optimal, Pairs, best_fixed, best_repeated};
use emab::{Action, Problem};
use proptest::prelude::*;

/// What a policy earns from `(t, x)` on, by following every feedback: no table, no memory.
fn follow(p: &Tables, t: usize, x: usize, policy: &dyn Fn(usize, usize) -> Action) -> f64 {
    match policy(t, x) {
        Action::Continue(a) if t < p.horizon && p.allowed(t, x, a) => {
            let mut value = -p.cost(t, x, a);
            for f in 0..p.feedbacks {
                let chance = p.chance(t, x, a, f);
                if chance > 0.0 {
                    value += chance * follow(p, t + 1, p.next(t, x, a, f), policy);
                }
            }
            value
        }
        _ => p.reward(t, x),
    }
}

/// Algorithm 1, read aloud.
fn algorithm_1(p: &Tables, t: usize, x: usize) -> Action {
    if t == p.horizon {
        return Action::Stop;
    }
    let gain = |a: usize| {
        let y: f64 = (0..p.feedbacks)
            .map(|f| p.chance(t, x, a, f) * p.reward(t + 1, p.next(t, x, a, f)))
            .sum();
        y - p.cost(t, x, a)
    };
    let mut best = (Action::Stop, p.reward(t, x));
    for a in (0..p.actions).filter(|&a| p.allowed(t, x, a)) {
        if gain(a) > best.1 + 1e-12 {
            best = (Action::Continue(a), gain(a));
        }
    }
    best.0
}

/// All deterministic policies over the pairs before the horizon, as numbers in base `actions + 1`.
fn all_policies(p: &Tables) -> impl Iterator<Item = Vec<usize>> + use<> {
    let (places, base) = ((p.horizon - 1) * p.states, p.actions + 1);
    let count = base.pow(places as u32);
    (0..count).map(move |mut n| {
        let mut digit = |_| {
            let digit = n % base;
            n /= base;
            digit
        };
        (0..places).map(&mut digit).collect()
    })
}

fn sequences(actions: usize, longest: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    let mut last = vec![vec![]];
    for _ in 0..longest {
        last = last
            .iter()
            .flat_map(|s: &Vec<usize>| (0..actions).map(move |a| [s.clone(), vec![a]].concat()))
            .collect();
        all.extend(last.clone());
    }
    all
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

fn solve(p: &Tables) -> (Arc<Problem>, Benchmark, Optimal) {
    let problem = Arc::new(p.problem());
    let mut benchmark = Benchmark::new(problem.clone()).unwrap();
    let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
    (problem, benchmark, optimal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_benchmark_is_algorithm_1(p in small_problem(4, 4, 3, 3)) {
        let (_, mut benchmark, _) = solve(&p);
        let pairs: Vec<_> = benchmark.pairs().iter().collect();
        for pair in pairs {
            let (t, x) = (benchmark.pairs().step(pair), benchmark.pairs().state(pair));
            prop_assert_eq!(benchmark.choice(pair).unwrap(), algorithm_1(&p, t, x));
            let value = benchmark.value(pair).unwrap();
            prop_assert!(close(value, follow(&p, t, x, &|t, x| algorithm_1(&p, t, x))));
        }
    }

    #[test]
    fn the_optimal_policy_is_the_best_of_all(p in small_problem(3, 2, 2, 2)) {
        let (problem, benchmark, optimal) = solve(&p);
        let best = all_policies(&p)
            .map(|policy| {
                follow(&p, 1, 0, &|t, x| match policy.get((t - 1) * p.states + x) {
                    Some(&a) if a < p.actions => Action::Continue(a),
                    _ => Action::Stop,
                })
            })
            .fold(f64::NEG_INFINITY, f64::max);
        let pairs = benchmark.pairs();
        prop_assert!(close(optimal.start_value(pairs), best));
        // And the policy it names earns what it says.
        let named = |t, x| pairs.find(t, x).map_or(Action::Stop, |pair| optimal.choice(pair));
        prop_assert!(close(follow(&p, 1, 0, &named), best));
        prop_assert_eq!(problem.spec().starts(), [0]);
    }

    #[test]
    fn the_best_fixed_sequence_is_the_best_of_all(p in small_problem(4, 3, 2, 2)) {
        let (_, mut benchmark, optimal) = solve(&p);
        let earn = |sequence: &[usize]| {
            follow(&p, 1, 0, &|t, _| sequence.get(t - 1).map_or(Action::Stop, |&a| Action::Continue(a)))
        };
        let all = sequences(p.actions, p.horizon - 1);
        let best = all.iter().map(|s| earn(s)).fold(f64::NEG_INFINITY, f64::max);
        let found = best_fixed(benchmark.pairs(), &optimal, 1_000_000).unwrap();
        prop_assert!(close(found.value, best), "{} {best}", found.value);
        prop_assert!(close(earn(&found.actions), best));

        let repeats = all.iter().filter(|s| s.windows(2).all(|w| w[0] == w[1]));
        let best = repeats.map(|s| earn(s)).fold(f64::NEG_INFINITY, f64::max);
        let found = best_repeated(benchmark.pairs_mut()).unwrap();
        prop_assert!(close(found.value, best));
    }

    #[test]
    fn regret_adds_up_to_the_difference_in_value(p in small_problem(4, 3, 2, 2), seed in any::<u64>()) {
        // Fact 2: for any policy, the expected sum of V - Q along its path is V(start) less what it earns.
        let (_, mut benchmark, _) = solve(&p);
        let policy = |t: usize, x: usize| {
            let n = seed.rotate_left((7 * t + 3 * x) as u32) as usize % (p.actions + 1);
            if t < p.horizon && n < p.actions && p.allowed(t, x, n) { Action::Continue(n) } else { Action::Stop }
        };
        fn sum(p: &Tables, b: &mut Benchmark, t: usize, x: usize, policy: &dyn Fn(usize, usize) -> Action) -> f64 {
            let pair = b.pairs_mut().find_or_add(t, x).unwrap();
            let action = policy(t, x);
            let mut total = b.regret(pair, action).unwrap();
            if let Action::Continue(a) = action {
                for f in 0..p.feedbacks {
                    let chance = p.chance(t, x, a, f);
                    if chance > 0.0 {
                        total += chance * sum(p, b, t + 1, p.next(t, x, a, f), policy);
                    }
                }
            }
            total
        }
        let start = benchmark.pairs().starts().next().unwrap().0;
        let difference = benchmark.value(start).unwrap() - follow(&p, 1, 0, &policy);
        let total = sum(&p, &mut benchmark, 1, 0, &policy);
        prop_assert!(close(total, difference), "{total} {difference}");
    }

    #[test]
    fn draws_follow_the_distribution(p in small_problem(2, 3, 2, 4), u in 0.0_f64..1.0) {
        let problem = Arc::new(p.problem());
        let mut pairs = Pairs::new(problem).unwrap();
        let start = pairs.starts().next().unwrap().0;
        pairs.expand(start).unwrap();
        for a in (0..p.actions).filter(|&a| p.horizon > 1 && p.allowed(1, 0, a)) {
            let (f, next, cost) = pairs.draw(start, a, u).unwrap();
            prop_assert_eq!(cost, p.cost(1, 0, a));
            let before: f64 = (0..f).map(|f| p.chance(1, 0, a, f)).sum();
            prop_assert!(before <= u + 1e-12 && u < before + p.chance(1, 0, a, f) + 1e-9);
            prop_assert!(p.chance(1, 0, a, f) > 0.0);
            prop_assert_eq!(pairs.state(next), p.next(1, 0, a, f));
        }
    }
}
