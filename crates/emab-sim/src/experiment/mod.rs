//! One experiment: learners on a problem, many runs each, on several threads; it can be interrupted, resumed and split
//! into shards.

pub(crate) mod checkpoints;
mod run;
pub(crate) mod runs;
pub(crate) mod shard;

pub use checkpoints::{CheckpointError, check_checkpoints, log_spaced};
#[cfg(test)]
pub(crate) use run::Loop;
pub use run::{
    Control, Experiment, Finish, LearnerState, Progress, ReferenceValues, SimError, State,
};
pub use runs::RunSet;
pub use shard::{Shard, ShardError};
