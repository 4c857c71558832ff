//! One experiment: learners on a problem, many runs each, on several threads.
//!
//! [`Experiment::builder`] prepares it. A [`State`] can be saved, resumed and merged with those of other shards;
//! [`RunFolder`] keeps it on disk.

mod builder;
pub(crate) mod checkpoints;
pub(crate) mod checksum;
pub(crate) mod merge;
mod record_file;
pub(crate) mod result_folder;
mod run;
pub(crate) mod run_folder;
mod state;
#[cfg(test)]
mod tests;

pub use builder::{BuildError, CHECKED_PAIRS, ExperimentBuilder, LearnerSource, ProblemSource};
pub use checkpoints::{CheckpointError, check_checkpoints, log_spaced};
pub use merge::{MergedRun, merge_runs};
pub use record_file::{RecordReader, RecordWriter};
pub use result_folder::{FileError, Folder, FolderError, quoted, write_file};
pub use run::{Control, Experiment, Finish, Progress, RunSink};
pub use run_folder::{
    PlannedRun, Resumed, RunFolder, RunPlan, has_result, read_result, state_plot_name,
};
pub use state::{LearnerState, State};
