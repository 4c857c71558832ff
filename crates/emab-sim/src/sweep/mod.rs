//! Sweeps: one experiment for each combination of learner and problem parameters, stated in a file.
//!
//! - [`SweepFile`] is what the file says; [`Sweep`] is that with its problem: the list of [`Cell`]s.
//! - A cell has random numbers of its own, which depend on the sweep's seed and on what the cell is, not on its place
//!   among the others: values can be added to a sweep, and the cells that were there keep their results.
//! - [`Cell::run`] gives a [`CellResult`]; [`columns`] makes one table of many.

mod cell;
mod file;
mod table;

pub use cell::{Cell, CellResult, Sweep, Value};
pub use file::{SweepError, SweepFile};
pub use table::columns;
