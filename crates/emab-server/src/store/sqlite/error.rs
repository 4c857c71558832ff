//! What a failure of SQLite means to the service.

use rusqlite::{Error, ErrorCode, ffi};

use super::super::StoreError;

/// The failure, in the service's terms.
pub(super) fn fault(error: Error) -> StoreError {
    let text = error.to_string();
    let Some(code) = error.sqlite_error_code() else {
        // It was read, but is of another type or range than what was written.
        return StoreError::Damaged(text);
    };
    match code {
        ErrorCode::DiskFull => StoreError::Full(text),
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Damaged(text),
        ErrorCode::DatabaseBusy
        | ErrorCode::DatabaseLocked
        | ErrorCode::FileLockingProtocolFailed => StoreError::Retry(text),
        // The side file cannot grow. On a disk with room that does not happen.
        ErrorCode::SystemIoFailure
            if error.sqlite_extended_error_code() == Some(ffi::SQLITE_IOERR_SHMSIZE) =>
        {
            StoreError::Full(text)
        }
        _ => StoreError::Unavailable(text),
    }
}

/// The failure to add a row whose key must be new.
pub(super) fn added(error: Error, what: impl FnOnce() -> String) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::ConstraintViolation) => {
            StoreError::Damaged(format!("there is {} already", what()))
        }
        _ => fault(error),
    }
}

/// A count as SQLite's integer, which has half of its range.
pub(super) fn fits(value: u64, what: &str) -> Result<i64, StoreError> {
    i64::try_from(value).map_err(|_| {
        StoreError::Damaged(format!(
            "{what} is {value}, and the store counts up to {}",
            i64::MAX
        ))
    })
}
