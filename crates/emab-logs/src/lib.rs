//! Logged decisions: what other learners and policies would have done, and what that would have been worth.
//!
//! A [`DecisionLog`] holds the episodes of a study, or past ones, in the order in which they happened. Three questions are asked of it:
//!
//! - [`replay`](mod@replay): each learner learns from the log in its order and is asked before each step. Where it would have stopped
//!   earlier, the difference in gain is known exactly, because the terminal rewards of all passed steps are revealed.
//! - [`evaluate`](mod@evaluate): the value of a fixed policy by the g-formula, with an interval that holds although the log was
//!   collected adaptively.
//! - [`fit`](mod@fit): a model estimated from the log, as a problem file, and plausible models from its posterior; [`plan`](mod@plan)
//!   continues the log in them.
//!
//! `docs/logs.md` shows them at work, and `docs/theory.md` has the proofs.

#![forbid(unsafe_code)]

pub mod assumptions;
pub mod evaluate;
pub mod fit;
pub mod graph;
mod interval;
pub mod log;
pub mod plan;
pub mod policy;
pub mod read;
pub mod replay;
pub mod states;
pub mod statistics;

pub use assumptions::{Assumed, Assumptions};
pub use evaluate::{Evaluation, evaluate, evaluate_named};
pub use fit::FittedModel;
pub use log::{
    DecisionLog, LogCounts, LogEntry, LoggedDecision, LoggedEpisode, PendingChange, Status,
};
pub use policy::{Policy, PolicyError};
pub use read::LogError;
pub use replay::{Replayed, replay};
pub use statistics::{Pooling, Statistics};
