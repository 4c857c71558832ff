//! A disk that fills up: a small file system where one can be mounted (root), otherwise a limit on the size of files.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

use super::service_process::ServiceCommand;

/// Space of the store in KiB.
const STORE: u64 = 6 * 1024;
/// Size in KiB of a file that is deleted to free space.
const BALLAST: u64 = 24 * 1024;

#[derive(Debug)]
pub(crate) enum LimitedDisk {
    /// A file system in memory, mounted at this folder.
    FileSystem(PathBuf),
    FileSize,
}

impl LimitedDisk {
    /// Mounts a file system at the folder if `mount` is set and possible.
    pub(crate) fn new(folder: &TempDir, mount: bool) -> Result<LimitedDisk, String> {
        let run_mount = || {
            let size = format!("size={}k", STORE + BALLAST);
            let mut command = Command::new("mount");
            command.args(["-t", "tmpfs", "-o", &size, "emab-harness"]);
            command.arg(folder.path()).output()
        };
        if !mount || !run_mount().is_ok_and(|output| output.status.success()) {
            return Ok(LimitedDisk::FileSize);
        }
        let disk = LimitedDisk::FileSystem(folder.path().into());
        let ballast = ballast(folder.path());
        std::fs::write(&ballast, vec![7; (BALLAST << 10) as usize])
            .map_err(|error| format!("{}: {error}", ballast.display()))?;
        Ok(disk)
    }

    pub(crate) fn description(&self) -> String {
        match self {
            LimitedDisk::FileSystem(_) => {
                format!("a file system of {} MiB", (STORE + BALLAST) >> 10)
            }
            LimitedDisk::FileSize => format!("a limit of {} MiB on the size of files", STORE >> 10),
        }
    }

    /// Makes a command start under the limit.
    pub(crate) fn apply(&self, command: &mut ServiceCommand) {
        if let LimitedDisk::FileSize = self {
            // With the signal ignored, the write fails with an error. Only the soft limit is set, so that it can be raised.
            let script = format!("trap '' XFSZ; ulimit -S -f {STORE}; exec \"$0\" \"$@\"");
            let program = command.program.display().to_string();
            command.before = vec!["-c".into(), script, program];
            command.program = "/bin/bash".into();
        }
    }

    /// Frees space for the service with this process number.
    pub(crate) fn free_space(&self, service: u32) -> Result<(), String> {
        match self {
            LimitedDisk::FileSystem(folder) => std::fs::remove_file(ballast(folder))
                .map_err(|error| format!("{}: {error}", ballast(folder).display())),
            LimitedDisk::FileSize => {
                let id = i32::try_from(service).ok().and_then(Pid::from_raw);
                let unlimited = Rlimit {
                    current: None,
                    maximum: None,
                };
                let raised = prlimit(id, Resource::Fsize, unlimited);
                raised
                    .map(|_| ())
                    .map_err(|error| format!("prlimit: {error}"))
            }
        }
    }
}

impl Drop for LimitedDisk {
    fn drop(&mut self) {
        if let LimitedDisk::FileSystem(folder) = self {
            // Lazily: a file in it may still be open.
            let _ = Command::new("umount").arg("-l").arg(&*folder).output();
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn ballast(folder: &Path) -> PathBuf {
    folder.join("ballast")
}
