//! The Python package's native part, `emab._emab`: problems, learners and the engine as Python sees them, and the
//! command. What is pleasant to use is written in Python on top of it (`python/emab`).
//!
//! Errors cross into Python in one place (`errors`), long work lets go of the interpreter, and Python code that the
//! engine calls (`own`) keeps its exceptions with their tracebacks.

#![forbid(unsafe_code)]

mod command;
mod episode;
mod errors;
mod experiment;
mod gym;
mod learner;
mod own;
mod problem;
mod solve;
mod spec;
mod sweep;
mod watch;
mod whole;

use pyo3::prelude::*;

#[pymodule]
mod _emab {
    #[pymodule_export]
    use super::command::command;
    #[pymodule_export]
    use super::episode::Episode;
    #[pymodule_export]
    use super::errors::ProblemError;
    #[pymodule_export]
    use super::experiment::Experiment;
    #[pymodule_export]
    use super::gym::{EnvCore, VectorCore};
    #[pymodule_export]
    use super::learner::{Estimate, Learner, catalogue};
    #[pymodule_export]
    use super::problem::{Problem, builtin};
    #[pymodule_export]
    use super::solve::{bounds, solve};
    #[pymodule_export]
    use super::spec::Spec;
    #[pymodule_export]
    use super::sweep::Sweep;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
