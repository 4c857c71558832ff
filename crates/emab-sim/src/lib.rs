//! Many runs of learners on a problem, in parallel, with the same result for any number of threads.
//!
//! What an episode is says [`emab::Environment::play`]. The engine has a faster loop that is tested against it to the
//! bit: flat tables, whole or growing (`tables`), two runs side by side (`lanes`), learners in seats that suit them
//! (`players`), and the loops themselves compiled for each instruction set (`vector`). Where there are conditions the
//! plain loop plays (`plain`, [`emab::World`]). A run's randomness
//! depends on (seed, run, role) alone and sums are exact ([`emab::ExactSum`]), so neither threads nor shards nor
//! interruptions leave a trace in the result.

mod arena;
mod checkpoints;
mod experiment;
mod field;
mod job;
mod lanes;
mod places;
mod plain;
mod players;
mod pool;
mod roster;
mod runs;
mod shard;
mod tables;
mod tally;
#[cfg(test)]
mod twins;
mod vector;
mod verify;

pub use arena::Contest;
pub use checkpoints::{CheckpointError, check_checkpoints, log_spaced};
pub use experiment::{Control, Experiment, Finish, LearnerState, Progress, SimError, State, Worth};
pub use field::{Field, Rounds, enter};
pub use places::Places;
pub use roster::roster;
pub use runs::RunSet;
pub use shard::{Shard, ShardError};
pub use tally::Tally;
pub use verify::{Broken, Readings, Verification, Verified};

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;
