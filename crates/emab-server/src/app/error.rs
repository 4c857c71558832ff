//! Errors of the application layer.

use thiserror::Error;

use crate::domain::Rejection;
use crate::store::StoreError;

/// Why a command was not executed, or a read failed.
#[derive(Debug, Error)]
pub enum CommandError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store failed; the transaction is rolled back.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It corrects a learned episode, for which the loader prepares learners; nothing was changed.
    #[error("the learners have to be rebuilt")]
    Deferred,
}

/// Why the service does not answer a request.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ServiceError {
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The store cannot be used, the queue is full, or the service is stopping. The request may succeed after some seconds.
    #[error("{0}")]
    Unavailable(String, u64),
    /// Too many long requests are running. The request may succeed after some seconds.
    #[error("{0}")]
    Busy(String, u64),
}

impl ServiceError {
    pub fn unavailable(detail: impl Into<String>, retry_after: u64) -> ServiceError {
        ServiceError::Unavailable(detail.into(), retry_after)
    }

    pub fn stopping() -> ServiceError {
        ServiceError::unavailable("the service is stopping", 5)
    }

    pub fn read_failed(error: &StoreError) -> ServiceError {
        match error {
            StoreError::Unavailable(_) | StoreError::Retry(_) | StoreError::Full(_) => {
                ServiceError::unavailable("the store cannot be reached", 1)
            }
            StoreError::Damaged(_) => ServiceError::unavailable(
                "the store is damaged; see the log of the service, and run `emab audit`",
                60,
            ),
        }
    }

    /// A write failed in the store. Whether a failed commit reached the disk is not known.
    pub fn write_failed(error: &StoreError) -> ServiceError {
        let again =
            "the request may or may not have been recorded: repeat it, repeating is harmless";
        match error {
            StoreError::Full(_) => ServiceError::unavailable(
                format!("the store is full, only reads work; {again}"),
                30,
            ),
            StoreError::Damaged(_) => ServiceError::read_failed(error),
            StoreError::Unavailable(_) | StoreError::Retry(_) => {
                ServiceError::unavailable(format!("the store cannot be reached; {again}"), 1)
            }
        }
    }
}
