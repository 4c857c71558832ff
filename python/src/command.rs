//! The command `emab` inside the wheel.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Run the command `emab` with these arguments, the program name first, and return its exit code.
#[pyfunction]
pub fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| emab_cli::main(arguments))
}
