//! The decision service: people in the loop, nothing lost.
//!
//! A study is a specification and a learner. Episodes of it are opened, asked about, told about and ended by requests;
//! each that changes something becomes an [event](event), and the log of events is the truth. What the service answers
//! from (episodes, decisions, learned episodes, counts and sums) are projections of that log, written in the same
//! transaction.
//!
//! request → [`command`] → [`board`] (the rules, pure) → event → [`store`] → decision → answer
#![forbid(unsafe_code)]

pub mod audit;
pub mod board;
pub mod case;
pub mod clerk;
pub mod clock;
pub mod command;
pub mod decision;
pub mod docs_page;
pub mod event;
pub mod folder;
pub mod given;
pub mod http;
pub mod json;
pub mod lesson;
pub mod listen;
pub mod metrics;
pub mod mind;
pub mod past;
pub mod rate;
pub mod refusal;
pub mod replay;
pub mod rules;
pub mod serve;
pub mod service;
pub mod state_hash;
pub mod store;
pub mod study;
pub mod teach;
pub mod tokens;
pub mod trouble;
pub mod work;
