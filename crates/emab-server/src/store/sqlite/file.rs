//! The database file: creation, lock, and detection of a replaced or linked file.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicI64;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

use super::super::{Result, StoreError};
use crate::platform::{self, Identity, private_file};

/// The characters of a path that are escaped in a URI.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'.')
    .remove(b'-')
    .remove(b'_');

/// The database file.
///
/// Only SQLite opens it: closing any handle of a file drops all POSIX locks of the process on it.
#[derive(Debug)]
pub(super) struct DatabaseFile {
    /// Absolute, without links, so that every name leads to the same lock.
    path: PathBuf,
    identity: Identity,
    /// The largest key of a study that this process has removed: SQLite would give it to the next one.
    pub(super) removed: AtomicI64,
    /// None for an inspection.
    _lock: Option<File>,
}

impl DatabaseFile {
    /// Creates the file and its folders if necessary, and takes the lock.
    pub(super) fn own(path: &Path) -> Result<DatabaseFile> {
        let path = std::path::absolute(path)
            .map_err(|error| unavailable(path, "is not a valid path", error))?;
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            let text = format!("`{}` is a folder, not a file", path.display());
            return Err(StoreError::Unavailable(text));
        };
        fs::create_dir_all(folder)
            .map_err(|error| unavailable(folder, "cannot be created", error))?;
        let path = match path.canonicalize() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder
                .canonicalize()
                .map(|folder| folder.join(name))
                .map_err(|error| unavailable(folder, "cannot be entered", error))?,
            found => found.map_err(|error| unavailable(&path, "cannot be reached", error))?,
        };
        let lock = lock(&path)?;
        create(&path).map_err(|error| unavailable(&path, "cannot be created", error))?;
        Ok(DatabaseFile {
            identity: identity(&path)?,
            path,
            removed: AtomicI64::default(),
            _lock: Some(lock),
        })
    }

    /// An existing file, without a lock.
    pub(super) fn inspect(path: &Path) -> Result<DatabaseFile> {
        // Absolute: SQLite treats a name that begins with `file:` as a URI.
        let path = path
            .canonicalize()
            .map_err(|error| unavailable(path, "cannot be read", error))?;
        Ok(DatabaseFile {
            identity: identity(&path)?,
            path,
            removed: AtomicI64::default(),
            _lock: None,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the write-ahead log.
    pub(super) fn log_length(&self) -> u64 {
        fs::metadata(beside(&self.path, "-wal")).map_or(0, |found| found.len())
    }

    /// Whether no file can be created in its folder.
    pub(super) fn is_unwritable(&self) -> bool {
        let probe = beside(&self.path, ".probe");
        let created = private_file().create_new(true).open(&probe);
        if created.is_ok() {
            let _ = fs::remove_file(&probe);
        }
        let kinds = [
            io::ErrorKind::PermissionDenied,
            io::ErrorKind::ReadOnlyFilesystem,
        ];
        created.is_err_and(|error| kinds.contains(&error.kind()))
    }

    /// The URI that marks the file as immutable.
    pub(super) fn immutable_uri(&self) -> String {
        let path = percent_encode(self.path.as_os_str().as_encoded_bytes(), ESCAPED);
        format!("file:{path}?immutable=1")
    }

    /// Fails if the file was moved, replaced or linked: further writes would be lost.
    pub(super) fn is_unchanged(&self) -> Result<()> {
        if identity(&self.path)? == self.identity {
            return Ok(());
        }
        let what = format!("`{}` was replaced while it was in use", self.path.display());
        Err(StoreError::Unavailable(what))
    }
}

pub(super) fn unavailable(path: &Path, what: &str, error: io::Error) -> StoreError {
    let text = format!("`{}` {what}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full(text),
        _ => StoreError::Unavailable(text),
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// Locks the file beside the database. The lock file is never removed: otherwise two processes could lock two files of one name.
fn lock(path: &Path) -> Result<File> {
    let beside = beside(path, ".lock");
    let failed = |error| unavailable(&beside, "cannot be locked", error);
    let file = private_file()
        .create(true)
        .truncate(false)
        .open(&beside)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::Error(error)) => Err(failed(error)),
        Err(TryLockError::WouldBlock) => Err(StoreError::Unavailable(format!(
            "`{}` is served by another process, which holds `{}`; a SQLite file has one server, use PostgreSQL for \
             several: `--store postgres://…`",
            path.display(),
            beside.display()
        ))),
    }
}

/// Creates the file if it does not exist. SQLite gives its side files the same mode.
fn create(path: &Path) -> io::Result<()> {
    if path.try_exists()? {
        return Ok(());
    }
    private_file().create_new(true).open(path)?.sync_all()?;
    // The directory entry must be durable too.
    if let Some(folder) = path.parent() {
        platform::sync_folder(folder)?;
    }
    Ok(())
}

fn identity(path: &Path) -> Result<Identity> {
    let found =
        fs::metadata(path).map_err(|error| unavailable(path, "cannot be reached", error))?;
    if !found.is_file() {
        let text = format!("`{}` is not a file", path.display());
        return Err(StoreError::Unavailable(text));
    }
    // Lock and write-ahead log lie beside a name: services on two names would overwrite each other.
    let links = platform::names(&found);
    if links != 1 {
        let path = path.display();
        return Err(StoreError::Unavailable(format!(
            "`{path}` has {links} names (hard links), and a store must have one; remove the others (`find / -samefile {path}` \
             lists them), or use a copy of the file"
        )));
    }
    Ok(platform::identity(&found))
}
