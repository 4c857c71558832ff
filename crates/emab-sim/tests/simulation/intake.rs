//! Problems whose episodes begin in one of several states: what knowing the state is worth on `screening-risk`, and results
//! that do not depend on threads, shards, interruptions and conditions.

use std::sync::Arc;

use emab::learners::LearnerConfig;
use emab::oracle::{Benchmark, Optimal, Pair, Pairs};
use emab::stats::{Moments, NORMAL_975};
use emab::{Action, Environment, Episode, Learner, Problem, Role, Stream};
use emab_problem::{Format, ProblemFile};
use emab_sim::{Experiment, Shard, State};

use crate::common::{builder, builder_of, finish};
use crate::interrupted::interrupted;

/// Scores by group in the states of `screening-risk`.
const SCORES: usize = 8;

fn screening() -> (ProblemFile, Arc<Problem>) {
    let file = ProblemFile::builtin("screening-risk").unwrap().unwrap();
    let problem = file.problem().unwrap();
    (file, problem)
}

/// The expected gain per episode of a policy by step and state.
fn value_of(pairs: &Pairs, policy: &dyn Fn(usize, usize) -> Action) -> f64 {
    fn from(pairs: &Pairs, pair: Pair, policy: &dyn Fn(usize, usize) -> Action) -> f64 {
        match policy(pairs.step(pair), pairs.state(pair)) {
            Action::Continue(a) if pairs.allows(pair, a) => {
                pairs.expected_value(pair, a, |next| from(pairs, next, policy))
            }
            _ => pairs.reward(pair),
        }
    }
    pairs.start_value(|start| from(pairs, start, policy))
}

/// FeedBAL, which is told the score without the group.
struct WithoutGroup(Box<dyn Learner + Send>);

impl Learner for WithoutGroup {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        self.0.choose(t, x % SCORES)
    }

    fn learn(&mut self, episode: &Episode) {
        let mut episode = episode.clone();
        episode.states.iter_mut().for_each(|x| *x %= SCORES);
        self.0.learn(&episode);
    }

    fn reset(&mut self, stream: Stream) {
        self.0.reset(stream);
    }
}

/// docs/problem-file.md has these numbers.
#[test]
fn the_group_is_worth_what_the_documentation_says() {
    let (file, problem) = screening();
    let mut benchmark = Benchmark::new(problem.clone()).unwrap();
    let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
    let with_group = benchmark.start_value().unwrap();
    let pairs = benchmark.pairs();
    // The benchmark is optimal here.
    assert!((optimal.start_value(pairs) - with_group).abs() < 1e-9);
    let best = value_of(pairs, &|t, x| optimal.choice(pairs.find(t, x).unwrap()));
    assert!((best - with_group).abs() < 1e-9);

    // Every policy by step and score: the choices at step 1 and at the scores that can follow it.
    let places = [(1, 3), (2, 0), (2, 2), (2, 5), (2, 6)];
    let choices = [Action::Stop, Action::Continue(0), Action::Continue(1)];
    let mut without_group = (f64::NEG_INFINITY, Vec::new());
    for number in 0..choices.len().pow(places.len() as u32) {
        let digit = |i: usize| number / choices.len().pow(i as u32) % choices.len();
        let policy = |t: usize, x: usize| {
            let place = places.iter().position(|&place| place == (t, x % SCORES));
            place.map_or(Action::Stop, |i| choices[digit(i)])
        };
        let value = value_of(pairs, &policy);
        if value > without_group.0 {
            let chosen = places.map(|(t, score)| policy(t, score));
            without_group = (value, chosen.to_vec());
        }
    }
    let (without_group, chosen) = without_group;
    let (mammogram, mri) = (Action::Continue(0), Action::Continue(1));
    // A mammogram for every patient, and an MRI if it is positive.
    assert_eq!(
        (chosen[0], chosen[2], chosen[3]),
        (mammogram, Action::Stop, mri)
    );
    let no_test = value_of(pairs, &|_, _| Action::Stop);

    let (runs, episodes) = (40, 5000);
    let config = LearnerConfig::parse("feedbal", file.learning()).unwrap();
    let build = || config.build(problem.spec(), Some(&problem)).unwrap();
    let gain = |learner: &mut dyn Learner| -> String {
        let mut environment = Environment::new(problem.clone()).unwrap();
        let mut gains = Moments::default();
        for run in 0..runs {
            environment.restart(1, run);
            learner.reset(Stream::new(1, run, Role::Learner));
            let mut regret = 0.0;
            for _ in 0..episodes {
                regret += environment.play(learner).unwrap().total();
            }
            gains.add(with_group - regret / f64::from(episodes));
        }
        format!("{:.3} ± {:.3}", gains.mean(), NORMAL_975 * gains.stderr())
    };
    let feedbal = gain(&mut *build());
    let feedbal_without = gain(&mut WithoutGroup(build()));
    let table = format!(
        "| policy | with the group | without |\n|---|---:|---:|\n| no test | {no_test:.3} | {no_test:.3} |\n\
         | best policy | {with_group:.3} | {without_group:.3} |\n\
         | FeedBAL, {episodes} episodes | {feedbal} | {feedbal_without} |\n"
    );
    let documented = include_str!("../../../../docs/problem-file.md");
    assert!(
        documented.contains(&table),
        "docs/problem-file.md should have\n{table}"
    );
}

fn timeless(mut state: State) -> State {
    state.learners.iter_mut().for_each(|l| l.seconds = 0.0);
    state
}

fn whole(experiment: &Experiment, threads: usize) -> State {
    let mut state = experiment.state();
    finish(experiment, &mut state, threads);
    timeless(state)
}

const LEARNERS: [&str; 3] = ["feedbal", "feedbal-pooled", "random"];

#[test]
fn results_do_not_depend_on_threads_shards_or_interruptions() {
    for conditions in [
        &[][..],
        &[
            "delay=geometric:15",
            "dropout=0.05",
            "override=0.1",
            "drift=low:-2@100-200",
        ],
        &["open=7"],
    ] {
        let (file, _) = screening();
        let conditions = file.conditions().with(conditions.iter().copied()).unwrap();
        let file = file.with_conditions(&conditions).unwrap();
        let build = || builder_of(&file, &LEARNERS, (23, 1000), &[]);
        let experiment = build().build().unwrap();
        let one = whole(&experiment, 1);
        assert_eq!(whole(&experiment, 4), one);
        assert_eq!(timeless(interrupted(&experiment)), one);
        let mut parts = ["1/3", "2/3", "3/3"].map(|shard| {
            let shard: Shard = shard.parse().unwrap();
            whole(&build().shard(shard).build().unwrap(), 2)
        });
        let [first, rest @ ..] = &mut parts;
        for part in rest {
            experiment.merge(first, part).unwrap();
        }
        assert_eq!(*first, one);
    }
}

/// With `open` an episode begins in the state that it begins in when episodes are played one after another.
#[test]
fn starts_do_not_depend_on_conditions() {
    let visits = |conditions: &[&str]| -> Vec<f64> {
        let (file, _) = screening();
        let conditions = file.conditions().with(conditions.iter().copied()).unwrap();
        let file = file.with_conditions(&conditions).unwrap();
        let builder = builder_of(&file, &["random"], (3, 500), &[]);
        let experiment = builder.count_choices(true).build().unwrap();
        let state = whole(&experiment, 1);
        let by_state = experiment.regret_by_state(&state).unwrap().unwrap();
        let first = by_state[0].iter().filter(|state| state.t == 1);
        first.map(|state| state.visits).collect()
    };
    let plain = visits(&[]);
    assert_eq!(plain.iter().sum::<f64>(), 500.0);
    for conditions in ["open=7", "delay=20", "override=0.3", "dropout=0.2"] {
        assert_eq!(visits(&[conditions]), plain, "{conditions}");
    }
}

/// Start probabilities drift like everything else in [model].
#[test]
fn start_probabilities_may_drift() {
    let text = r#"
        horizon = 1
        states = 2
        actions = 1
        feedbacks = 1
        start = [0, 1]
        transition = "x"
        [parameters]
        p = 0
        [model]
        start = ["1 - p", "p"]
        feedback = [1]
        reward = "x"
        [conditions]
        drift = [{ parameter = "p", to = 1, at = 101 }]
        [learning]
        sigma2 = 0.1
    "#;
    let file = ProblemFile::parse_as(Format::Toml, "drift.toml", text).unwrap();
    let experiment = builder_of(&file, &["feedbal"], (3, 400), &[100]);
    let experiment = experiment.build().unwrap();
    let result = &experiment.results(&whole(&experiment, 1))[0];
    let gains: Vec<f64> = result.curve.iter().map(|at| at.gain).collect();
    assert_eq!(gains, [0.0, 300.0]);
}

/// The estimated value of the benchmark is weighted by the distribution, as the exact one is.
#[test]
fn the_value_of_the_benchmark_where_it_is_estimated() {
    let text = r#"
        horizon = 40
        states = 10000000
        actions = ["left", "right"]
        feedbacks = 2
        start = [1, 2]
        transition = "(31 * x + 7 * f + 13 * a + t) % 10000000"
        [model]
        start = [0.25, 0.75]
        feedback = ["0.5", "0.5"]
        reward = "if(t == 1, x, 0)"
        [learning]
        sigma2 = 0.01
    "#;
    let file = ProblemFile::parse_as(Format::Toml, "maze.toml", text).unwrap();
    let mut environment = Environment::new(file.problem().unwrap()).unwrap();
    let (value, stderr) = environment.benchmark_value(1).unwrap();
    assert!(
        stderr > 0.0 && (value - 1.75).abs() < 4.0 * stderr,
        "{value} ± {stderr}"
    );
}

#[test]
fn one_start_in_a_list_changes_nothing() {
    let (file, _) = screening();
    let one = file
        .canonical()
        .replace(r#"["low_3","medium_3","high_3"]"#, r#""medium_3""#);
    let one = one.replace(r#","start":[0.6,0.3,0.1]"#, "");
    let listed = one.replace(r#""start":"medium_3""#, r#""start":["medium_3"]"#);
    let [one, listed] = [one, listed].map(|text| {
        let file = ProblemFile::parse_as(Format::Json, "one.json", &text).unwrap();
        assert_eq!(file.spec().starts(), [11]);
        whole(
            &builder_of(&file, &LEARNERS, (5, 300), &[]).build().unwrap(),
            1,
        )
    });
    assert_eq!(one, listed);
    let several = builder("screening-risk", &LEARNERS, (5, 300), &[]);
    assert_ne!(whole(&several.build().unwrap(), 1), one);
}
