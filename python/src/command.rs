//! The command `emab`, as the wheel brings it.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Do what the command `emab` does with these arguments, the program's name first, and return its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| emab_cli::main(arguments))
}
