//! Actions of people instead of the recommended ones.

use super::*;

#[test]
fn overrides_are_uniform_over_the_other_actions() {
    // Three actions and `stop`; at the start `0` is recommended always.
    let problem = wait(3, 3);
    let mut conditioned = begun(&problem, &["override=0.4"], 20_000, (2, 0));
    let policy = Policy::new(problem.spec(), |t, _x| match t {
        3 => Action::Stop,
        _ => Action::Continue(0),
    });
    let mut learner = Recorder::new(policy);
    let n = 20_000;
    let mut taken = [0_u32; 4];
    for (episode, _) in play(&mut conditioned, &mut learner, n) {
        taken[episode.actions.first().map_or(3, |a| *a)] += 1;
    }
    let n = n as f64;
    let other = 0.4 / 3.0;
    for (count, p) in taken.into_iter().zip([0.6, other, other, other]) {
        let z = (f64::from(count) - n * p) / (n * p * (1.0 - p)).sqrt();
        assert!(z.abs() < 4.5, "{taken:?}");
    }
    // What was learned from is what was done.
    for (_, episode) in &learner.received {
        assert_eq!(episode.rewards.len(), episode.actions.len() + 1);
    }
    let mut received = learner.received.iter();
    assert!(received.any(|(_, e)| e.actions.first() == Some(&2)));
}

#[test]
fn feedbal_counts_the_actions_taken() {
    let problem = wait(3, 2);
    let mut conditioned = begun(&problem, &["override=0.5"], 300, (2, 0));
    let mut learner = feedbal(&problem);
    let mut counts = [0_u64; 3];
    for (episode, _) in play(&mut conditioned, &mut learner, 300) {
        counts[2] += 1;
        if let Some(&a) = episode.actions.first() {
            counts[a] += 1;
        }
    }
    let actions = [Action::Continue(0), Action::Continue(1), Action::Stop];
    for (action, count) in actions.into_iter().zip(counts) {
        assert_eq!(learner.estimate(1, 0, action).unwrap().count, count);
    }
}

#[test]
fn the_regret_of_overridden_recommendations() {
    // Recommending the benchmark has no regret with any overrides; recommending `stop` costs V - r at the start and
    // wherever an override continues.
    let problem = wait(3, 1);
    let mut conditioned = begun(&problem, &["override=0.3"], 20_000, (2, 0));
    let mut benchmark = Policy::benchmark(problem.clone()).unwrap();
    let (gain, regret) = measured(&mut conditioned, &mut benchmark, 2000);
    assert_eq!(regret.mean(), 0.0);
    let (value, _) = conditioned.benchmark_value(1).unwrap();
    assert!(gain.mean() < value - 0.2);
    conditioned.restart(2, 0);
    let mut stop = Policy::new(problem.spec(), |_t, _x| Action::Stop);
    let (_, regret) = measured(&mut conditioned, &mut stop, 20_000);
    let mut oracle = Benchmark::new(problem.clone()).unwrap();
    let start = oracle.pairs().starts().next().unwrap().0;
    let first = oracle.regret(start, Action::Stop).unwrap();
    let mut expected = first;
    let follow: Vec<_> = oracle.pairs().follow(start, 0).collect();
    for (next, p) in follow {
        expected += 0.3 * p * oracle.regret(next, Action::Stop).unwrap();
    }
    let off = regret.mean() - expected;
    assert!(off.abs() < 4.5 * regret.stderr(), "{expected}");
}

#[test]
fn regret_of_overridden_recommendations_with_paired_estimates() {
    let problem = tree();
    let (texts, n) = (["override=0.2", "dropout=0.05"], 30_000);
    let mut conditioned = begun(&problem, &texts, n, (1, 0));
    let (_, regret) = measured(&mut conditioned, &mut fifth(&problem), n);
    // The same, solved by hand from the top: V - Q where `fifth` stops, from step 5 on, if the episode reaches it.
    let with_dropout = Arc::new(problem.with_dropout(Probability::new("dropout", 0.05).unwrap()));
    let mut oracle = Benchmark::new(with_dropout).unwrap();
    let mut level = vec![(oracle.pairs().starts().next().unwrap().0, 1.0)];
    let mut expected = 0.0;
    for t in 1..=9 {
        let mut next = Vec::new();
        for (pair, p) in level {
            let (advised, on) = match t {
                1..5 => (Action::Continue(0), 0.8),
                _ => (Action::Stop, 0.2),
            };
            expected += p * oracle.regret(pair, advised).unwrap();
            let follow = oracle.pairs().follow(pair, 0);
            next.extend(follow.map(|(to, chance)| (to, p * chance * on * 0.95)));
        }
        level = next;
    }
    // Steps beyond the ninth are left out by hand: one in ten thousand comes there.
    let off = regret.mean() - expected;
    assert!(off.abs() < 4.5 * regret.stderr() + 0.001, "{off}");
}
