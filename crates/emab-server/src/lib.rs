//! The decision service: recommendations for real cases, with an append-only log.
//!
//! A study is a specification and a learner. Requests open episodes of it, ask for decisions, report steps and end episodes. Each
//! request that changes something becomes an event in the log of its study. Episodes, decisions, learned episodes and gain sums are
//! projections of that log, written in the same transaction.
//!
//! The layers, each of which uses only those before it:
//!
//! 1. `domain`: commands, events, rules and decisions; pure.
//! 2. [`store`]: SQLite and PostgreSQL; [`remote`]: the log of a study on another service.
//! 3. `app`: writer thread, reader pool, replay, [`audit`], import, export, [`tables`], [`decision_log`] and [`log_source`].
//! 4. `http`: routes, authentication (with [`tokens`]), errors, OpenAPI.
//! 5. `console`: web pages for people.
//! 6. `transport`: listener, TLS, connection limits.
//! 7. [`serve`]: runs the service; [`log`] writes its log. [`demo`] simulates studies beside it, with `app` alone.
#![forbid(unsafe_code)]

mod client_tls;
mod clock;
pub mod demo;
pub mod log;
mod platform;
pub mod remote;
pub mod serve;
pub mod store;
pub mod tokens;

pub use app::{audit, decision_log, log_source, tables};

// Not part of the public API: used by the tests and by `tools/harness`.
#[doc(hidden)]
pub mod app;
#[doc(hidden)]
pub mod console;
#[doc(hidden)]
pub mod domain;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod transport;
