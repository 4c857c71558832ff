//! Bearer tokens: role and studies of each caller.
//!
//! A secret has 256 random bits and is shown once. The token file contains its SHA-256 only. Requests are authenticated in
//! `http::auth`.

mod file;
mod role;
mod secret;
mod token;
mod watch;

use std::io;
use std::path::PathBuf;

pub use file::TokenFile;
pub use role::{Permission, Role};
pub use secret::Secret;
pub use token::Token;
pub use watch::Tokens;

/// An error of a token file.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file does not exist.
    #[error("there is no token file {path}; `emab token new NAME --role ROLE --tokens FILE` creates one", path = path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// It cannot be read.
    #[error("the token file {path} cannot be read: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// It cannot be written.
    #[error("the token file {path} cannot be written: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// It is not a valid token file.
    #[error("the token file {path} is invalid: {what}; it was not changed", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The fault and its place.
        what: String,
    },
    /// Other users may write it, and so create tokens.
    #[error("the token file {path} can be written by other users (mode {mode:o}); run `chmod 600` on it", path = path.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Another process holds the lock for too long.
    #[error("another process holds {path}; retry when it has ended", path = path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// A value violates a rule.
    #[error("{0}")]
    Rule(String),
    /// Not a role.
    #[error("`{0}` is not a role; the roles are admin, operator, viewer and blinded")]
    Role(String),
    /// An active token has this name.
    #[error("a token named `{name}` exists (id {id}); choose another name, or revoke it first")]
    Taken {
        /// The name.
        name: String,
        /// The id of the token.
        id: String,
    },
    /// Not a token of the file.
    #[error("`{what}` is neither the id nor the name of a token in {path}; `emab token list` shows them", path = path.display())]
    Unknown {
        /// The id or name.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// Several tokens have the name.
    #[error("several tokens are named `{name}`; use an id: {ids}")]
    Ambiguous {
        /// The name.
        name: String,
        /// Their ids.
        ids: String,
    },
    /// The system provides no random numbers.
    #[error("no random numbers are available: {0}")]
    Random(String),
}
