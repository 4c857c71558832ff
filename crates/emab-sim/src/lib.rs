//! Many runs of learners on a problem, in parallel, with the same result for any number of threads.
//!
//! What an episode is says [`emab::Environment::play`]. The engine has a faster loop that is tested against it to the
//! bit: flat tables, whole or growing (`tables`), two runs side by side (`lanes`), learners in seats that suit them
//! (`players`), and the loops themselves compiled for each instruction set (`vector`). Where there are conditions the
//! plain loop plays (`plain`, [`emab::ConditionedEnvironment`]). A run's randomness
//! depends on (seed, run, role) alone and sums are exact ([`emab::stats::ExactSum`]), so neither threads nor shards nor
//! interruptions leave a trace in the result.

pub mod compare;
mod engine;
mod experiment;
pub mod results;
pub mod sweep;
mod verify;

pub use engine::choice_counts::ChoiceCounts;
pub use engine::tally::Tally;
pub use experiment::{
    CheckpointError, Control, Experiment, Finish, LearnerState, Progress, ReferenceValues, RunSet,
    Shard, ShardError, SimError, State, check_checkpoints, log_spaced,
};
pub use verify::{Broken, Readings, Verification, Verified};

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;
