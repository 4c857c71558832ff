//! Temporary folders of servers, and the removal of those that killed processes left.
//!
//! A process holds the lock of the file `owner` in each of its folders. The kernel releases the lock when the process ends,
//! however it ends.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

const PREFIX: &str = "emab-postgres-";
const OWNER: &str = "owner";
/// A folder without an `owner` file is in use for this long: another process may be creating it.
const CREATION: Duration = Duration::from_secs(600);

/// Creates a folder, and its `owner` file, which stays locked until it is dropped.
pub fn create() -> std::io::Result<(TempDir, File)> {
    let folder = tempfile::Builder::new().prefix(PREFIX).tempdir()?;
    std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
    // Locked before it gets its name: no other process can see it unlocked.
    let new = folder.path().join("owner.new");
    let owner = File::create(&new)?;
    owner.lock()?;
    std::fs::rename(&new, folder.path().join(OWNER))?;
    Ok((folder, owner))
}

/// Removes the folders of ended processes. Errors are ignored: they are not failures of the test that calls this.
pub fn remove_abandoned() {
    let Ok(entries) = std::fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(PREFIX) && is_abandoned(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(folder: &Path) -> bool {
    match File::open(folder.join(OWNER)) {
        Ok(owner) => owner.try_lock().is_ok(),
        Err(_) => {
            let modified = folder.metadata().and_then(|metadata| metadata.modified());
            let age = modified.ok().and_then(|modified| modified.elapsed().ok());
            age.is_some_and(|age| age > CREATION)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_abandoned_when_its_owner_ends() {
        let (folder, owner) = create().unwrap();
        assert!(!is_abandoned(folder.path()));
        drop(owner);
        // Another test may have removed it already.
        assert!(is_abandoned(folder.path()) || !folder.path().exists());
    }

    #[test]
    fn a_folder_that_is_being_created_is_not_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_abandoned(folder.path()));
    }
}
