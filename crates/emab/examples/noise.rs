//! The quality of the random numbers, at a length that no test takes: moments, tails to 6 sigma, chi-square.
//!
//! `cargo run --release -p emab --example noise [BLOCKS]` prints a table (a block is 128 steps, two normals each).
//! `… --example noise -- bytes | RNG_test stdin64` (PractRand) or `| dieharder -a -g 200` tests the words behind them:
//! the 52 bits of each feedback, packed without gaps.

#![allow(clippy::print_stdout)]

use std::io::Write;

use emab::Noise;
use emab::rng::{Block, Draws};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let normal = Noise::normal(1.0)?;
    let mut draws = Draws::new(normal, normal);
    draws.restart(1, 0);
    let mut block = Block::default();
    match std::env::args().nth(1).as_deref() {
        Some("bytes") => bytes(&mut draws, &mut block),
        blocks => {
            let blocks = blocks.map_or(Ok(4_000_000), str::parse)?;
            table(&mut draws, &mut block, blocks);
            Ok(())
        }
    }
}

/// Thirteen 52-bit numbers are 676 bits; the 64-bit words are filled from them in turn.
fn bytes(draws: &mut Draws, block: &mut Block) -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let (mut held, mut bits) = (0_u128, 0);
    loop {
        draws.fill(block);
        for u in block.feedback {
            held |= u128::from((u * (1_u64 << 52) as f64) as u64) << bits;
            bits += 52;
            if bits >= 64 {
                if out.write_all(&(held as u64).to_le_bytes()).is_err() {
                    return Ok(()); // The reader has closed the pipe.
                }
                held >>= 64;
                bits -= 64;
            }
        }
    }
}

fn table(draws: &mut Draws, block: &mut Block, blocks: u64) {
    const CELLS: usize = 1024;
    // The normal quantiles that divide the line into cells of equal probability.
    let edges: Vec<f64> = (1..CELLS)
        .map(|i| quantile(i as f64 / CELLS as f64))
        .collect();
    let (mut powers, mut beyond, mut cells) = ([0.0; 6], [0_u64; 7], vec![0_u64; CELLS]);
    for i in 0..blocks {
        draws.fill(block);
        for z in block.reward.iter().chain(&block.cost) {
            let mut power = 1.0;
            for sum in &mut powers {
                power *= z;
                *sum += power;
            }
            for (k, count) in beyond.iter_mut().enumerate() {
                *count += u64::from(z.abs() > k as f64);
            }
        }
        // One in sixteen blocks: finding the cell takes longer than drawing.
        if i % 16 == 0 {
            for z in block.reward.iter().chain(&block.cost) {
                cells[edges.partition_point(|edge| edge < z)] += 1;
            }
        }
    }
    let n = (2 * Block::STEPS as u64 * blocks) as f64;
    println!("{n} normals; deviations in standard errors");
    let odd = |k: usize| (1..=k).rev().step_by(2).map(|i| i as f64).product::<f64>();
    for (i, sum) in powers.iter().enumerate() {
        let k = i + 1;
        let mean = if k % 2 == 0 { odd(k - 1) } else { 0.0 };
        let sd = ((odd(2 * k - 1) - mean * mean) / n).sqrt();
        println!(
            "moment {k}: {:.8} for {mean}: {:+.2}",
            sum / n,
            (sum / n - mean) / sd
        );
    }
    for (k, &count) in beyond.iter().enumerate().skip(1) {
        let p = libm::erfc(k as f64 / std::f64::consts::SQRT_2);
        let z = (count as f64 - n * p) / (n * p * (1.0 - p)).sqrt();
        println!("beyond {k} sigma: {count} for {:.1}: {z:+.2}", n * p);
    }
    let seen: u64 = cells.iter().sum();
    let expected = seen as f64 / CELLS as f64;
    let chi2: f64 = cells
        .iter()
        .map(|&c| (c as f64 - expected).powi(2) / expected)
        .sum();
    let freedom = (CELLS - 1) as f64;
    let z = (chi2 - freedom) / (2.0 * freedom).sqrt();
    println!("chi-square of {CELLS} equal cells: {chi2:.0} for {freedom}: {z:+.2}");
}

/// By bisection: there is no need to be quick.
fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
