//! A session: one connection to the server, checked, with its statements prepared.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio_postgres::{Client, Error, NoTls};

use super::super::StoreError;
use super::address::Target;
use super::error::fault;
use super::rows::Statements;
use super::{Timeouts, schema};

/// A connection. What is not committed is taken back by the server when it is dropped.
pub(super) struct Session {
    pub(super) driver: Driver,
    pub(super) tools: Tools,
}

/// What a call works with.
pub(super) struct Tools {
    pub(super) client: Client,
    pub(super) statements: Statements,
    /// The words that begin a transaction.
    pub(super) begin: String,
}

impl Session {
    /// Connects, checks the server and prepares statements; makes the tables before, if so asked.
    pub(super) async fn connect(
        target: &Target,
        timeouts: &Timeouts,
        make: bool,
    ) -> Result<Session, StoreError> {
        let (client, mut driver) = dial(target).await.map_err(|error| fault(&error))?;
        let settle = async {
            let synchronous = inspect(&client).await?;
            if make {
                schema::make(&client).await?;
            } else if !schema::is_made(&client).await? {
                return Err(StoreError::Damaged("its tables are gone".into()));
            }
            let prepared = Statements::prepare(&client).await;
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

/// What moves bytes between client and server. It does so while something is asked, and rests in between.
pub(super) struct Driver {
    connection: Option<Connection>,
    /// Why it ended, if it did and that is known.
    reason: Option<Error>,
}

type Connection = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

impl Driver {
    /// Why the connection ended, if that is known.
    pub(super) fn reason(&self) -> Option<&Error> {
        self.reason.as_ref()
    }

    /// Whether the connection has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.connection.is_none()
    }

    /// Moves bytes until the work is done.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        if let Some(connection) = &mut self.connection {
            tokio::select! {
                biased;
                done = &mut work => return done,
                ended = connection => self.reason = ended.err(),
            }
        }
        // Work that has had its answer finds it, and work that has not is told that there will be none.
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

/// Refuses a server that cannot keep what it is given, warns of one that may not, and says how it commits.
async fn inspect(client: &Client) -> Result<Option<String>, StoreError> {
    // None where a compatible database has no such setting.
    let sql = "SELECT current_setting('synchronous_commit', true), current_setting('fsync', true), \
               current_setting('server_encoding', true)";
    let row = client.query_typed(sql, &[]).await;
    let row = row.map_err(|error| fault(&error))?;
    let setting = |column: usize| -> Option<String> { row.first()?.try_get(column).ok()? };
    if setting(1).as_deref() == Some("off") {
        tracing::warn!(
            "PostgreSQL runs with fsync=off: what it commits is lost when its machine fails"
        );
    }
    match setting(2) {
        Some(encoding) if encoding != "UTF8" => Err(StoreError::Unavailable(format!(
            "the database's encoding is {encoding}, which cannot hold every name; make one with ENCODING 'UTF8'"
        ))),
        _ => Ok(setting(0)),
    }
}

/// The words that begin a transaction which sees what is committed now, and goes on seeing that. It is in nobody's way,
/// and whoever reads so may compute for long between two pages.
pub(super) fn begin_snapshot(timeouts: &Timeouts) -> String {
    // What is committed now: when the first row is asked for.
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = 3600000; SELECT 1",
        timeouts.statement.as_millis()
    )
}

/// The words that begin a transaction, in one round trip. Its settings end with it.
fn begin(synchronous: Option<&str>, timeouts: &Timeouts) -> String {
    let mut words = String::from("BEGIN ISOLATION LEVEL READ COMMITTED");
    let mut set = |name: &str, value: &str| {
        words.push_str(&format!("; SET LOCAL {name} = {value}"));
    };
    // Stronger is only that standbys have applied it, too.
    if synchronous.is_some_and(|now| now != "remote_apply") {
        set("synchronous_commit", "on");
    }
    let milliseconds = |duration: Duration| duration.as_millis().to_string();
    set("lock_timeout", &milliseconds(timeouts.lock));
    set("statement_timeout", &milliseconds(timeouts.statement));
    set(
        "idle_in_transaction_session_timeout",
        &milliseconds(timeouts.idle),
    );
    words
}
