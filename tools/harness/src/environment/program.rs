//! The command `emab` of the build that is tested.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::Result;

/// A program and the arguments before those of `emab`.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub path: PathBuf,
    pub before: Vec<String>,
}

impl Program {
    /// The command `emab` at this path. Without a path, and for the harness itself, the one that is linked into the harness.
    pub(crate) fn emab(path: Option<&Path>) -> Result<Program> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => std::env::current_exe()?,
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let before = match name.starts_with("emab-harness") {
            true => vec!["emab".into()],
            false => Vec::new(),
        };
        Ok(Program { path, before })
    }

    /// Runs the command to its end.
    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<Output> {
        let mut command = Command::new(&self.path);
        command.args(&self.before).args(arguments);
        let failed = |error| format!("{}: {error}", self.path.display());
        Ok(command.output().map_err(failed)?)
    }
}
