//! What long work tells Python on the way, and how Python stops it: a signal, a callback that raises, or an exception in
//! code of the user's that the engine calls.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// The first exception, and whether it is time to stop.
#[derive(Default)]
pub struct Trouble {
    pub stop: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Trouble {
    /// Keeps an exception and has everybody stop; only the first counts.
    pub fn keep(&self, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// What went wrong, if anything did; afterwards nothing has.
    pub fn take(&self) -> PyResult<()> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(false, Ordering::Relaxed);
        match first.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Tells a callback how far it is, and looks whether somebody pressed Ctrl-C. Called a few times a second, by the thread
/// that began the work.
pub struct Watch {
    pub callback: Option<Py<PyAny>>,
    pub trouble: Arc<Trouble>,
}

impl Watch {
    pub fn look(&self, done: u64, total: u64) {
        let looked = Python::attach(|py| {
            py.check_signals()?;
            match &self.callback {
                Some(callback) => callback.call1(py, (done, total)).map(drop),
                None => Ok(()),
            }
        });
        if let Err(error) = looked {
            self.trouble.keep(error);
        }
    }
}
