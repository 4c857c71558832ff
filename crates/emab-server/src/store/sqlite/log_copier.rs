//! Copies the write-ahead log into the file (SQLite's "checkpoint") on a thread and a connection of its own.
//!
//! By default SQLite copies the log within a commit, and all requests behind that commit wait. Here the thread copies while the
//! writer goes on, and the writer copies the few pages that were added meanwhile, so that SQLite begins the log anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::super::{Result, StoreError};
use super::file::DatabaseFile;
use super::{Role, connect};

/// The number of new pages (8 MiB) after which the thread copies. Larger copies delay commits longer, and smaller ones copy a page
/// more often.
const COPY_AFTER: i64 = 2000;

/// The length in pages (64 MiB) from which the writer copies the rest, so that the log begins anew.
const RESTART_AFTER: i64 = 16_000;

const COPY: &str = "PRAGMA wal_checkpoint(PASSIVE)";
const COUNT: &str = "PRAGMA wal_checkpoint(NOOP)";

pub(super) struct LogCopier {
    /// None when it is dropped.
    requests: Option<SyncSender<()>>,
    /// Whether the thread copies, or is about to.
    copying: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LogCopier {
    pub(super) fn start(file: &DatabaseFile) -> Result<LogCopier> {
        let connection = connect(file, Role::Read)?;
        let (requests, received) = sync_channel(1);
        let copying = Arc::new(AtomicBool::new(false));
        let copies = copying.clone();
        let thread = std::thread::Builder::new()
            .name("log-copier".into())
            .spawn(move || copy_on_request(&connection, &received, &copies))
            .map_err(|error| {
                StoreError::Unavailable(format!("no thread for the write-ahead log: {error}"))
            })?;
        Ok(LogCopier {
            requests: Some(requests),
            copying,
            thread: Some(thread),
        })
    }

    /// Is called by the writer after each commit.
    pub(super) fn committed(&self, writer: &Connection) {
        // One connection copies at a time.
        if self.copying.load(Ordering::Acquire) {
            return;
        }
        let Ok(log) = execute(writer, COUNT) else {
            return;
        };
        let new = log.pages - log.copied;
        if log.pages >= RESTART_AFTER && new < RESTART_AFTER / 2 {
            let _ = execute(writer, COPY);
        } else if new >= COPY_AFTER
            && let Some(requests) = &self.requests
        {
            self.copying.store(true, Ordering::Release);
            let _ = requests.try_send(());
        }
    }
}

/// The numbers of pages in the log.
struct Log {
    pages: i64,
    copied: i64,
}

/// Copies or counts. A failure of a copy is not reported: the log keeps the pages, and the next commit finds the fault of the disk.
fn execute(connection: &Connection, pragma: &str) -> rusqlite::Result<Log> {
    let mut statement = connection.prepare_cached(pragma)?;
    statement.query_row([], |row| {
        Ok(Log {
            pages: row.get(1)?,
            copied: row.get(2)?,
        })
    })
}

fn copy_on_request(connection: &Connection, requests: &Receiver<()>, copying: &AtomicBool) {
    while requests.recv().is_ok() {
        let _ = execute(connection, COPY);
        copying.store(false, Ordering::Release);
    }
}

impl Drop for LogCopier {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use rusqlite::params;

    use super::super::Sqlite;
    use super::*;

    #[test]
    fn the_log_is_copied_beside_the_writer_and_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let owner = Sqlite::open(&folder.path().join("studies.db")).unwrap();
        let writer = connect(&owner.file, Role::Write).unwrap();
        let copier = LogCopier::start(&owner.file).unwrap();
        let commit = |study: i64, pages: i64| {
            let insert = "INSERT INTO specs (study, text) VALUES (?1, ?2)";
            let text = "x".repeat(pages as usize * 4096);
            writer.execute(insert, params![study, text]).unwrap();
            execute(&writer, COUNT).unwrap()
        };
        let end = Instant::now() + Duration::from_secs(60);
        commit(1, COPY_AFTER);
        copier.committed(&writer);
        while copier.copying.load(Ordering::Acquire) {
            assert!(Instant::now() < end, "the log is not copied");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(commit(2, 1).pages < COPY_AFTER);
        // The writer was faster than the thread.
        let reader = connect(&owner.file, Role::Read).unwrap();
        let begun = reader.execute_batch("BEGIN; SELECT count(*) FROM specs");
        begun.unwrap();
        commit(3, RESTART_AFTER / 2 + COPY_AFTER);
        reader
            .execute_batch("COMMIT; BEGIN; SELECT count(*) FROM specs")
            .unwrap();
        execute(&writer, COPY).unwrap();
        assert!(commit(4, RESTART_AFTER / 2 - COPY_AFTER).pages >= RESTART_AFTER);
        reader.execute_batch("COMMIT").unwrap();
        copier.committed(&writer);
        assert!(commit(5, 1).pages < COPY_AFTER);
    }
}
