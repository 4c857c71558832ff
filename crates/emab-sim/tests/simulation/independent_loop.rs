//! The engine compared with an independent loop on the same problem: the distributions of their results agree.
//!
//! The loop below is Section 5 of the paper written out by hand, with other random numbers (the ziggurat of
//! `emab::Stream`), another order of drawing, and no table.

use emab::{Role, Stream};

use crate::common::{builder, finish};

const HORIZON: usize = 10;
const EPISODES: u64 = 300;
const RUNS: u64 = 700;

fn probability(t: usize) -> f64 {
    0.8 / (t as f64).sqrt()
}

fn reward(t: usize, x: usize) -> f64 {
    0.9_f64.powi(t as i32 - 1) * x as f64
}

/// The benchmark's value from step `t` and state `x` on, and whether it continues there.
fn benchmark(t: usize, x: usize) -> (f64, bool) {
    let stop = reward(t, x);
    if t == HORIZON {
        return (stop, false);
    }
    let p = probability(t);
    let ahead = p * reward(t + 1, x + 1) + (1.0 - p) * reward(t + 1, x);
    if ahead > stop {
        (going_on(t, x), true)
    } else {
        (stop, false)
    }
}

fn going_on(t: usize, x: usize) -> f64 {
    let p = probability(t);
    p * benchmark(t + 1, x + 1).0 + (1.0 - p) * benchmark(t + 1, x).0
}

/// The regret of one run of FeedBAL: Algorithm 2 with Equations 3 and 4.
fn run(seed: u64) -> f64 {
    let mut stream = Stream::new(seed, 0, Role::Learner);
    let sd = 0.1_f64.sqrt();
    let index = |&(n, sum): &(f64, f64)| match n {
        0.0 => f64::INFINITY,
        n => {
            let log = (200.0 * (1.0 + n).sqrt() / 0.01).ln();
            sum / n + ((1.0 + n) / (n * n) * 4.0 * 0.2 * log).sqrt()
        }
    };
    let mut stop = vec![(0.0, 0.0); 11 * 11];
    let mut go = stop.clone();
    let mut regret = 0.0;
    for _ in 0..EPISODES {
        let mut path = Vec::new();
        let (mut t, mut x) = (1, 0);
        loop {
            let seen = reward(t, x) + sd * stream.normal();
            let goes_on = t < HORIZON && index(&go[11 * t + x]) > index(&stop[11 * t + x]);
            let best = benchmark(t, x);
            if goes_on != best.1 {
                let value: fn(usize, usize) -> f64 = if goes_on { going_on } else { reward };
                regret += best.0 - value(t, x);
            }
            path.push((11 * t + x, seen, sd * stream.normal()));
            if !goes_on {
                break;
            }
            x += usize::from(stream.uniform() < probability(t));
            t += 1;
        }
        let add = |sums: &mut (f64, f64), value: f64| {
            sums.0 += 1.0;
            sums.1 += value;
        };
        for (i, &(at, seen, cost)) in path.iter().enumerate() {
            add(&mut stop[at], seen);
            if let Some(&(_, next, _)) = path.get(i + 1) {
                add(&mut go[at], next - cost);
            }
        }
    }
    regret
}

#[test]
fn final_regrets_have_the_distribution_of_the_independent_loop() {
    let mut plain: Vec<f64> = (0..RUNS).map(|seed| run(1000 + seed)).collect();
    // One run per experiment, because the engine does not store single runs.
    let mut engine: Vec<f64> = (0..RUNS)
        .map(|seed| {
            let one = builder("resource", &["feedbal"], (1, EPISODES), &[]);
            let one = one.seed(seed).build().unwrap();
            let mut state = one.state();
            finish(&one, &mut state, 1);
            one.results(&state)[0].curve.last().unwrap().regret
        })
        .collect();
    let n = RUNS as f64;
    let moments = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / n;
        let central = |k| values.iter().map(|v| (v - mean).powi(k)).sum::<f64>() / n;
        (mean, central(2), central(4))
    };
    let ((m1, v1, k1), (m2, v2, k2)) = (moments(&plain), moments(&engine));
    let z = (m1 - m2) / ((v1 + v2) / n).sqrt();
    assert!(z.abs() < 4.0, "means {m1} and {m2}: {z} errors apart");
    // The variance of a sample variance is (mu_4 - sigma^4) / n.
    let z = (v1 - v2) / ((k1 - v1 * v1 + k2 - v2 * v2) / n).sqrt();
    assert!(z.abs() < 4.0, "variances {v1} and {v2}: {z} errors apart");
    // Kolmogorov and Smirnov: the largest distance of the two empirical distributions.
    plain.sort_by(f64::total_cmp);
    engine.sort_by(f64::total_cmp);
    let below = |values: &[f64], v: f64| values.partition_point(|&other| other <= v) as f64 / n;
    let distance = plain
        .iter()
        .chain(&engine)
        .map(|&v| (below(&plain, v) - below(&engine, v)).abs())
        .fold(0.0, f64::max);
    // sqrt(-ln(alpha / 2) / 2) sqrt(2 / n) with alpha = 1e-4.
    let critical = 2.225 * (2.0 / n).sqrt();
    assert!(distance < critical, "{distance} is not below {critical}");
}
