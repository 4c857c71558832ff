//! Loader threads: build the states of studies beside the writer thread, which never replays a study.
//!
//! A state that is not in memory is loaded here. So are the learners for a correction of learned episodes: the corrections are
//! tried out on a read snapshot, and the learners learn all episodes anew with the corrected ones in their places. The writer
//! learns only what came after the snapshot. If another correction came first, it sends them back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;

use crate::app::execute_command::CommandExecutor;
use crate::app::fair_queue::{FairQueue, QueueLimits};
use crate::app::{
    CommandError, Pending, ServiceError, Specs, catch_up, head, learn_new, load_state, rebuild,
};
use crate::domain::{Author, Command, Head, Rejection, StudyLearners, StudyState};
use crate::store::{Backend, Store, StoreError};

/// Corrections of one study are prepared by one thread; two let a cold study be loaded beside a correction.
const THREADS: usize = 2;
/// How often a state is brought up to date before it is handed over. The episodes learned meanwhile become fewer each time.
const ROUNDS: usize = 4;
/// The number of episodes that the writer may learn itself.
pub const MAX_CATCH_UP: u64 = 256;

/// What the loader is asked for. A study has at most one task at a time.
pub enum Task {
    /// The state of a study, from a state that is too far behind if there is one.
    Load(String, Option<Box<StudyState>>),
    /// Learners for these commands, each with its author.
    Prepare(String, Vec<(Command, Author)>),
}

/// The result of a task.
pub struct Loaded {
    pub study: String,
    pub result: Result<Product, ServiceError>,
}

pub enum Product {
    State(Box<StudyState>),
    Learners(Box<PreparedLearners>),
}

/// Learners that learned corrected episodes which are not recorded yet.
pub struct PreparedLearners {
    pub learners: StudyLearners,
    /// The corrected episodes, by position.
    pub corrections: Pending,
    /// The head of the snapshot they were read from.
    pub head: Head,
}

/// The loader threads. Dropping it waits for their end.
pub struct Loader {
    tasks: Arc<FairQueue<Task>>,
    threads: Vec<JoinHandle<()>>,
}

impl Loader {
    /// Starts the threads; each passes its results to `done`.
    pub fn start(
        backend: &Arc<dyn Backend>,
        specs: &Arc<Specs>,
        done: impl Fn(Loaded) + Clone + Send + 'static,
    ) -> std::io::Result<Loader> {
        // A study has one task: the limits are never reached.
        let tasks = Arc::new(FairQueue::new(QueueLimits {
            key: usize::MAX,
            token: usize::MAX,
            all: usize::MAX,
        }));
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            let worker = Worker {
                backend: backend.clone(),
                specs: specs.clone(),
                store: None,
            };
            let (tasks, done) = (tasks.clone(), done.clone());
            let thread = std::thread::Builder::new().name("loader".into());
            threads.push(thread.spawn(move || worker.run(&tasks, &done))?);
        }
        Ok(Loader { tasks, threads })
    }

    /// Queues a task, in turns with those of other tokens.
    pub fn request(&self, task: Task, token: &str) {
        let study = match &task {
            Task::Load(study, _) | Task::Prepare(study, _) => study.clone(),
        };
        // It is closed only at the end.
        let _ = self.tasks.push(&study, token, task);
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        self.tasks.close();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a loader thread panicked");
            }
        }
    }
}

struct Worker {
    backend: Arc<dyn Backend>,
    specs: Arc<Specs>,
    store: Option<Box<dyn Store>>,
}

impl Worker {
    fn run(mut self, tasks: &FairQueue<Task>, done: &impl Fn(Loaded)) {
        while let Some(tasks) = tasks.take(1, |_| 1, false, None) {
            for task in tasks {
                done(self.execute(task));
            }
        }
    }

    fn execute(&mut self, task: Task) -> Loaded {
        let study = match &task {
            Task::Load(study, _) | Task::Prepare(study, _) => study.clone(),
        };
        let done = catch_unwind(AssertUnwindSafe(|| match task {
            Task::Load(name, cached) => self.load(&name, cached),
            Task::Prepare(name, commands) => self.prepare(&name, &commands),
        }));
        let result = match done {
            Ok(Ok(product)) => Ok(product),
            Ok(Err(CommandError::Store(error))) => {
                tracing::warn!(%error, study, "a study could not be loaded");
                Err(ServiceError::read_failed(&error))
            }
            Ok(Err(CommandError::Rejected(rejection))) => Err(rejection.into()),
            Ok(Err(CommandError::Deferred)) | Err(_) => {
                tracing::error!(study, "loading a study panicked");
                Err(Rejection::internal("the study could not be loaded").into())
            }
        };
        Loaded { study, result }
    }

    /// Runs reads on one snapshot.
    fn snapshot<T>(
        &mut self,
        read: impl FnOnce(&mut dyn Store, &Specs) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let mut store = match self.store.take() {
            Some(store) => store,
            None => self.backend.reader()?,
        };
        store.begin_snapshot()?;
        let answer = read(&mut *store, &self.specs);
        store.rollback();
        if !matches!(answer, Err(CommandError::Store(StoreError::Unavailable(_)))) {
            self.store = Some(store);
        }
        answer
    }

    fn load(
        &mut self,
        name: &str,
        cached: Option<Box<StudyState>>,
    ) -> Result<Product, CommandError> {
        let mut cached = cached.map(|state| *state);
        for _ in 0..ROUNDS {
            let learned = cached.as_ref().map(|state| state.learners.learned);
            let state = self.snapshot(|store, specs| {
                let head = head(store, name)?;
                load_state(cached.take(), head, store, specs)
            })?;
            let new = state.head.learned - learned.unwrap_or(0).min(state.head.learned);
            cached = Some(state);
            if new <= MAX_CATCH_UP {
                break;
            }
        }
        let state = cached.ok_or_else(|| Rejection::internal("no state was loaded"))?;
        Ok(Product::State(Box::new(state)))
    }

    fn prepare(
        &mut self,
        name: &str,
        commands: &[(Command, Author)],
    ) -> Result<Product, CommandError> {
        let now = humantime::format_rfc3339_micros(crate::clock::now()).to_string();
        let (mut state, corrections, head) = self.snapshot(|store, specs| {
            let head = head(store, name)?;
            let mut state = StudyState::new(specs.study(store, &head)?, head.rules)?;
            // Nothing is learned and nothing decided before the learners are rebuilt.
            (state.head, state.stale) = (head.clone(), true);
            let ids = commands.iter().flat_map(|(command, _)| command.episodes());
            let episodes = store.episodes(head.key, &ids.collect::<Vec<_>>())?;
            let mut executor = CommandExecutor::new(&mut state, store, &now, episodes);
            executor.may_correct = true;
            for (command, by) in commands {
                // A rejected command has no effect; the writer answers it.
                if let Err(CommandError::Store(error)) = executor.execute(command, by) {
                    return Err(error.into());
                }
            }
            let mut corrections = executor.into_learned();
            let _new = corrections.split_off(&head.learned);
            state.head = head.clone();
            // `set_learners` announces what is in flight when these are installed.
            state.forget_in_flight();
            rebuild(&mut state, store, &corrections)?;
            Ok((state, corrections, head))
        })?;
        for _ in 1..ROUNDS {
            let learned = state.learners.learned;
            self.snapshot(|store, _| {
                let newer = self::head(store, name)?;
                // After another correction the writer sends the commands back.
                if newer.relearned == head.relearned && newer.learned >= learned {
                    state.head = newer;
                    learn_new(&mut state, store, &Pending::new())?;
                }
                Ok(())
            })?;
            if state.learners.learned - learned <= MAX_CATCH_UP {
                break;
            }
        }
        Ok(Product::Learners(Box::new(PreparedLearners {
            learners: state.learners,
            corrections,
            head,
        })))
    }
}

impl PreparedLearners {
    /// Whether the learners fit: no other correction was recorded since, and the log is the one they were read from.
    pub fn fit(
        &self,
        before: &Head,
        corrections: &Pending,
        store: &mut dyn Store,
    ) -> Result<bool, StoreError> {
        let learned = self.learners.learned;
        let same = corrections.range(..learned).eq(self.corrections.iter());
        let behind = before.learned.checked_sub(learned);
        if !same
            || before.relearned > self.head.seq
            || behind.is_none_or(|behind| behind > MAX_CATCH_UP)
        {
            return Ok(false);
        }
        // A restored database may not contain the events that were learned.
        let log = store.events(before.key, self.head.seq.saturating_sub(1), 1)?;
        Ok(log
            .first()
            .is_some_and(|event| event.hash == self.head.hash))
    }
}

/// Brings a cached state to a head; false if it must be loaded beside the writer.
pub fn catches_up(
    state: &mut StudyState,
    head: &Head,
    store: &mut dyn Store,
) -> Result<bool, CommandError> {
    // While a study is restored, its learners are not used.
    if state.head.hash == head.hash && (!state.stale || head.restoring) {
        state.head = head.clone();
        return Ok(true);
    }
    let behind = head.learned.checked_sub(state.learners.learned);
    if behind.is_none_or(|behind| behind > MAX_CATCH_UP) {
        return Ok(false);
    }
    // What is in flight is read from the events.
    let events = head.seq.saturating_sub(state.head.seq);
    if state.learners.counts_pending() && events > MAX_CATCH_UP {
        return Ok(false);
    }
    catch_up(state, head, store)
}
