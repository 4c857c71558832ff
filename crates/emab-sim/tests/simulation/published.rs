//! The published problems: their values beside those of independent calculations, and `app-recommendation` beside the process
//! without levels, simulated from the constants of its source.

use emab::learners::LearnerConfig;
use emab::oracle::{Benchmark, Optimal};
use emab::stats::{Moments, NORMAL_975};
use emab::{Action, ConditionedEnvironment, Role, Stream};
use emab_problem::{PUBLISHED, ProblemFile};

fn published(name: &str) -> ProblemFile {
    ProblemFile::builtin(name).unwrap().unwrap()
}

/// The terminal action in state `one`, the walk everywhere else, without a limit on the steps: from state `i` the walk reaches
/// the goal before state `one` with probability `(1 - r^(i - 1)) / (1 - r^4)`, where `r` is the ratio of down to up.
#[test]
fn the_gamblers_ruin_agrees_with_its_closed_form() {
    let file = published("gamblers-ruin");
    let mut benchmark = Benchmark::new(file.problem().unwrap()).unwrap();
    let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
    let r: f64 = 0.45 / 0.55;
    let values = (1..5).map(|i| {
        let goal = (1.0 - r.powi(i - 1)) / (1.0 - r.powi(4));
        goal + 0.5 * (1.0 - goal)
    });
    let expected = values.sum::<f64>() / 4.0;
    let value = optimal.start_value(benchmark.pairs());
    assert!(value < expected && expected - value < 1e-9, "{value}");
    for t in 1..40 {
        for x in 1..5 {
            let pair = benchmark.pairs().find(t, x).unwrap();
            let terminal = optimal.choice(pair) == Action::Continue(1);
            assert_eq!(terminal, x == 1, "t = {t}, x = {x}");
        }
    }
    // One step ahead only the goal pays: the walk in `four`, the terminal action elsewhere.
    let expected = (3.0 * 0.5 + 0.55 + 0.45 * 0.5) / 4.0;
    assert!((benchmark.start_value().unwrap() - expected).abs() < 1e-12);
}

/// The value of the best policy by recursion over the results so far, with the patient's unobserved response.
#[test]
fn costly_tests_agree_with_a_recursion_over_results() {
    fn best(results: [Option<bool>; 3]) -> f64 {
        // Positive with a response, positive without one, and the cost.
        let tests = [(0.75, 0.35, 0.01), (0.85, 0.25, 0.02), (0.90, 0.10, 0.04)];
        let (mut responds, mut not): (f64, f64) = (0.4, 0.6);
        for ((r, n, _), result) in tests.into_iter().zip(results) {
            match result {
                Some(true) => (responds, not) = (responds * r, not * n),
                Some(false) => (responds, not) = (responds * (1.0 - r), not * (1.0 - n)),
                None => {}
            }
        }
        let q = responds / (responds + not);
        let mut value = (0.9 * q + 0.2 * (1.0 - q)).max(0.55 * q + 0.6 * (1.0 - q));
        for (i, (r, n, cost)) in tests.into_iter().enumerate() {
            if results[i].is_none() {
                let after = |positive| {
                    let mut results = results;
                    results[i] = Some(positive);
                    best(results)
                };
                let p = r * q + n * (1.0 - q);
                value = value.max(p * after(true) + (1.0 - p) * after(false) - cost);
            }
        }
        value
    }
    let file = published("costly-tests");
    let mut benchmark = Benchmark::new(file.problem().unwrap()).unwrap();
    let optimal = Optimal::new(benchmark.pairs_mut()).unwrap();
    assert!((optimal.start_value(benchmark.pairs()) - best([None; 3])).abs() < 1e-12);
    assert!((benchmark.start_value().unwrap() - 0.58).abs() < 1e-12);
}

/// The applications of `app-recommendation`: alpha, beta, gamma.
const APPS: [(f64, f64, f64); 12] = [
    (-53.92, 0.35, 119.97),
    (10.7, -0.81, 332.21),
    (-23.18, 0.16, 146.85),
    (-147.26, 0.72, 210.29),
    (-76.28, 0.32, 216.65),
    (130.16, -0.54, 835.54),
    (-92.76, 0.49, 225.47),
    (-125.61, 0.59, 212.72),
    (-47.87, 0.24, 209.58),
    (-131.76, 0.7, 222.5),
    (223.46, -1.24, 1353.36),
    (-104.4, 0.5, 119.98),
];

fn mean_sessions(t: f64, s: f64, a: usize) -> f64 {
    let (alpha, beta, gamma) = APPS[a];
    (alpha * t + 1000.0 * beta * s + gamma).max(0.001) / 1000.0
}

fn cost(t: f64, s: f64, a: usize) -> f64 {
    let weeks = 16.0;
    let rising = |rate: f64, from: f64| 1.0 - (-rate * (t - from) / weeks).exp();
    let factor = match a {
        0 => t * (t + 2.0).powi(2) / (3.77 * weeks * weeks),
        1 => 1.41,
        2 => t * (t + 10.0).powi(2) / (4.0 * weeks * weeks),
        3 => t * t / 17.0,
        4 => t / 30.0,
        5 => t * t / 15.5,
        6 => t / 150.0,
        7 => t * rising(2.5, 0.0) / 4.5,
        8 => t * rising(2.5, 0.0) / 1.7,
        9 => t * rising(3.0, 1.0) / 2.0,
        10 => 1.08 * t * rising(3.0, 0.0),
        _ => t * (-(t - 4.0) / (3.0 * weeks)).exp() / 37.8,
    };
    0.5 * s / t * factor
}

/// A Poisson number: the arrivals before time `mean`.
fn poisson(stream: &mut Stream, mean: f64) -> f64 {
    let (mut time, mut count) = (0.0, -1.0);
    while time <= mean {
        time -= (1.0 - stream.uniform()).ln();
        count += 1.0;
    }
    count
}

/// The benchmark's gains over the sessions themselves, how many users left, and the most sessions of a user.
struct WithoutLevels {
    gain: Moments,
    left: usize,
    most: f64,
}

fn without_levels(users: usize, dropout: f64) -> WithoutLevels {
    let mut stream = Stream::new(1, 0, Role::Conditions);
    let (mut gain, mut left, mut most) = (Moments::default(), 0, 0.0_f64);
    for _ in 0..users {
        let (mut s, mut paid) = (0.0, 0.0);
        for week in 1..16 {
            let t = f64::from(week);
            let apps = (0..12).map(|a| (mean_sessions(t, s, a) - cost(t, s, a), a));
            let Some((best, a)) = apps.max_by(|x, y| x.0.total_cmp(&y.0)) else {
                break;
            };
            if best <= 0.0 {
                break;
            }
            paid += cost(t, s, a);
            let sessions = poisson(&mut stream, mean_sessions(t, s, a));
            let few = sessions <= s / t;
            s += sessions;
            if week >= 11 && few && stream.uniform() < dropout {
                left += 1;
                break;
            }
        }
        gain.add(s - paid);
        most = most.max(s);
    }
    WithoutLevels { gain, left, most }
}

fn value(file: &ProblemFile) -> f64 {
    let dropout = file.conditions().dropout.clone();
    let problem = file.problem().unwrap().with_dropout(dropout);
    Benchmark::new(problem.into())
        .unwrap()
        .start_value()
        .unwrap()
}

#[test]
fn levels_change_the_benchmark_of_app_recommendation_little() {
    let file = published("app-recommendation");
    let (value, exact) = (value(&file), without_levels(4000, 0.1));
    let ratio = value / exact.gain.mean();
    let error = 4.5 * exact.gain.stderr() / exact.gain.mean();
    assert!((ratio - 1.014).abs() < error + 0.01, "{ratio} {error}");
}

/// docs/published-problems.md has these numbers: `cargo test --release -p emab-sim --test simulation -- --ignored --nocapture
/// figures_of_app_recommendation`.
#[test]
#[ignore = "takes half a minute without optimisation"]
fn figures_of_app_recommendation() {
    for dropout in ["dropout=0", "as stated"] {
        let mut file = published("app-recommendation");
        if dropout == "dropout=0" {
            let none = file.conditions().with([dropout]).unwrap();
            file = file.with_conditions(&none).unwrap();
        }
        let probability = if dropout == "dropout=0" { 0.0 } else { 0.1 };
        let exact = without_levels(1_000_000, probability);
        println!(
            "{dropout}: benchmark of the file {:.1}, without levels {:.1} ± {:.1}; {} of 1,000,000 left",
            value(&file),
            exact.gain.mean(),
            NORMAL_975 * exact.gain.stderr(),
            exact.left
        );
        println!(
            "most sessions of 20,000 users: benchmark without levels {}",
            without_levels(20_000, probability).most
        );
        for learner in ["feedbal", "feedbal:sigma2=0.01"] {
            let most: Vec<f64> = (0..10)
                .map(|run| most_sessions(&file, learner, run))
                .collect();
            println!("{learner}, 10 runs: {most:.0?}");
        }
    }
}

/// The most sessions of a user in 20,000 episodes.
fn most_sessions(file: &ProblemFile, learner: &str, run: u64) -> f64 {
    let config = LearnerConfig::parse(learner, file.learning()).unwrap();
    let problem = file.problem().unwrap();
    let mut learner = config.build(problem.spec(), None).unwrap();
    let mut environment = ConditionedEnvironment::new(problem, &file.scenario(), 20_000).unwrap();
    environment.restart(1, run);
    let mut most = 0;
    for _ in 0..20_000 {
        environment.play(&mut *learner).unwrap();
        let states = &environment.environment().episode().states;
        most = states.iter().copied().fold(most, usize::max);
    }
    match most {
        0..20 => most as f64,
        _ => 20.0 * 1.05_f64.powi(most as i32 - 20),
    }
}

#[test]
fn every_published_problem_names_its_source_and_what_is_ours() {
    for builtin in PUBLISHED {
        assert!(builtin.text.contains("# Source: "), "{}", builtin.name);
        assert!(builtin.text.contains("\n# Ours"), "{}", builtin.name);
    }
}
