//! Begins and ends sessions of the console.

use std::time::Duration;

use tokio::sync::oneshot;

use super::{GroupCommitWriter, MAX_TRIES};
use crate::app::ServiceError;
use crate::domain::Session;
use crate::store::{Store, StoreError};

/// A change of the sessions.
pub enum SessionChange {
    Begin(Session),
    /// Ends the session with this hash, if there is one.
    End(String),
}

pub struct SessionJob {
    pub change: SessionChange,
    pub reply: oneshot::Sender<Result<(), ServiceError>>,
}

impl SessionChange {
    fn write(&self, store: &mut dyn Store) -> Result<(), StoreError> {
        store.begin()?;
        match self {
            SessionChange::Begin(session) => store.put_session(session)?,
            SessionChange::End(hash) => store.remove_session(hash)?,
        }
        store.commit()
    }
}

impl GroupCommitWriter {
    /// Changes a session in a transaction of its own, and replies after the commit.
    pub(super) fn change_session(&mut self, SessionJob { change, reply }: SessionJob) {
        let mut tries = 0;
        let result = loop {
            let Err(error) = change.write(&mut *self.store) else {
                break Ok(());
            };
            self.store.rollback();
            tries += 1;
            if matches!(error, StoreError::Retry(_)) && tries < MAX_TRIES {
                std::thread::sleep(Duration::from_millis(u64::from(tries.min(20))));
                continue;
            }
            tracing::warn!(%error, "the store failed to change a session");
            self.metrics.store_errors.inc();
            break Err(ServiceError::write_failed(&error));
        };
        // The receiver may be gone.
        let _ = reply.send(result);
    }
}
