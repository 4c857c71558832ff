//! A disk with little room, and a way to make some: a small file system where we may mount one, else a limit on the
//! length of the service's files.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use tempfile::TempDir;

/// The room that the store has before it is full, in KiB.
const STORE: u64 = 6 * 1024;
/// What is taken up by something else until room is made.
const BALLAST: u64 = 24 * 1024;

/// A disk with little room.
#[derive(Debug)]
pub enum Room {
    /// A file system of its own in memory, and a file in it that can go.
    Mounted {
        /// Where it is mounted.
        folder: PathBuf,
    },
    /// A limit on the length of files.
    Limited,
}

impl Room {
    /// Makes it in a folder; mounted there, if that may be.
    pub fn new(folder: &TempDir, mount: bool) -> Result<Room, String> {
        if !mount {
            return Ok(Room::Limited);
        }
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o"])
            .arg(format!("size={}k", STORE + BALLAST))
            .arg("emab-harness")
            .arg(folder.path())
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            return Ok(Room::Limited);
        }
        let room = Room::Mounted {
            folder: folder.path().into(),
        };
        fill(&folder.path().join("ballast"), BALLAST)?;
        Ok(room)
    }

    /// What it is, in words.
    pub fn words(&self) -> String {
        match self {
            Room::Mounted { .. } => format!(
                "the end of a file system of {} MiB",
                (STORE + BALLAST) >> 10
            ),
            Room::Limited => format!("a limit of {} MiB on the length of files", STORE >> 10),
        }
    }

    /// The program as it has to be started, and with which arguments before its own.
    pub fn wrap(&self, program: PathBuf) -> (PathBuf, Vec<String>) {
        match self {
            Room::Mounted { .. } => (program, Vec::new()),
            Room::Limited => {
                // Ignored, the signal becomes an error of the write. The hard limit stays: the soft one can be raised.
                let script = format!("trap '' XFSZ; ulimit -S -f {}; exec \"$0\" \"$@\"", STORE);
                let words = ["-c".into(), script, program.display().to_string()];
                ("/bin/bash".into(), words.into())
            }
        }
    }

    /// Makes room for the service of this number.
    pub fn make(&self, service: u32) -> Result<(), String> {
        match self {
            Room::Mounted { folder } => {
                let ballast = folder.join("ballast");
                std::fs::remove_file(&ballast)
                    .map_err(|error| format!("{}: {error}", ballast.display()))
            }
            Room::Limited => {
                let id = i32::try_from(service).ok().and_then(Pid::from_raw);
                let unlimited = Rlimit {
                    current: None,
                    maximum: None,
                };
                prlimit(id, Resource::Fsize, unlimited)
                    .map(|_| ())
                    .map_err(|error| format!("the limit cannot be raised: {error}"))
            }
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Room::Mounted { folder } = self {
            // Also while something in it is still open: it goes when that is closed.
            let _ = Command::new("umount").arg("-l").arg(&*folder).output();
            // Nobody else could remove it while something was mounted there.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

fn fill(path: &Path, kib: u64) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = File::create(path).map_err(wrong)?;
    for _ in 0..kib {
        file.write_all(&[7; 1024]).map_err(wrong)?;
    }
    Ok(())
}
