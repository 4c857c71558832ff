//! PostgreSQL: several copies of the service on one database.
//!
//! A study is written by whoever holds the lock of its row (`SELECT … FOR UPDATE`, READ COMMITTED), so its sequence
//! numbers have no gaps and follow commit order. Unique keys are the second line: where a database gives locks away
//! under pressure, as some distributed ones may, the slower of two writers is refused. There are no advisory locks and
//! no LISTEN.
//!
//! A commit is on the server's disk when it returns: each transaction asks for `synchronous_commit`. All settings are
//! those of the transaction, none are the session's, so nothing is lost behind a pooler that hands sessions around
//! (pgbouncer in transaction mode). Statements are prepared once a connection, which such a pooler must know about:
//! pgbouncer does from 1.21 on, with `max_prepared_statements` above 0. An older one mixes up the statements of its
//! clients; pool by session there, or not at all.
//!
//! The client is the asynchronous one, on a small runtime of each connection's own: so an answer that never comes can
//! be given up, and statements of one group go out together and cost one round trip. A connection must not be used
//! from asynchronous code: it blocks.

mod address;
mod connection;
mod error;
mod rows;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod tls;

use std::sync::Arc;
use std::time::Duration;

use self::address::Target;
use self::connection::PgConnection;
use super::{Store, StoreError};

/// How long is waited, and for what.
#[derive(Clone, Copy, Debug)]
struct Timeouts {
    /// For a connection, from the look-up of the name to the prepared statements. The server's host is up or it is not.
    connect: Duration,
    /// For an answer, counted here. Longer than `statement`, since the server's own word is the better one: this is for
    /// a server that has stopped answering, or a network that swallows.
    response: Duration,
    /// For a statement, counted by the server. A group takes milliseconds, the largest pages and imports a second or
    /// two; beyond this something is wrong, and the lock is needed by others.
    statement: Duration,
    /// For another copy's lock. Short: whoever waits gets the thread back and may serve other studies meanwhile.
    lock: Duration,
    /// How long a transaction may lie still, counted by the server. It bounds how long a copy that hangs, or whose host
    /// has vanished, holds a study from all others. Between two statements of a group the service only computes, and
    /// learning a long study anew takes seconds, not half a minute.
    idle: Duration,
}

const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    response: Duration::from_secs(40),
    statement: Duration::from_secs(30),
    lock: Duration::from_secs(5),
    idle: Duration::from_secs(30),
};

/// What a connection may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Write,
    Read,
    /// Read, and look at every byte.
    Inspect,
}

/// A PostgreSQL database that is a store.
#[derive(Clone, Debug)]
pub struct Postgres {
    target: Arc<Target>,
    timeouts: Timeouts,
}

impl Postgres {
    /// Connects, and makes the tables if there are none; any number of copies may do so at once.
    ///
    /// The address is a URL as the PostgreSQL library reads it. Without a password in it, that of `PGPASSWORD` is taken.
    /// `sslmode` is `disable` or `require`, by default `disable` for a server on this machine and `require` for any
    /// other; `require` checks the certificate and the name in it, by the authorities that the system trusts or by those
    /// in `sslrootcert=FILE`.
    ///
    /// ```no_run
    /// use emab_server::store::postgres::Postgres;
    /// let store = Postgres::open("postgres://emab@db.example.org/emab?sslrootcert=/etc/emab/ca.pem")?;
    /// assert!(store.reader()?.heads("", 10)?.is_empty());
    /// # Ok::<(), emab_server::store::StoreError>(())
    /// ```
    pub fn open(url: &str) -> Result<Postgres, StoreError> {
        Postgres::open_with(url, TIMEOUTS)
    }

    fn open_with(url: &str, timeouts: Timeouts) -> Result<Postgres, StoreError> {
        let store = Postgres::at(url, timeouts)?;
        store.link(Role::Write)?.make_tables()?;
        Ok(store)
    }

    /// Connects to a database that is a store already, to look into it; nothing in it is made or changed.
    pub fn inspect(url: &str) -> Result<Box<dyn Store>, StoreError> {
        let mut link = Postgres::at(url, TIMEOUTS)?.link(Role::Inspect)?;
        // Whether it can be reached is to be known at once.
        link.heads("", 0)?;
        Ok(Box::new(link))
    }

    fn at(url: &str, timeouts: Timeouts) -> Result<Postgres, StoreError> {
        let password = std::env::var("PGPASSWORD").ok();
        let target = Target::read(url, password.as_deref()).map_err(StoreError::Unavailable)?;
        Ok(Postgres {
            target: Arc::new(target),
            timeouts,
        })
    }

    /// A connection that writes. It connects when it is first used, and again after it was lost.
    pub fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(self.link(Role::Write)?))
    }

    /// A connection that reads what is committed; it neither waits for writers nor do they wait for it.
    pub fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        Ok(Box::new(self.link(Role::Read)?))
    }

    /// Where the database is, without user and password.
    pub fn location(&self) -> &str {
        &self.target.location
    }

    fn link(&self, role: Role) -> Result<PgConnection, StoreError> {
        PgConnection::new(self.target.clone(), self.timeouts, role)
    }
}

impl super::Backend for Postgres {
    fn writer(&self) -> Result<Box<dyn Store>, StoreError> {
        Postgres::writer(self)
    }
    fn reader(&self) -> Result<Box<dyn Store>, StoreError> {
        Postgres::reader(self)
    }
}
