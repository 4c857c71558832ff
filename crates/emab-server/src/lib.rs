//! The decision service: people in the loop, nothing lost.
//!
//! A study is a specification and a learner. Episodes of it are opened, asked about, told about and ended by requests;
//! each that changes something becomes an [`event`], and the log of events is the truth. What the service answers
//! from (episodes, decisions, learned episodes, counts and sums) are projections of that log, written in the same
//! transaction.
//!
//! request → [`command`] → [`board`] (the rules, pure) → event → [`store`] → decision → answer
#![forbid(unsafe_code)]

pub mod app;
pub mod data_dir;
pub mod domain;
pub mod http;
pub mod serve;
pub mod store;
pub mod tokens;
pub mod transport;
