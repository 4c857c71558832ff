//! Learners on a problem, many runs each, on several threads; can be stopped and taken up again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use emab::learners::{LearnerConfig, LearnerError};
use emab::{Environment, Learner, LearnerResult, PlayError, Problem, Role, Stream};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::runs::RunSet;
use crate::tally::{Run, Tally};

/// Why an experiment failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimError {
    /// A learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The truth cannot be worked out.
    #[error(transparent)]
    Oracle(#[from] emab::oracle::OracleError),
    /// An episode could not be played to its end.
    #[error("learner `{learner}`, run {run}, episode {episode}: {error}")]
    Play {
        /// The learner.
        learner: String,
        /// The run, from 0.
        run: u64,
        /// The episode, from 1.
        episode: u64,
        /// Why.
        error: PlayError,
    },
    /// A regret or gain that is no number: rewards too large to add up.
    #[error(
        "learner `{learner}`, run {run}: the sum of gains is {gain}; rewards and costs are too large to add up"
    )]
    Overflow {
        /// The learner.
        learner: String,
        /// The run, from 0.
        run: u64,
        /// The sum.
        gain: f64,
    },
    /// A saved state of another experiment.
    #[error("the saved state is not of this experiment: {0}")]
    Foreign(&'static str),
}

/// What to run.
#[derive(Clone)]
pub struct Experiment {
    /// The problem.
    pub problem: Arc<Problem>,
    /// The learners, each on the same runs.
    pub learners: Vec<LearnerConfig>,
    /// Episodes a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// The episodes at which regret is recorded, rising, the last one being `episodes`.
    pub checkpoints: Vec<u64>,
}

/// How far an experiment has come: all that is needed to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// One a learner.
    pub learners: Vec<LearnerState>,
}

/// How far one learner has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearnerState {
    /// The runs that are done.
    pub done: RunSet,
    /// What they amount to.
    pub tally: Tally,
    /// How long they took.
    pub seconds: f64,
}

/// How far it is, told a few times a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Episodes played, of all learners and runs.
    pub done: u64,
    /// Episodes to play.
    pub total: u64,
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All runs are done.
    Complete,
    /// It was stopped; the state says how far it came.
    Stopped,
}

/// What whoever watches wants to be told and when to stop.
pub struct Control<'a> {
    /// Threads; 0 stands for one a processor.
    pub threads: usize,
    /// Set to true from anywhere, ends the experiment within a moment.
    pub stop: &'a AtomicBool,
    /// Called a few times a second, and often enough with the state to be worth saving.
    pub watch: &'a mut dyn FnMut(Progress, Option<&State>),
}

/// Episodes between two looks at the stop flag.
const LOOK: u64 = 1024;
/// Between two progress reports.
const TICK: Duration = Duration::from_millis(100);
/// Between two states to be saved.
const SAVE: Duration = Duration::from_secs(10);

impl Experiment {
    /// The state in which nothing is done.
    pub fn state(&self) -> State {
        let learner = LearnerState {
            done: RunSet::default(),
            tally: Tally::new(self.checkpoints.len()),
            seconds: 0.0,
        };
        State {
            learners: vec![learner; self.learners.len()],
        }
    }

    /// Whether a state, which may have come from a file, can be one of this experiment.
    fn check(&self, state: &State) -> Result<(), SimError> {
        if state.learners.len() != self.learners.len() {
            return Err(SimError::Foreign("it has another number of learners"));
        }
        for learner in &state.learners {
            if learner.tally.checkpoints() != self.checkpoints.len() {
                return Err(SimError::Foreign("it has another number of checkpoints"));
            }
            if learner.done.last().is_some_and(|run| run >= self.runs) {
                return Err(SimError::Foreign("it has more runs"));
            }
            if learner.tally.runs() != learner.done.len() {
                return Err(SimError::Foreign("its sums and its list of runs disagree"));
            }
        }
        Ok(())
    }

    /// Does all runs that are not done, on several threads, and leaves the result in `state`.
    pub fn run(&self, state: &mut State, control: &mut Control<'_>) -> Result<Finish, SimError> {
        self.check(state)?;
        // Solved once here; every thread begins with a copy of what is known.
        let environment = Environment::new(self.problem.clone())?;
        // A learner that cannot be built is named before anything runs.
        for config in &self.learners {
            config.build(self.problem.spec(), Some(&self.problem))?;
        }
        let total = self
            .episodes
            .saturating_mul(self.runs)
            .saturating_mul(self.learners.len() as u64);
        let done: u64 = state.learners.iter().map(|l| l.done.len()).sum();
        let played = AtomicU64::new(done.saturating_mul(self.episodes));
        for i in 0..self.learners.len() {
            self.run_learner(i, state, &environment, &played, total, control)?;
            if control.stop.load(Ordering::Relaxed) && state.learners[i].done.len() < self.runs {
                return Ok(Finish::Stopped);
            }
        }
        let complete = state.learners.iter().all(|l| l.done.len() == self.runs);
        Ok(if complete {
            Finish::Complete
        } else {
            Finish::Stopped
        })
    }

    fn run_learner(
        &self,
        i: usize,
        state: &mut State,
        environment: &Environment,
        played: &AtomicU64,
        total: u64,
        control: &mut Control<'_>,
    ) -> Result<(), SimError> {
        let threads = match control.threads {
            0 => thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        }
        .min(self.runs.max(1) as usize);
        let began = Instant::now();
        let before = state.learners[i].seconds;
        let done_before = state.learners[i].done.clone();
        // Short runs are taken in blocks, so that the lock is taken a few thousand times and not once a run.
        let block = (20_000 / self.episodes.max(1)).clamp(1, 4096);
        let block = block.min(self.runs.div_ceil(threads as u64).max(1));
        let next_run = AtomicU64::new(0);
        let failed: Mutex<Option<(u64, SimError)>> = Mutex::new(None);
        let abort = AtomicBool::new(false);
        let shared = Mutex::new(std::mem::replace(
            &mut state.learners[i],
            LearnerState {
                done: RunSet::default(),
                tally: Tally::default(),
                seconds: 0.0,
            },
        ));
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel::<()>();
            for _ in 0..threads {
                let alive = alive.clone();
                let stop = control.stop;
                let (next_run, shared, failed, abort) = (&next_run, &shared, &failed, &abort);
                let done_before = &done_before;
                scope.spawn(move || {
                    let _alive = alive;
                    let halt = || stop.load(Ordering::Relaxed) || abort.load(Ordering::Relaxed);
                    let mut worker = match Worker::new(self, i, environment.clone()) {
                        Ok(worker) => worker,
                        Err(error) => {
                            abort.store(true, Ordering::Relaxed);
                            lock(failed).get_or_insert((0, error));
                            return;
                        }
                    };
                    while !halt() {
                        let first = next_run.fetch_add(block, Ordering::Relaxed);
                        if first >= self.runs {
                            break;
                        }
                        let mut tally = Tally::new(self.checkpoints.len());
                        let mut done = RunSet::default();
                        for run in first..(first + block).min(self.runs) {
                            if done_before.contains(run) {
                                continue;
                            }
                            match worker.run(run, played, &halt) {
                                Ok(true) => {
                                    tally.add(&worker.run);
                                    done.insert(run..run + 1);
                                }
                                Ok(false) => break,
                                Err(error) => {
                                    abort.store(true, Ordering::Relaxed);
                                    // The lowest run is named, whichever thread failed first.
                                    let mut failed = lock(failed);
                                    if failed.as_ref().is_none_or(|(other, _)| run < *other) {
                                        *failed = Some((run, error));
                                    }
                                    break;
                                }
                            }
                        }
                        let mut shared = lock(shared);
                        shared.tally.merge(&tally);
                        shared.done.merge(&done);
                    }
                });
            }
            drop(alive);
            let mut saved = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
                let progress = Progress {
                    done: played.load(Ordering::Relaxed),
                    total,
                };
                if saved.elapsed() >= SAVE {
                    saved = Instant::now();
                    let mut now = lock(&shared).clone();
                    now.seconds = before + began.elapsed().as_secs_f64();
                    state.learners[i] = now;
                    (control.watch)(progress, Some(state));
                } else {
                    (control.watch)(progress, None);
                }
            }
        });
        state.learners[i] = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
        state.learners[i].seconds = before + began.elapsed().as_secs_f64();
        let progress = Progress {
            done: played.load(Ordering::Relaxed),
            total,
        };
        (control.watch)(progress, None);
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// The results of a state, in the order of the learners.
    pub fn results(&self, state: &State) -> Vec<LearnerResult> {
        self.learners
            .iter()
            .zip(&state.learners)
            .map(|(config, learner)| LearnerResult {
                learner: config.entry().name.into(),
                label: config.label().into(),
                parameters: config
                    .parameters()
                    .iter()
                    .map(|(name, value)| ((*name).into(), value.clone()))
                    .collect(),
                curve: learner.tally.curve(&self.checkpoints),
                causes: learner.tally.causes(),
                steps: learner.tally.steps,
                seconds: learner.seconds,
            })
            .collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A thread that panicked ends the whole scope with its panic; nobody reads a half-written tally after it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread's environment and learner, used for one run after another.
struct Worker<'a> {
    experiment: &'a Experiment,
    label: &'a str,
    environment: Environment,
    learner: Box<dyn Learner + Send>,
    run: Run,
}

impl<'a> Worker<'a> {
    fn new(
        experiment: &'a Experiment,
        i: usize,
        environment: Environment,
    ) -> Result<Worker<'a>, SimError> {
        let config = &experiment.learners[i];
        let problem = &experiment.problem;
        Ok(Worker {
            experiment,
            label: config.label(),
            environment,
            learner: config.build(problem.spec(), Some(problem))?,
            run: Run::default(),
        })
    }

    /// One run of all episodes; false if it was halted on the way.
    fn run(
        &mut self,
        number: u64,
        played: &AtomicU64,
        halt: &impl Fn() -> bool,
    ) -> Result<bool, SimError> {
        let seed = self.experiment.seed;
        self.environment.restart(seed, number);
        self.learner.reset(Stream::new(seed, number, Role::Learner));
        let run = &mut self.run;
        run.at.clear();
        (run.regret, run.gain, run.steps) = Default::default();
        let mut episode = 0;
        let mut counted = 0;
        for &checkpoint in &self.experiment.checkpoints {
            while episode < checkpoint {
                let pause = checkpoint.min(counted + LOOK);
                while episode < pause {
                    episode += 1;
                    let regret = self.environment.play(&mut *self.learner);
                    run.regret += regret.map_err(|error| SimError::Play {
                        learner: self.label.into(),
                        run: number,
                        episode,
                        error,
                    })?;
                    run.gain += self.environment.episode().gain();
                    run.steps += self.environment.episode().steps() as u64;
                }
                if episode == counted + LOOK {
                    played.fetch_add(LOOK, Ordering::Relaxed);
                    counted = episode;
                    if halt() {
                        played.fetch_sub(counted, Ordering::Relaxed);
                        return Ok(false);
                    }
                }
            }
            run.at.push((run.regret.total(), run.gain));
        }
        played.fetch_add(episode - counted, Ordering::Relaxed);
        if !(run.gain.is_finite() && run.regret.total().is_finite()) {
            return Err(SimError::Overflow {
                learner: self.label.into(),
                run: number,
                gain: run.gain,
            });
        }
        Ok(true)
    }
}
