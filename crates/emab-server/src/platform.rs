//! What differs between operating systems: owners and modes of files, their identity, and signals.
//!
//! Elsewhere than on Unix files belong to the user who creates them and are as private as the folder of that user's data; a replaced
//! or linked store is recognised less surely there.

#[cfg(unix)]
#[path = "platform/unix.rs"]
mod system;
#[cfg(not(unix))]
#[path = "platform/other.rs"]
mod system;

pub use system::*;
