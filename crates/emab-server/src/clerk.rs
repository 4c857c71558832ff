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

use crate::board::Board;
use crate::command::{Command, Reply};
use crate::event::{Event, Record, What};
use crate::metrics::Metrics;
use crate::refusal::Refusal;
use crate::store::{Head, Store, StoreError};
use crate::study::Study;
use crate::teach::{catch_up, teach_anew};
use crate::trouble::Trouble;
use crate::work::Work;

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
    pub reply: oneshot::Sender<Result<Reply, Refusal>>,
}

/// The writer and what it has at hand.
pub struct Clerk {
    store: Box<dyn Store>,
    boards: HashMap<String, (Board, u64)>,
    groups: u64,
    metrics: Metrics,
}

type Results = Vec<Result<Reply, Refusal>>;

impl Clerk {
    /// A writer over a connection of its own.
    pub fn new(store: Box<dyn Store>, metrics: Metrics) -> Clerk {
        Clerk {
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
            while group.len() < MOST
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
        let now = humantime::format_rfc3339_micros(crate::clock::now()).to_string();
        // Studies in the order of their names: two copies that lock several never wait for each other.
        let mut by_study: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, job) in group.iter().enumerate() {
            by_study.entry(&job.study).or_default().push(i);
        }
        let mut results: Vec<Option<Result<Reply, Refusal>>> = Vec::new();
        results.resize_with(group.len(), || None);
        self.store.begin()?;
        let mut events = 0;
        for (name, jobs) in by_study {
            events += self.study(name, &jobs, group, &now, &mut results)?;
        }
        let begun = Instant::now();
        self.store.commit()?;
        self.metrics
            .commit(group.len() as u64, events, begun.elapsed());
        let lost = || Err(Refusal::internal("the request was not carried out"));
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
        results: &mut [Option<Result<Reply, Refusal>>],
    ) -> Result<u64, StoreError> {
        let mut jobs = jobs.iter().copied().peekable();
        let mut board = match self.store.lock(name)? {
            Some(head) => {
                let known = self.boards.remove(name).map(|(board, _)| board);
                match at_hand(known, head, &mut *self.store) {
                    Ok(board) => board,
                    Err(Trouble::Store(error)) => return Err(error),
                    Err(Trouble::Refused(refusal)) => {
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
        let mut work = Work::new(&mut board, &mut *self.store, now, cases);
        for i in jobs {
            let job = &group[i];
            results[i] = Some(match work.carry_out(&job.command, &job.by) {
                Ok(reply) => Ok(reply),
                Err(Trouble::Refused(refusal)) => Err(refusal),
                Err(Trouble::Store(error)) => return Err(error),
            });
        }
        match work.write() {
            Ok(()) => {}
            Err(Trouble::Store(error)) => return Err(error),
            Err(Trouble::Refused(refusal)) => return Err(StoreError::Damaged(refusal.detail)),
        }
        let events = board.head.seq - before;
        self.boards.insert(name.into(), (board, self.groups));
        Ok(events)
    }

    fn create(&mut self, study: Arc<Study>) -> Result<Board, StoreError> {
        let mut board = Board::new(study).map_err(|refusal| StoreError::Damaged(refusal.detail))?;
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

/// The board of a study as its head says, from the one known before if there is one.
pub fn at_hand(known: Option<Board>, head: Head, store: &mut dyn Store) -> Result<Board, Trouble> {
    let none = BTreeMap::new();
    let mut board = match known {
        Some(board) => board,
        None => Board::new(Arc::new(Study::from_canonical(&head.name, &head.spec)?))?,
    };
    if board.head.hash == head.hash && !board.stale {
        board.head = head;
        return Ok(board);
    }
    let changed = head.relearned > board.head.seq || head.seq < board.head.seq || board.stale;
    board.head = head;
    if changed {
        teach_anew(&mut board, store, &none)?;
    } else {
        catch_up(&mut board, store, &none)?;
    }
    Ok(board)
}

/// The study that a command creates, if that is what it does.
fn creation(name: &str, command: &Command) -> Result<Arc<Study>, Refusal> {
    match command {
        Command::Create(study) => Ok(study.clone()),
        Command::Restore(records) => {
            let first = records
                .first()
                .ok_or_else(|| Refusal::impossible("there is no event to begin with"))?;
            let event = first
                .read()
                .map_err(|error| Refusal::impossible(error.to_string()))?;
            match &event.what {
                What::Created(created) if created.study == name => {
                    let study = Study::from_canonical(name, created.spec.get());
                    // What is wrong in it is not our fault: somebody sent it.
                    let study = Arc::new(study.map_err(|refusal| sent(first, refusal))?);
                    begins(&study, first, &event)?;
                    Ok(study)
                }
                What::Created(created) => Err(Refusal::impossible(format!(
                    "these are the events of study `{}`, not of `{name}`",
                    created.study
                ))),
                _ => Err(Refusal::impossible(format!(
                    "study `{name}` is not there, and the first event does not create it"
                ))),
            }
        }
        _ => Err(Refusal::not_found(format!("there is no study `{name}`"))),
    }
}

fn sent(record: &Record, refusal: Refusal) -> Refusal {
    Refusal::impossible(format!("event {}: {}", record.seq, refusal.detail))
}

/// Whether a log can begin so: a study without its first event must not be left behind.
fn begins(study: &Arc<Study>, first: &Record, event: &Event) -> Result<(), Refusal> {
    let wrong = |what: &str| Refusal::conflict(format!("event {}: {what}", event.seq));
    if !first.is_intact() {
        return Err(wrong("its hash is not that of its line: it was changed"));
    }
    let board = Board::new(study.clone());
    let mut board = board.map_err(|refusal| sent(first, refusal))?;
    let advanced = board.advance(event, &first.hash, None);
    advanced.map(drop).map_err(|misfit| wrong(&misfit))
}

fn refuse(error: Option<&StoreError>) -> Refusal {
    // A commit that failed may yet have reached the disk; only the store itself can say, when it is asked again.
    let again = "it may or may not have been recorded: send it again, the same request is harmless";
    match error {
        None => {
            Refusal::internal("the request could not be carried out; nothing of it was recorded")
        }
        Some(StoreError::Full(_)) => {
            Refusal::unavailable(format!("the store is full, and reading goes on; {again}"))
                .retry(30)
        }
        Some(error @ StoreError::Damaged(_)) => refuse_read(error),
        Some(StoreError::Gone(_) | StoreError::Again(_)) => {
            Refusal::unavailable(format!("the store cannot be reached; {again}")).retry(1)
        }
    }
}

/// The refusal of a reading that failed.
pub fn refuse_read(error: &StoreError) -> Refusal {
    match error {
        StoreError::Gone(_) | StoreError::Again(_) | StoreError::Full(_) => {
            Refusal::unavailable("the store cannot be reached").retry(1)
        }
        StoreError::Damaged(_) => {
            Refusal::unavailable("the store is damaged; see the service's log, and `emab audit`")
                .retry(60)
        }
    }
}
