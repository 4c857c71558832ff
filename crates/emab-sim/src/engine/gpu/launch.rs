//! A launch of a kernel, and the memory that it alone uses.

use std::ops::Range;

use emab::RegretBreakdown;

use super::card::{Card, GpuError, Grid, Memory, Queue};
use super::job::Job;
use super::memory::Plan;
use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::tally::Run;

/// Entries of the lists of a thread.
pub(super) struct Lists {
    pub(super) visited: usize,
    pub(super) snapshots: usize,
    pub(super) last: usize,
    pub(super) half: usize,
}

impl Lists {
    pub(super) fn bytes(&self) -> u64 {
        4 * (self.visited + self.snapshots + self.last) as u64 + 8 * self.half as u64
    }
}

#[derive(Clone, Copy)]
pub(super) struct LaunchSizes {
    /// Threads of a launch.
    pub(super) threads: usize,
    /// The most runs of a launch.
    pub(super) runs: usize,
    pub(super) checkpoints: usize,
    /// Choices that are counted.
    pub(super) choices: usize,
}

/// A launch and its memory, which the next launch uses again.
pub(super) struct Launch<'c> {
    pub(super) queue: Box<dyn Queue + 'c>,
    pub(super) memory: LaunchMemory<'c>,
    /// The runs of the current launch.
    pub(super) runs: Vec<u64>,
}

/// The memory of a launch.
pub(super) struct LaunchMemory<'c> {
    pub(super) sizes: LaunchSizes,
    tables: Memory<'c>,
    visited: Memory<'c>,
    snapshots: Memory<'c>,
    last: Memory<'c>,
    half: Memory<'c>,
    run_numbers: Memory<'c>,
    next_run: Memory<'c>,
    halt: Memory<'c>,
    played: Memory<'c>,
    at: Memory<'c>,
    causes: Memory<'c>,
    steps: Memory<'c>,
    stuck: Memory<'c>,
    chosen: Memory<'c>,
    ended_with: Memory<'c>,
}

impl<'c> Launch<'c> {
    pub(super) fn new(
        card: &'c dyn Card,
        plan: &Plan,
        lists: &Lists,
        sizes: LaunchSizes,
    ) -> Result<Launch<'c>, GpuError> {
        let LaunchSizes {
            threads,
            runs,
            checkpoints,
            choices,
        } = sizes;
        let new = |bytes: usize| Memory::new(card, bytes);
        let memory = LaunchMemory {
            sizes,
            tables: new(plan.table_size as usize * threads)?,
            visited: new(4 * lists.visited * threads)?,
            snapshots: new(4 * lists.snapshots * threads)?,
            last: new(4 * lists.last * threads)?,
            half: new(8 * lists.half * threads)?,
            run_numbers: new(8 * runs)?,
            next_run: new(4)?,
            halt: new(4)?,
            played: new(8)?,
            at: new(16 * checkpoints * runs)?,
            causes: new(24 * runs)?,
            steps: new(8 * runs)?,
            stuck: new(runs)?,
            chosen: new(8 * choices)?,
            ended_with: new(8 * choices)?,
        };
        Ok(Launch {
            queue: card.queue()?,
            memory,
            runs: Vec::new(),
        })
    }

    pub(super) fn start(&mut self, plan: &Plan, job: &Job, runs: Vec<u64>) -> Result<(), GpuError> {
        let memory = &self.memory;
        memory.run_numbers.write(&runs)?;
        for cleared in [
            &memory.next_run,
            &memory.halt,
            &memory.played,
            &memory.steps,
            &memory.chosen,
            &memory.ended_with,
        ] {
            cleared.clear()?;
        }
        let job = Job {
            tables: memory.tables.address,
            visited: memory.visited.address,
            snapshots: memory.snapshots.address,
            last: memory.last.address,
            half: memory.half.address,
            runs: memory.run_numbers.address,
            run_count: runs.len() as u32,
            next_run: memory.next_run.address,
            halt: memory.halt.address,
            played: memory.played.address,
            at: memory.at.address,
            causes: memory.causes.address,
            steps: memory.steps.address,
            stuck: memory.stuck.address,
            chosen: memory.chosen.address,
            ended_with: memory.ended_with.address,
            ..*job
        };
        let needed = runs.len().div_ceil(plan.grid.threads as usize) as u32;
        self.runs = runs;
        let grid = Grid {
            blocks: plan.grid.blocks.min(needed),
            ..plan.grid
        };
        self.queue.launch(plan.kernel, &job, grid)
    }
}

impl LaunchMemory<'_> {
    /// Stops the launch within moments.
    pub(super) fn halt(&self) -> Result<(), GpuError> {
        self.halt.write(&[1_u32])
    }

    /// Episodes played so far.
    pub(super) fn played(&self) -> Result<u64, GpuError> {
        Ok(self.played.read::<u64>(0, 1)?[0])
    }

    /// How many of the runs of a range are finished before the first that is not.
    pub(super) fn finished(&self, range: Range<usize>) -> Result<usize, GpuError> {
        let steps: Vec<u64> = self.steps.read(range.start, range.len())?;
        Ok(steps.iter().take_while(|steps| **steps > 0).count())
    }

    /// The choices in all runs, if they are counted.
    pub(super) fn choices(&self) -> Result<RunChoiceCounts, GpuError> {
        Ok(RunChoiceCounts {
            chosen: not_zero(self.chosen.read(0, self.sizes.choices)?),
            ended_with: not_zero(self.ended_with.read(0, self.sizes.choices)?),
        })
    }

    /// The finished runs of a range; `runs` are the numbers of all.
    pub(super) fn block(
        &self,
        task: &LearnerRuns<'_>,
        runs: &[u64],
        range: Range<usize>,
    ) -> Result<RunBlock, GpuError> {
        let (first, count) = (range.start, range.len());
        let size = 2 * self.sizes.checkpoints;
        let at: Vec<f64> = self.at.read(size * first, size * count)?;
        let causes: Vec<f64> = self.causes.read(3 * first, 3 * count)?;
        let steps: Vec<u64> = self.steps.read(first, count)?;
        let stuck: Vec<u8> = self.stuck.read(first, count)?;
        let mut block = RunBlock::new(task);
        let mut run = Run::default();
        for i in (0..count).filter(|&i| steps[i] > 0) {
            run.at.clear();
            let at = &at[size * i..][..size];
            run.at.extend(at.chunks_exact(2).map(|at| (at[0], at[1])));
            run.regret = RegretBreakdown {
                early_stop: causes[3 * i],
                late_stop: causes[3 * i + 1],
                wrong_action: causes[3 * i + 2],
            };
            run.gain = run.at.last().map_or(0.0, |(_, gain)| *gain);
            run.steps = steps[i];
            run.stuck = stuck[i] > 0;
            block.add(task, runs[first + i], &run);
        }
        block.tally.settle();
        Ok(block)
    }
}

/// The counts that are not 0, with their places.
fn not_zero(counts: Vec<u64>) -> Vec<(u32, u64)> {
    let counts = counts.into_iter().enumerate();
    let counts = counts.map(|(place, count)| (place as u32, count));
    counts.filter(|(_, count)| *count > 0).collect()
}
