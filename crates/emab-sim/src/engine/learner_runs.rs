//! The runs of one learner: what worker threads are given, and what they return.

use std::sync::atomic::AtomicU64;

use emab::ConditionedEnvironment;
use emab::learners::LearnerConfig;

use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::schedule::Schedule;
use crate::engine::stuck::BenchmarkPairs;
use crate::engine::tally::{Run, Tally};
use crate::results::RunRecord;
use crate::run_set::RunSet;

/// All runs of one learner, shared by the worker threads.
pub(crate) struct LearnerRuns<'a> {
    pub(crate) config: &'a LearnerConfig,
    /// The problem under its scenario, solved.
    pub(crate) environment: &'a ConditionedEnvironment,
    pub(crate) episodes: u64,
    pub(crate) seed: u64,
    pub(crate) schedule: &'a Schedule,
    /// The pairs of the benchmark, where stuck runs can be told.
    pub(crate) benchmark: Option<&'a BenchmarkPairs>,
    pub(crate) done_before: RunSet,
    /// Whether choices are counted by step-state pair.
    pub(crate) count_choices: bool,
    /// Episodes played by all threads.
    pub(crate) played: &'a AtomicU64,
}

/// The result of a block of runs.
pub(crate) struct RunBlock {
    pub(crate) done: RunSet,
    pub(crate) tally: Tally,
    pub(crate) choices: RunChoiceCounts,
    /// Regret and gain of each run, if they are recorded.
    pub(crate) records: Vec<RunRecord>,
}

impl RunBlock {
    /// A block of no runs.
    pub(crate) fn new(task: &LearnerRuns<'_>) -> RunBlock {
        RunBlock {
            done: RunSet::default(),
            tally: Tally::new(task.schedule.curve.len(), task.benchmark.is_some()),
            choices: RunChoiceCounts::default(),
            records: Vec::new(),
        }
    }

    /// Adds a finished run.
    pub(crate) fn add(&mut self, task: &LearnerRuns<'_>, number: u64, run: &Run) {
        self.tally.add(run, task.schedule);
        self.done.insert(number..number + 1);
        let recorded = &task.schedule.recorded;
        if !recorded.is_empty() {
            self.records.push(RunRecord {
                run: number,
                stuck: task.benchmark.map(|_| run.stuck),
                at: recorded.iter().map(|&position| run.at[position]).collect(),
            });
        }
    }
}
