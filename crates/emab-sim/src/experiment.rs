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
    /// Not one thread could be started.
    #[error("cannot start a thread: {0}")]
    Threads(String),
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

/// Episodes, and steps, between two looks at the stop flag.
const LOOK: u64 = 1024;
const LOOK_STEPS: u64 = 100_000;
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
            if !learner.tally.is_whole(self.checkpoints.len()) {
                return Err(SimError::Foreign(
                    "its sums are not those of these checkpoints",
                ));
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
            if i + 1 < self.learners.len() {
                let done = played.load(Ordering::Relaxed);
                (control.watch)(Progress { done, total }, Some(state));
            }
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
        .min(usize::try_from(self.runs).unwrap_or(usize::MAX));
        let began = Instant::now();
        let before = state.learners[i].clone();
        // Short runs are taken in blocks, so that the lock is taken a few thousand times and not once a run.
        let block = (20_000 / self.episodes.max(1)).clamp(1, 4096);
        let job = Job {
            experiment: self,
            config: &self.learners[i],
            environment,
            done_before: &before.done,
            block: block.min(self.runs.div_ceil(threads.max(1) as u64)).max(1),
            next: AtomicU64::new(0),
            played,
            stop: control.stop,
            abort: AtomicBool::new(false),
            state: Mutex::new(before.clone()),
            failed: Mutex::new(None),
        };
        let progress = || Progress {
            done: played.load(Ordering::Relaxed),
            total,
        };
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel::<()>();
            for started in 0..threads {
                let (worker, alive) = (&job, alive.clone());
                let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                    worker.work();
                    drop(alive);
                });
                if let Err(error) = spawned {
                    // Fewer threads do the same work, later; none cannot.
                    if started == 0 {
                        job.fail(0, SimError::Threads(error.to_string()));
                    }
                    break;
                }
            }
            drop(alive);
            let mut saved = Instant::now();
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
                if saved.elapsed() < SAVE {
                    (control.watch)(progress(), None);
                    continue;
                }
                saved = Instant::now();
                state.learners[i] = lock(&job.state).clone();
                state.learners[i].seconds = before.seconds + began.elapsed().as_secs_f64();
                (control.watch)(progress(), Some(state));
            }
        });
        state.learners[i] = lock(&job.state).clone();
        state.learners[i].seconds = before.seconds + began.elapsed().as_secs_f64();
        (control.watch)(progress(), None);
        match lock(&job.failed).take() {
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

/// All runs of one learner, shared by the threads that do them.
struct Job<'a> {
    experiment: &'a Experiment,
    config: &'a LearnerConfig,
    environment: &'a Environment,
    done_before: &'a RunSet,
    /// Runs that a thread takes at once.
    block: u64,
    /// The first run that nobody has taken.
    next: AtomicU64,
    played: &'a AtomicU64,
    stop: &'a AtomicBool,
    /// Set when a run failed.
    abort: AtomicBool,
    state: Mutex<LearnerState>,
    /// The lowest run that failed, and why.
    failed: Mutex<Option<(u64, SimError)>>,
}

impl Job<'_> {
    fn halted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.abort.load(Ordering::Relaxed)
    }

    fn fail(&self, run: u64, error: SimError) {
        self.abort.store(true, Ordering::Relaxed);
        let mut failed = lock(&self.failed);
        if failed.as_ref().is_none_or(|(other, _)| run < *other) {
            *failed = Some((run, error));
        }
    }

    /// One thread: takes blocks of runs until there are none.
    fn work(&self) {
        let runs = self.experiment.runs;
        let problem = &self.experiment.problem;
        let learner = match self.config.build(problem.spec(), Some(problem)) {
            Ok(learner) => learner,
            Err(error) => return self.fail(0, error.into()),
        };
        let mut worker = Worker {
            job: self,
            environment: self.environment.clone(),
            learner,
            run: Run::default(),
        };
        while !self.halted() {
            let first = self.next.fetch_add(self.block, Ordering::Relaxed);
            if first >= runs {
                break;
            }
            let mut tally = Tally::new(self.experiment.checkpoints.len());
            let mut done = RunSet::default();
            for run in first..first.saturating_add(self.block).min(runs) {
                if self.done_before.contains(run) {
                    continue;
                }
                match worker.run(run) {
                    Ok(true) => {
                        tally.add(&worker.run);
                        done.insert(run..run + 1);
                    }
                    Ok(false) => break,
                    Err(error) => {
                        self.fail(run, error);
                        break;
                    }
                }
            }
            let mut state = lock(&self.state);
            state.tally.merge(&tally);
            state.done.merge(&done);
        }
    }
}

/// One thread's environment and learner, used for one run after another.
struct Worker<'a> {
    job: &'a Job<'a>,
    environment: Environment,
    learner: Box<dyn Learner + Send>,
    run: Run,
}

impl Worker<'_> {
    /// One run of all episodes; false if it was halted on the way.
    fn run(&mut self, number: u64) -> Result<bool, SimError> {
        let (seed, played) = (self.job.experiment.seed, self.job.played);
        let label = || self.job.config.label().to_owned();
        self.environment.restart(seed, number);
        self.learner.reset(Stream::new(seed, number, Role::Learner));
        let run = &mut self.run;
        run.at.clear();
        (run.regret, run.gain, run.steps) = Default::default();
        let mut episode = 0;
        let (mut counted, mut counted_steps) = (0, 0);
        for &checkpoint in &self.job.experiment.checkpoints {
            while episode < checkpoint {
                let pause = checkpoint.min(counted + LOOK);
                while episode < pause && run.steps - counted_steps < LOOK_STEPS {
                    episode += 1;
                    let regret = self.environment.play(&mut *self.learner);
                    run.regret += regret.map_err(|error| SimError::Play {
                        learner: label(),
                        run: number,
                        episode,
                        error,
                    })?;
                    run.gain += self.environment.episode().gain();
                    run.steps += self.environment.episode().steps() as u64;
                }
                if episode < checkpoint {
                    played.fetch_add(episode - counted, Ordering::Relaxed);
                    (counted, counted_steps) = (episode, run.steps);
                    if self.job.halted() {
                        played.fetch_sub(counted, Ordering::Relaxed);
                        return Ok(false);
                    }
                }
            }
            run.at.push((run.regret.total(), run.gain));
        }
        played.fetch_add(episode - counted, Ordering::Relaxed);
        Ok(true)
    }
}
