//! PostgreSQL: several copies of the service on one database.
//!
//! A writer locks the row of a study (`SELECT … FOR UPDATE`, READ COMMITTED), so that sequence numbers have no gaps and follow
//! commit order. Unique keys are a second safeguard: if a distributed database loses the lock, the slower writer fails. There
//! are no advisory locks and no LISTEN.
//!
//! A commit is on the disk of the server when it returns: each transaction sets `synchronous_commit`. All settings are those of
//! the transaction, so that a pooler in transaction mode can be used. Statements are prepared once per connection, which
//! pgbouncer supports from 1.21 on, with `max_prepared_statements` above 0. With an older one, pool by session.
//!
//! Each connection runs the asynchronous client on its own small runtime, so that a missing response times out, and the
//! statements of one batch take one round trip. A connection blocks: it must not be used from asynchronous code.

mod address;
mod check;
mod connection;
mod error;
mod rows;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod tls;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use self::address::Target;
use self::connection::PgConnection;
use super::{Backend, Result, Store, StoreError, TokenRows};

#[derive(Clone, Copy, Debug)]
struct Timeouts {
    /// For a connection, from the name lookup to the prepared statements.
    connect: Duration,
    /// For a response, measured here. Longer than `statement`, whose error is more precise: for a server or network that has
    /// stopped responding.
    response: Duration,
    /// For a statement, measured by the server. A batch takes milliseconds, the largest pages and imports a second or two.
    statement: Duration,
    /// For the lock of another copy. Short, so that the writer can serve other studies meanwhile.
    lock: Duration,
    /// For an idle transaction, measured by the server. It bounds how long a lost copy blocks a study. Rebuilding the learners of
    /// a long study takes seconds.
    idle: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    response: Duration::from_secs(40),
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(5),
    idle: Duration::from_secs(30),
};

/// For creating or migrating the tables, or for another copy that does. Version 4 reads all episodes: 4 s for 240,000 of them.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(600);

/// For reading tokens.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Write,
    Read,
    /// Read, and check every byte.
    Inspect,
}

/// A PostgreSQL database.
#[derive(Clone, Debug)]
pub struct Postgres {
    target: Arc<Target>,
    timeouts: Timeouts,
}

impl Postgres {
    /// Connects, and creates the tables if there are none; several copies may do so at the same time.
    ///
    /// The address is a PostgreSQL URL. Without a password in it, `PGPASSWORD` is used. `sslmode` is `disable` (default for a
    /// server on this machine) or `require` (default otherwise), which verifies the certificate and its name with the authorities
    /// of the system or of `sslrootcert=FILE`.
    ///
    /// ```no_run
    /// use emab_server::store::{Backend, postgres::Postgres};
    /// let store = Postgres::open("postgres://emab@db.example.org/emab?sslrootcert=/etc/emab/ca.pem")?;
    /// assert!(store.reader()?.heads("", 10)?.is_empty());
    /// # Ok::<(), emab_server::store::StoreError>(())
    /// ```
    pub fn open(url: &str) -> Result<Postgres> {
        Postgres::open_with(url, TIMEOUTS)
    }

    fn open_with(url: &str, timeouts: Timeouts) -> Result<Postgres> {
        let store = Postgres::at(url, timeouts)?;
        store.connection(Role::Write)?.make_tables()?;
        Ok(store)
    }

    /// A store whose tables exist. It connects when first used.
    pub fn existing(url: &str) -> Result<Postgres> {
        Postgres::at(url, TIMEOUTS)
    }

    /// Connects to an existing store for reading. Nothing is created or changed.
    pub fn inspect(url: &str) -> Result<Box<dyn Store>> {
        let mut connection = Postgres::at(url, TIMEOUTS)?.connection(Role::Inspect)?;
        // Fails at once if it cannot be reached.
        connection.heads("", 0)?;
        Ok(Box::new(connection))
    }

    fn at(url: &str, timeouts: Timeouts) -> Result<Postgres> {
        let password = std::env::var("PGPASSWORD").ok();
        let target = Target::read(url, password.as_deref()).map_err(StoreError::Unavailable)?;
        Ok(Postgres {
            target: Arc::new(target),
            timeouts,
        })
    }

    fn connection(&self, role: Role) -> Result<PgConnection> {
        PgConnection::new(self.target.clone(), self.timeouts, role)
    }
}

impl Backend for Postgres {
    /// It connects when first used, and reconnects after a loss.
    fn writer(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(self.connection(Role::Write)?))
    }

    /// Readers and writers do not block each other.
    fn reader(&self) -> Result<Box<dyn Store>> {
        Ok(Box::new(self.connection(Role::Read)?))
    }

    fn tokens(&self) -> Result<Option<Box<dyn TokenRows>>> {
        // Every request waits for it.
        let timeouts = Timeouts {
            connect: self.timeouts.connect.min(TOKEN_TIMEOUT),
            response: self.timeouts.response.min(TOKEN_TIMEOUT),
            ..self.timeouts
        };
        let target = self.target.clone();
        let connection = PgConnection::new(target, timeouts, Role::Write)?;
        Ok(Some(Box::new(connection)))
    }
}
