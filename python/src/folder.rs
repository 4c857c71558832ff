//! Result folders, and files that are not replaced unasked.

use std::path::{Path, PathBuf};

use emab_sim::ResultKind;
use pyo3::exceptions::PyFileExistsError;
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

/// Writes a file. `FileExistsError` if there is one with another content, which `force` replaces; `what` is the content.
pub fn write_file(
    py: Python<'_>,
    path: &Path,
    content: &[u8],
    what: &str,
    force: bool,
) -> PyResult<()> {
    let shown = path.display();
    let written = py.detach(|| {
        if !force && path.exists() {
            return Ok(std::fs::read(path)? == content);
        }
        std::fs::write(path, content).map(|()| true)
    });
    match written {
        Ok(true) => Ok(()),
        Ok(false) => Err(PyFileExistsError::new_err(format!(
            "{shown} exists, and is not this {what}; force=True replaces it"
        ))),
        Err(error) => Err(errors::os(
            error.kind(),
            format!("cannot write {shown}: {error}"),
        )),
    }
}
