//! Random numbers that depend on (seed, run, role) alone: general streams, and blocks of draws for the steps of a run.

mod dirichlet;
mod draws;
mod stream;

pub use dirichlet::dirichlet;
pub use draws::{Block, Draws};
pub use stream::{Role, Stream, ziggurat};

/// The key of every Philox block of a seed.
fn philox_key(seed: u64) -> [u32; 2] {
    [seed as u32, (seed >> 32) as u32]
}
