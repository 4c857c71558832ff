//! SQLite: one file, inside of the process, nothing to start.
//!
//! One [`Sqlite`] owns the file, by a lock on a file beside it, and gives out connections: one writes, in groups, and
//! some read. A commit is on disk when it returns (write-ahead log, `synchronous=FULL`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use self::connection::SqliteConnection;
use self::error::fault;
use self::file::DatabaseFile;
use super::{Store, StoreError};

mod connection;
mod error;
mod file;
mod statements;
#[cfg(test)]
mod tests;

/// Before it, a write-ahead log could corrupt the file.
const LEAST_LIBRARY: i32 = 3_051_003;

/// The version of `sqlite.sql`.
const VERSION: i64 = 1;

/// "emab" in ASCII, in the file's header.
const APPLICATION: i64 = 0x656d_6162;

/// How long a writer waits for another of this process before it is told to try again.
const PATIENCE: Duration = Duration::from_millis(100);

/// A SQLite file that this process owns. The lock is held until this and all connections are dropped.
#[derive(Clone, Debug)]
pub struct Sqlite {
    file: Arc<DatabaseFile>,
}

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Read and write.
    Write,
    /// Read, and tidy up when it is the last one to close.
    Read,
    /// Read a file that another process may own.
    Inspect,
    /// Read a file that nobody can change.
    InspectFixed,
}

impl Sqlite {
    /// Opens the file, creating it and its folders if need be, and takes it for this process.
    ///
    /// ```
    /// use emab_server::store::sqlite::Sqlite;
    /// let folder = tempfile::tempdir().unwrap();
    /// let file = folder.path().join("new/studies.db");
    /// let owner = Sqlite::open(&file).unwrap();
    /// assert!(owner.reader().unwrap().heads("", 10).unwrap().is_empty());
    /// let error = Sqlite::open(&file).unwrap_err();
    /// assert!(error.to_string().contains("served by another process"));
    /// ```
    pub fn open(path: &Path) -> Result<Sqlite, StoreError> {
        check_library()?;
        let file = Arc::new(DatabaseFile::own(path)?);
        let connection = connect(&file, Role::Write)?;
        prepare(&connection).map_err(|error| named(&file, error))?;
        Ok(Sqlite { file })
    }

    /// Opens a file to read it, whether or not a process owns it. The file is neither created nor changed.
    ///
    /// Where no process owns it, SQLite may leave two empty files beside it, `FILE-wal` and `FILE-shm`; on a disk that
    /// cannot be written it does without, unless there is a log to be read.
    pub fn inspect(path: &Path) -> Result<Box<dyn Store>, StoreError> {
        check_library()?;
        let file = Arc::new(DatabaseFile::visit(path)?);
        let look = |role| {
            let connection = connect(&file, role)?;
            match check(&connection) {
                Ok(Found::Known) => Ok(SqliteConnection::new(file.clone(), connection, role)),
                Ok(Found::Nothing) => Err(StoreError::Damaged("it is empty".into())),
                Err(error) => Err(error),
            }
            .map_err(|error| named(&file, error))
        };
        match look(Role::Inspect) {
            // Nobody can write there, and so nobody changes it while it is read.
            Err(StoreError::Unavailable(_)) if file.is_unwritable() && file.log_length() == 0 => {
                Ok(Box::new(look(Role::InspectFixed)?))
            }
            Err(StoreError::Unavailable(text)) if file.is_unwritable() => {
                Err(StoreError::Unavailable(format!(
                    "{text}; its log cannot be read where nothing can be written: copy both files to another folder"
                )))
            }
            result => Ok(Box::new(result?)),
        }
    }

    /// A connection that writes. There is one transaction at a time: a second writer waits a little, then has to try
    /// again.
    pub fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        self.link(Role::Write)
    }

    /// A connection that reads what is committed; it neither waits for writers nor do they wait for it.
    pub fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        self.link(Role::Read)
    }

    /// Where the file is: absolute, without links.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    fn link(&self, role: Role) -> Result<Box<dyn Store>, StoreError> {
        let connection = connect(&self.file, role)?;
        Ok(Box::new(SqliteConnection::new(
            self.file.clone(),
            connection,
            role,
        )))
    }
}

fn check_library() -> Result<(), StoreError> {
    if rusqlite::version_number() >= LEAST_LIBRARY {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "SQLite {} is linked, and before 3.51.3 it can corrupt its files",
        rusqlite::version()
    )))
}

/// The same failure with the file's name.
fn named(file: &DatabaseFile, error: StoreError) -> StoreError {
    let with = |text| format!("`{}`: {text}", file.path().display());
    match error {
        StoreError::Unavailable(text) => StoreError::Unavailable(with(text)),
        StoreError::Full(text) => StoreError::Full(with(text)),
        StoreError::Retry(text) => StoreError::Retry(with(text)),
        StoreError::Damaged(text) => StoreError::Damaged(with(text)),
    }
}

/// Opens a connection with its settings.
fn connect(file: &DatabaseFile, role: Role) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX
        | match role {
            Role::Read | Role::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
            Role::Inspect => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Role::InspectFixed => OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI,
        };
    let name = match role {
        Role::InspectFixed => file.fixed_uri().into(),
        _ => file.path().to_path_buf(),
    };
    Connection::open_with_flags(name, flags)
        .and_then(|connection| {
            settle(&connection, role)?;
            Ok(connection)
        })
        .map_err(|error| named(file, fault(error)))
}

/// The settings of a connection. The numbers are measured, by `examples/store_rate.rs`.
fn settle(connection: &Connection, role: Role) -> rusqlite::Result<()> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    // Otherwise a statement on a table with a partial index is prepared anew whenever its values change: a decision
    // took 20 microseconds to find, and takes 5.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A no-op but on macOS, where without it a sync does not reach the disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", false)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    // In KiB. A commit walks the whole cache, so that 64 MiB are slower than 16; and readers lose theirs with every
    // commit. The file is not mapped into memory: it is no faster, and a failing disk would end the process.
    connection.pragma_update(None, "cache_size", -16 * 1024)?;
    // In pages. With 4000 (16 MiB) a fifth less is written than with 1000, and the slowest commits are as slow.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    // In bytes: a log that became longer is cut when it starts again.
    connection.pragma_update(None, "journal_size_limit", 32 << 20)?;
    connection.pragma_update(None, "query_only", role != Role::Write)
}

/// What a file holds.
enum Found {
    Nothing,
    Known,
}

/// Whether the file is ours, and of a version that is known.
fn check(connection: &Connection) -> Result<Found, StoreError> {
    let number = |sql: &str| -> Result<i64, StoreError> {
        connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(fault)
    };
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    match (application, version) {
        (0, 0) if tables == 0 => Ok(Found::Nothing),
        (APPLICATION, VERSION) => Ok(Found::Known),
        (APPLICATION, newer) if newer > VERSION => Err(StoreError::Unavailable(format!(
            "it has version {newer} of the tables, and this program knows {VERSION}: a newer one wrote it"
        ))),
        _ => Err(StoreError::Damaged(
            "it is a SQLite file, but not one of this service's".into(),
        )),
    }
}

/// Makes the file a store, if it is none yet.
fn prepare(connection: &Connection) -> Result<(), StoreError> {
    let run = |sql: &str| connection.execute_batch(sql).map_err(fault);
    let Found::Nothing = check(connection)? else {
        return log_ahead(connection);
    };
    // Larger pages are as fast and write twice as much. It has no effect but in a new file.
    run("PRAGMA page_size = 4096")?;
    log_ahead(connection)?;
    run("BEGIN IMMEDIATE")?;
    let made = run(include_str!("sqlite.sql")).and_then(|()| run("COMMIT"));
    if made.is_err() && !connection.is_autocommit() {
        run("ROLLBACK")?;
    }
    made
}

/// Switches the write-ahead log on; the file remembers it.
fn log_ahead(connection: &Connection) -> Result<(), StoreError> {
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))
        .map_err(fault)?;
    if mode == "wal" {
        return Ok(());
    }
    Err(StoreError::Unavailable(format!(
        "the file system allows no write-ahead log, only `{mode}`"
    )))
}

impl super::Backend for Sqlite {
    fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        Sqlite::writer(self)
    }
    fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        Sqlite::reader(self)
    }
}
