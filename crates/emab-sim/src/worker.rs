//! One learner on one run after another: the plain loop, for every learner and every problem.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use emab::learners::LearnerConfig;
use emab::{Environment, Learner, Role, Stream};

use crate::experiment::{Experiment, SimError};
use crate::places::{PlaceCounts, PlaceWatch};
use crate::pool::{Queue, Worker};
use crate::runs::RunSet;
use crate::tally::{Run, Tally};

/// Episodes, and steps, between two looks at the stop flag.
const LOOK: u64 = 1024;
const LOOK_STEPS: u64 = 100_000;

/// All runs of one learner, as every thread needs to know them.
pub(crate) struct Job<'a> {
    pub(crate) experiment: &'a Experiment,
    pub(crate) config: &'a LearnerConfig,
    pub(crate) environment: &'a Environment,
    pub(crate) done_before: RunSet,
    /// Whether choices are counted by place.
    pub(crate) by_place: bool,
    pub(crate) played: &'a AtomicU64,
}

/// One thread's environment and learner, used for one run after another.
pub(crate) struct RunWorker<'a> {
    job: &'a Job<'a>,
    environment: Environment,
    learner: Box<dyn Learner + Send>,
    run: Run,
    watch: Option<PlaceWatch>,
}

/// What a block of runs amounts to.
pub(crate) struct Done {
    pub(crate) done: RunSet,
    pub(crate) tally: Tally,
    pub(crate) places: PlaceCounts,
}

impl Done {
    /// Nothing, at so many checkpoints.
    pub(crate) fn new(checkpoints: usize) -> Done {
        Done {
            done: RunSet::default(),
            tally: Tally::new(checkpoints),
            places: PlaceCounts::default(),
        }
    }
}

impl Worker for RunWorker<'_> {
    type Block = Done;

    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Done),
    ) -> Result<(), (u64, SimError)> {
        queue.each_block(send, |runs, halted| self.block(runs, halted))
    }
}

impl RunWorker<'_> {
    fn block(
        &mut self,
        runs: Range<u64>,
        halted: &dyn Fn() -> bool,
    ) -> Result<Option<Done>, (u64, SimError)> {
        let mut tally = Tally::new(self.job.experiment.checkpoints.len());
        let mut done = RunSet::default();
        for run in runs {
            if self.job.done_before.contains(run) {
                continue;
            }
            if !self.run(run, halted).map_err(|error| (run, error))? {
                // There are counts of half a run: the block will be done anew.
                return Ok(None);
            }
            tally.add(&self.run);
            done.insert(run..run + 1);
        }
        let places = self.watch.as_mut().map(PlaceWatch::take);
        Ok(Some(Done {
            done,
            tally,
            places: places.unwrap_or_default(),
        }))
    }
}

impl<'a> RunWorker<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Result<RunWorker<'a>, SimError> {
        let problem = &job.experiment.problem;
        Ok(RunWorker {
            job,
            environment: job.environment.clone(),
            learner: job.config.build(problem.spec(), Some(problem))?,
            run: Run::default(),
            watch: job.by_place.then(|| PlaceWatch::new(job.environment)),
        })
    }

    /// One run of all episodes; false if it was halted on the way.
    fn run(&mut self, number: u64, halted: &dyn Fn() -> bool) -> Result<bool, SimError> {
        let (seed, played) = (self.job.experiment.seed, self.job.played);
        let label = || self.job.config.label().to_owned();
        self.environment.restart(seed, number);
        self.learner.reset(Stream::new(seed, number, Role::Learner));
        let run = &mut self.run;
        run.at.clear();
        (run.regret, run.gain, run.steps) = Default::default();
        let mut played_here = 0;
        let (mut counted, mut counted_steps) = (0, 0);
        for &checkpoint in &self.job.experiment.checkpoints {
            while played_here < checkpoint {
                let pause = checkpoint.min(counted + LOOK);
                while played_here < pause && run.steps - counted_steps < LOOK_STEPS {
                    played_here += 1;
                    let regret = self.environment.play(&mut *self.learner);
                    run.regret += regret.map_err(|error| SimError::Play {
                        learner: label(),
                        run: number,
                        episode: played_here,
                        error,
                    })?;
                    let episode = self.environment.episode();
                    episode.costs.iter().for_each(|cost| run.gain -= cost);
                    run.gain += episode.rewards.last().copied().unwrap_or(0.0);
                    run.steps += episode.steps() as u64;
                    if let Some(watch) = &mut self.watch {
                        watch.episode(&self.environment);
                    }
                }
                if played_here < checkpoint {
                    played.fetch_add(played_here - counted, Ordering::Relaxed);
                    (counted, counted_steps) = (played_here, run.steps);
                    if halted() {
                        played.fetch_sub(counted, Ordering::Relaxed);
                        return Ok(false);
                    }
                }
            }
            run.at.push((run.regret.total(), run.gain));
        }
        played.fetch_add(played_here - counted, Ordering::Relaxed);
        if let Some(watch) = &mut self.watch {
            watch.end_run();
        }
        Ok(true)
    }
}
