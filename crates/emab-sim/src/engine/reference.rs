//! The plain loop: [`ConditionedEnvironment::play`], one run after another. It plays where there are conditions, and it is what the fast
//! loops are tested against where there are none.

use std::ops::Range;
use std::sync::atomic::Ordering;

use emab::learners::Access;
use emab::oracle::Pair;
use emab::{Action, ConditionedEnvironment, Environment, Learner, Role, Stream};

use crate::engine::choice_counts::RunChoiceCounts;
use crate::engine::job::{Done, Job};
use crate::engine::pool::{Halted, Queue, Worker};
use crate::engine::tally::{Run, Tally};
use crate::experiment::SimError;
use crate::experiment::runs::RunSet;

/// Episodes, and steps, between two looks at the stop flag.
const LOOK: u64 = 1024;
const LOOK_STEPS: u64 = 100_000;

/// One thread's world and learner, used for one run after another.
pub(crate) struct RunWorker<'a> {
    job: &'a Job<'a>,
    world: ConditionedEnvironment,
    /// One for each law where the learner knows the truth and has nothing to learn: it knows that of the moment.
    learners: Vec<Box<dyn Learner + Send>>,
    run: Run,
    watch: Option<ChoiceRecorder>,
}

impl Worker for RunWorker<'_> {
    type Block = Done;

    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Done),
    ) -> Result<(), (u64, SimError)> {
        let config = self.job.config;
        queue.each_block(send, |runs, halted| {
            let mut done = Ok(None);
            config.in_thread_context(&mut || done = self.block(runs.clone(), halted));
            done
        })
    }
}

impl RunWorker<'_> {
    fn block(
        &mut self,
        runs: Range<u64>,
        halted: &Halted<'_>,
    ) -> Result<Option<Done>, (u64, SimError)> {
        let mut tally = Tally::new(self.job.experiment.checkpoints.len());
        let mut done = RunSet::default();
        let mut finals = Vec::new();
        for run in runs {
            if self.job.done_before.contains(run) {
                continue;
            }
            if !self.run(run, halted).map_err(|error| (run, error))? {
                // There are counts of half a run: the block will be done anew.
                return Ok(None);
            }
            tally.add(&self.run);
            finals.push((run, self.run.final_regret()));
            done.insert(run..run + 1);
        }
        let places = self.watch.as_mut().map(ChoiceRecorder::take);
        Ok(Some(Done {
            done,
            tally,
            places: places.unwrap_or_default(),
            finals,
        }))
    }
}

impl<'a> RunWorker<'a> {
    pub(crate) fn new(job: &'a Job<'a>) -> Result<RunWorker<'a>, SimError> {
        let known = match job.config.entry().access {
            Access::Problem => job.world.phases(),
            Access::Spec | Access::Feedback | Access::Rewards => 1,
        };
        let build = |law| {
            let problem = job.world.problem(law);
            job.config.build(problem.spec(), Some(problem))
        };
        let watch = || ChoiceRecorder::new(job.world.environment());
        Ok(RunWorker {
            job,
            world: job.world.clone(),
            learners: (0..known).map(build).collect::<Result<_, _>>()?,
            run: Run::default(),
            watch: job.by_place.then(watch),
        })
    }

    /// One run of all episodes; false if it was halted on the way.
    fn run(&mut self, number: u64, halted: &Halted<'_>) -> Result<bool, SimError> {
        let (seed, played) = (self.job.experiment.seed, self.job.played);
        let label = || self.job.config.label().to_owned();
        self.world.restart(seed, number);
        for learner in &mut self.learners {
            learner.reset(Stream::new(seed, number, Role::Learner));
        }
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
                    let law = self.world.next_phase().min(self.learners.len() - 1);
                    let regret = self.world.play(&mut *self.learners[law]);
                    run.regret += regret.map_err(|error| SimError::Play {
                        learner: label(),
                        run: number,
                        episode: played_here,
                        error,
                    })?;
                    let environment = self.world.environment();
                    let episode = environment.episode();
                    episode.costs.iter().for_each(|cost| run.gain -= cost);
                    run.gain += episode.rewards.last().copied().unwrap_or(0.0);
                    run.steps += episode.steps() as u64;
                    if let Some(watch) = &mut self.watch {
                        watch.episode(environment);
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

/// One count a cell, and which of them are not 0.
struct Counter {
    counts: Vec<u64>,
    touched: Vec<u32>,
}

impl Counter {
    fn new(cells: usize) -> Counter {
        Counter {
            counts: vec![0; cells],
            touched: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, cell: usize) {
        if self.counts[cell] == 0 {
            self.touched.push(cell as u32);
        }
        self.counts[cell] += 1;
    }

    fn take(&mut self) -> Vec<(u32, u64)> {
        let counts = &mut self.counts;
        let taken = self.touched.drain(..);
        taken
            .map(|cell| (cell, std::mem::take(&mut counts[cell as usize])))
            .collect()
    }
}

/// The choices of a block of runs as they go on.
pub(crate) struct ChoiceRecorder {
    columns: usize,
    chosen: Counter,
    ended_with: Counter,
    /// By pair: the column of the last choice, if there was one in this run.
    last: Vec<Option<u32>>,
    visited: Vec<Pair>,
}

impl ChoiceRecorder {
    pub(crate) fn new(environment: &Environment) -> ChoiceRecorder {
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let cells = pairs.len() * columns;
        ChoiceRecorder {
            columns,
            chosen: Counter::new(cells),
            ended_with: Counter::new(cells),
            last: vec![None; pairs.len()],
            visited: Vec::new(),
        }
    }

    /// Takes in what was recommended in the episode that was played last.
    pub(crate) fn episode(&mut self, environment: &Environment) {
        for (&pair, advised) in environment.path().iter().zip(environment.recommendations()) {
            let column = match *advised {
                Action::Continue(a) => a,
                Action::Stop => self.columns - 1,
            };
            self.chosen.add(pair.index() * self.columns + column);
            if self.last[pair.index()].replace(column as u32).is_none() {
                self.visited.push(pair);
            }
        }
    }

    /// The run is over: what each pair ended with is counted, and forgotten.
    pub(crate) fn end_run(&mut self) {
        for pair in self.visited.drain(..) {
            if let Some(column) = self.last[pair.index()].take() {
                let cell = pair.index() * self.columns + column as usize;
                self.ended_with.add(cell);
            }
        }
    }

    /// The counts since they were taken last.
    pub(crate) fn take(&mut self) -> RunChoiceCounts {
        RunChoiceCounts {
            chosen: self.chosen.take(),
            ended_with: self.ended_with.take(),
        }
    }
}
