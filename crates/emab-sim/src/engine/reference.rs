//! The reference loop: [`ConditionedEnvironment::play`], one run after another.
//!
//! It plays problems under conditions and user-defined learners. The fast loop is tested against it.

use std::ops::Range;
use std::sync::atomic::Ordering;

use emab::learners::Access;
use emab::oracle::Pair;
use emab::{Action, ConditionedEnvironment, Environment, Learner, Role, Stream};

use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::pool::{Queue, Worker};
use crate::engine::stuck::LateCounts;
use crate::engine::tally::Run;
use crate::error::SimError;

/// Episodes, and steps, between two checks of the stop flag.
const STOP_CHECK_EPISODES: u64 = 1024;
const STOP_CHECK_STEPS: u64 = 100_000;

/// One thread's environment and learner, reused for one run after another.
pub(crate) struct RunWorker<'a> {
    task: &'a LearnerRuns<'a>,
    environment: ConditionedEnvironment,
    /// One for each phase where the learner is given the model, which changes with the phase; otherwise one.
    learners: Vec<Box<dyn Learner + Send>>,
    run: Run,
    recorder: Option<ChoiceRecorder>,
    late: Option<LateCounts<'a>>,
}

impl Worker for RunWorker<'_> {
    type Block = RunBlock;

    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(RunBlock),
    ) -> Result<(), (u64, SimError)> {
        let config = self.task.config;
        queue.each_block(send, |runs| {
            let mut done = Ok(None);
            config.in_thread_context(&mut || done = self.block(runs.clone(), queue));
            done
        })
    }
}

impl RunWorker<'_> {
    fn block(
        &mut self,
        runs: Range<u64>,
        queue: &Queue<'_>,
    ) -> Result<Option<RunBlock>, (u64, SimError)> {
        let mut block = RunBlock::new(self.task);
        for run in runs {
            if self.task.done_before.contains(run) {
                continue;
            }
            if !self.run(run, queue).map_err(|error| (run, error))? {
                // The counts include half a run, so the whole block is played again later.
                return Ok(None);
            }
            block.add(self.task, run, &self.run);
        }
        if let Some(recorder) = &mut self.recorder {
            block.choices = recorder.take();
        }
        Ok(Some(block))
    }
}

impl<'a> RunWorker<'a> {
    pub(crate) fn new(task: &'a LearnerRuns<'a>) -> Result<RunWorker<'a>, SimError> {
        let models = match task.config.entry().access {
            Access::Problem => task.environment.phases(),
            Access::Spec | Access::Feedback | Access::Rewards => 1,
        };
        let build = |phase| {
            let problem = task.environment.problem(phase);
            task.config.build(problem.spec(), Some(problem))
        };
        let recorder = || ChoiceRecorder::new(task.environment.environment());
        Ok(RunWorker {
            task,
            environment: task.environment.clone(),
            learners: (0..models).map(build).collect::<Result<_, _>>()?,
            run: Run::default(),
            recorder: task.count_choices.then(recorder),
            late: task.benchmark.map(LateCounts::new),
        })
    }

    /// Plays one run; false if it was halted before its end.
    fn run(&mut self, number: u64, queue: &Queue<'_>) -> Result<bool, SimError> {
        let (seed, played) = (self.task.seed, self.task.played);
        let label = self.task.config.label();
        self.environment.restart(seed, number);
        for learner in &mut self.learners {
            learner.reset(Stream::new(seed, number, Role::Learner));
        }
        let run = &mut self.run;
        run.at.clear();
        (run.regret, run.gain, run.steps) = Default::default();
        let schedule = self.task.schedule;
        let half = schedule.half.map(|position| schedule.episodes[position]);
        let half = half.unwrap_or(u64::MAX);
        let mut played_here = 0;
        let (mut counted, mut counted_steps) = (0, 0);
        for &checkpoint in &schedule.episodes {
            while played_here < checkpoint {
                let pause = checkpoint.min(counted + STOP_CHECK_EPISODES);
                while played_here < pause && run.steps - counted_steps < STOP_CHECK_STEPS {
                    played_here += 1;
                    let phase = self.environment.next_phase().min(self.learners.len() - 1);
                    let regret = self.environment.play(&mut *self.learners[phase]);
                    run.regret +=
                        regret.map_err(SimError::in_episode(label, number, played_here))?;
                    let environment = self.environment.environment();
                    let episode = environment.episode();
                    episode.costs.iter().for_each(|cost| run.gain -= cost);
                    run.gain += episode.rewards.last().copied().unwrap_or(0.0);
                    run.steps += episode.steps() as u64;
                    if let Some(recorder) = &mut self.recorder {
                        recorder.episode(environment);
                    }
                    if let Some(late) = self.late.as_mut().filter(|_| played_here > half) {
                        late.episode(environment);
                    }
                }
                if played_here < checkpoint {
                    played.fetch_add(played_here - counted, Ordering::Relaxed);
                    (counted, counted_steps) = (played_here, run.steps);
                    if queue.halted() {
                        played.fetch_sub(counted, Ordering::Relaxed);
                        return Ok(false);
                    }
                }
            }
            run.at.push((run.regret.total(), run.gain));
        }
        played.fetch_add(played_here - counted, Ordering::Relaxed);
        if let Some(recorder) = &mut self.recorder {
            recorder.end_run();
        }
        run.stuck = self.late.as_mut().is_some_and(LateCounts::end_run);
        Ok(true)
    }
}

/// Takes the counts that are not 0, with their entries.
fn take(counts: &mut [u64]) -> Vec<(u32, u64)> {
    let counts = counts.iter_mut().enumerate().filter(|(_, n)| **n > 0);
    let taken = counts.map(|(entry, n)| (entry as u32, std::mem::take(n)));
    taken.collect()
}

/// Records the choices of a block of runs.
pub(crate) struct ChoiceRecorder {
    columns: usize,
    /// By entry.
    chosen: Vec<u64>,
    ended_with: Vec<u64>,
    /// By pair: the column of the last choice in this run.
    last: Vec<Option<u32>>,
    visited: Vec<Pair>,
}

impl ChoiceRecorder {
    pub(crate) fn new(environment: &Environment) -> ChoiceRecorder {
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let entries = pairs.len() * columns;
        ChoiceRecorder {
            columns,
            chosen: vec![0; entries],
            ended_with: vec![0; entries],
            last: vec![None; pairs.len()],
            visited: Vec::new(),
        }
    }

    /// Counts the recommendations of the last episode.
    pub(crate) fn episode(&mut self, environment: &Environment) {
        for (&pair, advised) in environment.path().iter().zip(environment.recommendations()) {
            let column = match *advised {
                Action::Continue(a) => a,
                Action::Stop => self.columns - 1,
            };
            self.chosen[pair.index() * self.columns + column] += 1;
            if self.last[pair.index()].replace(column as u32).is_none() {
                self.visited.push(pair);
            }
        }
    }

    /// Ends a run: counts the last choice of each pair visited.
    pub(crate) fn end_run(&mut self) {
        for pair in self.visited.drain(..) {
            if let Some(column) = self.last[pair.index()].take() {
                self.ended_with[pair.index() * self.columns + column as usize] += 1;
            }
        }
    }

    /// The counts since the last call.
    pub(crate) fn take(&mut self) -> RunChoiceCounts {
        RunChoiceCounts {
            chosen: take(&mut self.chosen),
            ended_with: take(&mut self.ended_with),
        }
    }
}
