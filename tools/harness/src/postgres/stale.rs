//! Folders of servers whose test is gone: whoever owns a folder holds the lock of a file in it, and the kernel lets go
//! of that when the owner dies, however it dies.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

const PREFIX: &str = "emab-postgres-";
const OWNER: &str = "owner";
/// A folder is without an owner while it is being made, and that takes less.
const MAKING: Duration = Duration::from_secs(600);

/// A new folder of our own, and the file by which it is known to be ours.
pub fn folder() -> Result<(TempDir, File), String> {
    let wrong = |error: std::io::Error| format!("a temporary folder: {error}");
    let folder = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir()
        .map_err(wrong)?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).map_err(wrong)?;
    // Locked first and named then: with that name, nobody ever sees it unlocked.
    let new = folder.path().join("owner.new");
    let owner = File::create(&new).map_err(wrong)?;
    owner.lock().map_err(wrong)?;
    std::fs::rename(&new, folder.path().join(OWNER)).map_err(wrong)?;
    Ok((folder, owner))
}

/// Clears away what others left behind. What cannot be cleared stays: it is no fault of the test that is about to begin.
pub fn sweep() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let path = entry.path();
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if ours && path.is_dir() && is_left(&path) {
            stop(&path);
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn is_left(folder: &Path) -> bool {
    match File::open(folder.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        Err(_) => {
            let made = folder.metadata().and_then(|it| it.modified());
            let age = made.ok().and_then(|made| made.elapsed().ok());
            age.is_some_and(|age| age > MAKING)
        }
    }
}

/// Stops the server of a folder, if it still runs.
fn stop(folder: &Path) {
    let data = folder.join("data");
    let Ok(text) = std::fs::read_to_string(data.join("postmaster.pid")) else {
        return;
    };
    let number = text
        .lines()
        .next()
        .and_then(|line| line.trim().parse().ok());
    let Some(id) = number.and_then(Pid::from_raw) else {
        return;
    };
    // The number may be somebody else's by now: only a process that names the folder is the one.
    let command = std::fs::read(format!("/proc/{}/cmdline", id.as_raw_nonzero()));
    let named = |text: Vec<u8>| String::from_utf8_lossy(&text).contains(&*data.to_string_lossy());
    if command.is_ok_and(named) {
        let _ = kill_process(id, Signal::QUIT);
        std::thread::sleep(Duration::from_millis(500));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_left_when_its_owner_is_gone() {
        let (folder, owner) = folder().unwrap();
        assert!(!is_left(folder.path()));
        drop(owner);
        // Another test may have swept it already.
        assert!(is_left(folder.path()) || !folder.path().exists());
    }

    #[test]
    fn a_folder_that_is_being_made_is_not_left() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_left(folder.path()));
    }
}
