//! Models that change, and learners that forget.

use super::*;

/// Continuing once leads to a coin that pays 1 with probability `p`; stopping at once pays 0.5.
fn coin(spec: &Arc<Spec>, p: f64) -> Arc<Problem> {
    let model = Model::new(
        move |_t, _x, _a, f| if f == 1 { p } else { 1.0 - p },
        |t, x, _a, _f| if t == 1 { 0.5 } else { x as f64 },
    );
    Arc::new(Problem::new("coin", spec.clone(), model))
}

fn coin_spec() -> Arc<Spec> {
    let spec = Spec::numbered(2, 2, 1, 2).unwrap();
    Arc::new(spec.transition(|_t, _x, _a, f| f as f64))
}

#[test]
fn regret_is_against_the_benchmark_of_the_phase() {
    let spec = coin_spec();
    let later = [phase(11, coin(&spec, 0.2))];
    let drift = Conditions::default().with(["drift=p:0.2@11"]).unwrap();
    let mut conditioned = under(&coin(&spec, 0.8), &later, &drift, 20).unwrap();
    let (value, _) = conditioned.benchmark_value(1).unwrap();
    assert!((value - (0.8 + 0.5) / 2.0).abs() < 1e-15);
    conditioned.restart(1, 0);
    let mut go = Policy::new(&spec, |t, _x| match t {
        1 => Action::Continue(0),
        _ => Action::Stop,
    });
    let regrets: Vec<f64> = (0..20)
        .map(|_| conditioned.play(&mut go).unwrap().total())
        .collect();
    assert_eq!(regrets[..10], [0.0; 10]);
    let late = |regret: &f64| (regret - 0.3).abs() < 1e-15;
    assert!(regrets[10..].iter().all(late));
    // And again from the first phase on.
    conditioned.restart(1, 1);
    assert_eq!(conditioned.play(&mut go).unwrap().total(), 0.0);
}

#[test]
fn rejects_invalid_phases() {
    let spec = coin_spec();
    let first = coin(&spec, 0.8);
    let new = |phases: &[ModelPhase], texts: &[&str]| {
        let conditioned = under(&first, phases, &conditions(texts), 20);
        conditioned.unwrap_err().to_string()
    };
    assert_eq!(
        new(&[phase(1, coin(&spec, 0.1))], &[]),
        "the phase from episode 1 on must come after the one before it, and after episode 1"
    );
    let error = new(&[phase(5, coin(&coin_spec(), 0.1))], &[]);
    assert!(error.contains("the specification of the first"), "{error}");
    let error = new(&[], &["drift=p:0.4@10"]);
    assert!(error.contains("has no phases for it"), "{error}");
}

#[test]
fn forgetting_reduces_regret_after_a_sudden_change() {
    let spec = coin_spec();
    let (first, later) = (coin(&spec, 0.9), [phase(2001, coin(&spec, 0.1))]);
    let parameters = || FeedBalParameters::new(0.25, 0.01).unwrap();
    let after = |learner: &mut dyn Learner| {
        let mut conditioned = under(&first, &later, &Conditions::default(), 6000).unwrap();
        let mut regret = Moments::default();
        for run in 0..30 {
            conditioned.restart(1, run);
            learner.reset(Stream::new(1, run, Role::Learner));
            let mut sum = 0.0;
            for episode in 1..=6000 {
                let lost = conditioned.play(learner).unwrap().total();
                sum += if episode > 2000 { lost } else { 0.0 };
            }
            regret.add(sum);
        }
        regret
    };
    let plain = after(&mut FeedBal::new(spec.clone(), parameters()));
    for memory in [Memory::window(500), Memory::discount(0.998)] {
        let mut learner = Forgetting::new(spec.clone(), parameters(), memory.unwrap());
        let answer = after(&mut learner);
        let error = (plain.stderr().powi(2) + answer.stderr().powi(2)).sqrt();
        let gained = plain.mean() - answer.mean();
        assert!(gained > 20.0 * error, "{answer:?}: {gained}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With nothing forgotten it is FeedBAL, choice by choice; with almost nothing too, where noise breaks all ties.
    #[test]
    fn a_long_memory_is_feedbal(tables in small_problem(4, 4, 3, 2), seed in 0_u64..1000, random in any::<bool>()) {
        let problem = Arc::new(tables.problem());
        let ties = if random { "random" } else { "lowest" };
        let learning = LearnerDefaults::default();
        let build = |more: &str| {
            let text = format!("feedbal:sigma2=0.05,stop_bias=0.01,ties={ties}{more}");
            LearnerConfig::parse(&text, &learning).unwrap().build(problem.spec(), None).unwrap()
        };
        for more in [",window=1000000", ",gamma=0.999999999999"] {
            let (mut one, mut two) = (build(""), build(more));
            let mut environment = Environment::new(problem.clone()).unwrap();
            environment.restart(seed, 0);
            one.reset(Stream::new(seed, 0, Role::Learner));
            two.reset(Stream::new(seed, 0, Role::Learner));
            for _ in 0..300 {
                environment.play(&mut Both(&mut *one, &mut *two)).unwrap();
            }
        }
    }
}

/// The first plays, both learn, and they must want the same.
struct Both<'a>(&'a mut dyn Learner, &'a mut dyn Learner);

impl Learner for Both<'_> {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let action = self.0.choose(t, x);
        assert_eq!(self.1.choose(t, x), action, "t = {t}, x = {x}");
        action
    }
    fn learn(&mut self, episode: &Episode) {
        self.0.learn(episode);
        self.1.learn(episode);
    }
    fn reset(&mut self, _stream: Stream) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn forgetting_passes_the_conformance_checks(tables in small_problem(4, 3, 3, 2), seed in any::<u64>()) {
        let problem = Arc::new(tables.problem());
        for text in ["feedbal:window=7", "feedbal:gamma=0.8,ties=random"] {
            let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
            let build = || config.build(problem.spec(), None).unwrap();
            check_learner(&problem, build, 60, seed).map_err(|v| TestCaseError::fail(format!("{text}: {v}")))?;
        }
    }
}

#[test]
fn forgetting_is_set_by_parameters() {
    let learning = LearnerDefaults::default();
    let spec = coin_spec();
    let build = |text: &str| {
        let config = LearnerConfig::parse(&format!("feedbal:{text}"), &learning).unwrap();
        let built = config.build(&spec, None).map(drop);
        built.map_err(|error| error.to_string())
    };
    // What stands in the list of defaults can be written.
    for text in ["window=100", "gamma=0.99", "window=all,gamma=1"] {
        assert_eq!(build(text), Ok(()));
    }
    for (text, said) in [
        ("window=0", "be a whole number from 1 to 1e15, got 0"),
        ("window=2.5", "be a whole number from 1 to 1e15, got 2.5"),
        ("gamma=2", "`gamma` must lie in (0, 1), got 2"),
        ("gamma=old", "`gamma` must be a number, got old"),
        ("gamma=0.9,window=3", "not be set together with `window`"),
    ] {
        let error = build(text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
    let config = LearnerConfig::parse("feedbal:window=100", &learning).unwrap();
    let forgets = Err(LearnerError::Forgets("feedbal"));
    assert_eq!(config.feedbal_parameters(), forgets);
    // Without forgetting the parameters are absent.
    let config = LearnerConfig::parse("feedbal", &learning).unwrap();
    let mut names = config.parameters().iter().map(|(name, _)| *name);
    assert!(names.all(|name| name != "window" && name != "gamma"));
}
