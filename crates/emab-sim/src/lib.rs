//! Simulation: many runs of learners on a problem, in parallel, with the same result for any number of threads.
//!
//! - [`Experiment`]: learners on a problem; built by [`Experiment::builder`], resumed from a [`State`] or a [`RunFolder`],
//!   split into [`Shard`]s and merged.
//! - [`compare`]: many cells, one learner on one problem each: arenas and sweeps.
//! - [`Verification`]: how often a learner violates the guarantees of the paper.
//! - [`results`]: the documents that these return, and [`background`]: what a report states beside them.
//!
//! [`emab::Environment::play`] defines an episode. The engine has a faster loop that is tested against it bit by bit. The
//! random numbers of a run depend on (seed, run, role) alone and sums are exact ([`emab::stats::ExactSum`]), so threads,
//! shards and interruptions do not change a result.

pub mod background;
pub mod compare;
mod engine;
mod error;
mod experiment;
mod limit;
pub mod results;
mod run_set;
mod shard;
pub mod soundness;
mod verify;

pub use engine::choice_counts::ChoiceCounts;
pub use engine::gpu::{Device, DeviceChoice, GpuError, UnknownDevice};
pub use engine::tally::Tally;
pub use error::SimError;
pub use experiment::{
    ARENA, Begun, BuildError, CHECKED_PAIRS, CheckpointError, Control, Experiment,
    ExperimentBuilder, FileError, Finish, Folder, FolderContent, FolderError, FoundResult,
    GENERATOR, LearnerSource, LearnerState, MergedRun, NewFile, PlannedRun, ProblemSource,
    Progress, REPRODUCTION, RecordReader, RecordWriter, ResultKind, Resumed, RunFolder, RunPlan,
    RunSink, State, StoredProblems, check_checkpoints, log_spaced, merge_runs, quoted, read_result,
    recorded_episodes, save_result, state_plot_name, write_file,
};
pub use limit::{LowerBoundCurve, lower_bound};
pub use run_set::RunSet;
pub use shard::{Shard, ShardError};
pub use verify::{PerStatement, Verification, VerificationResult};

/// The version of emab, written into every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
