//! One experiment: learners on a problem, many runs each, on several threads.
//!
//! [`Experiment::builder`] prepares it. A [`State`] can be saved, resumed and merged with those of other shards;
//! [`RunFolder`] keeps it on disk.

mod builder;
pub(crate) mod checkpoints;
pub(crate) mod checksum;
pub(crate) mod folder_content;
mod folder_lock;
pub(crate) mod merge;
mod new_file;
mod record_file;
pub(crate) mod result_folder;
mod run;
mod run_call;
pub(crate) mod run_folder;
mod save_result;
mod state;
mod stored_problems;
#[cfg(test)]
mod tests;

pub use builder::{BuildError, CHECKED_PAIRS, ExperimentBuilder, LearnerSource, ProblemSource};
pub use checkpoints::{CheckpointError, check_checkpoints, log_spaced};
pub use folder_content::{ARENA, FolderContent, FoundResult, GENERATOR, REPRODUCTION, ResultKind};
pub use merge::{MergedRun, merge_runs};
pub use new_file::{NewFile, write_file};
pub use record_file::{RecordReader, RecordWriter};
pub use result_folder::{FileError, Folder, FolderError, quoted};
pub use run::{Control, Experiment, Finish, Progress, RunSink};
pub use run_call::recorded_episodes;
pub use run_folder::{
    Begun, PlannedRun, Resumed, RunFolder, RunPlan, read_result, state_plot_name,
};
pub use save_result::save_result;
pub use state::{LearnerState, State};
pub use stored_problems::StoredProblems;
