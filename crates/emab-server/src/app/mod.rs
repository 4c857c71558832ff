//! The application layer: the writer thread, the reader pool, and what is recomputed from the log.
//!
//! - [`service`]: entry point of the layer; queues commands for the writer and runs reads on a pool of connections.
//! - [`writer`]: the writer thread, with group commit. A full disk or a lost store is handled there. Its queue is
//!   [fair](fair_queue) between studies and tokens, and [`loader`] threads replay studies for it.
//! - [`execute_command`]: turns commands into events, inside a transaction.
//! - [`load`]: loads the state of a study from the store. [`specs`] is the cache of parsed specifications.
//! - [`replay`], [`audit`], [`state_hash`]: recompute the log and compare; [`audits`] run in the background.
//! - [`checkpoint`]: signed statements about the ends of logs.
//! - [`health`]: what people who run a study have to know; [`drift`] reads its episodes for the test of drift.
//! - [`policy_map`]: the recommendations of a study and what they rest on; [`progress`]: what its log shows over time.
//! - [`tables`]: episodes, decisions and estimates as CSV and Parquet.
//! - [`decision_log`]: the log as decisions that can be replayed, evaluated and fitted, [`log_source`]: from any place; [`evaluation`]: the value of the current policies.
//! - [`import`], [`export`]: studies and past episodes as newline-delimited JSON.

pub mod audit;
pub mod audits;
pub mod checkpoint;
pub mod decision_log;
pub mod drift;
pub mod error;
pub mod evaluation;
pub mod execute_command;
pub mod export;
pub mod fair_queue;
pub mod health;
pub mod import;
pub mod load;
pub mod loader;
pub mod log_source;
pub mod metrics;
pub mod permits;
pub mod policy_map;
pub mod progress;
mod recent_tokens;
pub mod replay;
pub mod service;
pub mod specs;
pub mod state_hash;
pub mod tables;
pub mod writer;

pub use self::{error::*, load::*, metrics::*, replay::*, service::*, specs::*};
