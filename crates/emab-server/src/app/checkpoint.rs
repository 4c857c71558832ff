//! Checkpoints: signed statements that the log of a study had a hash at an event, so that a lost or rewritten tail is detected.
//!
//! The writer thread signs the heads of studies with new events within 0.8 s, in the transaction of the next batch, or in one of
//! its own if there is no next batch. After the commit the statement is also appended to a file, by a thread of its own.

mod file;
mod key;

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

pub use file::CheckpointFile;
pub use key::{CheckpointKey, KeyError};

use crate::domain::{Checkpoint, Head, Statement};
use crate::store::{Result, Store};

/// The time from an event to the transaction that covers it. With the write to the file, an event is covered within a second.
pub(super) const DELAY: Duration = Duration::from_millis(800);
/// The largest number of checkpoints in one transaction, which delay the commands of a batch.
const MAX_SIGNED: usize = 64;
/// The number of studies in one read.
const PAGE: usize = 1_000;

/// Signs checkpoints. It belongs to the writer thread.
pub struct Checkpoints {
    key: CheckpointKey,
    file: Option<CheckpointFile>,
    /// The committed heads that no checkpoint covers, by study.
    uncovered: HashMap<String, Head>,
    /// Their studies, the one that has waited longest first.
    order: VecDeque<String>,
    /// When they are to be covered.
    due: Option<Instant>,
}

impl Checkpoints {
    pub fn new(key: CheckpointKey, file: Option<CheckpointFile>) -> Checkpoints {
        Checkpoints {
            key,
            file,
            uncovered: HashMap::new(),
            order: VecDeque::new(),
            due: None,
        }
    }

    /// Finds what an earlier process left uncovered, and repeats in the file what the store has.
    pub fn resume(&mut self, store: &mut dyn Store) -> Result<()> {
        let mut after = String::new();
        loop {
            let page = store.uncovered(&after, PAGE)?;
            let Some(last) = page.last() else { break };
            after.clone_from(&last.name);
            self.add(&page);
        }
        if !self.uncovered.is_empty() {
            self.due = Some(Instant::now());
        }
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut after = String::new();
        loop {
            let page = store.heads(&after, PAGE)?;
            let Some(last) = page.last() else {
                return Ok(());
            };
            after.clone_from(&last.name);
            for head in page {
                if let Some(checkpoint) = store.checkpoint(head.key)? {
                    file.append(head.name, checkpoint.text);
                }
            }
        }
    }

    /// When the next checkpoints are due; none if all events are covered.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    pub fn is_due(&self, at: Instant) -> bool {
        self.due.is_some_and(|due| due <= at)
    }

    /// Notes new committed heads. A study that is being restored is signed at the end of its restoration: until then it may be
    /// discarded, and the export still has its events.
    pub fn add(&mut self, heads: &[Head]) {
        for head in heads.iter().filter(|head| !head.restoring) {
            self.due.get_or_insert_with(|| Instant::now() + DELAY);
            let name = head.name.clone();
            if self.uncovered.insert(name.clone(), head.clone()).is_none() {
                self.order.push_back(name);
            }
        }
    }

    /// Writes the checkpoints of uncovered heads. Inside a transaction.
    pub fn put(&self, store: &mut dyn Store, now: &str) -> Result<Vec<Statement>> {
        let studies = self.order.iter().take(MAX_SIGNED);
        let mut heads: Vec<&Head> = studies.filter_map(|it| self.uncovered.get(it)).collect();
        // In the order of names: two copies of the service do not deadlock.
        heads.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        let mut signed = Vec::new();
        for head in heads {
            let restored = store.restore(head.key)?.map(Into::into);
            let statement = Statement::sign(self.key.pair(), head, restored, now);
            let (seq, text) = (head.seq, statement.text());
            store.put_checkpoint(head.key, &Checkpoint { seq, text })?;
            signed.push(statement);
        }
        Ok(signed)
    }

    /// The statements of [`Checkpoints::put`] are committed.
    pub fn committed(&mut self, signed: Vec<Statement>) {
        if signed.is_empty() {
            return;
        }
        self.order.drain(..signed.len());
        // The others have waited long enough, too.
        self.due = (!self.order.is_empty()).then(Instant::now);
        for statement in signed {
            self.uncovered.remove(&statement.study);
            if let Some(file) = &self.file {
                let text = statement.text();
                file.append(statement.study, text);
            }
        }
    }

    /// The transaction failed: the checkpoints are tried again later.
    pub fn postpone(&mut self) {
        self.due = self.due.map(|_| Instant::now() + DELAY);
    }
}
