//! Why something was not done: it cannot be, or the store failed.

use crate::domain::error::ApiError;
use crate::store::StoreError;

/// Why a command was not carried out.
#[derive(Debug)]
pub enum CommandError {
    /// It cannot be.
    Refused(ApiError),
    /// The store failed: nothing of the transaction stands.
    Store(StoreError),
}

impl From<ApiError> for CommandError {
    fn from(refusal: ApiError) -> CommandError {
        CommandError::Refused(refusal)
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> CommandError {
        CommandError::Store(error)
    }
}
