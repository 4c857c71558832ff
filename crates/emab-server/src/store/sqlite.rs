//! SQLite: one file, embedded in the process.
//!
//! One process owns the file, through a lock file beside it. A commit is on disk when it returns (write-ahead log,
//! `synchronous=FULL`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use self::connection::SqliteConnection;
use self::error::fault;
use self::file::DatabaseFile;
use self::log_copier::LogCopier;
use super::{Backend, Result, Store, StoreError};

mod backup;
mod check;
mod connection;
mod error;
mod file;
mod log_copier;
#[cfg(test)]
mod tests;

pub use backup::backup;

// Before 3.51.3, the write-ahead log of SQLite could corrupt the file.
const _: () = assert!(rusqlite::ffi::SQLITE_VERSION_NUMBER >= 3_051_003);

/// The version of the tables in `sqlite.sql`.
const VERSION: i64 = 4;

/// "emab" in ASCII, in the file's header.
const APPLICATION: i64 = 0x656d_6162;

/// How long a writer waits for another writer of this process.
const BUSY_TIMEOUT: Duration = Duration::from_millis(100);

/// A SQLite file that this process owns. The lock is held until this and all connections are dropped.
#[derive(Clone, Debug)]
pub struct Sqlite {
    file: Arc<DatabaseFile>,
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Write,
    /// Read, and clean up when the last connection closes.
    Read,
    /// Read a file that another process may own.
    Inspect,
    /// Read a file on a read-only disk.
    InspectFixed,
}

impl Sqlite {
    /// Opens the file, creates it and its folders if necessary, and locks it for this process.
    ///
    /// ```
    /// use emab_server::store::{Backend, sqlite::Sqlite};
    /// let folder = tempfile::tempdir().unwrap();
    /// let file = folder.path().join("new/studies.db");
    /// let owner = Sqlite::open(&file).unwrap();
    /// assert!(owner.reader().unwrap().heads("", 10).unwrap().is_empty());
    /// let error = Sqlite::open(&file).unwrap_err();
    /// assert!(error.to_string().contains("served by another process"));
    /// ```
    pub fn open(path: &Path) -> Result<Sqlite> {
        let file = Arc::new(DatabaseFile::own(path)?);
        let connection = connect(&file, Role::Write)?;
        prepare(&connection).map_err(|error| named(&file, error))?;
        Ok(Sqlite { file })
    }

    /// Opens a file for reading, whether or not a process owns it. The file is neither created nor changed.
    ///
    /// If no process owns it, SQLite may leave two empty files beside it, `FILE-wal` and `FILE-shm`. On a read-only disk it does
    /// not, and cannot read a file with a pending log.
    pub fn inspect(path: &Path) -> Result<Box<dyn Store>> {
        let file = Arc::new(DatabaseFile::inspect(path)?);
        let look = |role| {
            let connection = connect(&file, role)?;
            let shown = version(&connection).and_then(|found| match found {
                Some(VERSION) => Ok(true),
                Some(found) => show_as_current(&connection, found).map(|()| false),
                None => Err(StoreError::Damaged("it is empty".into())),
            });
            let is_current = shown.map_err(|error| named(&file, error))?;
            let mut store = SqliteConnection::new(file.clone(), connection, role, None);
            store.is_current = is_current;
            Ok(store)
        };
        match look(Role::Inspect) {
            // The disk is read-only, so the file cannot change.
            Err(StoreError::Unavailable(_)) if file.is_unwritable() && file.log_length() == 0 => {
                Ok(Box::new(look(Role::InspectFixed)?))
            }
            Err(StoreError::Unavailable(text)) if file.is_unwritable() => {
                Err(StoreError::Unavailable(format!(
                    "{text}; its log cannot be read on a read-only disk: copy both files to another folder"
                )))
            }
            result => Ok(Box::new(result?)),
        }
    }

    fn connection(&self, role: Role) -> Result<Box<dyn Store>> {
        let connection = connect(&self.file, role)?;
        let copier = match role {
            Role::Write => Some(LogCopier::start(&self.file)?),
            _ => None,
        };
        let store = SqliteConnection::new(self.file.clone(), connection, role, copier);
        Ok(Box::new(store))
    }
}

/// Adds the name of the file to an error.
fn named(file: &DatabaseFile, error: StoreError) -> StoreError {
    error.map(|text| format!("`{}`: {text}", file.path().display()))
}

fn connect(file: &DatabaseFile, role: Role) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match role {
            Role::Read | Role::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Role::Inspect => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Role::InspectFixed => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        };
    let name = match role {
        Role::InspectFixed => file.immutable_uri().into(),
        _ => file.path().to_path_buf(),
    };
    Connection::open_with_flags(name, flags)
        .and_then(|connection| {
            configure(&connection, role)?;
            Ok(connection)
        })
        .map_err(|error| named(file, fault(error)))
}

/// Configures a connection. The values were measured with `benches/store_rate.rs`.
fn configure(connection: &Connection, role: Role) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise a statement on a table with a partial index is prepared again whenever its values change: reading a decision
    // took 20 instead of 5 microseconds.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Needed on macOS, where a plain fsync does not reach the disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // In KiB. A commit walks the whole cache, so that 64 MiB are slower than 16. The file is not memory-mapped: that is not
    // faster, and a failing disk would end the process.
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    // `LogCopier` copies the log.
    connection.pragma_update(None, "wal_autocheckpoint", 0)?;
    // In bytes: a longer log is truncated when it restarts.
    connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
    connection.pragma_update(None, "query_only", role != Role::Write)
}

/// The version of the store; none if the file is empty. Fails if it is no store, or of an unknown version.
fn version(connection: &Connection) -> Result<Option<i64>> {
    let number = |sql: &str| -> Result<i64> {
        let number = connection.query_row(sql, [], |row| row.get(0));
        number.map_err(fault)
    };
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(None),
        (APPLICATION, 1..=VERSION) => Ok(Some(version)),
        (APPLICATION, newer) if newer > VERSION => Err(StoreError::Unavailable(format!(
            "its tables have version {newer}, written by a newer program; this one supports {VERSION}"
        ))),
        _ => {
            let what = "it is a SQLite file of another program";
            Err(StoreError::Damaged(what.into()))
        }
    }
}

/// Shows the tables of an earlier version as the current ones. Views of a connection hide tables of the same name.
fn show_as_current(connection: &Connection, version: i64) -> Result<()> {
    const CASES: &str = include_str!("sqlite-3-as-4.sql");
    let views = match version {
        1 => include_str!("sqlite-1-as-3.sql"),
        2 => include_str!("sqlite-2-as-3.sql"),
        _ => "",
    };
    let shown = connection
        .pragma_update(None, "query_only", false)
        .and_then(|()| connection.execute_batch(views))
        .and_then(|()| connection.execute_batch(CASES))
        .and_then(|()| connection.pragma_update(None, "query_only", true));
    shown.map_err(fault)
}

/// Creates the tables in an empty file, or migrates those of an earlier version.
fn prepare(connection: &Connection) -> Result<()> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(fault);
    let found = version(connection)?;
    if found.is_none() {
        // Larger pages write twice as much. Only effective in a new file.
        run("PRAGMA page_size = 4096")?;
    }
    enable_wal(connection)?;
    let changes = match found {
        Some(VERSION) => {
            tracing::info!(version = VERSION, "the store was opened");
            return Ok(());
        }
        Some(1) => concat!(
            include_str!("sqlite-2.sql"),
            include_str!("sqlite-3.sql"),
            include_str!("sqlite-4.sql")
        ),
        Some(2) => concat!(include_str!("sqlite-3.sql"), include_str!("sqlite-4.sql")),
        Some(_) => include_str!("sqlite-4.sql"),
        None => include_str!("sqlite.sql"),
    };
    run("BEGIN IMMEDIATE")?;
    let made = run(changes).and_then(|()| run("COMMIT"));
    if made.is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    made?;
    match found {
        Some(found) => tracing::info!(version = found, to = VERSION, "the store was migrated"),
        None => tracing::info!(version = VERSION, "the store was created"),
    }
    Ok(())
}

/// Enables the write-ahead log; the setting is stored in the file.
fn enable_wal(connection: &Connection) -> Result<()> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(fault)?;
    if mode == "wal" {
        return Ok(());
    }
    let what = format!("the file system does not support a write-ahead log, only `{mode}`");
    Err(StoreError::Unavailable(what))
}

impl Backend for Sqlite {
    /// There is one transaction at a time; a second writer waits briefly, then has to retry.
    fn writer(&self) -> Result<Box<dyn Store>> {
        self.connection(Role::Write)
    }

    /// Readers and writers do not block each other.
    fn reader(&self) -> Result<Box<dyn Store>> {
        self.connection(Role::Read)
    }
}
