//! The decision service: people in the loop, nothing lost.
#![forbid(unsafe_code)]

pub mod listen;
pub mod metrics;
