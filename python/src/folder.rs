//! Result folders.

use std::path::PathBuf;

use emab_sim::ResultKind;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

use crate::errors;
use crate::lists::List;

/// Write the files of a result, given by name and content, into a folder: ``kind`` is ``run`` or ``sweep``.
///
/// Return whether anything was written: not if the folder has the same result already. ``FileExistsError`` if it contains
/// something else, which ``force`` replaces.
#[pyfunction]
pub fn save_result(
    py: Python<'_>,
    folder: PathBuf,
    kind: &str,
    files: List<(String, PyBackedBytes)>,
    force: bool,
) -> PyResult<bool> {
    let kind = match kind {
        "run" => ResultKind::Run,
        "sweep" => ResultKind::Sweep,
        _ => return Err(errors::invalid(format!("unknown kind of result `{kind}`"))),
    };
    let files = files
        .0
        .iter()
        .map(|(name, content)| (name.as_str(), &**content));
    let files: Vec<(&str, &[u8])> = files.collect();
    py.detach(|| emab_sim::save_result(&folder, kind, &files, force))
        .map_err(errors::folder)
}
