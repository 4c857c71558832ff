//! The paper's FeedBAL job in plain Rust: one run after another, one step after another.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_xoshiro::Xoshiro256PlusPlus;

const EPISODES: usize = 20_000;
const HORIZON: usize = 10;
const STATES: usize = 10;
const BETA: f64 = 0.9;
const P: f64 = 0.8;
const NOISE_VARIANCE: f64 = 0.1;
const SIGMA2: f64 = 0.2;
const DELTA: f64 = 0.01;

/// What all runs share. Steps count from 0 here.
struct Tables {
    /// Chance of a resource, by step.
    chance: [f64; HORIZON],
    /// Expected reward, by step and state.
    reward: [[f64; STATES]; HORIZON],
    /// What stopping, and what going on, loses against the benchmark, by step and state.
    gap: [[[f64; 2]; STATES]; HORIZON],
    /// Confidence width, and one over the count, by count.
    width: Vec<[f64; 2]>,
}

impl Tables {
    fn new() -> Tables {
        let mut chance = [0.0; HORIZON];
        let mut reward = [[0.0; STATES]; HORIZON];
        for t in 0..HORIZON {
            chance[t] = P / ((t + 1) as f64).sqrt();
            for x in 0..STATES {
                reward[t][x] = BETA.powi(t as i32) * x as f64;
            }
        }
        // The benchmark stops unless the next expected reward is larger. Pairs with x > t cannot be reached.
        let mut value = reward[HORIZON - 1];
        let mut gap = [[[0.0; 2]; STATES]; HORIZON];
        for t in (0..HORIZON - 1).rev() {
            for x in 0..=t {
                let ahead = |next: &[f64]| (1.0 - chance[t]) * next[x] + chance[t] * next[x + 1];
                let (stop, go) = (reward[t][x], ahead(&value));
                let best = if ahead(&reward[t + 1]) > stop {
                    go
                } else {
                    stop
                };
                gap[t][x] = [best - stop, best - go];
                // Upwards in x: value[x + 1] is still that of the next step.
                value[x] = best;
            }
        }
        let k = (HORIZON * STATES * 2) as f64;
        let width = (0..=EPISODES)
            .map(|n| {
                let n = n as f64;
                let log = (k * (1.0 + n).sqrt() / DELTA).ln();
                [((1.0 + n) / (n * n) * 4.0 * SIGMA2 * log).sqrt(), 1.0 / n]
            })
            .collect();
        Tables {
            chance,
            reward,
            gap,
            width,
        }
    }
}

#[derive(Clone, Copy)]
struct Cell {
    count: usize,
    sum: f64,
    index: f64,
}

impl Cell {
    const NEW: Cell = Cell {
        count: 0,
        sum: 0.0,
        index: f64::INFINITY,
    };

    #[inline]
    fn observe(&mut self, value: f64, width: &[[f64; 2]]) {
        self.count += 1;
        self.sum += value;
        let [width, inverse] = width[self.count];
        self.index = self.sum * inverse + width;
    }
}

/// One run: its regret and its steps.
fn run(tables: &Tables, mut rng: Xoshiro256PlusPlus) -> (f64, u64) {
    let sd = NOISE_VARIANCE.sqrt();
    let mut cells = [[[Cell::NEW; 2]; STATES]; HORIZON];
    let (mut regret, mut steps) = (0.0, 0);
    for _ in 0..EPISODES {
        let (mut t, mut x) = (0, 0);
        let mut reward = sd * rng.sample::<f64, _>(StandardNormal);
        loop {
            // No pair is met twice in an episode, so what is learned can be written down at once.
            let [stop, go] = &mut cells[t][x];
            let goes = t < HORIZON - 1 && go.index > stop.index;
            stop.observe(reward, &tables.width);
            regret += tables.gap[t][x][goes as usize];
            steps += 1;
            if !goes {
                break;
            }
            let cost = sd * rng.sample::<f64, _>(StandardNormal);
            x += (rng.random::<f64>() < tables.chance[t]) as usize;
            t += 1;
            reward = tables.reward[t][x] + sd * rng.sample::<f64, _>(StandardNormal);
            go.observe(reward - cost, &tables.width);
        }
    }
    (regret, steps)
}

fn option(name: &str) -> usize {
    let mut words = std::env::args().skip_while(|word| word != name);
    words
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or_else(|| {
            eprintln!("use: peer --runs R --threads T --seed S");
            std::process::exit(2)
        })
}

fn main() {
    let (runs, threads, seed) = (option("--runs"), option("--threads"), option("--seed"));
    let start = Instant::now();
    let tables = Tables::new();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let i = next.fetch_add(1, Relaxed);
            if i >= runs {
                return done;
            }
            let rng = Xoshiro256PlusPlus::seed_from_u64((seed as u64) << 32 | i as u64);
            done.push(run(&tables, rng));
        }
    };
    let done: Vec<(f64, u64)> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles
            .into_iter()
            .flat_map(|handle| handle.join().unwrap())
            .collect()
    });
    let seconds = start.elapsed().as_secs_f64();
    let n = runs as f64;
    let mean = done.iter().map(|d| d.0).sum::<f64>() / n;
    let variance = done.iter().map(|d| (d.0 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let steps: u64 = done.iter().map(|d| d.1).sum();
    println!(
        r#"{{"peer": "Rust", "runs": {runs}, "regret": {mean}, "stderr": {}, "steps": {steps}, "seconds": {seconds}}}"#,
        (variance / n).sqrt()
    );
}
