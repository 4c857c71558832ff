//! What a failure of PostgreSQL means to the service.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::super::StoreError;

/// The failure, in the service's terms.
pub(super) fn fault(error: &Error) -> StoreError {
    let text = said(error);
    // Without a code it is of the connection: closed, refused, cut, not understood.
    let Some(code) = error.code() else {
        return StoreError::Unavailable(text);
    };
    if *code == SqlState::DISK_FULL || *code == SqlState::OUT_OF_MEMORY {
        return StoreError::Full(text);
    }
    // A distributed database says by it that it does not know whether it has committed, like a lost answer.
    if *code == SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN {
        return StoreError::Unavailable(text);
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE {
        return StoreError::Retry(text);
    }
    // The table or column is not there.
    if *code == SqlState::UNDEFINED_TABLE || *code == SqlState::UNDEFINED_COLUMN {
        return StoreError::Damaged(text);
    }
    match &code.code()[..2] {
        // Rolled back: serialization failure, deadlock.
        "40" => StoreError::Retry(text),
        // A value that no column takes, or twice the same key: nothing that waiting would mend.
        "21" | "22" | "23" => StoreError::Damaged(text),
        "XX" if *code != SqlState::INTERNAL_ERROR => StoreError::Damaged(text),
        // Connections (08), too many of them (53300), shutdown, crash and start (57P0…), time out (57014, 25P03), a
        // server that only reads (25006), no such database or password (28, 3D): it may be there again later.
        _ => StoreError::Unavailable(text),
    }
}

/// Whether rows of this table were there already.
pub(super) fn is_twice(error: &Error, table: &str) -> bool {
    let of = |error: &DbError| error.table() == Some(table);
    error.code() == Some(&SqlState::UNIQUE_VIOLATION) && error.as_db_error().is_some_and(of)
}

/// What the error says, with what is behind it; the library's first words alone say little.
pub(super) fn said(error: &Error) -> String {
    if let Some(error) = error.as_db_error() {
        let mut text = format!("{} [{}]", error.message(), error.code().code());
        for more in [error.detail(), error.hint()].into_iter().flatten() {
            text.push_str("; ");
            text.push_str(more);
        }
        return text;
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(&format!(": {error}"));
        source = error.source();
    }
    if text.contains("invalid peer certificate") {
        text.push_str("; `sslrootcert=FILE` names the authority that signed it");
    }
    text
}

/// A count as PostgreSQL's integer, which has half of its range.
pub(super) fn fits(value: u64, what: &str) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| {
        StoreError::Damaged(format!(
            "{what} is {value}, and the store counts up to {}",
            i64::MAX
        ))
    })
}
