//! A temporary folder, which is removed when it is dropped.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::platform::private_folder;

/// A folder that only this user can read.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Creates a folder with a random name in the folder for temporary files.
    pub fn create() -> io::Result<TemporaryFolder> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        let name = format!("emab-demo-{}", emab_problem::hex(&bytes));
        let path = std::env::temp_dir().join(name);
        // Fails if it exists.
        private_folder().create(&path)?;
        Ok(TemporaryFolder(path))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // A thread of the service may write a file meanwhile.
        for _ in 0..10 {
            match fs::remove_dir_all(&self.0) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%error, folder = %self.0.display(), "the folder is not removed yet");
                    sleep(Duration::from_millis(50));
                }
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn is_private_and_removed_with_its_content() {
        let folder = TemporaryFolder::create().unwrap();
        let path = folder.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
