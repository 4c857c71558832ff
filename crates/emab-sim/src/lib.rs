//! Many runs of learners on a problem, in parallel, with the same result for any number of threads.
//!
//! The loop that plays an episode is [`emab::Environment::play`]; this crate runs it many times. A run's randomness
//! depends on (seed, run, role) alone and sums are exact ([`emab::ExactSum`]), so neither threads nor interruptions
//! leave a trace in the result.

mod checkpoints;
mod experiment;
mod places;
mod pool;
mod runs;
mod tally;
mod verify;

pub use checkpoints::{CheckpointError, check_checkpoints, log_spaced};
pub use experiment::{Control, Experiment, Finish, LearnerState, Progress, SimError, State};
pub use places::Places;
pub use runs::RunSet;
pub use tally::Tally;
pub use verify::{Broken, Readings, Verification, Verified};

#[doc = include_str!("../../../docs/rust.md")]
#[cfg(doctest)]
struct RustGuide;
