//! Why something was not done: it cannot be, or the store failed.

use crate::refusal::Refusal;
use crate::store::StoreError;

/// Why a command was not carried out.
#[derive(Debug)]
pub enum Trouble {
    /// It cannot be.
    Refused(Refusal),
    /// The store failed: nothing of the transaction stands.
    Store(StoreError),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        Trouble::Refused(refusal)
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Store(error)
    }
}
