//! Worker threads: play blocks of runs and return their results, in any order.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::SimError;

/// Interval between two progress reports.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The work of one thread.
pub(crate) trait Worker {
    /// The result of a block of runs.
    type Block: Send;

    /// Takes runs until none is left and sends their results. An error carries the run that failed.
    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Self::Block),
    ) -> Result<(), (u64, SimError)>;
}

/// The runs to play and the number of threads.
pub(crate) struct Pool<'a> {
    /// Threads; 0 means one per processor.
    pub(crate) threads: usize,
    pub(crate) runs: Range<u64>,
    /// Episodes of a run; short runs are taken in larger blocks.
    pub(crate) episodes: u64,
    pub(crate) stop: &'a AtomicBool,
}

/// The queue from which threads take runs.
pub(crate) struct Queue<'a> {
    shared: &'a Shared,
    stop: &'a AtomicBool,
    end: u64,
    /// Runs taken at once.
    pub(crate) block: u64,
}

impl Queue<'_> {
    /// The next runs; none if all are taken or the pool is stopping.
    pub(crate) fn take(&self) -> Option<Range<u64>> {
        if self.halted() {
            return None;
        }
        let first = self.shared.next.fetch_add(self.block, Ordering::Relaxed);
        (first < self.end).then(|| first..first.saturating_add(self.block).min(self.end))
    }

    /// Takes blocks until none is left. `block` plays all runs of a block, or returns none if it was halted.
    pub(crate) fn each_block<B>(
        &self,
        send: &mut dyn FnMut(B),
        mut block: impl FnMut(Range<u64>) -> Result<Option<B>, (u64, SimError)>,
    ) -> Result<(), (u64, SimError)> {
        while let Some(runs) = self.take() {
            match block(runs)? {
                Some(block) => send(block),
                None => break,
            }
        }
        Ok(())
    }

    /// Whether the pool is stopping.
    pub(crate) fn halted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.shared.abort.load(Ordering::Relaxed)
    }
}

/// State shared by the threads.
struct Shared {
    next: AtomicU64,
    abort: AtomicBool,
    /// The lowest run that failed, and its error.
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
    /// The number of threads for so many pieces of work.
    pub(crate) fn threads_for(&self, pieces: usize) -> usize {
        match self.threads {
            0 => thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
        .min(pieces)
    }

    /// Plays all runs; `receive` gets every finished block, and `None` a few times a second.
    pub(crate) fn run<W: Worker>(
        &self,
        worker: impl Fn() -> Result<W, SimError> + Sync,
        receive: &mut dyn FnMut(Option<W::Block>),
    ) -> Result<(), SimError> {
        let runs = self.runs.end.saturating_sub(self.runs.start);
        let threads = self.threads_for(usize::try_from(runs).unwrap_or(usize::MAX));
        let block = (20_000 / self.episodes.max(1)).clamp(1, 4096);
        let block = block.min(runs.div_ceil(threads.max(1) as u64)).max(1);
        let shared = Shared {
            next: AtomicU64::new(self.runs.start),
            abort: AtomicBool::new(false),
            failed: Mutex::new(None),
        };
        thread::scope(|scope| {
            // Bounded, so that threads wait for the merge instead of filling the memory.
            let (sender, blocks) = mpsc::sync_channel(threads.max(1));
            for started in 0..threads {
                let (worker, shared, sender) = (&worker, &shared, sender.clone());
                let queue = Queue {
                    shared,
                    stop: self.stop,
                    end: self.runs.end,
                    block,
                };
                let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                    let worked = worker().map_err(|error| (0, error)).and_then(|mut worker| {
                        // Sending fails only while this scope is being left.
                        worker.work(&queue, &mut |block| sender.send(block).unwrap_or(()))
                    });
                    if let Err((run, error)) = worked {
                        shared.fail(run, error);
                    }
                });
                if let Err(error) = spawned {
                    // Fewer threads do the same work more slowly; with none there is an error.
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
}
