//! The application: the writer thread, the reader pool, and what is recomputed from the log (replay, audit).

pub mod audit;
pub mod clock;
pub mod error;
pub mod executor;
pub mod learning;
pub mod metrics;
pub mod replay;
pub mod service;
pub mod state_hash;
pub mod writer;
