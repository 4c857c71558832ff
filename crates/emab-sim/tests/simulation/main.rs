//! Experiments on built-in problems: results that must not depend on threads, shards or interruptions, and their
//! distribution.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cells;
#[path = "../common/mod.rs"]
mod common;
mod conditions;
mod determinism;
mod independent_loop;
mod intake;
mod interrupted;
mod large_problems;
mod published;
mod regret_by_state;
mod user_defined_learner;
mod verify;
