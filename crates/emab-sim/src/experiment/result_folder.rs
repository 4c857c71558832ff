//! A folder of results with atomic writes: a file is written completely or not at all.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use emab_problem::ReadError;
use thiserror::Error;

use super::builder::BuildError;
use super::folder_lock::{FolderLock, LOCK};
use crate::error::SimError;

/// A file or folder that cannot be read or written.
#[derive(Debug, Error)]
#[error("cannot {verb} {}: {error}", path.display())]
pub struct FileError {
    /// The operation.
    pub verb: &'static str,
    /// The file.
    pub path: PathBuf,
    /// The cause.
    pub error: io::Error,
}

/// Adds the operation and the file to an error.
pub(crate) fn failed(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> FileError {
    move |error| FileError {
        verb,
        path: path.into(),
        error,
    }
}

/// Why a result folder cannot be used.
#[derive(Debug, Error)]
pub enum FolderError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A document cannot be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(serde_json::Error),
    /// A file, or a line of it, has been changed or is incomplete; and the cause.
    #[error("{0} is damaged: {1}")]
    Damaged(String, String),
    /// The content of the folder does not fit the call.
    #[error("{0}")]
    Conflict(String),
    /// The folder contains something else, which is not replaced unasked.
    #[error("{0}; choose another folder, or --force replaces it")]
    Occupied(String),
    /// The experiment of the folder cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The state in the folder does not fit its experiment.
    #[error(transparent)]
    State(#[from] SimError),
}

impl From<ReadError> for FolderError {
    fn from(error: ReadError) -> FolderError {
        FolderError::Build(error.into())
    }
}

/// A path or another word, quoted for a shell if necessary.
pub fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "_-./:=,@+".contains(c);
    if text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// A folder for results.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    lock: Option<Arc<FolderLock>>,
}

impl Folder {
    /// Creates the folder if necessary and takes its lock, before any work is done. Fails if it is not writable, or if
    /// another process is writing into it.
    pub fn create(path: &Path) -> Result<Folder, FileError> {
        fs::create_dir_all(path).map_err(failed("make the folder", path))?;
        Folder {
            path: path.into(),
            lock: None,
        }
        .locked()
    }

    /// Opens an existing folder, to read it.
    pub fn open(path: &Path) -> Result<Folder, FileError> {
        let failed = failed("read the folder", path);
        match fs::metadata(path).map_err(&failed)?.is_dir() {
            true => Ok(Folder {
                path: path.into(),
                lock: None,
            }),
            false => {
                let kind = io::ErrorKind::NotADirectory;
                Err(failed(io::Error::new(kind, "it is not a folder")))
            }
        }
    }

    /// Takes the lock of the folder, to write into it. All copies of the folder hold it; it ends with the last of them, or
    /// with the process.
    pub fn locked(mut self) -> Result<Folder, FileError> {
        if self.lock.is_none() {
            let lock = FolderLock::take(&self.path);
            let lock = lock.map_err(failed("write to the folder", &self.path))?;
            self.lock = lock.map(Arc::new);
        }
        Ok(self)
    }

    /// A folder inside this one, created if necessary, under the same lock.
    pub(crate) fn subfolder(&self, name: &str) -> Result<Folder, FileError> {
        let path = self.file(name);
        fs::create_dir_all(&path).map_err(failed("make the folder", &path))?;
        Ok(Folder {
            path,
            lock: self.lock.clone(),
        })
    }

    /// Whether the folder is locked. It is not if it was opened to be read, or if its file system has no locks.
    pub fn is_locked(&self) -> bool {
        self.lock.is_some()
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a file in the folder.
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Whether the folder contains a file.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// The names of its files, sorted, without the lock; names that are not UTF-8 are left out.
    pub fn files(&self) -> Result<Vec<String>, FileError> {
        let failed = failed("read the folder", &self.path);
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(&failed)? {
            names.extend(entry.map_err(&failed)?.file_name().into_string());
        }
        names.retain(|name| name != LOCK);
        names.sort();
        Ok(names)
    }

    fn temporary(&self, name: &OsStr) -> PathBuf {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        self.path.join(hidden)
    }

    /// Writes a file atomically: to a temporary file, synced, then renamed.
    pub fn write(&self, name: impl AsRef<OsStr>, content: &[u8]) -> Result<(), FileError> {
        let path = self.file(name.as_ref());
        self.write_with(name, |file| {
            file.write_all(content).map_err(failed("write", &path))
        })
    }

    /// The same for content that is written piece by piece.
    pub fn write_with<E: From<FileError>>(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut io::BufWriter<fs::File>) -> Result<(), E>,
    ) -> Result<(), E> {
        let name = name.as_ref();
        let temporary = self.temporary(name);
        let path = self.file(name);
        let failed = failed("write", &path);
        let written = fs::File::create(&temporary).map_err(|error| failed(error).into());
        let written = written.and_then(|file| {
            let mut file = io::BufWriter::new(file);
            write(&mut file)?;
            let synced = file.flush().and_then(|()| file.get_ref().sync_all());
            let renamed = synced.and_then(|()| fs::rename(&temporary, &path));
            renamed.map_err(|error| failed(error).into())
        });
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Appends to a file and syncs it; an interrupted append leaves a line without its newline.
    pub fn append(&self, name: impl AsRef<OsStr>, content: &[u8]) -> Result<(), FileError> {
        let path = self.file(name);
        let append = || {
            let mut file = fs::File::options().append(true).create(true).open(&path)?;
            file.write_all(content)?;
            file.sync_all()
        };
        append().map_err(failed("write", &path))
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> Result<String, FileError> {
        let path = self.file(name);
        fs::read_to_string(&path).map_err(failed("read", &path))
    }

    /// Removes a file, if it exists.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        let path = self.file(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(failed("remove", &path)),
        }
    }

    /// Removes a folder inside this one, if it is empty.
    pub(crate) fn remove_empty(&self, name: &str) -> Result<(), FileError> {
        let path = self.file(name);
        match fs::remove_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            removed => removed.map_err(failed("remove", &path)),
        }
    }
}
