//! The writer thread: commits queued commands in batches (group commit).
//!
//! While one batch is committed the next one queues, so that many requests share one fsync. The fsync is in
//! [`Store::commit`]; a reply is sent only after the commit has returned.
//!
//! If the store fails (disk full, connection lost), the batch is rolled back, cached states are dropped, and every request of the
//! batch gets a 503 with `Retry-After` ([`ServiceError::write_failed`]). Reads use other connections and continue.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::app::execute_command::CommandExecutor;
use crate::app::{CHANGED, CommandError, Metrics, ServiceError, load_state, no_study};
use crate::domain::{
    Command, EventKind, RULES, Rejection, Reply, RestoreEvents, Study, StudyState,
};
use crate::store::{Restore, Store, StoreError};

/// The largest number of commands in a batch.
const MAX_BATCH: usize = 256;
/// The largest number of cached study states.
const MAX_STATES: usize = 256;
/// How often a batch is retried while another copy of the service holds a lock.
const MAX_TRIES: u32 = 30;

pub struct Job {
    pub study: String,
    pub command: Command,
    /// The id of the token that sent it.
    pub by: String,
    pub reply: oneshot::Sender<Result<Reply, ServiceError>>,
}

/// The writer and its cached states.
pub struct GroupCommitWriter {
    store: Box<dyn Store>,
    /// The state of each recently used study, with the batch that used it last.
    states: HashMap<String, (StudyState, u64)>,
    batches: u64,
    metrics: Metrics,
}

type Results = Vec<Result<Reply, Rejection>>;

impl GroupCommitWriter {
    /// A writer on its own connection.
    pub fn new(store: Box<dyn Store>, metrics: Metrics) -> GroupCommitWriter {
        GroupCommitWriter {
            store,
            states: HashMap::new(),
            batches: 0,
            metrics,
        }
    }

    /// Executes jobs until every sender is dropped.
    pub fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut batch = vec![first];
            // A correction rebuilds the learners, which can be slow: at most one in a batch.
            while batch.len() < MAX_BATCH
                && !matches!(
                    batch.last().map(|job| &job.command),
                    Some(Command::Amend(..))
                )
                && let Ok(job) = jobs.try_recv()
            {
                batch.push(job);
            }
            self.metrics.queue.dec_by(batch.len() as i64);
            self.execute(batch);
        }
    }

    fn execute(&mut self, mut batch: Vec<Job>) {
        let mut tries = 0;
        loop {
            self.batches += 1;
            let attempt = catch_unwind(AssertUnwindSafe(|| self.transact(&batch)));
            let error = match attempt {
                Ok(Ok(results)) => {
                    for (job, result) in batch.into_iter().zip(results) {
                        // The receiver may be gone.
                        let _ = job.reply.send(result.map_err(ServiceError::Rejected));
                    }
                    return self.evict_states();
                }
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            self.store.rollback();
            // The states in memory are ahead of the store now.
            for job in &batch {
                self.states.remove(&job.study);
            }
            tries += 1;
            match &error {
                Some(StoreError::Retry(_)) if tries < MAX_TRIES => {
                    std::thread::sleep(Duration::from_millis(u64::from(tries.min(20))));
                    if batch.iter().any(|job| job.study != batch[0].study) {
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
            for job in batch {
                let _ = job.reply.send(Err(failure.clone()));
            }
            return;
        }
    }

    fn transact(&mut self, batch: &[Job]) -> Result<Results, StoreError> {
        let now = humantime::format_rfc3339_micros(crate::clock::now()).to_string();
        // In the order of names: two copies that lock several studies do not deadlock.
        let mut by_study: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, job) in batch.iter().enumerate() {
            by_study.entry(&job.study).or_default().push(i);
        }
        let failed = || Err(Rejection::internal("the request was not executed"));
        let mut results: Results = batch.iter().map(|_| failed()).collect();
        self.store.begin()?;
        let mut events = 0;
        for (name, jobs) in by_study {
            events += self.execute_study(name, &jobs, batch, &now, &mut results)?;
        }
        let begun = Instant::now();
        self.store.commit()?;
        let is_write =
            |result: &&Result<Reply, Rejection>| matches!(result, Ok(reply) if reply.new);
        let writes = results.iter().filter(is_write).count();
        self.metrics.commit(writes as u64, events, begun.elapsed());
        Ok(results)
    }

    /// Executes the jobs of one study; returns the number of new events.
    fn execute_study(
        &mut self,
        name: &str,
        jobs: &[usize],
        batch: &[Job],
        now: &str,
        results: &mut Results,
    ) -> Result<u64, StoreError> {
        let mut jobs = jobs.iter().copied().peekable();
        let mut state = match self.store.lock(name)? {
            Some(head) => {
                let cached = self.states.remove(name).map(|(state, _)| state);
                match load_state(cached, head, &mut *self.store) {
                    Ok(state) => state,
                    Err(CommandError::Store(error)) => return Err(error),
                    Err(CommandError::Rejected(rejection)) => {
                        for i in jobs {
                            results[i] = Err(rejection.clone());
                        }
                        return Ok(0);
                    }
                }
            }
            // Until a job creates the study, jobs are rejected.
            None => loop {
                let Some(&i) = jobs.peek() else { return Ok(0) };
                match creation(name, &batch[i].command) {
                    Ok((study, rules)) => break self.create(study, rules, &batch[i], now)?,
                    Err(rejection) => {
                        results[i] = Err(rejection);
                        jobs.next();
                    }
                }
            },
        };
        let jobs: Vec<usize> = jobs.collect();
        let ids = jobs.iter().flat_map(|&i| batch[i].command.episodes());
        let ids: Vec<&str> = ids.collect();
        let episodes = match &ids[..] {
            [] => Vec::new(),
            ids => self.store.episodes(state.head.key, ids)?,
        };
        let before = state.head.seq;
        let mut executor = CommandExecutor::new(&mut state, &mut *self.store, now, episodes);
        for i in jobs {
            let job = &batch[i];
            results[i] = match executor.execute(&job.command, &job.by) {
                Ok(reply) => Ok(reply),
                Err(CommandError::Rejected(rejection)) => Err(rejection),
                Err(CommandError::Store(error)) => return Err(error),
            };
        }
        executor.write().map_err(|error| match error {
            CommandError::Store(error) => error,
            CommandError::Rejected(rejection) => StoreError::Damaged(rejection.detail),
        })?;
        let events = state.head.seq - before;
        self.states.insert(name.into(), (state, self.batches));
        Ok(events)
    }

    fn create(
        &mut self,
        study: Arc<Study>,
        rules: u32,
        job: &Job,
        now: &str,
    ) -> Result<StudyState, StoreError> {
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
                begun_by: job.by.clone(),
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
        while self.states.len() > MAX_STATES {
            let oldest = self.states.iter().min_by_key(|(_, (_, used))| *used);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.states.remove(&name);
        }
    }
}

fn by_study(batch: Vec<Job>) -> Vec<Vec<Job>> {
    let mut studies: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    for job in batch {
        studies.entry(job.study.clone()).or_default().push(job);
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
