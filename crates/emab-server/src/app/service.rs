//! The service without its HTTP: commands go to the one who writes, questions to a few who read.

use std::collections::HashMap;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::app::error::CommandError;
use crate::app::metrics::Metrics;
use crate::app::replay::Replay;
use crate::app::writer::{GroupCommitWriter, Job, load_state, refuse_read};
use crate::domain::command::{Command, Reply};
use crate::domain::error::ApiError;
use crate::domain::state::StudyState;
use crate::domain::study::Study;
use crate::store::{Backend, Head, Store, StoreError};

/// Commands that wait for the writer, at most.
const QUEUE: usize = 1_024;
/// Connections that read.
const READERS: usize = 4;
/// What goes through a whole study, at the same time, at most: some readers are left for the short questions.
const LOOKS: usize = 2;
/// Studies whose minds are kept at hand for reading.
const VIEWS: usize = 16;
/// Studies that are kept at hand as they were read.
const STUDIES: usize = 1_024;
/// How many events are read at once.
pub const PAGE: usize = 1_000;

/// The service.
pub struct Service {
    jobs: Mutex<Option<SyncSender<Job>>>,
    metrics: Metrics,
    clerk: Mutex<Option<JoinHandle<()>>>,
    backend: Arc<dyn Backend>,
    readers: Arc<Mutex<Vec<Box<dyn Store>>>>,
    reading: Arc<Semaphore>,
    looking: Arc<Semaphore>,
    views: Mutex<HashMap<String, StudyState>>,
    studies: Mutex<HashMap<String, Arc<Study>>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is inside is whole whenever the lock is let go of.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Service {
    /// Starts the writer over a store.
    pub fn start(backend: Arc<dyn Backend>, metrics: Metrics) -> Result<Arc<Service>, StoreError> {
        let (sender, jobs) = sync_channel(QUEUE);
        let clerk = GroupCommitWriter::new(backend.writer()?, metrics.clone());
        let thread = std::thread::Builder::new()
            .name("clerk".into())
            .spawn(move || clerk.run(&jobs))
            .map_err(|error| StoreError::Gone(format!("no thread to write with: {error}")))?;
        Ok(Arc::new(Service {
            jobs: Mutex::new(Some(sender)),
            metrics,
            clerk: Mutex::new(Some(thread)),
            readers: Arc::default(),
            backend,
            reading: Arc::new(Semaphore::new(READERS)),
            looking: Arc::new(Semaphore::new(LOOKS)),
            views: Mutex::default(),
            studies: Mutex::default(),
        }))
    }

    /// Takes no more commands, and waits until those that were taken are answered.
    pub fn finish(&self) {
        held(&self.jobs).take();
        if let Some(thread) = held(&self.clerk).take()
            && thread.join().is_err()
        {
            tracing::error!("the writer had panicked");
        }
    }

    /// Has a command carried out; answers once it is on disk.
    pub async fn submit(&self, study: &str, command: Command, by: &str) -> Result<Reply, ApiError> {
        command.check_length()?;
        let (reply, answer) = oneshot::channel();
        let job = Job {
            study: study.into(),
            command,
            by: by.into(),
            reply,
        };
        let stopping = || ApiError::unavailable("the service is stopping").retry(5);
        match held(&self.jobs).as_ref() {
            None => return Err(stopping()),
            Some(jobs) => jobs.try_send(job).map_err(|error| match error {
                TrySendError::Full(_) => {
                    ApiError::unavailable(format!("{QUEUE} requests are waiting to be written"))
                        .retry(1)
                }
                TrySendError::Disconnected(_) => stopping(),
            })?,
        }
        self.metrics.waiting(1);
        answer.await.unwrap_or_else(|_| Err(stopping()))
    }

    /// Asks the store something, on a thread that may wait for it.
    pub async fn read<T, F>(&self, ask: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    {
        let stopping = |_| ApiError::unavailable("the service is stopping").retry(5);
        let permit = self.reading.clone().acquire_owned();
        let permit = permit.await.map_err(stopping)?;
        let (pool, backend) = (self.readers.clone(), self.backend.clone());
        let asked = tokio::task::spawn_blocking(move || {
            // Whoever asked may be gone, and the work is done all the same: it is the work that is counted.
            let _permit = permit;
            let idle = held(&pool).pop();
            let mut store = match idle {
                Some(store) => store,
                None => backend.reader()?,
            };
            let answer = ask(&mut *store);
            held(&pool).push(store);
            answer
        });
        match asked.await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(CommandError::Refused(refusal))) => Err(refusal),
            Ok(Err(CommandError::Store(error))) => {
                tracing::warn!(%error, "reading failed");
                Err(refuse_read(&error))
            }
            Err(_) => Err(ApiError::internal("reading failed")),
        }
    }

    /// Asks the store several things about one and the same moment.
    pub async fn read_still<T, F>(&self, ask: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    {
        self.read(move |store| {
            store.hold()?;
            let answer = ask(store);
            store.rollback();
            answer
        })
        .await
    }

    /// The study, which must be there.
    pub async fn head(&self, study: &str) -> Result<Head, ApiError> {
        let name = study.to_owned();
        self.read(move |store| head(store, &name)).await
    }

    /// What a study was created from, read once: it never changes.
    pub fn study(&self, head: &Head) -> Result<Arc<Study>, ApiError> {
        let known = held(&self.studies).get(&head.name).cloned();
        if let Some(study) = known.filter(|study| study.hash == head.spec_hash) {
            return Ok(study);
        }
        let study = Arc::new(Study::from_canonical(&head.name, &head.spec)?);
        let mut studies = held(&self.studies);
        if studies.len() >= STUDIES {
            studies.clear();
        }
        studies.insert(head.name.clone(), study.clone());
        Ok(study)
    }

    /// Asks what a study knows now.
    pub async fn now<T, F>(self: &Arc<Self>, study: &str, ask: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&mut StudyState) -> T + Send + 'static,
    {
        let look = self.look()?;
        let (name, service) = (study.to_owned(), self.clone());
        self.read_still(move |store| {
            let _look = look;
            let head = head(store, &name)?;
            let known = held(&service.views).remove(&name);
            let mut board = load_state(known, head, store)?;
            let answer = ask(&mut board);
            let mut views = held(&service.views);
            if views.len() >= VIEWS
                && let Some(other) = views.keys().next().cloned()
            {
                views.remove(&other);
            }
            views.insert(name, board);
            Ok(answer)
        })
        .await
    }

    /// Leave to go through a whole study.
    fn look(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        let busy = |_| ApiError::too_many("other studies are being gone through").retry(2);
        self.looking.clone().try_acquire_owned().map_err(busy)
    }

    /// Goes through the log of a study up to an event and asks what was known then. Only a few at a time.
    pub async fn then<T, F>(&self, study: &str, seq: u64, ask: F) -> Result<T, ApiError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Replay, &mut dyn Store, &Head) -> Result<T, CommandError> + Send + 'static,
    {
        let look = self.look()?;
        let name = study.to_owned();
        // What is in the log stays as it is: nothing need be held still.
        self.read(move |store| {
            let _look = look;
            let head = head(store, &name)?;
            let mut replay = Replay::default();
            let mut at = 0;
            while at < seq {
                let page = store.events(head.key, at, PAGE.min((seq - at) as usize))?;
                let Some(last) = page.last() else { break };
                at = last.seq;
                for record in &page {
                    let passed = match record.read() {
                        Ok(event) if record.is_intact() => replay.pass(&event, &record.hash),
                        Ok(_) => Err("its hash is not that of its line: it was changed".into()),
                        Err(error) => Err(error.to_string()),
                    };
                    passed.map_err(|what| {
                        StoreError::Damaged(format!("event {}: {what}", record.seq))
                    })?;
                }
            }
            replay.refresh().map_err(StoreError::Damaged)?;
            ask(&mut replay, store, &head)
        })
        .await
    }
}

/// The key of the study, which must be there.
pub fn key(store: &mut dyn Store, study: &str) -> Result<i64, CommandError> {
    let key = store.key(study)?;
    Ok(key.ok_or_else(|| no_study(study))?)
}

/// The study, which must be there.
pub fn head(store: &mut dyn Store, study: &str) -> Result<Head, CommandError> {
    let head = store.head(study)?;
    Ok(head.ok_or_else(|| no_study(study))?)
}

fn no_study(study: &str) -> ApiError {
    ApiError::not_found(format!("there is no study `{study}`"))
}
