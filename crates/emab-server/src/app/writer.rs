//! The one who writes: takes what is asked for in groups, and puts each group into the store with one commit.
//!
//! While one group is on its way to the disk the next one gathers, so that many requests share one fsync. Nobody is
//! answered before the commit has returned.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::app::error::CommandError;
use crate::app::executor::CommandExecutor;
use crate::app::learning::{apply_new, rebuild};
use crate::app::metrics::Metrics;
use crate::domain::command::{Command, Reply};
use crate::domain::error::ApiError;
use crate::domain::event::{Event, EventKind, Record};
use crate::domain::state::StudyState;
use crate::domain::study::Study;
use crate::store::{Head, Store, StoreError};

/// The most commands in a group.
const MOST: usize = 256;
/// The most studies whose minds are kept at hand.
const BOARDS: usize = 256;
/// How often a group is tried again when another copy's transaction is in the way.
const TRIES: u32 = 30;

/// A command, for whom, and where its answer goes.
pub struct Job {
    /// The study.
    pub study: String,
    /// What to do.
    pub command: Command,
    /// The token that asked, by its id.
    pub by: String,
    /// Where the answer goes.
    pub reply: oneshot::Sender<Result<Reply, ApiError>>,
}

/// The writer and what it has at hand.
pub struct GroupCommitWriter {
    store: Box<dyn Store>,
    boards: HashMap<String, (StudyState, u64)>,
    groups: u64,
    metrics: Metrics,
}

type Results = Vec<Result<Reply, ApiError>>;

impl GroupCommitWriter {
    /// A writer over a connection of its own.
    pub fn new(store: Box<dyn Store>, metrics: Metrics) -> GroupCommitWriter {
        GroupCommitWriter {
            store,
            boards: HashMap::new(),
            groups: 0,
            metrics,
        }
    }

    /// Works until nobody is left who could ask.
    pub fn run(mut self, jobs: &Receiver<Job>) {
        while let Ok(first) = jobs.recv() {
            let mut group = vec![first];
            // After a correction the learner is taught anew, which may take a while: at most once in a group.
            while group.len() < MOST
                && !matches!(
                    group.last().map(|job| &job.command),
                    Some(Command::Amend(..))
                )
                && let Ok(job) = jobs.try_recv()
            {
                group.push(job);
            }
            self.metrics.waiting(-(group.len() as i64));
            self.serve(group);
        }
    }

    /// Carries out a group and answers it.
    fn serve(&mut self, mut group: Vec<Job>) {
        let mut tries = 0;
        loop {
            self.groups += 1;
            let attempt = catch_unwind(AssertUnwindSafe(|| self.transact(&group)));
            let error = match attempt {
                Ok(Ok(results)) => {
                    for (job, result) in group.into_iter().zip(results) {
                        // Whoever asked may be gone.
                        let _ = job.reply.send(result);
                    }
                    return self.make_room();
                }
                Ok(Err(error)) => Some(error),
                Err(_) => None,
            };
            self.store.rollback();
            // What was advanced in memory does not stand.
            for job in &group {
                self.boards.remove(&job.study);
            }
            tries += 1;
            match &error {
                Some(StoreError::Again(_)) if tries < TRIES => {
                    std::thread::sleep(Duration::from_millis(u64::from(tries.min(20))));
                    if several(&group) {
                        // One of the studies is held by another copy: the others shall not wait for it.
                        for jobs in by_study(group) {
                            self.serve(jobs);
                        }
                        return;
                    }
                    continue;
                }
                Some(error) => {
                    tracing::warn!(%error, requests = group.len(), "the store failed");
                    self.metrics.store_error();
                }
                None => tracing::error!(requests = group.len(), "a command panicked"),
            }
            let alone = group.len() == 1;
            if !alone && matches!(error, None | Some(StoreError::Damaged(_))) {
                // One of them is at fault: the others shall not suffer for it.
                for job in group.drain(..) {
                    self.serve(vec![job]);
                }
                return;
            }
            let refusal = refuse(error.as_ref());
            for job in group {
                let _ = job.reply.send(Err(refusal.clone()));
            }
            return;
        }
    }

    fn transact(&mut self, group: &[Job]) -> Result<Results, StoreError> {
        let now = humantime::format_rfc3339_micros(crate::app::clock::now()).to_string();
        // Studies in the order of their names: two copies that lock several never wait for each other.
        let mut by_study: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, job) in group.iter().enumerate() {
            by_study.entry(&job.study).or_default().push(i);
        }
        let mut results: Vec<Option<Result<Reply, ApiError>>> = Vec::new();
        results.resize_with(group.len(), || None);
        self.store.begin()?;
        let mut events = 0;
        for (name, jobs) in by_study {
            events += self.study(name, &jobs, group, &now, &mut results)?;
        }
        let begun = Instant::now();
        self.store.commit()?;
        let done = |result: &&Option<Result<Reply, ApiError>>| matches!(result, Some(Ok(reply)) if reply.new);
        let writes = results.iter().filter(done).count();
        self.metrics.commit(writes as u64, events, begun.elapsed());
        let lost = || Err(ApiError::internal("the request was not carried out"));
        Ok(results
            .into_iter()
            .map(|result| result.unwrap_or_else(lost))
            .collect())
    }

    /// Carries out what concerns one study; the number of its new events.
    fn study(
        &mut self,
        name: &str,
        jobs: &[usize],
        group: &[Job],
        now: &str,
        results: &mut [Option<Result<Reply, ApiError>>],
    ) -> Result<u64, StoreError> {
        let mut jobs = jobs.iter().copied().peekable();
        let mut board = match self.store.lock(name)? {
            Some(head) => {
                let known = self.boards.remove(name).map(|(board, _)| board);
                match load_state(known, head, &mut *self.store) {
                    Ok(board) => board,
                    Err(CommandError::Store(error)) => return Err(error),
                    Err(CommandError::Refused(refusal)) => {
                        for i in jobs {
                            results[i] = Some(Err(refusal.clone()));
                        }
                        return Ok(0);
                    }
                }
            }
            // Nothing can be done before it is created.
            None => loop {
                let Some(&i) = jobs.peek() else { return Ok(0) };
                match creation(name, &group[i].command) {
                    Ok(study) => break self.create(study)?,
                    Err(refusal) => {
                        results[i] = Some(Err(refusal));
                        jobs.next();
                    }
                }
            },
        };
        let jobs: Vec<usize> = jobs.collect();
        let ids: BTreeSet<&str> = jobs
            .iter()
            .flat_map(|&i| group[i].command.episodes())
            .collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let cases = if ids.is_empty() {
            Vec::new()
        } else {
            self.store.cases(board.head.key, &ids)?
        };
        let before = board.head.seq;
        let mut work = CommandExecutor::new(&mut board, &mut *self.store, now, cases);
        for i in jobs {
            let job = &group[i];
            results[i] = Some(match work.carry_out(&job.command, &job.by) {
                Ok(reply) => Ok(reply),
                Err(CommandError::Refused(refusal)) => Err(refusal),
                Err(CommandError::Store(error)) => return Err(error),
            });
        }
        match work.write() {
            Ok(()) => {}
            Err(CommandError::Store(error)) => return Err(error),
            Err(CommandError::Refused(refusal)) => return Err(StoreError::Damaged(refusal.detail)),
        }
        let events = board.head.seq - before;
        self.boards.insert(name.into(), (board, self.groups));
        Ok(events)
    }

    fn create(&mut self, study: Arc<Study>) -> Result<StudyState, StoreError> {
        let mut board =
            StudyState::new(study).map_err(|refusal| StoreError::Damaged(refusal.detail))?;
        let key = self.store.create(&board.head)?;
        let taken = || StoreError::Again("another copy created the study".into());
        board.head.key = key.ok_or_else(taken)?;
        Ok(board)
    }

    /// Lets go of the studies that were not asked about for longest.
    fn make_room(&mut self) {
        while self.boards.len() > BOARDS {
            let oldest = self.boards.iter().min_by_key(|(_, (_, used))| *used);
            let Some(name) = oldest.map(|(name, _)| name.clone()) else {
                return;
            };
            self.boards.remove(&name);
        }
    }
}

fn several(group: &[Job]) -> bool {
    group.iter().any(|job| job.study != group[0].study)
}

fn by_study(group: Vec<Job>) -> Vec<Vec<Job>> {
    let mut studies: BTreeMap<String, Vec<Job>> = BTreeMap::new();
    for job in group {
        studies.entry(job.study.clone()).or_default().push(job);
    }
    studies.into_values().collect()
}

/// The board of a study as its head says, from the one known before if there is one.
pub fn load_state(
    known: Option<StudyState>,
    head: Head,
    store: &mut dyn Store,
) -> Result<StudyState, CommandError> {
    let none = BTreeMap::new();
    let mut board = match known {
        Some(board) => board,
        None => StudyState::new(Arc::new(Study::from_canonical(&head.name, &head.spec)?))?,
    };
    if board.head.hash == head.hash && !board.stale {
        board.head = head;
        return Ok(board);
    }
    // A database that was restored may have lost what we have learned from.
    let log = store.events(head.key, board.head.seq.saturating_sub(1), 1)?;
    let same = log
        .first()
        .is_some_and(|event| event.hash == board.head.hash);
    let changed = head.relearned > board.head.seq || !same || board.stale;
    board.head = head;
    if changed {
        rebuild(&mut board, store, &none)?;
    } else {
        apply_new(&mut board, store, &none)?;
    }
    Ok(board)
}

/// The study that a command creates, if that is what it does.
fn creation(name: &str, command: &Command) -> Result<Arc<Study>, ApiError> {
    match command {
        Command::Create(study) => Ok(study.clone()),
        Command::Restore(records) => {
            let first = records
                .first()
                .ok_or_else(|| ApiError::impossible("there is no event to begin with"))?;
            let event = first
                .read()
                .map_err(|error| ApiError::impossible(error.to_string()))?;
            match &event.what {
                EventKind::Created(created) if created.study == name => {
                    let study = Study::from_canonical(name, created.spec.get());
                    // What is wrong in it is not our fault: somebody sent it.
                    let study = Arc::new(study.map_err(|refusal| sent(first, refusal))?);
                    begins(&study, first, &event)?;
                    Ok(study)
                }
                EventKind::Created(created) => Err(ApiError::impossible(format!(
                    "these are the events of study `{}`, not of `{name}`",
                    created.study
                ))),
                _ => Err(ApiError::impossible(format!(
                    "study `{name}` is not there, and the first event does not create it"
                ))),
            }
        }
        _ => Err(ApiError::not_found(format!("there is no study `{name}`"))),
    }
}

fn sent(record: &Record, refusal: ApiError) -> ApiError {
    ApiError::impossible(format!("event {}: {}", record.seq, refusal.detail))
}

/// Whether a log can begin so: a study without its first event must not be left behind.
fn begins(study: &Arc<Study>, first: &Record, event: &Event) -> Result<(), ApiError> {
    let wrong = |what: &str| ApiError::conflict(format!("event {}: {what}", event.seq));
    if !first.is_intact() {
        return Err(wrong("its hash is not that of its line: it was changed"));
    }
    let board = StudyState::new(study.clone());
    let mut board = board.map_err(|refusal| sent(first, refusal))?;
    let advanced = board.advance(event, &first.hash, None);
    advanced.map(drop).map_err(|misfit| wrong(&misfit))
}

fn refuse(error: Option<&StoreError>) -> ApiError {
    // A commit that failed may yet have reached the disk; only the store itself can say, when it is asked again.
    let again = "it may or may not have been recorded: send it again, the same request is harmless";
    match error {
        None => {
            ApiError::internal("the request could not be carried out; nothing of it was recorded")
        }
        Some(StoreError::Full(_)) => {
            ApiError::unavailable(format!("the store is full, and reading goes on; {again}"))
                .retry(30)
        }
        Some(error @ StoreError::Damaged(_)) => refuse_read(error),
        Some(StoreError::Gone(_) | StoreError::Again(_)) => {
            ApiError::unavailable(format!("the store cannot be reached; {again}")).retry(1)
        }
    }
}

/// The refusal of a reading that failed.
pub fn refuse_read(error: &StoreError) -> ApiError {
    match error {
        StoreError::Gone(_) | StoreError::Again(_) | StoreError::Full(_) => {
            ApiError::unavailable("the store cannot be reached").retry(1)
        }
        StoreError::Damaged(_) => {
            ApiError::unavailable("the store is damaged; see the service's log, and `emab audit`")
                .retry(60)
        }
    }
}
