//! Bearer tokens: who may come in, in which role, to which studies.
//!
//! A secret has 256 random bits and is shown once. The file holds its SHA-256, so that whoever reads the file cannot come in.

mod file;
mod role;
mod secret;
mod token;
mod watch;

use std::io;
use std::path::PathBuf;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;

pub use file::TokenFile;
pub use role::{Permission, Role};
pub use secret::Secret;
pub use token::Token;
pub use watch::Tokens;

/// Why nothing could be done with a token file.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// There is none.
    #[error("there is no token file {path}; `emab token new NAME --role ROLE --tokens FILE` makes one", path = path.display())]
    Missing {
        /// Where it should be.
        path: PathBuf,
    },
    /// The system does not let us read it.
    #[error("the token file {path} cannot be read: {error}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// The system does not let us write it.
    #[error("the token file {path} cannot be written: {error}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is not what a token file is.
    #[error("the token file {path} is broken: {what}; it was left as it is", path = path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        what: String,
    },
    /// Others may write it, and so make tokens.
    #[error("the token file {path} may be written by others (mode {mode:o}); `chmod 600` takes that from them", path = path.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// Somebody else has been writing it for too long.
    #[error("another process holds {path}; try again when it has ended", path = path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// A value breaks a rule.
    #[error("{0}")]
    Rule(String),
    /// There is no such role.
    #[error("`{0}` is no role; there are admin, operator, viewer and blinded")]
    Role(String),
    /// A token of this name works already.
    #[error(
        "there is a token named `{name}` already (id {id}); choose another name, or revoke it first"
    )]
    Taken {
        /// The name.
        name: String,
        /// The token that has it.
        id: String,
    },
    /// There is no such token.
    #[error("`{what}` is neither the id nor the name of a token in {path}; `emab token list` shows them", path = path.display())]
    Unknown {
        /// What was asked for.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// Several tokens have the name.
    #[error("several tokens are named `{name}`; take the id of one: {ids}")]
    Ambiguous {
        /// The name.
        name: String,
        /// The ids of those that have it.
        ids: String,
    },
    /// The system gives no random numbers.
    #[error("no random numbers to be had: {0}")]
    Random(String),
}

/// Why a secret does not let its bearer in. Clients are told only that it does not; the log may say which.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is none of ours: `emab_` and 64 hexadecimal digits.
    #[error("malformed token")]
    Malformed,
    /// Nobody has it.
    #[error("unknown token")]
    Unknown,
    /// Somebody had it.
    #[error("token {id} was revoked")]
    Revoked {
        /// The token's id.
        id: String,
    },
}

/// The secret in `Authorization: Bearer …`; none if it is not there, or there more than once.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(only), None) = (all.next(), all.next()) else {
        return None;
    };
    let (scheme, secret) = only.to_str().ok()?.split_once(' ')?;
    let secret = secret.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !secret.is_empty()).then_some(secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bearer_is_read_and_nothing_else() {
        let read = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(AUTHORIZATION, value[..].try_into().unwrap());
            }
            bearer(&headers).map(str::to_owned)
        };
        assert_eq!(read(&[b"Bearer abc"]).as_deref(), Some("abc"));
        assert_eq!(read(&[b"bearer  abc "]).as_deref(), Some("abc"));
        let none: [&[&[u8]]; 7] = [
            &[],
            &[b"abc"],
            &[b"Basic abc"],
            &[b"Bearer"],
            &[b"Bearer "],
            &[b"Bearer \xff"],
            &[b"Bearer abc", b"Bearer abc"],
        ];
        for values in none {
            assert_eq!(read(values), None, "{values:?}");
        }
    }
}
