//! The service without HTTP: commands go to the writer thread, reads to a pool of reader connections.
//!
//! Limits apply to each token, so that one cannot take what all share: the queue of the writer, reader connections, reads of
//! whole studies, and the memory for creating studies.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use crate::app::checkpoint::Checkpoints;
use crate::app::fair_queue::{FairQueue, QueueError, QueueLimits};
use crate::app::permits::{NoPermit, Permit, TokenPermits};
use crate::app::recent_tokens::RecentTokens;
use crate::app::writer::{GroupCommitWriter, Job, SessionChange, SessionJob, Work};
use crate::app::{CommandError, Metrics, Replay, ServiceError, Specs, Summary, head, load_state};
use crate::domain::{
    Author, Command, Decision, Head, Rejection, Reply, Session, Study, StudyState,
};
use crate::store::{Backend, Store, StoreError};

/// The largest numbers of queued commands.
const QUEUE: QueueLimits = QueueLimits {
    key: 256,
    token: 512,
    all: 1_024,
};
/// Short reads at a time: of a token, all, and how many of a token may wait.
const READS: [usize; 3] = [6, 8, 1_024];
/// Reads of a whole study at a time: of a token, all, and how many of a token may wait.
const LONG_READS: [usize; 3] = [1, 2, 4];
/// Tables that are read at a time: of a token, all, and how many of a token may wait.
const TABLES: [usize; 3] = [2, 4, 4];
/// Studies that are checked at a time before they are created, which needs a multiple of their length in memory.
const CREATIONS: [usize; 3] = [1, 2, 4];
/// The largest number of study states that are cached for reading.
const STATES: usize = 16;
/// The number of events in one read.
pub const PAGE: usize = 1_000;

tokio::task_local! {
    static CALLER: RefCell<Arc<str>>;
}

/// Runs a request; [`set_caller`] inside it sets the token that its reads count for.
pub async fn with_caller<T>(token: &str, request: impl Future<Output = T>) -> T {
    CALLER.scope(RefCell::new(token.into()), request).await
}

/// Sets the token of the request; without effect outside [`with_caller`].
pub fn set_caller(token: &str) {
    let _ = CALLER.try_with(|caller| caller.replace(token.into()));
}

fn caller() -> Arc<str> {
    let caller = CALLER.try_with(|caller| caller.borrow().clone());
    caller.unwrap_or_else(|_| "".into())
}

pub struct Service {
    jobs: Arc<FairQueue<Work>>,
    metrics: Metrics,
    writer: Mutex<Option<JoinHandle<()>>>,
    backend: Arc<dyn Backend>,
    readers: Arc<Mutex<Vec<Box<dyn Store>>>>,
    /// The tokens of the last reads and commands.
    recent: RecentTokens,
    reads: TokenPermits,
    long_reads: TokenPermits,
    tables: TokenPermits,
    creations: TokenPermits,
    states: Mutex<HashMap<String, StudyState>>,
    /// The parsed specifications.
    pub specs: Arc<Specs>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The data are consistent whenever the lock is released, also by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn permits([each, all, waiting]: [usize; 3]) -> TokenPermits {
    TokenPermits::new(each, all, waiting)
}

/// The largest number of short reads of a token at a time while other tokens are in use: half of the processors. With more, the
/// requests of the others take more than twice their time.
fn shared_reads() -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    (processors / 2).clamp(1, READS[0])
}

impl Service {
    /// Starts the writer thread; it writes checkpoints if it can sign them.
    pub fn start(
        backend: Arc<dyn Backend>,
        metrics: Metrics,
        checkpoints: Option<Checkpoints>,
    ) -> Result<Arc<Service>, StoreError> {
        let jobs = Arc::new(FairQueue::new(QUEUE));
        let specs = Arc::<Specs>::default();
        let writer = GroupCommitWriter::new(
            &backend,
            jobs.clone(),
            specs.clone(),
            metrics.clone(),
            checkpoints,
        )?;
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || writer.run())
            .map_err(|error| StoreError::Unavailable(format!("no thread for writing: {error}")))?;
        Ok(Arc::new(Service {
            jobs,
            metrics,
            writer: Mutex::new(Some(thread)),
            readers: Arc::default(),
            backend,
            recent: RecentTokens::default(),
            reads: permits(READS).shared(shared_reads()),
            long_reads: permits(LONG_READS),
            tables: permits(TABLES),
            creations: permits(CREATIONS),
            states: Mutex::default(),
            specs,
        }))
    }

    /// Accepts no more commands, and waits until the queued ones are answered.
    pub fn finish(&self) {
        self.jobs.close();
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
        by: &Author,
    ) -> Result<Reply, ServiceError> {
        command.check_length()?;
        self.recent.record(&caller());
        let (reply, answer) = oneshot::channel();
        let job = Job {
            study: study.into(),
            command,
            by: by.clone(),
            reply,
        };
        self.queue(study, &by.token, Work::Job(job), answer).await
    }

    /// Queues work of a token for the writer thread, and waits for its answer.
    async fn queue<T>(
        &self,
        study: &str,
        token: &str,
        work: Work,
        answer: oneshot::Receiver<Result<T, ServiceError>>,
    ) -> Result<T, ServiceError> {
        // Before the push: the writer may take the work at once.
        self.metrics.queue.inc();
        if let Err(error) = self.jobs.push(study, token, work) {
            self.metrics.queue.dec();
            return Err(match error {
                QueueError::Full(most) => {
                    let what = format!("{most} requests are queued for writing");
                    ServiceError::unavailable(what, 1)
                }
                QueueError::Closed => ServiceError::stopping(),
            });
        }
        let stopping = |_| Err(ServiceError::stopping());
        answer.await.unwrap_or_else(stopping)
    }

    /// Begins a session; returns once it is on disk.
    pub async fn begin_session(&self, session: Session) -> Result<(), ServiceError> {
        let token = session.token.clone();
        self.change_session(&token, SessionChange::Begin(session))
            .await
    }

    /// Ends a session, if there is one with this hash; returns once that is on disk.
    pub async fn end_session(&self, hash: &str) -> Result<(), ServiceError> {
        self.change_session(&caller(), SessionChange::End(hash.into()))
            .await
    }

    async fn change_session(&self, token: &str, change: SessionChange) -> Result<(), ServiceError> {
        let (reply, answer) = oneshot::channel();
        let work = Work::Session(SessionJob { change, reply });
        // Sessions belong to no study: a token has one key for them.
        self.queue(token, token, work, answer).await
    }

    /// The session with this hash, whether or not it has expired.
    pub async fn session(&self, hash: &str) -> Result<Option<Session>, ServiceError> {
        let hash = hash.to_owned();
        self.read(move |store| Ok(store.session(&hash)?)).await
    }

    /// A permit of the caller.
    async fn acquire(&self, permits: &TokenPermits, what: &str) -> Result<Permit, ServiceError> {
        let token = caller();
        let others = self.recent.record(&token);
        permits
            .acquire_beside(&token, others)
            .await
            .map_err(|error| match error {
                NoPermit::Closed => ServiceError::stopping(),
                NoPermit::Token(most) => ServiceError::Busy(
                    format!(
                        "this token has too many {what}: {most} run at a time, and others wait"
                    ),
                    2,
                ),
                NoPermit::All(most) => ServiceError::Busy(format!("{most} {what} run"), 2),
            })
    }

    /// Runs a short read on a blocking thread with a reader connection.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let permit = self.acquire(&self.reads, "requests that read").await?;
        self.read_with(permit, read).await
    }

    async fn read_with<T: Send + 'static>(
        &self,
        permit: Permit,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
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
            Ok(Err(CommandError::Deferred)) | Err(_) => {
                Err(Rejection::internal("the read failed").into())
            }
        }
    }

    /// Runs several reads on one snapshot of the store.
    pub async fn read_snapshot<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.read(in_snapshot(read)).await
    }

    /// The head of a study; fails if there is no such study.
    pub async fn head(&self, study: &str) -> Result<Head, ServiceError> {
        let name = study.to_owned();
        self.read(move |store| head(store, &name)).await
    }

    /// The heads of studies after a name, in the order of names: of all studies, or of those with these names.
    pub async fn heads(
        &self,
        only: Option<Vec<String>>,
        after: &str,
        limit: usize,
    ) -> Result<Vec<Head>, ServiceError> {
        let after = after.to_owned();
        let heads = self.read(move |store| {
            let Some(mut names) = only else {
                return Ok(store.heads(&after, limit)?);
            };
            names.retain(|name| *name > after);
            names.sort_unstable();
            names.dedup();
            let mut heads = Vec::new();
            for name in names {
                heads.extend(store.head(&name)?);
                if heads.len() == limit {
                    break;
                }
            }
            Ok(heads)
        });
        heads.await
    }

    /// The parsed specification of a study, from a cache. Inside a read.
    pub fn study(&self, store: &mut dyn Store, head: &Head) -> Result<Arc<Study>, CommandError> {
        self.specs.study(store, head)
    }

    /// The same, outside a read.
    pub async fn load_study(self: &Arc<Self>, head: &Head) -> Result<Arc<Study>, ServiceError> {
        let (service, head) = (self.clone(), head.clone());
        self.read(move |store| service.study(store, &head)).await
    }

    /// What lists show of the specification of a study.
    pub async fn summary(self: &Arc<Self>, head: &Head) -> Result<Arc<Summary>, ServiceError> {
        if let Some(summary) = self.specs.known_summary(head) {
            return Ok(summary);
        }
        let (service, head) = (self.clone(), head.clone());
        self.read(move |store| service.specs.summary(store, &head))
            .await
    }

    /// Parses and checks a new study.
    pub async fn read_study(&self, name: &str, body: bytes::Bytes) -> Result<Study, ServiceError> {
        let permit = self
            .acquire(&self.creations, "studies that are created")
            .await?;
        let name = name.to_owned();
        // Checking every pair of a large study is slow.
        let read = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            Study::read(&name, &body)
        });
        let failed = |_| Rejection::internal("the study could not be read");
        Ok(read.await.map_err(failed)??)
    }

    /// Reads the current state of a study.
    pub async fn current_state<T: Send + 'static>(
        self: &Arc<Self>,
        study: &str,
        read: impl FnOnce(&mut StudyState) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        self.current_state_and_store(study, |state, _| Ok(read(state)))
            .await
    }

    /// Reads the current state of a study, and more from the same snapshot of its store.
    pub async fn current_state_and_store<T, F>(
        self: &Arc<Self>,
        study: &str,
        read: F,
    ) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: FnOnce(&mut StudyState, &mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    {
        let (name, service) = (study.to_owned(), self.clone());
        self.read_long(in_snapshot(move |store| {
            let head = head(store, &name)?;
            let cached = locked(&service.states).remove(&name);
            let mut state = load_state(cached, head, store, &service.specs)?;
            let answer = read(&mut state, store);
            let mut states = locked(&service.states);
            if states.len() >= STATES
                && let Some(other) = states.keys().next().cloned()
            {
                states.remove(&other);
            }
            states.insert(name, state);
            answer
        }))
        .await
    }

    /// Runs a read of a whole study, which may take long.
    async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let permit = self
            .acquire(&self.long_reads, "requests that read a whole study")
            .await?;
        self.read_with(permit, read).await
    }

    /// Reads a table on a snapshot of the store, which takes as long as the client reads. The first result is that of the permit.
    pub async fn read_table<T, F>(
        self: &Arc<Self>,
        read: F,
    ) -> Result<impl Future<Output = Result<T, ServiceError>> + Send + use<T, F>, ServiceError>
    where
        T: Send + 'static,
        F: FnOnce(&mut dyn Store) -> Result<T, CommandError> + Send + 'static,
    {
        let permit = self.acquire(&self.tables, "tables that are read").await?;
        let service = self.clone();
        Ok(async move { service.read_with(permit, in_snapshot(read)).await })
    }

    /// Replays the log of a study up to an event, and reads the state at it.
    pub async fn past_state<T, F>(&self, study: &str, seq: u64, read: F) -> Result<T, ServiceError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Replay, &mut dyn Store, &Head) -> Result<T, CommandError> + Send + 'static,
    {
        let name = study.to_owned();
        // The log is append-only: no snapshot is needed.
        self.read_long(move |store| {
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

/// Several reads on one snapshot of the store.
fn in_snapshot<T>(
    read: impl FnOnce(&mut dyn Store) -> Result<T, CommandError>,
) -> impl FnOnce(&mut dyn Store) -> Result<T, CommandError> {
    move |store| {
        store.begin_snapshot()?;
        let answer = read(store);
        store.rollback();
        answer
    }
}
