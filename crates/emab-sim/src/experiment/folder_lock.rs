//! The lock of a result folder: one process at a time writes into it.
//!
//! It is a lock of the operating system on a file in the folder, which ends with the process that holds it, however that
//! process ends.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The file that is locked. It contains the number of the process that holds the lock.
pub(super) const LOCK: &str = ".emab.lock";

/// How often the file is opened anew because the process that held it has removed it.
const ATTEMPTS: usize = 20;

/// A held lock. Dropping it removes the file and ends the lock.
#[derive(Debug)]
pub(super) struct FolderLock {
    path: PathBuf,
    /// The lock ends when the file is closed.
    _file: File,
}

impl FolderLock {
    /// Takes the lock of a folder; none if its file system has no locks. Fails if another process has it
    /// ([`io::ErrorKind::ResourceBusy`]), or if no file can be created.
    pub(super) fn take(folder: &Path) -> io::Result<Option<FolderLock>> {
        let path = folder.join(LOCK);
        for _ in 0..ATTEMPTS {
            let mut file = open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(busy(file)),
                Err(TryLockError::Error(_)) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
            }
            if is_locked(&path) {
                // The content is for messages only.
                let _ = file.set_len(0);
                let _ = writeln!(file, "{}", std::process::id());
                return Ok(Some(FolderLock { path, _file: file }));
            }
        }
        let why = "other processes take turns in writing into it; try again";
        Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

/// Whether the file of this name is locked. If it is not, the lock that was just taken is on a file that has been removed:
/// its former holder removes it before the lock ends.
fn is_locked(path: &Path) -> bool {
    let again = File::options().read(true).write(true).open(path);
    again.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
}

/// The error that names the process which has the lock. Windows does not let others read a locked file.
fn busy(mut file: File) -> io::Error {
    let mut text = String::new();
    let process = match file.read_to_string(&mut text) {
        Ok(_) => text.trim().parse::<u32>().ok(),
        Err(_) => None,
    };
    let process = process.map_or("another process".into(), |id| format!("process {id}"));
    let since = file.metadata().and_then(|found| found.modified()).ok();
    let since = since.and_then(|since| since.elapsed().ok());
    let since = since.map_or(String::new(), |time| format!(" for {}", rounded(time)));
    let why = format!(
        "{process} has been writing into it{since}; wait until it ends, or choose another folder"
    );
    io::Error::new(io::ErrorKind::ResourceBusy, why)
}

fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_and_no_file_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let lock = FolderLock::take(folder.path()).unwrap().unwrap();
        let error = FolderLock::take(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ResourceBusy);
        if cfg!(unix) {
            let holder = format!(
                "process {} has been writing into it for 0 s",
                std::process::id()
            );
            assert!(error.to_string().contains(&holder), "{error}");
        }
        drop(lock);
        assert!(!folder.path().join(LOCK).exists());
        // The file of a killed process has no lock.
        fs::write(folder.path().join(LOCK), "4711\n").unwrap();
        drop(FolderLock::take(folder.path()).unwrap().unwrap());
        assert!(!folder.path().join(LOCK).exists());
    }

    #[test]
    fn many_threads_never_hold_it_together() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        let folder = tempfile::tempdir().unwrap();
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        if let Ok(lock) = FolderLock::take(folder.path()) {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            taken.fetch_add(1, Ordering::SeqCst);
                            inside.fetch_sub(1, Ordering::SeqCst);
                            drop(lock);
                        }
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }

    #[test]
    fn times_are_rounded() {
        let shown = [5, 119, 120, 7199, 7200, 100_000].map(|s| rounded(Duration::from_secs(s)));
        assert_eq!(shown.join(", "), "5 s, 119 s, 2 min, 119 min, 2 h, 27 h");
    }
}
