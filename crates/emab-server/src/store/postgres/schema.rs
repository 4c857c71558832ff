//! Checks and creates the tables.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::super::{Result, StoreError};
use super::error::{describe, fault};

/// The version of the tables in `postgres.sql`.
pub(super) const VERSION: i64 = 4;

/// The largest number of attempts, when several copies start together.
const TRIES: u32 = 40;

/// The version of the tables; none if there are none. Fails if it is not supported.
pub(super) async fn version(client: &Client) -> Result<Option<i64>> {
    let sql = "SELECT version FROM meta WHERE application = 'emab'";
    let rows = match client.query_typed(sql, &[]).await {
        Ok(rows) => rows,
        Err(error) => {
            return match error.code() {
                Some(code) if *code == SqlState::UNDEFINED_TABLE => Ok(None),
                Some(code) if *code == SqlState::UNDEFINED_COLUMN => Err(foreign()),
                _ => Err(fault(&error)),
            };
        }
    };
    let version = rows.first().ok_or_else(foreign)?.try_get(0);
    let version: i64 = version.map_err(|error| StoreError::Damaged(describe(&error)))?;
    match version {
        1..=VERSION => Ok(Some(version)),
        newer if newer > VERSION => Err(StoreError::Unavailable(format!(
            "the tables have version {newer}, created by a newer program; this one supports {VERSION}"
        ))),
        other => Err(StoreError::Damaged(format!(
            "the tables have the unknown version {other}"
        ))),
    }
}

/// Fails if the tables do not have the current version.
pub(super) async fn current(client: &Client) -> Result<i64> {
    match version(client).await?.ok_or_else(missing)? {
        VERSION => Ok(VERSION),
        earlier => Err(StoreError::Unavailable(format!(
            "the tables have version {earlier}, and this program writes version {VERSION}; `emab serve` migrates them when it \
             starts"
        ))),
    }
}

pub(super) fn missing() -> StoreError {
    StoreError::Damaged("its tables are missing; `emab serve` creates them when it starts".into())
}

fn foreign() -> StoreError {
    StoreError::Damaged(
        "the database has a table `meta` of another program; use a separate database for the service".into(),
    )
}

/// Creates the tables if they do not exist, and migrates earlier ones; returns the current version.
///
/// `CREATE TABLE IF NOT EXISTS` is not atomic: of two copies, one may fail on a unique key of the catalogue, or on a deadlock. It
/// then checks again. A migration locks the row of the version: a second copy waits, and finds the new version.
pub(super) async fn ensure(client: &Client) -> Result<i64> {
    let mut tries = 0;
    loop {
        let made = match version(client).await? {
            Some(VERSION) => {
                tracing::info!(version = VERSION, "the store was opened");
                return Ok(VERSION);
            }
            Some(earlier) => {
                tracing::info!(version = earlier, to = VERSION, "the store is migrated");
                migrate(client, earlier).await
            }
            None => create(client).await,
        };
        let Err(error) = made else { continue };
        // A lost connection ends the loop, and so does a missing privilege.
        client
            .batch_execute("ROLLBACK")
            .await
            .map_err(|_| fault(&error))?;
        tries += 1;
        if !is_race(&error) || tries == TRIES {
            return Err(match error.code() {
                Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                    StoreError::Unavailable(format!(
                        "{}; the user needs the privilege to create tables (`GRANT CREATE ON SCHEMA public`)",
                        describe(&error)
                    ))
                }
                _ => fault(&error),
            });
        }
        tokio::time::sleep(Duration::from_millis(20 * u64::from(tries))).await;
    }
}

async fn create(client: &Client) -> Result<(), Error> {
    client.batch_execute("BEGIN").await?;
    client
        .batch_execute(include_str!("../postgres.sql"))
        .await?;
    client.batch_execute("COMMIT").await
}

/// Takes the tables from this version to the next one, in one transaction.
async fn migrate(client: &Client, version: i64) -> Result<(), Error> {
    let changes = match version {
        1 => include_str!("../postgres-2.sql"),
        2 => include_str!("../postgres-3.sql"),
        _ => include_str!("../postgres-4.sql"),
    };
    client.batch_execute("BEGIN").await?;
    let sql = "SELECT version FROM meta WHERE application = 'emab' AND version = $1 FOR UPDATE";
    // Empty if another copy has migrated them meanwhile.
    let found = client.query_typed(sql, &[(&version, Type::INT8)]).await?;
    if !found.is_empty() {
        client.batch_execute(changes).await?;
    }
    client.batch_execute("COMMIT").await
}

fn is_race(error: &Error) -> bool {
    [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_OBJECT,
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::LOCK_NOT_AVAILABLE,
        // "tuple concurrently updated"
        SqlState::INTERNAL_ERROR,
    ]
    .iter()
    .any(|race| error.code() == Some(race))
}
