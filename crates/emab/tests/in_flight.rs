//! Choices whose outcome is not known yet: late and lost outcomes, and several episodes open at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use emab::environment::{ModelPhase, RegretEstimator, ScenarioError};
use emab::learners::{LearnerConfig, LearnerDefaults, Policy};
use emab::stats::Moments;
use emab::{
    Action, ConditionedEnvironment, Conditions, Episode, Learner, Model, Noise, Problem, Role,
    Scenario, Spec, Stream,
};

/// An environment under these conditions.
fn under(
    problem: &Arc<Problem>,
    texts: &[&str],
    phases: Vec<ModelPhase>,
    episodes: u64,
) -> Result<ConditionedEnvironment, ScenarioError> {
    let conditions = Conditions::default().with(texts.iter().copied()).unwrap();
    let scenario = Scenario { conditions, phases };
    ConditionedEnvironment::new(problem.clone(), &scenario, episodes)
}

/// The same at the beginning of a run.
fn begun(
    problem: &Arc<Problem>,
    texts: &[&str],
    episodes: u64,
    (seed, run): (u64, u64),
) -> ConditionedEnvironment {
    let mut conditioned = under(problem, texts, Vec::new(), episodes).unwrap();
    conditioned.restart(seed, run);
    conditioned
}

/// Two states, drawn at each step, and one action.
fn coins() -> Arc<Problem> {
    let spec = Spec::numbered(3, 2, 1, 2).unwrap();
    let spec = spec.transition(|_t, _x, _a, f| f as f64);
    let model = Model::new(|_t, _x, _a, _f| 0.5, |t, x, _a, _f| (t + x) as f64);
    Arc::new(Problem::new("coins", spec, model))
}

/// A learner that records what it is told of choices in flight.
#[derive(Default)]
struct Told {
    announced: Vec<(u64, usize, usize, Action)>,
    settled: Vec<u64>,
    learned: usize,
    /// Episodes in flight before each choice at step 1.
    in_flight: Vec<usize>,
}

impl Learner for Told {
    fn choose(&mut self, t: usize, _x: usize) -> Action {
        if t == 1 {
            let begun = self.announced.iter().filter(|it| it.1 == 1).count();
            self.in_flight.push(begun - self.settled.len());
            return Action::Continue(0);
        }
        Action::Stop
    }
    fn learn(&mut self, _episode: &Episode) {
        self.learned += 1;
        assert!(self.learned <= self.settled.len());
    }
    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        self.announced.push((episode, t, x, action));
    }
    fn settle(&mut self, episode: u64) {
        self.settled.push(episode);
    }
    fn counts_pending(&self) -> bool {
        true
    }
    fn reset(&mut self, _stream: Stream) {}
}

#[test]
fn choices_are_announced_and_settled() {
    let problem = coins();
    let mut told = Told::default();
    let mut environment = begun(&problem, &["delay=2"], 6, (1, 0));
    for _ in 0..6 {
        environment.play(&mut told).unwrap();
    }
    assert_eq!(told.in_flight, [0, 1, 2, 2, 2, 2]);
    assert_eq!((told.settled, told.learned), (vec![1, 2, 3], 3));
    let first = &told.announced[..2];
    assert_eq!(first[0], (1, 1, 0, Action::Continue(0)));
    assert_eq!((first[1].0, first[1].1, first[1].3), (1, 2, Action::Stop));

    // Lost outcomes are settled without being learned, when they are overdue; batches all at once.
    let mut told = Told::default();
    let mut environment = begun(&problem, &["delay=batches:5", "lost=0.5"], 40, (1, 0));
    for _ in 0..40 {
        environment.play(&mut told).unwrap();
    }
    assert_eq!(told.settled, (1..=35).collect::<Vec<u64>>());
    assert!((5..30).contains(&told.learned), "{}", told.learned);
    assert_eq!(told.in_flight[..7], [0, 1, 2, 3, 4, 0, 1]);
}

/// A pair with three actions of which the last is the best, and `stop` is worst.
fn three_arms() -> Arc<Problem> {
    let spec = Spec::numbered(2, 1, 3, 1).unwrap();
    let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| (t - 1) as f64);
    let noise = Noise::normal(0.04).unwrap();
    let model = model.cost(|_t, _x, a, _f| 0.9 - 0.4 * a as f64);
    Arc::new(Problem::new("three arms", spec, model.noise(noise, noise)))
}

#[test]
fn late_outcomes_cost_less_where_choices_in_flight_count() {
    let problem = three_arms();
    let regret = |text: &str, delay: &str| {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(problem.spec(), None).unwrap();
        let mut total = 0.0;
        for run in 0..10 {
            let mut environment = begun(&problem, &[delay], 2000, (1, run));
            learner.reset(Stream::new(1, run, Role::Learner));
            for _ in 0..2000 {
                total += environment.play(&mut learner).unwrap().total();
            }
        }
        total / 10.0
    };
    for learner in ["feedbal-pooled:sigma2=0.04", "feedbal:sigma2=0.04"] {
        let with = regret(&format!("{learner},pending=true"), "delay=200");
        let without = regret(&format!("{learner},pending=false"), "delay=200");
        assert!(with < 0.7 * without, "{learner}: {with} and {without}");
        // Without a delay it makes no difference.
        let [one, other] = ["true", "false"]
            .map(|pending| regret(&format!("{learner},pending={pending}"), "delay=0"));
        assert_eq!(one, other);
    }
}

#[test]
fn open_episodes_take_steps_in_turns() {
    let problem = coins();
    let mut told = Told::default();
    let mut environment = begun(&problem, &["open=3"], 6, (1, 0));
    for ended in 1..=6 {
        environment.play(&mut told).unwrap();
        assert_eq!((told.settled.len(), told.learned), (ended, ended));
        assert_eq!(environment.environment().episode().steps(), 2);
    }
    // Episodes 4 to 6 begin when 1 to 3 have ended.
    let announced: Vec<u64> = told.announced.iter().map(|it| it.0).collect();
    assert_eq!(announced, [1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6]);
    let steps: Vec<usize> = told.announced.iter().map(|it| it.1).collect();
    assert_eq!(steps, [1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]);
    assert_eq!(told.settled, [1, 2, 3, 4, 5, 6]);

    // With a delay the outcome arrives when so many others have begun.
    let mut told = Told::default();
    let mut environment = begun(&problem, &["open=3", "delay=1"], 6, (1, 0));
    for settled in [0, 0, 1, 2, 2, 2] {
        environment.play(&mut told).unwrap();
        assert_eq!(told.settled.len(), settled);
    }

    // One run does not leave open episodes to the next.
    let mut environment = begun(&problem, &["open=3"], 6, (1, 0));
    let mut first = Told::default();
    environment.play(&mut first).unwrap();
    environment.restart(1, 0);
    let mut again = Told::default();
    environment.play(&mut again).unwrap();
    assert_eq!(first.announced, again.announced);
}

/// A binary tree: with 20 steps too many pairs to solve.
fn tree(steps: usize) -> Arc<Problem> {
    let spec = Spec::numbered(steps, 1 << (steps - 1), 1, 2).unwrap();
    let spec = spec.transition(|_t, x, _a, f| (2 * x + f) as f64);
    let model = Model::new(
        |_t, _x, _a, _f| 0.5,
        |t, x, _a, _f| 0.2 * t as f64 + (x % 2) as f64,
    );
    let model = model.cost(|_t, _x, _a, _f| 0.1);
    Arc::new(Problem::new("tree", spec, model))
}

#[test]
fn open_episodes_have_the_regret_and_the_gain_of_single_ones() {
    for (steps, estimator) in [(5, RegretEstimator::Exact), (20, RegretEstimator::Paired)] {
        let problem = tree(steps);
        let measured = |texts: &[&str]| {
            let mut environment = begun(&problem, texts, 20_000, (3, 0));
            assert_eq!(environment.environment().estimator(), estimator);
            let mut policy = Policy::new(problem.spec(), |t, _x| match t < 4 {
                true => Action::Continue(0),
                false => Action::Stop,
            });
            let (mut regret, mut gain) = (Moments::default(), Moments::default());
            for _ in 0..20_000 {
                regret.add(environment.play(&mut policy).unwrap().total());
                gain.add(environment.environment().episode().gain());
            }
            [regret, gain]
        };
        for texts in [&["dropout=0.1"][..], &["override=0.2"]] {
            let single = measured(texts);
            let open = measured(&[texts, &["open=7"]].concat());
            for (single, open) in single.iter().zip(&open) {
                let away = (single.mean() - open.mean()) / single.stderr().hypot(open.stderr());
                assert!(
                    away.abs() < 4.0,
                    "{steps} steps, {texts:?}: {away} standard errors"
                );
            }
        }
    }
}

#[test]
fn open_episodes_cost_less_where_choices_in_flight_count() {
    let problem = three_arms();
    let regret = |pending: bool| {
        let text = format!("feedbal-pooled:sigma2=0.04,pending={pending}");
        let config = LearnerConfig::parse(&text, &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(problem.spec(), None).unwrap();
        let mut total = 0.0;
        for run in 0..10 {
            let mut environment = begun(&problem, &["open=300"], 2000, (1, run));
            learner.reset(Stream::new(1, run, Role::Learner));
            for _ in 0..2000 {
                total += environment.play(&mut learner).unwrap().total();
            }
        }
        total / 10.0
    };
    let (with, without) = (regret(true), regret(false));
    assert!(with < 0.7 * without, "{with} and {without}");
}

#[test]
fn open_episodes_and_drift_are_not_combined() {
    let problem = coins();
    let phase = ModelPhase {
        first: 5,
        problem: problem.clone(),
    };
    let error = under(&problem, &["open=2"], vec![phase], 10).unwrap_err();
    assert_eq!(error, ScenarioError::OpenWithDrift);
}
