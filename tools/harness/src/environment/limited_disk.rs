//! A disk that fills up: a small file system where one can be mounted (root), otherwise a limit on the size of files.

use std::path::PathBuf;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

use super::Environment;
use crate::Result;

/// Space of the store in KiB.
const STORE: u64 = 6 * 1024;
/// Size in KiB of a file that is deleted to free space.
const BALLAST: u64 = 24 * 1024;

/// A folder for a store. Dropping it unmounts the file system.
#[derive(Debug)]
pub(crate) struct LimitedDisk {
    folder: TempDir,
    /// Whether a file system is mounted there; otherwise the size of files is limited.
    mounted: bool,
}

impl LimitedDisk {
    /// Mounts a file system if `mount` is set and possible.
    pub(crate) fn new(mount: bool) -> Result<LimitedDisk> {
        let folder = tempfile::tempdir()?;
        let run_mount = || {
            let size = format!("size={}k", STORE + BALLAST);
            let mut command = Command::new("mount");
            command.args(["-t", "tmpfs", "-o", &size, "emab-harness"]);
            command.arg(folder.path()).output()
        };
        let mounted = mount && run_mount().is_ok_and(|output| output.status.success());
        let disk = LimitedDisk { folder, mounted };
        if mounted {
            std::fs::write(disk.ballast(), vec![7; (BALLAST << 10) as usize])?;
        }
        Ok(disk)
    }

    fn ballast(&self) -> PathBuf {
        self.folder.path().join("ballast")
    }

    pub(crate) fn description(&self) -> String {
        match self.mounted {
            true => format!("a file system of {} MiB", (STORE + BALLAST) >> 10),
            false => format!("a limit of {} MiB on the size of files", STORE >> 10),
        }
    }

    /// Moves the store to this disk.
    pub(crate) fn apply(&self, environment: &mut Environment) -> Result<()> {
        environment.move_store(self.folder.path())?;
        let command = &mut environment.command;
        if !self.mounted {
            // With the signal ignored, the write fails with an error. Only the soft limit is set, so that it can be raised.
            let script = format!("trap '' XFSZ; ulimit -S -f {STORE}; exec \"$0\" \"$@\"");
            let program = command.program.display().to_string();
            command.before = vec!["-c".into(), script, program];
            command.program = "/bin/bash".into();
        }
        Ok(())
    }

    /// Frees space for the service with this process number.
    pub(crate) fn free_space(&self, service: u32) -> Result<()> {
        if self.mounted {
            return Ok(std::fs::remove_file(self.ballast())?);
        }
        let id = i32::try_from(service).ok().and_then(Pid::from_raw);
        let unlimited = Rlimit {
            current: None,
            maximum: None,
        };
        prlimit(id, Resource::Fsize, unlimited)?;
        Ok(())
    }
}

impl Drop for LimitedDisk {
    fn drop(&mut self) {
        if self.mounted {
            // Lazily: a file in it may still be open.
            let mut command = Command::new("umount");
            let _ = command.arg("-l").arg(self.folder.path()).output();
        }
    }
}
