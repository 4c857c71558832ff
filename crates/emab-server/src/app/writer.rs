//! The writer thread: commits queued commands in batches (group commit).
//!
//! While one batch is committed the next one queues, so that many requests share one fsync. The queue is [fair](FairQueue)
//! between studies and tokens. The fsync is in [`Store::commit`]; a reply is sent only after the commit has returned.
//!
//! The writer never replays a study. Commands on a study whose state is not in memory, and corrections of learned episodes,
//! wait for the [loader](Loader); the other commands go on.
//!
//! Sessions of the console are written here too, in transactions of their own: SQLite has one writer.
//!
//! If the store fails (disk full, connection lost), the batch is rolled back, cached states are dropped, and every request of the
//! batch gets a 503 with `Retry-After` ([`ServiceError::write_failed`]). Reads use other connections and continue.

mod discard;
mod parked;
mod sessions;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parked::Parked;
pub use sessions::{SessionChange, SessionJob};
use tokio::sync::oneshot;

use crate::app::checkpoint::{self, Checkpoints};
use crate::app::execute_command::CommandExecutor;
use crate::app::fair_queue::FairQueue;
use crate::app::loader::{Loaded, Loader, PreparedLearners, Product, Task, catches_up};
use crate::app::{CHANGED, CommandError, Metrics, ServiceError, Specs, no_study};
use crate::domain::{
    Author, Command, EpisodeRecord, EventKind, Head, RULES, Rejection, Reply, RestoreEvents, Study,
    StudyState,
};
use crate::store::{Backend, Changes, Restore, Store, StoreError};

/// The largest number of commands in a batch; a line of an import counts as one.
const MAX_BATCH: usize = 256;
/// The largest number of cached study states, and of bytes of their specifications; one state is always cached.
const MAX_STATES: (usize, usize) = (256, 32 << 20);
/// The largest number of commands of a study that wait for the loader.
const MAX_PARKED: usize = 256;
/// How often a batch is retried while another copy of the service holds a lock.
const MAX_TRIES: u32 = 30;

pub struct Job {
    pub study: String,
    pub command: Command,
    pub by: Author,
    pub reply: oneshot::Sender<Result<Reply, ServiceError>>,
}

/// What the writer takes from its queue.
pub enum Work {
    Job(Job),
    Session(SessionJob),
    Loaded(Loaded),
}

impl Work {
    fn weight(&self) -> usize {
        match self {
            Work::Job(job) => job.command.lines(),
            Work::Session(_) => 1,
            Work::Loaded(_) => 0,
        }
    }
}

/// A job of a batch.
struct Queued {
    job: Job,
    /// Whether learners were prepared for it.
    corrects: bool,
}

/// The writer and its cached states.
pub struct GroupCommitWriter {
    store: Box<dyn Store>,
    queue: Arc<FairQueue<Work>>,
    loader: Loader,
    specs: Arc<Specs>,
    /// The state of each recently used study, with the batch that used it last.
    states: HashMap<String, (StudyState, u64)>,
    parked: HashMap<String, Parked>,
    /// Learners for the corrections of the next batch.
    prepared: HashMap<String, Box<PreparedLearners>>,
    batches: u64,
    metrics: Metrics,
    checkpoints: Option<Checkpoints>,
}

/// What became of a job in a transaction.
enum Outcome {
    Done(Result<Reply, Rejection>),
    /// The state of the study has to be loaded.
    Load,
    /// Learners have to be prepared.
    Correct,
}

/// What a transaction did, once it is committed.
struct Committed {
    outcomes: Vec<Outcome>,
    /// The heads of the studies that have new events.
    heads: Vec<Head>,
}

/// A study in a transaction: its state, and what is to be written.
struct Changed {
    state: StudyState,
    changes: Option<Changes>,
}

impl GroupCommitWriter {
    /// A writer on its own connection.
    pub fn new(
        backend: &Arc<dyn Backend>,
        queue: Arc<FairQueue<Work>>,
        specs: Arc<Specs>,
        metrics: Metrics,
        mut checkpoints: Option<Checkpoints>,
    ) -> Result<GroupCommitWriter, StoreError> {
        let loaded = queue.clone();
        let done = move |it| loaded.push_urgent(Work::Loaded(it));
        let no_thread = |error| StoreError::Unavailable(format!("no thread for loading: {error}"));
        let mut store = backend.writer()?;
        // A damaged row does not keep the service from serving the other studies.
        if let Some(checkpoints) = &mut checkpoints
            && let Err(error) = checkpoints.resume(&mut *store)
        {
            tracing::error!(%error, "events of an earlier process may stay without a checkpoint");
        }
        Ok(GroupCommitWriter {
            store,
            loader: Loader::start(backend, &specs, done).map_err(no_thread)?,
            queue,
            specs,
            states: HashMap::new(),
            parked: HashMap::new(),
            prepared: HashMap::new(),
            batches: 0,
            metrics,
            checkpoints,
        })
    }

    /// Executes jobs until the queue is closed and every job is answered.
    pub fn run(mut self) {
        loop {
            let due = self.checkpoints.as_ref().and_then(Checkpoints::due);
            let expected = !self.parked.is_empty();
            let Some(work) = self.queue.take(MAX_BATCH, Work::weight, expected, due) else {
                break;
            };
            let (mut batch, mut sessions) = (Vec::new(), Vec::new());
            for work in work {
                match work {
                    Work::Job(job) => {
                        self.metrics.queue.dec();
                        batch.push(Queued {
                            job,
                            corrects: false,
                        });
                    }
                    Work::Session(job) => {
                        self.metrics.queue.dec();
                        sessions.push(job);
                    }
                    Work::Loaded(loaded) => self.accept(loaded, &mut batch),
                }
            }
            if !batch.is_empty() {
                self.execute(batch);
            }
            for job in sessions {
                self.change_session(job);
            }
            // After the commit, which the loader has to see.
            self.request_tasks();
            // The batch, if there was one, was followed by no other in time.
            self.checkpoint(Instant::now());
        }
        while self.checkpoint(Instant::now() + checkpoint::DELAY) {}
    }

    /// Writes checkpoints that are due at some time, in a transaction of their own; false if there are none, or it failed.
    fn checkpoint(&mut self, at: Instant) -> bool {
        let Some(checkpoints) = self.checkpoints.as_mut().filter(|it| it.is_due(at)) else {
            return false;
        };
        let mut write = || {
            self.store.begin()?;
            let signed = checkpoints.put(&mut *self.store, &now())?;
            self.store.commit()?;
            Ok::<_, StoreError>(signed)
        };
        match write() {
            Ok(signed) => {
                checkpoints.committed(signed);
                true
            }
            Err(error) => {
                tracing::warn!(%error, "checkpoints are written later");
                self.metrics.store_errors.inc();
                checkpoints.postpone();
                self.store.rollback();
                false
            }
        }
    }

    /// Adds the jobs that waited for the loader to the batch.
    fn accept(&mut self, Loaded { study, result }: Loaded, batch: &mut Vec<Queued>) {
        let Some(mut parked) = self.parked.remove(&study) else {
            return;
        };
        let queued = |job, corrects| Queued { job, corrects };
        let mut failed = Vec::new();
        let (loading, preparing) = (&mut parked.loading, &mut parked.preparing);
        match result {
            Ok(Product::State(state)) => {
                self.states.insert(study.clone(), (*state, self.batches));
                batch.extend(loading.drain(..).map(|job| queued(job, false)));
            }
            Ok(Product::Learners(learners)) => {
                self.prepared.insert(study.clone(), learners);
                batch.extend(preparing.drain(..).map(|job| queued(job, true)));
            }
            Err(error) => {
                let jobs = loading.drain(..).chain(preparing.drain(..));
                failed.extend(jobs.map(|job| (job, error.clone())));
            }
        }
        for (job, error) in failed {
            let _ = job.reply.send(Err(error));
        }
        if parked.len() > 0 {
            parked.busy = false;
            self.parked.insert(study, parked);
        }
    }

    /// Keeps a job until the loader has what it needs.
    fn park(&mut self, job: Job, corrects: bool) {
        // The client has left.
        if job.reply.is_closed() {
            return;
        }
        let study = job.study.clone();
        let parked = self.parked.entry(study.clone()).or_default();
        if parked.len() >= MAX_PARKED {
            let what = format!("{MAX_PARKED} requests wait for study `{study}` to be loaded");
            let _ = job.reply.send(Err(ServiceError::unavailable(what, 1)));
            return;
        }
        match corrects {
            true => parked.corrections.push(job),
            false => parked.loading.push(job),
        }
    }

    /// Gives the loader the next task of each study with waiting jobs.
    fn request_tasks(&mut self) {
        for (study, parked) in self.parked.iter_mut().filter(|(_, it)| !it.busy) {
            parked.busy = true;
            if let Some(job) = parked.loading.first() {
                let cached = self.states.remove(study);
                let cached = cached.map(|(state, _)| Box::new(state));
                let task = Task::Load(study.clone(), cached);
                self.loader.request(task, &job.by.token);
            } else {
                let jobs = parked.prepare(self.queue.is_shared());
                if let Some(job) = jobs.first() {
                    let commands = jobs.iter();
                    let commands = commands.map(|job| (job.command.clone(), job.by.clone()));
                    let task = Task::Prepare(study.clone(), commands.collect());
                    self.loader.request(task, &job.by.token);
                }
            }
        }
    }

    fn execute(&mut self, mut batch: Vec<Queued>) {
        let mut tries = 0;
        loop {
            self.batches += 1;
            let attempt = catch_unwind(AssertUnwindSafe(|| self.transact(&batch)));
            let error = match attempt {
                Ok(Ok(committed)) => {
                    for (queued, outcome) in batch.into_iter().zip(committed.outcomes) {
                        discard::log(&queued, &outcome);
                        let job = queued.job;
                        match outcome {
                            Outcome::Done(result) => {
                                // The receiver may be gone.
                                let _ = job.reply.send(result.map_err(ServiceError::Rejected));
                            }
                            Outcome::Load => self.park(job, false),
                            Outcome::Correct => self.park(job, true),
                        }
                    }
                    // Only committed heads may leave the writer.
                    self.committed(&committed.heads);
                    return self.evict_states();
                }
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            self.store.rollback();
            // The states in memory are ahead of the store now.
            for queued in &batch {
                self.states.remove(&queued.job.study);
                self.prepared.remove(&queued.job.study);
            }
            tries += 1;
            match &error {
                Some(StoreError::Retry(_)) if tries < MAX_TRIES => {
                    std::thread::sleep(Duration::from_millis(u64::from(tries.min(20))));
                    let first = &batch[0].job.study;
                    if batch.iter().any(|it| it.job.study != *first) {
                        // Another copy holds one of the studies; the others must not wait for it.
                        for jobs in by_study(batch) {
                            self.execute(jobs);
                        }
                        return;
                    }
                    continue;
                }
                Some(error) => {
                    tracing::warn!(%error, requests = batch.len(), "the store failed");
                    self.metrics.store_errors.inc();
                }
                None => tracing::error!(requests = batch.len(), "a command panicked"),
            }
            if batch.len() > 1 && matches!(error, None | Some(StoreError::Damaged(_))) {
                // One of the commands is at fault; the others are executed without it.
                for job in batch.drain(..) {
                    self.execute(vec![job]);
                }
                return;
            }
            let failure = match &error {
                Some(error) => ServiceError::write_failed(error),
                None => {
                    Rejection::internal("the request failed; nothing of it was recorded").into()
                }
            };
            for queued in batch {
                let _ = queued.job.reply.send(Err(failure.clone()));
            }
            return;
        }
    }

    /// Is told of every study with new events, after their commit.
    fn committed(&mut self, heads: &[Head]) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.add(heads);
        }
    }

    /// Executes a batch: one statement locks its studies, one reads its episodes, and one for each table writes its changes.
    fn transact(&mut self, batch: &[Queued]) -> Result<Committed, StoreError> {
        let now = now();
        let mut by_study: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, queued) in batch.iter().enumerate() {
            by_study.entry(&queued.job.study).or_default().push(i);
        }
        let failed = || Outcome::Done(Err(Rejection::internal("the request was not executed")));
        let mut outcomes: Vec<Outcome> = batch.iter().map(|_| failed()).collect();
        let names: Vec<&str> = by_study.keys().copied().collect();
        let keys = self.episode_keys(&by_study, batch);
        let begun = self.store.begin_batch(&names, &keys)?;
        let heads = begun.heads.into_iter();
        let mut heads: HashMap<String, Head> = heads.map(|it| (it.name.clone(), it)).collect();
        let mut episodes: HashMap<i64, Vec<EpisodeRecord>> = HashMap::new();
        for (study, episode) in begun.episodes {
            episodes.entry(study).or_default().push(episode);
        }
        let mut states = Vec::new();
        for (name, jobs) in by_study {
            let head = heads.remove(name);
            if let Some((state, jobs)) = self.state(name, head, jobs, batch, &now, &mut outcomes)? {
                states.push((state, jobs));
            }
        }
        let mut changed = Vec::new();
        for (state, jobs) in states {
            let episodes = episodes.remove(&state.head.key).unwrap_or_default();
            changed.push(self.execute_study(state, &jobs, batch, &now, episodes, &mut outcomes)?);
        }
        let written = changed.iter().filter_map(|it| {
            let changes = it.changes.as_ref()?;
            Some((&it.state.head, changes))
        });
        let written: Vec<_> = written.collect();
        let due = self.checkpoints.as_ref();
        let signed = match due.filter(|it| it.is_due(Instant::now())) {
            Some(checkpoints) => checkpoints.put(&mut *self.store, &now)?,
            None => Vec::new(),
        };
        let begun = Instant::now();
        self.store.commit_batch(&written)?;
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.committed(signed);
        }
        let events: usize = written
            .iter()
            .map(|(_, changes)| changes.events.len())
            .sum();
        let heads = written.into_iter().map(|(head, _)| head.clone()).collect();
        let is_write =
            |outcome: &&Outcome| matches!(outcome, Outcome::Done(Ok(reply)) if reply.new);
        let writes = outcomes.iter().filter(is_write).count();
        self.metrics
            .commit(writes as u64, events as u64, begun.elapsed());
        for Changed { state, .. } in changed {
            self.states
                .insert(state.head.name.clone(), (state, self.batches));
        }
        Ok(Committed { outcomes, heads })
    }

    /// The state of a locked study, and the jobs to execute on it; none if there are none.
    fn state(
        &mut self,
        name: &str,
        head: Option<Head>,
        jobs: Vec<usize>,
        batch: &[Queued],
        now: &str,
        outcomes: &mut [Outcome],
    ) -> Result<Option<(StudyState, Vec<usize>)>, StoreError> {
        let (head, jobs) = self.discard(name, head, jobs, batch, outcomes)?;
        let Some(head) = head else {
            // Until a job creates the study, jobs are rejected.
            let mut jobs = jobs.into_iter();
            while let Some(i) = jobs.next() {
                match creation(name, &batch[i].job.command) {
                    Ok((study, rules)) => {
                        let state = self.create(study, rules, &batch[i].job, now)?;
                        return Ok(Some((state, std::iter::once(i).chain(jobs).collect())));
                    }
                    Err(rejection) => outcomes[i] = Outcome::Done(Err(rejection)),
                }
            }
            return Ok(None);
        };
        let ends = |&i: &usize| matches!(batch[i].job.command, Command::FinishRestore(_));
        let cached = self.states.remove(name);
        // The end of a restoration needs the learners, which are loaded beside the writer.
        let cached = cached.filter(|(state, _)| !state.stale || !jobs.iter().any(ends));
        let Some((mut state, used)) = cached else {
            jobs.iter().for_each(|&i| outcomes[i] = Outcome::Load);
            return Ok(None);
        };
        // Another study or database may be in its place: its episodes were not read.
        if state.head.key != head.key {
            jobs.iter().for_each(|&i| outcomes[i] = Outcome::Load);
            return Ok(None);
        }
        match catches_up(&mut state, &head, &mut *self.store) {
            Ok(true) => Ok(Some((state, jobs))),
            Ok(false) => {
                jobs.iter().for_each(|&i| outcomes[i] = Outcome::Load);
                self.states.insert(name.into(), (state, used));
                Ok(None)
            }
            Err(error) => Err(store_error(error)),
        }
    }

    /// The episodes that the jobs need, by the keys of the studies in memory: commands on others wait for the loader.
    fn episode_keys<'a>(
        &self,
        by_study: &BTreeMap<&str, Vec<usize>>,
        batch: &'a [Queued],
    ) -> Vec<(i64, &'a str)> {
        let mut keys = BTreeSet::new();
        for (name, jobs) in by_study {
            if let Some((state, _)) = self.states.get(*name) {
                let ids = jobs.iter().flat_map(|&i| batch[i].job.command.episodes());
                keys.extend(ids.map(|id| (state.head.key, id)));
            }
        }
        keys.into_iter().collect()
    }

    /// Executes the jobs of one study.
    fn execute_study(
        &mut self,
        mut state: StudyState,
        jobs: &[usize],
        batch: &[Queued],
        now: &str,
        episodes: Vec<EpisodeRecord>,
        outcomes: &mut [Outcome],
    ) -> Result<Changed, StoreError> {
        let (corrections, jobs): (Vec<usize>, Vec<usize>) =
            jobs.iter().partition(|&&i| batch[i].corrects);
        let prepared = self.prepared.remove(&state.head.name);
        let store = &mut *self.store;
        let run = |executor: &mut CommandExecutor<'_>, i: usize| {
            let job = &batch[i].job;
            Ok(match executor.execute(&job.command, &job.by) {
                Ok(reply) => Outcome::Done(Ok(reply)),
                Err(CommandError::Rejected(rejection)) => Outcome::Done(Err(rejection)),
                Err(CommandError::Deferred) => Outcome::Correct,
                Err(CommandError::Store(error)) => return Err(error),
            })
        };
        // The corrections come first: until learners are installed they change only the head, which can be undone.
        let before = state.head.clone();
        let unchanged = match corrections.is_empty() {
            true => Vec::new(),
            false => episodes.clone(),
        };
        let mut executor = CommandExecutor::new(&mut state, store, now, episodes);
        let mut installed = false;
        if let Some(prepared) = prepared {
            executor.may_correct = true;
            for &i in &corrections {
                outcomes[i] = run(&mut executor, i)?;
            }
            installed = executor.install(*prepared, &before).map_err(store_error)?;
        }
        if !installed && !corrections.is_empty() {
            drop(executor);
            (state.head, state.stale) = (before, false);
            executor = CommandExecutor::new(&mut state, store, now, unchanged);
            corrections
                .iter()
                .for_each(|&i| outcomes[i] = Outcome::Correct);
        }
        for i in jobs {
            outcomes[i] = run(&mut executor, i)?;
        }
        let changes = executor.finish().map_err(store_error)?;
        Ok(Changed { state, changes })
    }

    fn create(
        &mut self,
        study: Arc<Study>,
        rules: u32,
        job: &Job,
        now: &str,
    ) -> Result<StudyState, StoreError> {
        self.specs.add(&study);
        let state = StudyState::new(study.clone(), rules);
        let mut state = state.map_err(|rejection| StoreError::Damaged(rejection.detail))?;
        let key = self.store.create(&state.head, &study.canonical)?;
        let taken = || StoreError::Retry("another copy created the study".into());
        state.head.key = key.ok_or_else(taken)?;
        if let Command::Restore(events) = &job.command {
            let end = events.end.clone();
            let (seq, hash) = end.unwrap_or((0, state.head.hash.clone()));
            let restore = Restore {
                begun: now.into(),
                begun_by: job.by.to_string(),
                seq,
                hash,
                ..Restore::default()
            };
            self.store.put_restore(state.head.key, &restore)?;
            state.head.restoring = true;
        }
        Ok(state)
    }

    /// Drops the least recently used states.
    fn evict_states(&mut self) {
        let bytes = |(state, _): &(StudyState, u64)| state.study.canonical.len();
        let mut total: usize = self.states.values().map(bytes).sum();
        let (count, most) = MAX_STATES;
        while self.states.len() > count || (total > most && self.states.len() > 1) {
            let oldest = self.states.iter().min_by_key(|(_, (_, used))| *used);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            total -= self.states.remove(&name).as_ref().map_or(0, bytes);
        }
    }
}

/// The time, as events state it.
fn now() -> String {
    humantime::format_rfc3339_micros(crate::clock::now()).to_string()
}

/// A command that fails after it was accepted: the store does not hold what the service wrote.
fn store_error(error: CommandError) -> StoreError {
    match error {
        CommandError::Store(error) => error,
        CommandError::Rejected(rejection) => StoreError::Damaged(rejection.detail),
        CommandError::Deferred => StoreError::Damaged("a correction was not prepared".into()),
    }
}

fn by_study(batch: Vec<Queued>) -> Vec<Vec<Queued>> {
    let mut studies: BTreeMap<String, Vec<Queued>> = BTreeMap::new();
    for queued in batch {
        let study = queued.job.study.clone();
        studies.entry(study).or_default().push(queued);
    }
    studies.into_values().collect()
}

/// The study that a command creates, and its rules; rejects any other command.
fn creation(name: &str, command: &Command) -> Result<(Arc<Study>, u32), Rejection> {
    match command {
        Command::Create(study) => Ok((study.clone(), RULES)),
        Command::Restore(RestoreEvents {
            study: Some(study),
            records,
            ..
        }) => {
            // The import has checked more; a study without events must not be left behind.
            let first = records.first().filter(|first| first.is_intact());
            match first.and_then(|first| first.read().ok()).map(|it| it.kind) {
                Some(EventKind::Created(created)) => Ok((study.clone(), created.rules)),
                _ => Err(Rejection::conflict(format!("event 1: {CHANGED}"))),
            }
        }
        Command::Restore(_) => Err(Rejection::not_possible(format!(
            "there is no study `{name}`, and the first event does not create it"
        ))),
        _ => Err(no_study(name)),
    }
}
