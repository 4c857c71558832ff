//! Built-in problems as Markov decision processes: three solution methods agree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use emab::Mdp;
use emab::oracle::{Benchmark, Iteration, Optimal};
use emab_problem::{BUILTIN, ProblemFile};

#[test]
fn three_solution_methods_agree_on_built_in_problems() {
    let mut myopia = Vec::new();
    for builtin in BUILTIN {
        let name = builtin.name;
        let problem = ProblemFile::builtin(name).unwrap().unwrap();
        let problem = problem.problem().unwrap();
        let horizon = problem.spec().horizon();
        let mut benchmark = Benchmark::new(problem).unwrap();
        let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
        let mdp = Mdp::new(benchmark.pairs_mut()).unwrap();
        let values = Iteration::of_values(&mdp, 1_000_000_000).unwrap();
        let policies = Iteration::of_policies(&mdp, 1_000_000_000).unwrap();
        assert!(values.rounds <= horizon + 1, "{name}: {}", values.rounds);
        assert!(policies.rounds <= horizon, "{name}: {}", policies.rounds);
        assert_eq!(values.policy, policies.policy, "{name}");
        for s in 0..mdp.end() {
            let (t, x) = mdp.pair(s).unwrap();
            let pair = benchmark.pairs().find(t, x).unwrap();
            let place = format!("{name} at t = {t}, x = {x}");
            let best = optimal.value(pair);
            for found in [values.values[s], policies.values[s]] {
                assert!(
                    (found - best).abs() <= 1e-12 * best.abs().max(1.0),
                    "{place}"
                );
            }
            assert_eq!(
                mdp.action(values.policy[s]),
                optimal.choice(pair),
                "{place}"
            );
            for a in mdp.allowed(s) {
                let sum: f64 = mdp.transitions(s, a).map(|(_, p)| p).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{place}, a = {a}: {sum}");
            }
        }
        let best = optimal.start_value(benchmark.pairs());
        assert!((mdp.start_value(&values.values) - best).abs() <= 1e-12 * best.abs());
        if benchmark.start_value().unwrap() < best - 1e-9 {
            myopia.push(name);
        }
    }
    // Else the comparison above would say nothing of looking more than one step ahead.
    assert!(!myopia.is_empty());
}
