//! Progress reports of long work to Python, and the ways in which Python stops it: a signal, a callback that raises, or an
//! exception in a user-defined learner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

/// A stop flag for all threads, and the first exception that set it.
#[derive(Default)]
pub struct Interrupt {
    pub stop: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Interrupt {
    /// Stop the work because of an exception. Only the first one is kept.
    pub fn raise(&self, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Return the exception, if there is one, and clear the flag.
    pub fn take(&self) -> PyResult<()> {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        self.stop.store(false, Ordering::Relaxed);
        match first.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Reports progress to a callback and checks for Ctrl-C, a few times per second, on the calling thread.
pub struct Progress {
    pub callback: Option<Py<PyAny>>,
    pub interrupt: Arc<Interrupt>,
}

impl Progress {
    pub fn report(&self, done: u64, total: u64) {
        let reported = Python::attach(|py| {
            py.check_signals()?;
            match &self.callback {
                Some(callback) => callback.call1(py, (done, total)).map(drop),
                None => Ok(()),
            }
        });
        if let Err(error) = reported {
            self.interrupt.raise(error);
        }
    }
}
