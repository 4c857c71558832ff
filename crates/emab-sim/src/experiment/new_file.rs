//! A single output file: it appears whole or not at all, and replaces another one only on request.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::result_folder::{FileError, FolderError, quoted};

/// A file to be written. An existing one is replaced only on request.
pub struct NewFile {
    path: PathBuf,
    part: PathBuf,
    /// Whether the path was created, and has to be removed if writing fails.
    created: bool,
}

impl NewFile {
    /// Creates the file, empty, so that no other program does. Fails if it exists, unless `force` is set.
    pub fn reserve(path: &Path, force: bool) -> Result<NewFile, FolderError> {
        let what = match path.metadata().map(|found| found.file_type()) {
            Ok(found) if found.is_dir() => Some((io::ErrorKind::IsADirectory, "it is a folder")),
            // The new file would take the place of a device such as /dev/null.
            Ok(found) if !found.is_file() => Some((
                io::ErrorKind::InvalidInput,
                "it is a device or a pipe, not a file",
            )),
            _ => None,
        };
        if let Some((kind, what)) = what {
            return Err(not_written(path)(io::Error::new(kind, what)).into());
        }
        let created = OpenOptions::new().write(true).create_new(true).open(path);
        let created = match created {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && force => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FolderError::Conflict(format!(
                    "{} exists; --force replaces it",
                    quoted(path)
                )));
            }
            Err(error) => return Err(not_written(path)(error).into()),
        };
        let mut part = path.as_os_str().to_owned();
        part.push(format!(".{}.part", std::process::id()));
        Ok(NewFile {
            path: path.into(),
            part: part.into(),
            created,
        })
    }

    /// Writes the file; returns what `write` returns beside its output.
    pub fn write<T, E: From<FileError>>(
        mut self,
        write: impl FnOnce(BufWriter<File>) -> Result<(BufWriter<File>, T), E>,
    ) -> Result<T, E> {
        let failed = not_written(&self.path);
        let file = File::create(&self.part).map_err(&failed)?;
        let (out, result) = write(BufWriter::new(file))?;
        let file = out
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(&failed)?;
        fs::rename(&self.part, &self.path).map_err(&failed)?;
        self.created = false;
        Ok(result)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.part);
        if self.created {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn not_written(path: &Path) -> impl Fn(io::Error) -> FileError + use<> {
    let path = path.to_path_buf();
    move |error| FileError {
        verb: "write",
        path: path.clone(),
        error,
    }
}

/// Writes a file and creates its folder if necessary. False if the file exists with this content already; with another
/// content it is replaced only if `force` is set.
pub fn write_file(path: &Path, content: &[u8], force: bool) -> Result<bool, FolderError> {
    let failed = not_written(path);
    match fs::read(path) {
        Ok(found) if found == content => return Ok(false),
        Ok(_) if !force => {
            return Err(FolderError::Conflict(format!(
                "{} exists and has other content; choose another file, or --force replaces it",
                quoted(path)
            )));
        }
        _ => {}
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(&failed)?;
    }
    let file = NewFile::reserve(path, force)?;
    file.write(|mut out| {
        out.write_all(content).map_err(&failed)?;
        Ok((out, ()))
    })
    .map(|()| true)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_never_replaced() {
        let error = NewFile::reserve(Path::new("/dev/null"), true).err();
        let error = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("it is a device or a pipe"), "{error}");
    }
}
