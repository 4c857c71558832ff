//! The decision service: people in the loop, nothing lost.
#![forbid(unsafe_code)]

pub mod docs_page;
pub mod folder;
pub mod listen;
pub mod metrics;
pub mod rate;
pub mod tokens;
