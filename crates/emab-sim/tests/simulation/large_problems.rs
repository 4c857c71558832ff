//! Large problems: memory depends on the pairs visited, and the benchmark is played beside the learner.

use std::sync::Arc;

use emab::environment::RegretEstimator;
use emab::learners::LearnerConfig;
use emab::stats::Moments;
use emab::{Environment, Learner, Problem, RegretBreakdown, Role, Stream};
use emab_problem::{BUILTIN, Format, ProblemFile};

/// The problem of a file, and a learner on it.
fn problem_and_learner(text: &str, learner: &str) -> (Arc<Problem>, Box<dyn Learner + Send>) {
    let file = ProblemFile::parse_as(Format::Toml, "large.toml", text).unwrap();
    let problem = file.problem().unwrap();
    let config = LearnerConfig::parse(learner, file.learning()).unwrap();
    let mut learner = config.build(problem.spec(), Some(&problem)).unwrap();
    learner.reset(Stream::new(1, 0, Role::Learner));
    (problem, learner)
}

#[test]
fn only_visited_pairs_of_a_million_states_are_stored() {
    let text = r#"
        horizon = 50
        states = 1000000
        actions = ["slow", "fast"]
        feedbacks = 2
        transition = "min(x + (1 + 99 * a) * f, 999999)"
        [model]
        feedback = ["0.5", "0.5"]
        cost = "0.01 * (1 + a)"
        reward = "x / (1 + x / 200) / (1 + t)"
        reward_noise = { kind = "normal", variance = 0.1 }
        [learning]
        sigma2 = 0.1
        delta = 0.01
    "#;
    let (problem, mut learner) = problem_and_learner(text, "feedbal");
    let mut environment = Environment::new(problem).unwrap();
    environment.restart(1, 0);
    for _ in 0..2000 {
        environment.play(&mut learner).unwrap();
    }
    // There are 50 million pairs; only those of the learner and the benchmark are stored.
    let met = environment.oracle().pairs().len();
    assert!(met < 100_000, "{met} pairs");
}

#[test]
fn every_learner_conforms_on_every_built_in_problem() {
    let mut checked = std::collections::BTreeSet::new();
    for builtin in BUILTIN {
        let file = ProblemFile::builtin(builtin.name).unwrap().unwrap();
        let problem: Arc<_> = file.problem().unwrap();
        for entry in emab::learners::CATALOGUE {
            let config = LearnerConfig::parse(entry.name, file.learning()).unwrap();
            // Some learners apply only to problems of a certain form.
            let built = config.build(problem.spec(), Some(&problem));
            if built.is_err_and(|error| error.does_not_apply()) {
                continue;
            }
            let build = || config.build(problem.spec(), Some(&problem)).unwrap();
            emab::conformance::check_learner(&problem, build, 300, 7).unwrap_or_else(|violation| {
                panic!("{} on {}: {violation}", entry.name, builtin.name)
            });
            checked.insert(entry.name);
        }
    }
    assert_eq!(checked.len(), emab::learners::CATALOGUE.len());
}

/// Paths that rarely meet again: 2^50 pairs if they fitted into ten million states.
const MAZE: &str = r#"
    horizon = 50
    states = 10000000
    actions = ["left", "right"]
    feedbacks = 2
    transition = "(31 * x + 7 * f + 13 * a + t) % 10000000"
    [model]
    feedback = ["0.5", "0.5"]
    cost = "0.01 * (1 + a)"
    reward = "t / 5 - t^2 / 200 + (x % 10) / 100"
    reward_noise = { kind = "normal", variance = 0.01 }
    [learning]
    sigma2 = 0.01
    delta = 0.01
"#;

#[test]
fn regret_is_paired_where_too_many_pairs_can_be_reached() {
    let file = ProblemFile::parse_as(Format::Toml, "maze.toml", MAZE).unwrap();
    let reached = file.check(1000).unwrap();
    assert_eq!((reached.pairs, reached.complete), (1000, false));
    let (problem, mut benchmark) = problem_and_learner(MAZE, "benchmark");
    let mut environment = Environment::new(problem).unwrap();
    assert_eq!(environment.estimator(), RegretEstimator::Paired);
    // The benchmark beside itself takes the same path, so its regret is 0.
    environment.restart(1, 0);
    for _ in 0..20 {
        assert_eq!(environment.play(&mut benchmark).unwrap().total(), 0.0);
    }
    // FeedBAL stops at every pair it visits for the first time, which here is nearly every pair.
    let (_, mut learner) = problem_and_learner(MAZE, "feedbal");
    let mut regret = RegretBreakdown::default();
    for _ in 0..200 {
        regret += environment.play(&mut learner).unwrap();
    }
    let (value, stderr) = environment.benchmark_value(1).unwrap();
    assert!(stderr > 0.0 && value > 1.0, "{value} ± {stderr}");
    assert!(regret.total() > 100.0, "{regret:?}");
}

#[test]
fn exact_and_paired_regret_agree() {
    // The same problem with states enough to be solved, and with more states than it can reach: the paired
    // estimator must find the exact one's regret.
    let text = |spare: usize| {
        // Feedbacks of tiny probability make the whole state space reachable.
        let rare = ", 1e-12".repeat(spare);
        let first = 0.5 - 1e-12 * spare as f64;
        format!(
            r#"
            horizon = 60
            states = 50000
            actions = ["on"]
            feedbacks = {}
            transition = "if(f < 2, min(x + f, 49999), (31 * x + 7 * f + t) % 50000)"
            [model]
            feedback = [{first}, 0.5{rare}]
            cost = 0.02
            reward = "min(x, 20) / (t + 4)"
            reward_noise = {{ kind = "normal", variance = 0.05 }}
            [learning]
            sigma2 = 0.05
            delta = 0.05
            "#,
            2 + spare
        )
    };
    let run = |spare: usize| {
        let (problem, mut learner) = problem_and_learner(&text(spare), "feedbal");
        let mut environment = Environment::new(problem).unwrap();
        let mut moments = Moments::default();
        for run in 0..60 {
            environment.restart(3, run);
            learner.reset(Stream::new(3, run, Role::Learner));
            let regrets = (0..300).map(|_| environment.play(&mut learner).unwrap().total());
            moments.add(regrets.sum());
        }
        (environment.estimator(), moments.mean(), moments.stderr())
    };
    let (exact, mean, stderr) = run(0);
    let (paired, other_mean, other_stderr) = run(3);
    assert_eq!(
        (exact, paired),
        (RegretEstimator::Exact, RegretEstimator::Paired)
    );
    let away = (mean - other_mean).abs() / stderr.hypot(other_stderr);
    assert!(
        away < 4.0 && mean > 5.0,
        "{mean} ± {stderr} and {other_mean} ± {other_stderr}"
    );
}
