//! Unix.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::future::pending;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Options of a file that only its owner may read and write.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Creates folders that only their owner may enter.
pub fn private_folder() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Makes the entries of a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The permissions of a file, as in `chmod`.
pub fn mode(of: &Metadata) -> u32 {
    of.mode() & 0o777
}

/// Sets the permissions of a file.
pub fn set_mode(file: &File, mode: u32) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(mode))
}

/// Gives a file the owner of another.
pub fn hand_over(file: &File, like: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    fchown(file, Some(like.uid()), Some(like.gid()))
}

/// Two names of one file have the same: device and inode.
pub type Identity = (u64, u64);

/// The identity of a file.
pub fn identity(of: &Metadata) -> Identity {
    (of.dev(), of.ino())
}

/// The number of names (hard links) of a file.
pub fn names(of: &Metadata) -> u64 {
    of.nlink()
}

/// Times of modification and change, in seconds and nanoseconds.
pub fn times(of: &Metadata) -> [i64; 4] {
    [of.mtime(), of.mtime_nsec(), of.ctime(), of.ctime_nsec()]
}

/// The signals that end the service.
pub struct Termination {
    terminate: Signal,
    interrupt: Signal,
}

impl Termination {
    /// Takes the signals over from now on.
    pub fn new() -> io::Result<Termination> {
        Ok(Termination {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for one of them.
    pub async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// The signal that asks for new certificates.
pub struct Hangup(Option<Signal>);

impl Hangup {
    /// Takes the signal over from now on.
    pub fn new() -> Hangup {
        Hangup(signal(SignalKind::hangup()).ok())
    }

    /// Waits for it; for ever where there is none.
    pub async fn recv(&mut self) {
        let came = match &mut self.0 {
            Some(signal) => signal.recv().await,
            None => None,
        };
        if came.is_none() {
            pending().await
        }
    }
}
