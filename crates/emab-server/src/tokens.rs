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
    #[error("there is no token file {path}; `emab token new NAME --role ROLE --tokens FILE` creates one", path = .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("the token file {path} cannot be read: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    /// The file cannot be written.
    #[error("the token file {path} cannot be written: {1}", path = .0.display())]
    Write(PathBuf, io::Error),
    /// The file is not a valid token file: the fault and its place.
    #[error("the token file {path} is invalid: {1}; it was not changed", path = .0.display())]
    Broken(PathBuf, String),
    /// The file has this mode: other users may write it, and so create tokens.
    #[error("the token file {path} can be written by other users (mode {1:o}); run `chmod 600` on it", path = .0.display())]
    Writable(PathBuf, u32),
    /// Another process holds this lock for too long.
    #[error("another process holds {path}; retry when it has ended", path = .0.display())]
    Busy(PathBuf),
    /// A value violates a rule.
    #[error("{0}")]
    Rule(String),
    /// Not a role.
    #[error("`{0}` is not a role; the roles are admin, operator, viewer and blinded")]
    Role(String),
    /// An active token has this name, and this id.
    #[error("a token named `{0}` exists (id {1}); choose another name, or revoke it first")]
    Taken(String, String),
    /// Not an id or name of a token of the file.
    #[error("`{0}` is neither the id nor the name of a token in {path}; `emab token list` shows them", path = .1.display())]
    Unknown(String, PathBuf),
    /// Several tokens have the name; their ids.
    #[error("several tokens are named `{0}`; use an id: {1}")]
    Ambiguous(String, String),
    /// The system provides no random numbers.
    #[error("no random numbers are available: {0}")]
    Random(String),
}
