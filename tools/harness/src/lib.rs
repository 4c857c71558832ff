//! Crash, outage and load tests of the decision service. Not part of the product; the README describes the commands.
//!
//! A [`scenarios`] module runs the service in an `environment` as a child process, sends it requests (`load`), makes
//! something fail, and compares the log with what was acknowledged ([`checks`]). [`faults`] are injected to test the checks.
//! [`attacks`] try what a hostile client, operator or machine may do.
#![forbid(unsafe_code)]

pub mod attacks;
pub mod checks;
mod environment;
pub mod faults;
mod http;
mod load;
mod rng;
pub mod scenarios;
pub mod serve;

/// Why a scenario could not run, in words.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T> = std::result::Result<T, Error>;

pub use environment::StoreKind;
pub use load::client::RequestCounts;
pub use load::event_key::KINDS;
