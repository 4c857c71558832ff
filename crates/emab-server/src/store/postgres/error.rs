//! Maps PostgreSQL errors to [`StoreError`].

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use super::super::StoreError;

/// The error of the store.
pub(super) fn fault(error: &Error) -> StoreError {
    let text = describe(error);
    // Without a code it is an error of the connection.
    let Some(code) = error.code() else {
        return StoreError::Unavailable(text);
    };
    let kind = match *code {
        SqlState::DISK_FULL | SqlState::OUT_OF_MEMORY => StoreError::Full,
        // A distributed database does not know whether it has committed, as after a lost response.
        SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN | SqlState::INTERNAL_ERROR => {
            StoreError::Unavailable
        }
        SqlState::LOCK_NOT_AVAILABLE => StoreError::Retry,
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN => StoreError::Damaged,
        _ => match &code.code()[..2] {
            // Rolled back: serialization failure, deadlock.
            "40" => StoreError::Retry,
            // An invalid value or a duplicate key: a retry does not help.
            "21" | "22" | "23" | "XX" => StoreError::Damaged,
            // Connections (08), too many of them (53300), shutdown, crash and start (57P0…), timeout (57014, 25P03), a
            // read-only server (25006), unknown database or password (28, 3D): these may end later.
            _ => StoreError::Unavailable,
        },
    };
    kind(text)
}

/// Whether an insert into this table violated its key.
pub(super) fn is_duplicate(error: &Error, table: &str) -> bool {
    let of = |error: &DbError| error.table() == Some(table);
    error.code() == Some(&SqlState::UNIQUE_VIOLATION) && error.as_db_error().is_some_and(of)
}

/// The message of an error with its causes.
pub(super) fn describe(error: &Error) -> String {
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
        text.push_str("; set `sslrootcert=FILE` to the authority that signed it");
    }
    text
}
