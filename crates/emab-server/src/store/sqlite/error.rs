//! Maps SQLite errors to [`StoreError`]. Errors of the file itself are mapped in `file.rs`; the answer to a failed write is made in
//! `app/error.rs`.

use rusqlite::{Error, ErrorCode, ffi};

use super::super::StoreError;

/// The error of the store.
pub(super) fn fault(error: Error) -> StoreError {
    let text = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        // A value of another type or range than was written.
        return StoreError::Damaged(text);
    };
    match code {
        ErrorCode::DiskFull => StoreError::Full(text),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(text),
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => StoreError::Retry(text),
        // The shared-memory file cannot grow: the disk is full.
        ErrorCode::SystemIoFailure
            if error.sqlite_extended_error_code() == Some(ffi::SQLITE_IOERR_SHMSIZE) =>
        {
            StoreError::Full(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

/// The error of an insert whose key must be new.
pub(super) fn insert_error(error: Error, what: impl FnOnce() -> String) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => {
            StoreError::Damaged(format!("there is already {}", what()))
        }
        _ => fault(error),
    }
}
