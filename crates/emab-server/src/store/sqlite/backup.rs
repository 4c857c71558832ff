//! Copies a store into a new file, also while a service writes to it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::super::{Result, StoreError};
use super::error::fault;
use super::file::{DatabaseFile, unavailable};
use super::{Role, connect, named, version};
use crate::platform::{private_file, sync_folder};

/// The number of pages in one step: 16 MiB.
const STEP: i32 = 4_096;

/// Copies the store `from` as it is at the start into the new file `to`; calls `progress` with the number of copied pages and of
/// all pages. The file has its final name only when it is complete and on disk.
///
/// The copy is a file of its own: a single one, without a log beside it, which any user of the store may open.
pub fn backup(
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    backup_by(STEP, from, to, replace, progress)
}

pub(super) fn backup_by(
    step: i32,
    from: &Path,
    to: &Path,
    replace: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let file = DatabaseFile::inspect(from)?;
    let to =
        std::path::absolute(to).map_err(|error| unavailable(to, "is not a valid path", error))?;
    is_free(&to, replace)?;
    let source = connect(&file, Role::Inspect)?;
    let found = version(&source).map_err(|error| named(&file, error))?;
    found.ok_or_else(|| named(&file, StoreError::Damaged("it is empty".into())))?;
    let part = Part::create(&to)?;
    copy(&source, &part.0, step, progress).map_err(|error| named(&file, error))?;
    let failed = |error| unavailable(&to, "cannot be written", error);
    File::open(&part.0)
        .and_then(|file| file.sync_all())
        .map_err(failed)?;
    is_free(&to, replace)?;
    fs::rename(&part.0, &to).map_err(failed)?;
    let folder = to.parent().unwrap_or(Path::new("/"));
    sync_folder(folder).map_err(failed)
}

fn is_free(to: &Path, replace: bool) -> Result<()> {
    if replace || fs::symlink_metadata(to).is_err() {
        return Ok(());
    }
    let what = format!(
        "`{}` exists; name another file, or allow to replace it with `--force`",
        to.display()
    );
    Err(StoreError::Unavailable(what))
}

/// The unfinished copy, removed when it is dropped under this name.
struct Part(PathBuf);

impl Part {
    fn create(to: &Path) -> Result<Part> {
        let mut name = OsString::from(to);
        name.push(format!(".{}.part", std::process::id()));
        let path = PathBuf::from(name);
        let created = private_file().create_new(true).open(&path);
        created.map_err(|error| unavailable(&path, "cannot be created", error))?;
        Ok(Part(path))
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // After the rename there is nothing to remove.
        let _ = fs::remove_file(&self.0);
    }
}

fn copy(
    source: &Connection,
    to: &Path,
    step: i32,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<()> {
    let mut target = Connection::open(to).map_err(fault)?;
    // The file is synced once, when it is complete.
    let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF";
    target.execute_batch(settings).map_err(fault)?;
    // One snapshot: otherwise the copy begins again whenever the service writes.
    source.execute_batch("BEGIN").map_err(fault)?;
    let first = source.query_row("SELECT count(*) FROM main.sqlite_schema", [], |_| Ok(()));
    first.map_err(fault)?;
    let copy = Backup::new(source, &mut target).map_err(fault)?;
    loop {
        let stepped = copy.step(step).map_err(fault)?;
        let done = copy.progress();
        let pages = |count: i32| u64::try_from(count).unwrap_or(0);
        progress(
            pages(done.pagecount - done.remaining),
            pages(done.pagecount),
        );
        match stepped {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}
