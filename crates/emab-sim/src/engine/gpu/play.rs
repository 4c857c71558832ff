//! Plays the runs of a learner on a card, in launches of many runs, whose results are read while they run.

use std::sync::atomic::Ordering;

use super::card::{Card, GpuError, Kernel, Memory};
use super::collect::collect;
use super::device::Device;
use super::job::Job;
use super::launch::{Launch, LaunchSizes, Lists};
use super::learner::{CardLearner, LearnerTables, MOST_EPISODES};
use super::memory::{Plan, Sizes};
use super::problem::{CardProblem, Entries, records_size, row_count};
use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::pool::Pool;
use crate::engine::simd::step_loop::FEW_ROWS;
use crate::engine::tables::Tables;
use crate::error::SimError;

/// Bytes of the results of a launch, at most, and the share of the free memory that they may take.
const RESULTS: u64 = 4 << 30;
const RESULTS_SHARE: u64 = 8;

/// Runs of a launch for each thread of a full card if choices are counted: their counts are read when a launch has ended.
const RUNS_PER_THREAD: u64 = 4;

/// Bytes of the snapshots of a thread's counts at checkpoints, unless a single one needs more.
const SNAPSHOTS: usize = 256 << 10;

/// No checkpoint.
const NEVER: u32 = u32::MAX;

/// How a card played the runs of a learner.
pub(crate) enum OnCard {
    /// All runs were played, or it was stopped.
    Played,
    /// The card cannot play what is left, for this reason.
    NotSupported(String),
    /// The runs received so far are complete; the others were not played.
    Failed(GpuError),
}

/// Plays all runs that are not done; none if the device has no card, or it has failed.
pub(crate) fn play_on_card(
    task: &LearnerRuns<'_>,
    tables: Option<&Tables>,
    device: &Device,
    pool: &Pool<'_>,
    receive: &mut dyn FnMut(Option<RunBlock>),
) -> Result<OnCard, SimError> {
    let Some(card) = device.card() else {
        return Ok(OnCard::Played);
    };
    let Some(tables) = tables else {
        return Ok(OnCard::NotSupported(
            "the problem is too large for a table of all pairs".into(),
        ));
    };
    if task.episodes > MOST_EPISODES {
        let reason = format!("a run has more than {MOST_EPISODES} episodes");
        return Ok(OnCard::NotSupported(reason));
    }
    let mut learner = match CardLearner::of(task.config, task.environment.problem(0))? {
        Ok(learner) => learner,
        Err(reason) => return Ok(OnCard::NotSupported(reason.into())),
    };
    let played = play_learner(task, &mut learner, tables, (device, card), pool, receive);
    Ok(match played {
        Ok(()) => OnCard::Played,
        Err(GpuError::Memory(_)) if pool.stop.load(Ordering::Relaxed) => OnCard::Played,
        Err(GpuError::Memory(reason)) => OnCard::NotSupported(reason),
        Err(error) => OnCard::Failed(error),
    })
}

fn play_learner(
    task: &LearnerRuns<'_>,
    learner: &mut CardLearner,
    tables: &Tables,
    (device, card): (&Device, &dyn Card),
    pool: &Pool<'_>,
    receive: &mut dyn FnMut(Option<RunBlock>),
) -> Result<(), GpuError> {
    // Runs that are done belong to the same shard.
    let count = (pool.runs.end - pool.runs.start).saturating_sub(task.done_before.len());
    if count == 0 {
        return Ok(());
    }
    let prepare = || Prepared::new(task, learner, tables, (device, card), count);
    let (_playing, prepared) = device.wait_for_memory(pool.stop, prepare)?;
    let Prepared {
        plan,
        job,
        mut launch,
        ..
    } = prepared;
    let mut pending = pool.runs.clone();
    let is_pending = |run: &u64| !task.done_before.contains(*run);
    while !pool.stop.load(Ordering::Relaxed) {
        let most = launch.memory.sizes.runs;
        let runs: Vec<u64> = pending.by_ref().filter(is_pending).take(most).collect();
        if runs.is_empty() {
            break;
        }
        launch.start(&plan, &job, runs)?;
        collect(&mut launch, task, pool, receive)?;
    }
    Ok(())
}

/// A learner's memory on a card, ready to be launched.
struct Prepared<'c> {
    launch: Launch<'c>,
    plan: Plan,
    job: Job,
    _problem: CardProblem<'c>,
    _learner: LearnerTables<'c>,
    _checkpoints: Memory<'c>,
}

impl<'c> Prepared<'c> {
    fn new(
        task: &LearnerRuns<'_>,
        learner: &mut CardLearner,
        tables: &Tables,
        (device, card): (&Device, &'c dyn Card),
        runs: u64,
    ) -> Result<Prepared<'c>, GpuError> {
        let problem = task.environment.problem(0);
        let entries = Entries::new(tables, task.count_choices || learner.needs_all_rows());
        let horizon = problem.spec().horizon();
        let rows = row_count(tables);
        let sparse = rows > FEW_ROWS;
        let on_card = CardProblem::new(card, tables, horizon, &entries, sparse, task.benchmark)?;
        let mut job = on_card.job();
        let half_at = task.schedule.half.filter(|_| task.benchmark.is_some());
        job.half_at = half_at.map_or(NEVER, |position| position as u32);
        job.snapshot_count = match sparse {
            true => 0,
            false => {
                (SNAPSHOTS / (4 * entries.len())).clamp(1, card.limits()?.warp as usize) as u32
            }
        };
        let lists = Lists {
            visited: if sparse { rows } else { 0 },
            snapshots: entries.len() * job.snapshot_count as usize,
            last: if task.count_choices { rows } else { 0 },
            half: job.benchmark_count as usize,
        };
        let learner_tables = LearnerTables::new(
            card,
            learner,
            problem,
            (tables, &entries),
            task.episodes,
            job,
        )?;
        let episodes = &task.schedule.episodes;
        let checkpoints: Vec<u32> = episodes.iter().map(|&episode| episode as u32).collect();
        let checkpoints = Memory::of(card, &checkpoints)?;
        let sizes = Sizes {
            learner,
            entries: entries.len(),
            transitions: learner_tables.transitions,
            records: records_size(tables),
            episodes: task.episodes,
            runs,
            short_rows: on_card.short_size().filter(|_| !task.count_choices),
            lists: lists.bytes(),
        };
        let _dividing = device.divide_memory();
        let plan = Plan::new(card, &sizes)?;
        let threads = u64::from(plan.grid.blocks) * u64::from(plan.grid.threads);
        let result_size = 16 * episodes.len() as u64 + 41;
        let mut most = RESULTS.min(card.limits()?.free / RESULTS_SHARE) / result_size;
        if task.count_choices {
            most = most.min(RUNS_PER_THREAD * threads);
        }
        let sizes = LaunchSizes {
            threads: threads as usize,
            runs: usize::try_from(runs.min(most)).unwrap_or(usize::MAX).max(1),
            checkpoints: episodes.len(),
            choices: match task.count_choices {
                true => rows * (tables.actions + 1),
                false => 0,
            },
        };
        let launch = Launch::new(card, &plan, &lists, sizes)?;
        let job = Job {
            rows_in_shared: u32::from(plan.rows_in_shared),
            layout: plan.layout,
            table_size: plan.table_size,
            seed: task.seed,
            checkpoints: checkpoints.address,
            checkpoint_count: episodes.len() as u32,
            ..learner_tables.job
        };
        let job = match plan.kernel {
            Kernel::FeedBalOneAction => on_card.shortened(job),
            _ => job,
        };
        Ok(Prepared {
            launch,
            plan,
            job,
            _problem: on_card,
            _learner: learner_tables,
            _checkpoints: checkpoints,
        })
    }
}
