//! The service without HTTP: commands go to the writer thread, reads to a pool of reader connections.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::app::writer::{GroupCommitWriter, Job};
use crate::app::{CommandError, Metrics, Replay, ServiceError, head, load_state, study};
use crate::domain::{Command, Decision, Head, Rejection, Reply, Study, StudyState};
use crate::store::{Backend, Store, StoreError};

/// The largest number of queued commands.
const QUEUE: usize = 1_024;
const READERS: usize = 4;
/// The largest number of reads of a whole study at a time; the other readers serve short requests.
const LONG_READS: usize = 2;
/// The largest number of study states that are cached for reading.
const STATES: usize = 16;
/// The largest number of cached specifications.
const STUDIES: usize = 1_024;
/// The number of events in one read.
pub const PAGE: usize = 1_000;

pub struct Service {
    jobs: Mutex<Option<SyncSender<Job>>>,
    metrics: Metrics,
    writer: Mutex<Option<JoinHandle<()>>>,
    backend: Arc<dyn Backend>,
    readers: Arc<Mutex<Vec<Box<dyn Store>>>>,
    reads: Arc<Semaphore>,
    long_reads: Arc<Semaphore>,
    states: Mutex<HashMap<String, StudyState>>,
    studies: Mutex<HashMap<String, Arc<Study>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data are consistent whenever the lock is released, also by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    pub fn start(backend: Arc<dyn Backend>, metrics: Metrics) -> Result<Arc<Service>, StoreError> {
        let (sender, jobs) = sync_channel(QUEUE);
        let writer = GroupCommitWriter::new(backend.writer()?, metrics.clone());
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || writer.run(&jobs))
            .map_err(|error| StoreError::Unavailable(format!("no thread for writing: {error}")))?;
        Ok(Arc::new(Service {
            jobs: Mutex::new(Some(sender)),
            metrics,
            writer: Mutex::new(Some(thread)),
            readers: Arc::default(),
            backend,
            reads: Arc::new(Semaphore::new(READERS)),
            long_reads: Arc::new(Semaphore::new(LONG_READS)),
            states: Mutex::default(),
            studies: Mutex::default(),
        }))
    }

    /// Accepts no more commands, and waits until the queued ones are answered.
    pub fn finish(&self) {
        locked(&self.jobs).take();
        if let Some(thread) = locked(&self.writer).take()
            && thread.join().is_err()
        {
            tracing::error!("the writer thread panicked");
        }
    }

    /// Queues a command; returns its reply once it is on disk.
    pub async fn submit(
        &self,
        study: &str,
        command: Command,
        by: &str,
    ) -> Result<Reply, ServiceError> {
        command.check_length()?;
        let (reply, answer) = oneshot::channel();
        let job = Job {
            study: study.into(),
            command,
            by: by.into(),
            reply,
        };
        match locked(&self.jobs).as_ref() {
            None => return Err(ServiceError::stopping()),
            Some(jobs) => jobs.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => {
                    ServiceError::unavailable(format!("{QUEUE} requests are queued for writing"), 1)
                }
                TrySendError::Disconnected(_) => ServiceError::stopping(),
            })?,
        }
        self.metrics.queue.inc();
        let stopping = |_| Err(ServiceError::stopping());
        answer.await.unwrap_or_else(stopping)
    }

    /// Runs a read on a blocking thread with a reader connection.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let permit = self.reads.clone().acquire_owned().await;
        let permit = permit.map_err(|_| ServiceError::stopping())?;
        let (pool, backend) = (self.readers.clone(), self.backend.clone());
        let running = tokio::task::spawn_blocking(move || {
            // Held to the end of the read, even if the request is dropped before.
            let _permit = permit;
            let idle = locked(&pool).pop();
            let mut store = match idle {
                Some(store) => store,
                None => backend.reader()?,
            };
            let answer = read(&mut *store);
            locked(&pool).push(store);
            answer
        });
        match running.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(CommandError::Rejected(rejection))) => Err(rejection.into()),
            Ok(Err(CommandError::Store(error))) => {
                tracing::warn!(%error, "a read failed");
                Err(ServiceError::read_failed(&error))
            }
            Err(_) => Err(Rejection::internal("the read failed").into()),
        }
    }

    /// Runs several reads on one snapshot of the store.
    pub async fn read_snapshot<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.read(move |store| {
            store.begin_snapshot()?;
            let answer = read(store);
            store.rollback();
            answer
        })
        .await
    }

    /// The head of a study; fails if there is no such study.
    pub async fn head(&self, study: &str) -> Result<Head, ServiceError> {
        let name = study.to_owned();
        self.read(move |store| head(store, &name)).await
    }

    /// The parsed specification of a study, from a cache.
    pub fn study(&self, store: &mut dyn Store, head: &Head) -> Result<Arc<Study>, CommandError> {
        let known = locked(&self.studies).get(&head.name).cloned();
        if let Some(study) = known.filter(|study| study.hash == head.spec_hash) {
            return Ok(study);
        }
        let study = Arc::new(study(store, head)?);
        let mut studies = locked(&self.studies);
        if studies.len() >= STUDIES {
            studies.clear();
        }
        studies.insert(head.name.clone(), study.clone());
        Ok(study)
    }

    /// The same, outside a read.
    pub async fn load_study(self: &Arc<Self>, head: &Head) -> Result<Arc<Study>, ServiceError> {
        let (service, head) = (self.clone(), head.clone());
        self.read(move |store| service.study(store, &head)).await
    }

    /// Reads the current state of a study.
    pub async fn current_state<T: Send + 'static>(
        self: &Arc<Self>,
        study: &str,
        read: impl FnOnce(&mut StudyState) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let permit = self.long_read()?;
        let (name, service) = (study.to_owned(), self.clone());
        self.read_snapshot(move |store| {
            let _permit = permit;
            let head = head(store, &name)?;
            let cached = locked(&service.states).remove(&name);
            let mut state = load_state(cached, head, store)?;
            let answer = read(&mut state);
            let mut states = locked(&service.states);
            if states.len() >= STATES
                && let Some(other) = states.keys().next().cloned()
            {
                states.remove(&other);
            }
            states.insert(name, state);
            Ok(answer)
        })
        .await
    }

    /// A permit to read a whole study; fails if all are taken.
    fn long_read(&self) -> Result<OwnedSemaphorePermit, ServiceError> {
        let permit = self.long_reads.clone().try_acquire_owned();
        permit.map_err(|_| ServiceError::Busy("too many studies are being read in full".into(), 2))
    }

    /// Replays the log of a study up to an event, and reads the state at it.
    pub async fn past_state<T, F>(&self, study: &str, seq: u64, read: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Replay, &mut dyn Store, &Head) -> Result<T, CommandError> + Send + 'static,
    {
        let permit = self.long_read()?;
        let name = study.to_owned();
        // The log is append-only: no snapshot is needed.
        self.read(move |store| {
            let _permit = permit;
            let head = head(store, &name)?;
            let mut replay = Replay::of_store(store, &head, seq)?;
            replay.refresh().map_err(StoreError::Damaged)?;
            read(&mut replay, store, &head)
        })
        .await
    }

    /// The recorded decision for a step, and the decision recomputed from the log; none if there is no such decision.
    pub async fn replay_decision(
        &self,
        study: &str,
        episode: &str,
        step: u32,
    ) -> Result<Option<(String, String)>, ServiceError> {
        let (name, id) = (study.to_owned(), episode.to_owned());
        let recorded = self.read(move |store| {
            let head = head(store, &name)?;
            Ok(store.decision(head.key, &id, Some(step))?)
        });
        let Some(recorded) = recorded.await?.map(|decision| decision.text) else {
            return Ok(None);
        };
        let internal = |error: serde_json::Error| Rejection::internal(error.to_string());
        let decision: Decision = serde_json::from_str(&recorded).map_err(internal)?;
        let as_of = decision.advice.as_of;
        let id = episode.to_owned();
        let recomputed = self.past_state(study, as_of, move |replay, store, head| {
            let damaged = |what: &str| StoreError::Damaged(format!("event {}: {what}", as_of + 1));
            let next = store.events(head.key, as_of, 1)?;
            let record = next.first().ok_or_else(|| damaged("missing"))?;
            let event = record.read();
            let event = event.map_err(|error| damaged(&error.to_string()))?;
            let recorded = event.decision().map(|(episode, at, _)| (episode, at));
            if recorded != Some((&*id, step)) {
                return Err(damaged("it does not record this decision").into());
            }
            let made = replay.recompute(&event).map_err(|what| damaged(&what))?;
            let (decision, _) = made.ok_or_else(|| damaged("it records no decision"))?;
            Ok(serde_json::to_string(&decision).map_err(internal)?)
        });
        Ok(Some((recorded, recomputed.await?)))
    }
}
