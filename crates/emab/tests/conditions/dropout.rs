//! Episodes that end without a choice to stop.

use super::*;

#[test]
fn rewards_are_unknown_after_a_dropout() {
    let problem = wait(5, 1);
    let mut conditioned = begun(&problem, &["dropout=0.25"], 1000, (5, 1));
    let mut learner = Recorder::new(Policy::benchmark(problem).unwrap());
    let played = play(&mut conditioned, &mut learner, 1000);
    let (mut steps, mut left) = (0, 0);
    for ((episode, gone), (_, received)) in played.iter().zip(&learner.received) {
        assert_eq!(episode.rewards.len(), episode.steps());
        let rewards = match gone {
            true => Vec::new(),
            false => episode.rewards.clone(),
        };
        let expected = Episode {
            rewards,
            ..episode.clone()
        };
        assert_eq!(received, &expected);
        // The benchmark continues to the end: shorter episodes ended by dropout.
        assert!(*gone || episode.steps() == 5);
        steps += episode.actions.len();
        left += usize::from(*gone);
    }
    let n = steps as f64;
    assert!((left as f64 - 0.25 * n).abs() < 4.5 * (n * 0.25 * 0.75).sqrt());
}

#[test]
fn the_value_with_dropout_agrees_with_hand_and_simulation() {
    // Rewards 1, 2, 3 and no cost, leaving with 1/4: on to the end it is 2/4 + 3 * 3/4.
    let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| t as f64);
    let plain = Problem::new("wait", spec, model);
    let problem = Arc::new(plain.with_dropout(Probability::new("dropout", 0.25).unwrap()));
    let mut pairs = Pairs::new(problem.clone()).unwrap();
    let optimal = Optimal::new(&mut pairs).unwrap();
    assert_eq!(optimal.start_value(&pairs), 2.75);
    assert_eq!(best_fixed(&pairs, &optimal, 1000).unwrap().value, 2.75);
    let mut benchmark = Benchmark::new(problem).unwrap();
    let start = benchmark.pairs().starts().next().unwrap().0;
    assert_eq!(benchmark.regret(start, Action::Stop).unwrap(), 1.75);
}

/// The definition: a problem with twice the states, one copy for episodes that have dropped out.
fn spelled_out(problem: &Arc<Problem>, dropout: &Dropout) -> Arc<Problem> {
    let spec = problem.spec();
    let (s, feedbacks) = (spec.states().len(), spec.feedbacks().len());
    let [p1, p2, p3, p4, p5] = std::array::from_fn(|_| problem.clone());
    let leaving = problem.with_dropout(dropout.clone());
    let spec = Spec::numbered(spec.horizon(), 2 * s, spec.actions().len(), 2 * feedbacks)
        .unwrap()
        .transition(move |t, x, a, f| {
            let next = p1.spec().next(t, x, a, f % feedbacks).unwrap();
            (next + if f < feedbacks { 0 } else { s }) as f64
        })
        .allowed(move |t, x, a, _f| f64::from(u8::from(x < s && p2.spec().is_allowed(t, x, a))));
    let model = Model::new(
        move |t, x, a, f| {
            let mut distribution = vec![0.0; feedbacks];
            p3.feedback_distribution(t, x, a, &mut distribution)
                .unwrap();
            let q = leaving.dropout_at(t, x, a, f % feedbacks).unwrap();
            distribution[f % feedbacks] * if f < feedbacks { 1.0 - q } else { q }
        },
        move |t, x, _a, _f| p4.reward(t, x % s).unwrap(),
    )
    .cost(move |t, x, a, _f| p5.cost(t, x, a).unwrap());
    Arc::new(Problem::new("spelled out", spec, model))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Values with leaving are those of the problem spelled out; gains as played are too; and the regret of a policy is
    /// what it earns less than the benchmark.
    #[test]
    fn regret_with_dropout_is_exact(tables in small_problem(4, 3, 2, 2), q in 0.0..0.6_f64, varying: bool) {
        let problem = Arc::new(tables.problem());
        let stated = Conditions {
            dropout: match varying {
                true => Dropout::function("q", move |t, x, a, f| [0.0, 1.0, q][(t + x + 2 * a + f) % 3]),
                false => Probability::new("dropout", q).unwrap().into(),
            },
            ..Conditions::default()
        };
        let mut conditioned = under(&problem, &[], &stated, 4000).unwrap();
        let mut truth = Environment::new(spelled_out(&problem, &stated.dropout)).unwrap();
        let (value, _) = conditioned.benchmark_value(1).unwrap();
        let optimum = conditioned.optimal_value().unwrap().unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        prop_assert!(near(value, truth.benchmark_value(1).unwrap().0));
        prop_assert!(near(optimum, truth.optimal_value().unwrap().unwrap()));
        let fixed = |problem: Arc<Problem>| {
            let mut pairs = Pairs::new(problem).unwrap();
            let optimal = Optimal::new(&mut pairs).unwrap();
            best_fixed(&pairs, &optimal, 1_000_000).unwrap().value
        };
        let with_dropout = Arc::new(problem.with_dropout(stated.dropout.clone()));
        let mdp = Mdp::new(&mut Pairs::new(with_dropout.clone()).unwrap()).unwrap();
        let iterated = Iteration::of_values(&mdp, 1000).unwrap();
        prop_assert!(near(iterated.values[mdp.starts()[0].0], optimum));
        prop_assert!(near(fixed(with_dropout), fixed(spelled_out(&problem, &stated.dropout))));

        conditioned.restart(3, 0);
        let mut benchmark = Policy::benchmark(problem.clone()).unwrap();
        let (gain, regret) = measured(&mut conditioned, &mut benchmark, 4000);
        prop_assert_eq!(regret.mean(), 0.0);
        prop_assert!((gain.mean() - value).abs() < 4.5 * gain.stderr() + 1e-9);
        conditioned.restart(4, 0);
        let (gain, regret) = measured(&mut conditioned, &mut Random::new(problem.spec().clone()), 4000);
        let error = (gain.stderr().powi(2) + regret.stderr().powi(2)).sqrt();
        prop_assert!((value - gain.mean() - regret.mean()).abs() < 4.5 * error + 1e-9);
    }
}

#[test]
fn paired_regret_is_unbiased_with_dropout() {
    paired_regret_is_unbiased(Probability::new("dropout", 0.1).unwrap().into());
    let late = |t: usize, x: usize, _a: usize, f: usize| match (x + f) % 3 {
        0 if t > 1 => 0.5,
        _ => 0.0,
    };
    paired_regret_is_unbiased(Dropout::function("late", late));
}

fn paired_regret_is_unbiased(dropout: Dropout) {
    let problem = Arc::new(tree().with_dropout(dropout));
    let mut conditioned = begun(&problem, &[], 20_000, (1, 0));
    let estimator = conditioned.environment().estimator();
    assert_eq!(estimator, RegretEstimator::Paired);
    let (value, error) = conditioned.benchmark_value(7).unwrap();
    conditioned.restart(1, 0);
    let (gain, regret) = measured(&mut conditioned, &mut fifth(&problem), 20_000);
    let error = (error.powi(2) + gain.stderr().powi(2) + regret.stderr().powi(2)).sqrt();
    let off = value - gain.mean() - regret.mean();
    assert!(off.abs() < 4.5 * error, "{off} {error}");
}

#[test]
fn an_expression_needs_its_problem() {
    let problem = wait(3, 1);
    let error = under(&problem, &[], &conditions(&["dropout=t / 10"]), 10).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`dropout` at t = 1, x = 0"), "{error}");
    assert!(error.contains("`t / 10` was not compiled"), "{error}");
    let wrong = Dropout::function("t", |t, _x, _a, _f| t as f64);
    let wrong = Arc::new(problem.with_dropout(wrong));
    let error = under(&wrong, &[], &conditions(&[]), 10).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`dropout` at t = 2, x = 0, a = 0, f = 0: got 2, expected a probability from 0 to 1"
    );
}

/// Good feedback ends the episode at step 2, bad feedback goes on and may drop out once more: among the gains of step 1 that
/// FeedBAL knows, good feedback is over-represented. A learner that counts all feedback is not affected.
#[test]
fn dropout_biases_a_mean_of_gains_and_no_counts_of_feedback() {
    let spec = Spec::numbered(3, 2, 1, 2).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let reward = |t, x, _a, _f| match t {
        1 => 0.0,
        2 => x as f64,
        _ => 0.6,
    };
    let problem = Arc::new(Problem::new(
        "longer after bad feedback",
        spec,
        Model::new(|_t, _x, _a, _f| 0.5, reward),
    ));
    let estimate = |learner: &str| {
        let text = format!("{learner},sigma2=0.01,feedback_spread=1");
        let config = LearnerConfig::parse(&text, &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(problem.spec(), None).unwrap();
        let mut conditioned = begun(&problem, &["dropout=0.5"], 10_000, (1, 0));
        for _ in 0..10_000 {
            conditioned.play(&mut *learner).unwrap();
        }
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        (estimate.mean, (estimate.mean - 0.5).abs() <= estimate.width)
    };
    let (mean, covered) = estimate("feedbal:width=sound");
    assert!((mean - 2.0 / 3.0).abs() < 0.03 && !covered, "{mean}");
    for learner in [
        "feedbal-model:width=joint",
        "feedbal-pooled:target=benchmark",
    ] {
        let (mean, covered) = estimate(learner);
        assert!((mean - 0.5).abs() < 0.03 && covered, "{learner}: {mean}");
    }
}
