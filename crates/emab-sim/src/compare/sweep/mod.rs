//! Sweeps: one experiment for each combination of learner and problem parameters, stated in a file.
//!
//! [`SweepFile`] is the file; [`Sweep`] is the file with its problem: a list of [`SweepCell`]s. The random numbers of a
//! cell depend on the sweep's seed and on the cell's own values, not on its position, so values can be added to a sweep
//! without changing the cells it had. [`SweepCell::run`] gives a [`SweepCellResult`], [`columns`] makes one table of many,
//! and [`SweepFolder`] keeps them on disk.

mod cell;
mod file;
mod folder;
mod table;

pub use cell::{Sweep, SweepCell, SweepCellResult, Value};
pub use file::{SweepError, SweepFile};
pub use folder::{BegunSweep, Manifest, SweepFolder, SweepFolderError, merge_sweeps, read_sweep};
pub use table::columns;
