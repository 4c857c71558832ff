//! A folder of results in which no file is ever half written.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file or folder that cannot be read or written.
#[derive(Debug, Error)]
#[error("cannot {verb} {}: {error}", path.display())]
pub struct FileError {
    /// What was to be done.
    pub verb: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// Why not.
    pub error: io::Error,
}

/// Writes a file whole or not at all, and makes the folder it is in if need be.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    let name = path.file_name().unwrap_or_default();
    Folder::create(parent.unwrap_or(Path::new(".")))?.write(name, content)
}

/// A folder for results.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder if need be and tries that it can be written to, before any work is done for it.
    pub fn create(path: &Path) -> Result<Folder, FileError> {
        let failed = |verb, error| FileError {
            verb,
            path: path.into(),
            error,
        };
        fs::create_dir_all(path).map_err(|error| failed("make the folder", error))?;
        let folder = Folder { path: path.into() };
        let probe = folder.temporary(OsStr::new("probe"));
        fs::File::create(&probe).map_err(|error| failed("write to the folder", error))?;
        fs::remove_file(&probe).map_err(|error| failed("write to the folder", error))?;
        Ok(folder)
    }

    /// A folder that is there already.
    pub fn open(path: &Path) -> Result<Folder, FileError> {
        let failed = |error| FileError {
            verb: "read the folder",
            path: path.into(),
            error,
        };
        let found = fs::metadata(path).map_err(failed)?;
        if !found.is_dir() {
            return Err(failed(io::Error::new(
                io::ErrorKind::NotADirectory,
                "it is not a folder",
            )));
        }
        Ok(Folder { path: path.into() })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a file in it is.
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// Whether it has a file.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// The names of the files in it, in order; names that are no text are left out.
    pub fn files(&self) -> Result<Vec<String>, FileError> {
        let failed = |error| FileError {
            verb: "read the folder",
            path: self.path.clone(),
            error,
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            names.extend(entry.map_err(failed)?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }

    fn temporary(&self, name: &OsStr) -> PathBuf {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        self.path.join(hidden)
    }

    /// Writes a file whole: under another name, to the disk, then renamed.
    pub fn write(&self, name: impl AsRef<OsStr>, content: &[u8]) -> Result<(), FileError> {
        let name = name.as_ref();
        let temporary = self.temporary(name);
        let write = || {
            let mut file = fs::File::create(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, self.file(name))
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temporary);
            FileError {
                verb: "write",
                path: self.file(name),
                error,
            }
        })
    }

    /// Adds to the end of a file, and to the disk: what is interrupted leaves a line without its end.
    pub fn append(&self, name: impl AsRef<OsStr>, content: &[u8]) -> Result<(), FileError> {
        let path = self.file(name);
        let append = || {
            let mut file = fs::File::options().append(true).create(true).open(&path)?;
            file.write_all(content)?;
            file.sync_all()
        };
        append().map_err(|error| FileError {
            verb: "write",
            path: path.clone(),
            error,
        })
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> Result<String, FileError> {
        fs::read_to_string(self.file(name)).map_err(|error| FileError {
            verb: "read",
            path: self.file(name),
            error,
        })
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, name: &str) -> Result<(), FileError> {
        match fs::remove_file(self.file(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(FileError {
                verb: "remove",
                path: self.file(name),
                error,
            }),
            _ => Ok(()),
        }
    }
}
