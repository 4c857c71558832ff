//! The native module `emab._emab`: problems, learners, the engine and the command. The public API is in `python/emab`.
//!
//! Errors become exceptions in one place (`errors`). Long work releases the interpreter. Exceptions of user-defined
//! learners (`user_learner`) keep their tracebacks.

#![forbid(unsafe_code)]

mod array_pool;
mod device;
mod episode;
mod errors;
mod experiment;
mod folder;
mod gym;
mod integers;
mod learner;
mod lists;
mod logs;
mod problem;
mod progress;
mod runs;
mod solve;
mod spec;
mod sweep;
mod tables;
mod user_learner;

use std::alloc::System;
use std::ffi::OsString;

use cap::Cap;
use pyo3::prelude::*;

use lists::List;

/// Counts the allocated bytes.
#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, usize::MAX);

#[pymodule]
mod _emab {
    #[pymodule_export]
    use super::episode::Episode;
    #[pymodule_export]
    use super::errors::ProblemError;
    #[pymodule_export]
    use super::experiment::Experiment;
    #[pymodule_export]
    use super::folder::save_result;
    #[pymodule_export]
    use super::gym::{EnvCore, VectorCore};
    #[pymodule_export]
    use super::learner::{Estimate, Learner};
    #[pymodule_export]
    use super::logs::DecisionLog;
    #[pymodule_export]
    use super::problem::{Problem, builtin};
    #[pymodule_export]
    use super::runs::runs_table;
    #[pymodule_export]
    use super::solve::{bounds, lower_bound, solve};
    #[pymodule_export]
    use super::spec::Spec;
    #[pymodule_export]
    use super::sweep::Sweep;
    #[pymodule_export]
    use super::tables::{
        critical_value, did_you_mean, distribution_cells, format_conditions, format_interval,
        format_number, group_notes, regret_cells, report_page, text_table,
    };

    use super::*;

    /// Run the command `emab` with these arguments, the program name first, and return its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, arguments: List<OsString>) -> u8 {
        py.detach(|| emab_cli::main(arguments.0, Some(|| ALLOCATOR.allocated())))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let before_exit = wrap_pyfunction!(super::progress::before_exit, module)?;
        let atexit = module.py().import("atexit")?;
        atexit.call_method1("register", (before_exit,))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
