//! Passes on the results of a launch while it runs: several threads read finished runs and add them up.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::card::GpuError;
use super::launch::Launch;
use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::pool::{Pool, TICK};

/// Intervals between two looks at a launch, and between two at its results.
const LOOK: Duration = Duration::from_micros(200);
const READ: Duration = Duration::from_millis(5);

/// Runs that a thread reads at once.
const AT_ONCE: usize = 2048;

/// Runs among which finished ones are looked for.
const WINDOW: usize = 1 << 15;

/// Waits for the end of a launch, and passes on its results.
pub(super) fn collect(
    launch: &mut Launch<'_>,
    task: &LearnerRuns<'_>,
    pool: &Pool<'_>,
    receive: &mut dyn FnMut(Option<RunBlock>),
) -> Result<(), GpuError> {
    let Launch {
        queue,
        memory,
        runs,
    } = launch;
    let (memory, runs) = (&*memory, &*runs);
    let (sender, ranges) = mpsc::channel::<Range<usize>>();
    let ranges = Mutex::new(ranges);
    let next_range = || {
        let ranges = ranges.lock().unwrap_or_else(PoisonError::into_inner);
        ranges.recv().ok()
    };
    // Episodes that were reported, and those of the runs that were passed on.
    let (mut counted, mut passed_on) = (0, 0);
    let collected = thread::scope(|scope| {
        let threads = pool.threads_for(runs.len().div_ceil(AT_ONCE));
        // Bounded, so that threads wait for the merge instead of filling the memory.
        let (block_sender, blocks) = mpsc::sync_channel(threads.max(1));
        for _ in 0..threads {
            let (next_range, block_sender) = (&next_range, block_sender.clone());
            let work = move || {
                while let Some(range) = next_range() {
                    let block = memory.block(task, runs, range);
                    // Sending fails only while this scope is being left.
                    block_sender.send(block).unwrap_or(());
                }
            };
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        drop(block_sender);
        // Dropped at the end of this function or at an error, which ends the threads.
        let sender = sender;
        let (mut read, mut reported) = (Instant::now(), Instant::now());
        let (mut sent, mut open, mut halted) = (0, 0, false);
        loop {
            let ended = queue.is_idle()?;
            if ended || reported.elapsed() >= TICK {
                let played = memory.played()?;
                task.played.fetch_add(played - counted, Ordering::Relaxed);
                counted = played;
                receive(None);
                reported = Instant::now();
            }
            let finished = match ended {
                true => runs.len() - sent,
                // The counts of choices are those of the whole launch.
                false if memory.sizes.choices > 0 || read.elapsed() < READ => 0,
                false => {
                    read = Instant::now();
                    let count = memory.finished(sent..runs.len().min(sent + WINDOW))?;
                    count / AT_ONCE * AT_ONCE
                }
            };
            let end = sent + finished;
            while sent < end {
                let range = sent..end.min(sent + AT_ONCE);
                sent = range.end;
                open += usize::from(sender.send(range).is_ok());
            }
            if ended {
                break;
            }
            for block in blocks.try_iter() {
                let block = block?;
                passed_on += block.done.len() * task.episodes;
                receive(Some(block));
                open -= 1;
            }
            if !halted && pool.stop.load(Ordering::Relaxed) {
                halted = true;
                memory.halt()?;
            }
            thread::sleep(LOOK);
        }
        drop(sender);
        let mut pass_on = |block: RunBlock| {
            passed_on += block.done.len() * task.episodes;
            receive(Some(block));
            open -= 1;
        };
        if memory.sizes.choices == 0 {
            for block in blocks {
                pass_on(block?);
            }
        } else {
            let mut choices = Some(memory.choices()?);
            // They are those of the whole launch, so nothing is passed on before all blocks are read.
            let all = blocks.into_iter().collect::<Result<Vec<RunBlock>, _>>()?;
            for mut block in all {
                block.choices = choices.take().unwrap_or_default();
                pass_on(block);
            }
        }
        match open {
            0 => Ok(()),
            _ => Err(GpuError::Failed {
                action: "cannot read the results",
                reason: "no thread could be started".into(),
            }),
        }
    });
    if collected.is_err() {
        // The processor plays the other runs from their beginning.
        let more = passed_on.wrapping_sub(counted);
        task.played.fetch_add(more, Ordering::Relaxed);
        // The queue waits for the launch; what fails here has failed already.
        let _ = memory.halt();
    }
    collected
}
