//! Progress reports of long work to Python, and the ways in which Python stops it: a signal, a callback that raises, or an
//! exception in a user-defined learner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, sleep};
use std::time::Duration;

use pyo3::prelude::*;

/// Whether the interpreter is about to exit: engine threads must not call Python any more.
static EXITING: AtomicBool = AtomicBool::new(false);
/// Whether an engine thread has called Python.
static CALLED: AtomicBool = AtomicBool::new(false);

/// Called before the interpreter is finalized, when a thread inside a call of Python would abort the process.
#[pyfunction]
pub fn before_exit(py: Python<'_>) {
    EXITING.store(true, Ordering::SeqCst);
    if CALLED.load(Ordering::SeqCst) {
        // Calls that have begun end meanwhile.
        py.detach(|| sleep(Duration::from_millis(100)));
    }
}

/// A stop flag for all threads, and the first exception that set it.
#[derive(Default)]
pub struct Interrupt {
    pub stop: AtomicBool,
    first: Mutex<Option<PyErr>>,
}

impl Interrupt {
    /// Whether an engine thread may call Python: the work goes on, and the interpreter is not about to exit.
    pub fn may_call(&self) -> bool {
        CALLED.store(true, Ordering::Relaxed);
        !self.is_stopped() && !EXITING.load(Ordering::Relaxed)
    }

    /// Whether the work is to end.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Stop the work because of an exception. Only the first one is kept.
    pub fn raise(&self, error: PyErr) {
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Stop the work; its result is no longer wanted.
    pub fn cancel(&self) {
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
        if EXITING.load(Ordering::Relaxed) {
            return;
        }
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

/// The result of work that has no place to check for signals: Ctrl-C returns at once, and the work ends on its own thread.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    const INTERVAL: Duration = Duration::from_millis(100);
    let (sender, mut receiver) = mpsc::channel();
    let thread = thread::spawn(move || sender.send(work()));
    loop {
        let receiver = &mut receiver;
        let result = py.detach(move || receiver.recv_timeout(INTERVAL));
        // Also before an error is returned: a signal that is pending while Python prints a traceback loses it.
        py.check_signals()?;
        match result {
            Ok(value) => return Ok(value),
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            // The work panicked.
            Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(_) => unreachable!("a result was sent"),
            },
        }
    }
}
