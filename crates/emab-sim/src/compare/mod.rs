//! Comparison of learners with common random numbers.
//!
//! A [`Cell`] is one learner on one problem. An [arena](ArenaEntrants) compares learners on the same problems, run by run;
//! a [sweep] varies parameters of learners and of a problem. [`run_cells`] plays the cells of both.

mod arena;
mod arena_folder;
mod cell;
mod default_learners;
mod halves;
mod pairs;
mod ranking;
mod ratios;
pub mod sweep;

pub use arena::{ArenaEntrants, ArenaSettings};
pub use arena_folder::ArenaFolder;
pub use cell::{Cell, CellControl, run_cells};
pub use default_learners::default_learners;
pub use pairs::PairDecisions;
