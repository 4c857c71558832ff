//! Logs of simulated episodes, whose truth is known.
#![allow(clippy::unwrap_used)]

mod evaluate;
mod fit;
mod plan;
mod replay;
mod simulate;
mod tables;
