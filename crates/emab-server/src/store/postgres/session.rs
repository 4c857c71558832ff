//! A session: one connection to the server, checked, with its statements prepared.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::{Client, Error, NoTls};

use super::super::{Result, StoreError};
use super::address::Target;
use super::error::fault;
use super::rows::{Statements, prepare};
use super::{Timeouts, schema};

/// A session. The server rolls back when it is dropped.
pub(super) struct Session {
    pub(super) driver: Driver,
    pub(super) tools: Tools,
}

pub(super) struct Tools {
    pub(super) client: Client,
    pub(super) statements: Statements,
    /// The SQL that begins a transaction.
    pub(super) begin: String,
}

impl Session {
    /// Connects, checks the server and the tables, and prepares the statements.
    pub(super) async fn connect(
        target: &Target,
        timeouts: &Timeouts,
        tables: Tables,
    ) -> Result<Session> {
        let reach = async {
            let (client, mut driver) = dial(target).await.map_err(|error| fault(&error))?;
            let synchronous = driver.during(inspect(&client)).await?;
            Ok((client, driver, synchronous))
        };
        // A migration may take longer; a silent server is found before.
        let reached = timeout(timeouts.connect, reach).await;
        let (client, mut driver, synchronous) =
            reached.unwrap_or_else(|_| Err(no_connection(timeouts.connect)))?;
        let settle = async {
            let version = match tables {
                Tables::Make => schema::ensure(&client).await?,
                Tables::Use => schema::current(&client).await?,
                Tables::Inspect => schema::version(&client)
                    .await?
                    .ok_or_else(schema::missing)?,
            };
            let prepared = prepare(&client, version).await;
            let statements = prepared.map_err(|error| fault(&error))?;
            Ok((statements, begin(synchronous.as_deref(), timeouts)))
        };
        let (statements, begin) = driver.during(settle).await?;
        tracing::debug!(location = target.location, "connected to PostgreSQL");
        Ok(Session {
            driver,
            tools: Tools {
                client,
                statements,
                begin,
            },
        })
    }
}

pub(super) fn no_connection(limit: Duration) -> StoreError {
    StoreError::Unavailable(format!("no connection after {limit:?}"))
}

/// What a session does about the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    /// Create or migrate them.
    Make,
    /// Fail if they do not have the current version.
    Use,
    /// Read them in any known version.
    Inspect,
}

/// Polls the connection while work is executed.
pub(super) struct Driver {
    /// None after its end.
    pub(super) connection: Option<Connection>,
    /// Why the connection ended, if known.
    pub(super) reason: Option<Error>,
}

pub(super) type Connection = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Driver {
    /// Polls the connection until the work is done.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Some(connection) = &mut self.connection {
            tokio::select! {
                biased;
                done = &mut work => return done,
                ended = connection => self.reason = ended.err(),
            }
        }
        // The work finds its response, or gets an error.
        self.connection = None;
        work.await
    }
}

async fn dial(target: &Target) -> Result<(Client, Driver), Error> {
    let driver = |connection| Driver {
        connection: Some(connection),
        reason: None,
    };
    Ok(match &target.tls {
        Some(tls) => {
            let (client, connection) = target.config.connect(tls.clone()).await?;
            (client, driver(Box::pin(connection)))
        }
        None => {
            let (client, connection) = target.config.connect(NoTls).await?;
            (client, driver(Box::pin(connection)))
        }
    })
}

/// Rejects an unsuitable server, warns of an unsafe one, and returns its `synchronous_commit`.
async fn inspect(client: &Client) -> Result<Option<String>> {
    // None in a compatible database without the setting.
    let sql = "SELECT current_setting('synchronous_commit', true), current_setting('fsync', true), \
               current_setting('server_encoding', true)";
    let row = client.query_typed(sql, &[]).await;
    let row = row.map_err(|error| fault(&error))?;
    let setting = |column: usize| -> Option<String> { row.first()?.try_get(column).ok()? };
    if setting(1).as_deref() == Some("off") {
        tracing::warn!("PostgreSQL runs with fsync=off: commits are lost if its machine fails");
    }
    match setting(2) {
        Some(encoding) if encoding != "UTF8" => Err(StoreError::Unavailable(format!(
            "the encoding of the database is {encoding}; create it with ENCODING 'UTF8'"
        ))),
        _ => Ok(setting(0)),
    }
}

/// The SQL that begins a read snapshot. It blocks no writer, and may stay open for long between two pages.
pub(super) fn begin_snapshot(timeouts: &Timeouts) -> String {
    // The snapshot is taken by the first query.
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = 3600000; SELECT 1",
        timeouts.statement.as_millis()
    )
}

/// The SQL that begins a transaction, in one round trip. Its settings end with it.
fn begin(synchronous: Option<&str>, timeouts: &Timeouts) -> String {
    // `remote_apply` is stronger.
    let durable = match synchronous {
        Some(now) if now != "remote_apply" => "SET LOCAL synchronous_commit = on; ",
        _ => "",
    };
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED; {durable}SET LOCAL lock_timeout = {}; \
         SET LOCAL statement_timeout = {}; SET LOCAL idle_in_transaction_session_timeout = {}",
        timeouts.lock.as_millis(),
        timeouts.statement.as_millis(),
        timeouts.idle.as_millis()
    )
}
