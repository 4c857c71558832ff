//! Cells: one learner on one problem, the unit of arenas and sweeps.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use emab::ConditionedEnvironment;
use emab::learners::LearnerConfig;
use emab_problem::ProblemFile;

use crate::engine::gpu::Device;
use crate::engine::pool::TICK;
use crate::experiment::{BuildError, CHECKED_PAIRS, Control, Experiment, Finish, State};
use crate::shard::Shard;

/// One learner on one problem. Cells with the same seed and problem use common random numbers.
#[derive(Clone)]
pub struct Cell {
    /// The problem, with its scenario.
    pub problem: ProblemFile,
    /// The learner.
    pub learner: LearnerConfig,
    /// Episodes of a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The part of the runs to play.
    pub shard: Shard,
    /// The seed.
    pub seed: u64,
    /// The checkpoints; empty for the default.
    pub checkpoints: Vec<u64>,
    /// The episodes at which single runs are recorded, besides the last; none if they are not recorded.
    pub recorded: Option<Vec<u64>>,
}

impl Cell {
    /// The number of runs to play.
    pub fn share(&self) -> u64 {
        let share = self.shard.share(self.runs);
        share.end - share.start
    }

    /// The last recorded episode before the end of a run, at which arenas compare learners.
    pub(super) fn ranked_at(&self) -> Option<u64> {
        self.recorded.as_ref().and_then(|at| at.last().copied())
    }

    /// The cell with the next `size` runs after those of `rounds` rounds of this size.
    #[must_use]
    pub fn round(&self, rounds: u64, size: u64) -> Cell {
        let number = NonZero::<u64>::MIN.saturating_add(rounds);
        Cell {
            runs: size.saturating_mul(number.get()),
            shard: Shard::last(number),
            ..self.clone()
        }
    }

    /// Checks before it is run that the problem is valid and that the learner can be built.
    pub fn check(&self) -> Result<(), BuildError> {
        let problem = self.problem.problem()?;
        self.problem.check(CHECKED_PAIRS)?;
        self.learner.build(problem.spec(), Some(&problem))?;
        Ok(())
    }

    /// The experiment of this cell, on an environment that is solved already, if there is one.
    pub fn experiment(
        &self,
        environment: Option<Arc<ConditionedEnvironment>>,
    ) -> Result<Experiment, BuildError> {
        let mut builder = Experiment::builder(&self.problem)
            .learners([self.learner.clone()])
            .episodes(self.episodes)
            .runs(self.runs)
            .shard(self.shard)
            .seed(self.seed)
            .checkpoints(self.checkpoints.clone());
        if let Some(at) = &self.recorded {
            builder = builder.record_runs(at.clone());
        }
        if let Some(environment) = environment {
            builder = builder.environment(environment);
        }
        builder.build()
    }

    /// Plays all runs of its experiment; none if it was stopped.
    pub(super) fn run(
        experiment: &Experiment,
        control: &mut Control<'_>,
    ) -> Result<Option<State>, BuildError> {
        let mut state = experiment.state();
        let finish = experiment.run(&mut state, control)?;
        Ok((finish == Finish::Complete).then_some(state))
    }
}

/// Threads, device, stop flag and progress callback of many cells.
pub struct CellControl<'a> {
    /// Threads; 0 means one per processor.
    pub threads: usize,
    /// Where runs are played.
    pub device: Device,
    /// Cells that are played at once on a card; the processor plays one at a time.
    pub at_once: usize,
    /// Setting it to true stops within moments.
    pub stop: &'a AtomicBool,
    /// Called a few times a second with the number of the cell, from 1, and the episodes played in all cells so far.
    pub watch: &'a mut dyn FnMut(usize, u64),
}

/// Plays cells until one is stopped or fails. `episodes` is the number of episodes of a cell; `play` plays it or finds its saved
/// result, or returns none if it was stopped; `keep` takes the results, in the order of the cells if one is played at a time.
pub fn run_cells<C: Sync, R: Send, E: Send>(
    cells: &[C],
    episodes: impl Fn(&C) -> u64,
    control: &mut CellControl<'_>,
    play: impl Fn(&C, &mut Control<'_>) -> Result<Option<R>, E> + Sync,
    keep: impl FnMut(&C, R) -> Result<(), E>,
) -> Result<Finish, E> {
    if control.at_once > 1 {
        return run_at_once(cells, episodes, control, play, keep);
    }
    run_one_by_one(cells, episodes, control, play, keep)
}

fn run_one_by_one<C, R, E>(
    cells: &[C],
    episodes: impl Fn(&C) -> u64,
    control: &mut CellControl<'_>,
    play: impl Fn(&C, &mut Control<'_>) -> Result<Option<R>, E>,
    mut keep: impl FnMut(&C, R) -> Result<(), E>,
) -> Result<Finish, E> {
    let mut before = 0_u64;
    for (i, cell) in cells.iter().enumerate() {
        let watch = &mut *control.watch;
        watch(i + 1, before);
        let mut control = Control {
            threads: control.threads,
            device: control.device.clone(),
            stop: control.stop,
            watch: &mut |progress, _| watch(i + 1, before.saturating_add(progress.done)),
        };
        match play(cell, &mut control)? {
            Some(result) => keep(cell, result)?,
            None => return Ok(Finish::Stopped),
        }
        before = before.saturating_add(episodes(cell));
    }
    Ok(Finish::Complete)
}

/// The same with several cells at once, so that small cells fill a card.
fn run_at_once<C: Sync, R: Send, E: Send>(
    cells: &[C],
    episodes: impl Fn(&C) -> u64,
    control: &mut CellControl<'_>,
    play: impl Fn(&C, &mut Control<'_>) -> Result<Option<R>, E> + Sync,
    mut keep: impl FnMut(&C, R) -> Result<(), E>,
) -> Result<Finish, E> {
    let next = AtomicUsize::new(0);
    // Set if the caller stops, or if a cell fails.
    let stop = AtomicBool::new(false);
    let played = AtomicU64::new(0);
    let mut kept = 0_usize;
    let mut failed = None;
    let mut has_threads = false;
    thread::scope(|scope| {
        let (sender, results) = mpsc::sync_channel(control.at_once);
        for _ in 0..control.at_once.min(cells.len()) {
            let (next, stop, played, play) = (&next, &stop, &played, &play);
            let (device, threads) = (control.device.clone(), control.threads);
            let sender = sender.clone();
            let work = move || {
                while !stop.load(Ordering::Relaxed) {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(i) else { return };
                    let mut counted = 0;
                    let mut control = Control {
                        threads,
                        device: device.clone(),
                        stop,
                        watch: &mut |progress, _| {
                            played.fetch_add(
                                progress.done.saturating_sub(counted),
                                Ordering::Relaxed,
                            );
                            counted = progress.done.max(counted);
                        },
                    };
                    let result = play(cell, &mut control);
                    // Sending fails only while this scope is being left.
                    sender.send((cell, result, counted)).unwrap_or(());
                }
            };
            // With fewer threads the others do the same work.
            let spawned = thread::Builder::new().spawn_scoped(scope, work);
            has_threads |= spawned.is_ok();
            if spawned.is_err() {
                break;
            }
        }
        drop(sender);
        loop {
            if control.stop.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
            match results.recv_timeout(TICK) {
                Ok((cell, result, counted)) => {
                    let missing = episodes(cell).saturating_sub(counted);
                    played.fetch_add(missing, Ordering::Relaxed);
                    match result.and_then(|result| match result {
                        Some(result) => keep(cell, result).map(|()| true),
                        None => Ok(false),
                    }) {
                        Ok(true) => kept += 1,
                        Ok(false) => stop.store(true, Ordering::Relaxed),
                        Err(error) => {
                            stop.store(true, Ordering::Relaxed);
                            failed.get_or_insert(error);
                        }
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let number = (kept + 1).min(cells.len());
            (control.watch)(number, played.load(Ordering::Relaxed));
        }
    });
    if !has_threads {
        return run_one_by_one(cells, episodes, control, play, keep);
    }
    match failed {
        Some(error) => Err(error),
        None if kept == cells.len() => Ok(Finish::Complete),
        None => Ok(Finish::Stopped),
    }
}
