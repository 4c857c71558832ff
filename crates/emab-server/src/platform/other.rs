//! Systems other than Unix, such as Windows.

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::future::pending;
use std::io;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Options of a file; the folder of the user's data keeps others out.
pub fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    options
}

/// Creates folders.
pub fn private_folder() -> DirBuilder {
    DirBuilder::new()
}

/// A folder cannot be synchronised here.
pub fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// There are no such permissions: the file counts as private.
pub fn mode(_: &Metadata) -> u32 {
    0o600
}

/// There are no such permissions.
pub fn set_mode(_: &File, _: u32) -> io::Result<()> {
    Ok(())
}

/// A file belongs to the user who creates it.
pub fn hand_over(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// The time of creation.
pub type Identity = i64;

/// The identity of a file.
pub fn identity(of: &Metadata) -> Identity {
    nanoseconds(of.created())
}

/// The number of names is not known: one.
pub fn names(_: &Metadata) -> u64 {
    1
}

/// Times of modification and creation, in nanoseconds.
pub fn times(of: &Metadata) -> [i64; 4] {
    [nanoseconds(of.modified()), nanoseconds(of.created()), 0, 0]
}

fn nanoseconds(time: io::Result<SystemTime>) -> i64 {
    let since = time
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
    })
}

/// Ctrl-C, which ends the service.
pub struct Termination;

impl Termination {
    /// Nothing is taken over before it is waited for.
    pub fn new() -> io::Result<Termination> {
        Ok(Termination)
    }

    /// Waits for Ctrl-C.
    pub async fn recv(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            pending().await
        }
    }
}

/// There is no signal that asks for new certificates.
pub struct Hangup;

impl Hangup {
    /// Nothing to take over.
    pub fn new() -> Hangup {
        Hangup
    }

    /// Waits for ever.
    pub async fn recv(&mut self) {
        pending().await
    }
}
