//! Blocks of runs on several threads. Whoever asked merges what comes back, in any order.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::experiment::SimError;

/// Between two looks at how far it is.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// What one thread does with one block of runs after another.
pub(crate) trait Worker {
    /// What a block amounts to.
    type Block: Send;

    /// All runs of a block; none if it was halted on the way. An error comes with the run that failed.
    fn block(
        &mut self,
        runs: Range<u64>,
        halted: &dyn Fn() -> bool,
    ) -> Result<Option<Self::Block>, (u64, SimError)>;
}

/// How many runs, and on how many threads.
pub(crate) struct Pool<'a> {
    /// Threads; 0 stands for one a processor.
    pub(crate) threads: usize,
    pub(crate) runs: u64,
    /// Episodes a run: short runs are taken in blocks, so that a block is worth its message.
    pub(crate) episodes: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// The runs that nobody has taken, and what went wrong.
struct Shared {
    next: AtomicU64,
    abort: AtomicBool,
    /// The lowest run that failed, and why.
    failed: Mutex<Option<(u64, SimError)>>,
}

impl Shared {
    fn fail(&self, run: u64, error: SimError) {
        self.abort.store(true, Ordering::Relaxed);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.as_ref().is_none_or(|(other, _)| run < *other) {
            *failed = Some((run, error));
        }
    }
}

impl Pool<'_> {
    /// Does all runs; `receive` gets every block that was done and, a few times a second, nothing.
    pub(crate) fn run<W: Worker>(
        &self,
        worker: impl Fn() -> Result<W, SimError> + Sync,
        receive: &mut dyn FnMut(Option<W::Block>),
    ) -> Result<(), SimError> {
        let threads = match self.threads {
            0 => thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
        .min(usize::try_from(self.runs).unwrap_or(usize::MAX));
        let block = (20_000 / self.episodes.max(1)).clamp(1, 4096);
        let block = block.min(self.runs.div_ceil(threads.max(1) as u64)).max(1);
        let shared = Shared {
            next: AtomicU64::new(0),
            abort: AtomicBool::new(false),
            failed: Mutex::new(None),
        };
        thread::scope(|scope| {
            // Bounded, so that many threads wait for whoever merges and do not fill the memory.
            let (sender, blocks) = mpsc::sync_channel(threads.max(1));
            for started in 0..threads {
                let (pool, worker, shared, sender) = (self, &worker, &shared, sender.clone());
                let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                    match worker() {
                        Ok(worker) => pool.work(worker, block, shared, &sender),
                        Err(error) => shared.fail(0, error),
                    };
                });
                if let Err(error) = spawned {
                    // Fewer threads do the same work, later; none cannot.
                    if started == 0 {
                        shared.fail(0, SimError::Threads(error.to_string()));
                    }
                    break;
                }
            }
            drop(sender);
            loop {
                match blocks.recv_timeout(TICK) {
                    Ok(block) => receive(Some(block)),
                    Err(RecvTimeoutError::Timeout) => receive(None),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        let failed = shared.failed.into_inner();
        match failed.unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// One thread: takes blocks of runs until there are none.
    fn work<W: Worker>(
        &self,
        mut worker: W,
        block: u64,
        shared: &Shared,
        sender: &mpsc::SyncSender<W::Block>,
    ) {
        let halted = || self.stop.load(Ordering::Relaxed) || shared.abort.load(Ordering::Relaxed);
        while !halted() {
            let first = shared.next.fetch_add(block, Ordering::Relaxed);
            if first >= self.runs {
                break;
            }
            let runs = first..first.saturating_add(block).min(self.runs);
            match worker.block(runs, &halted) {
                Ok(Some(done)) => {
                    if sender.send(done).is_err() {
                        break;
                    }
                }
                Ok(None) => break,
                Err((run, error)) => shared.fail(run, error),
            }
        }
    }
}
