//! Checks and creates the tables.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::super::{Result, StoreError};
use super::error::{describe, fault};

/// The version of the tables in `postgres.sql`.
const VERSION: i64 = 1;

/// The largest number of attempts, when several copies start together.
const TRIES: u32 = 40;

/// Whether the tables exist; fails if their version is not supported.
pub(super) async fn exists(client: &Client) -> Result<bool> {
    let sql = "SELECT version FROM meta WHERE application = 'emab'";
    let rows = match client.query_typed(sql, &[]).await {
        Ok(rows) => rows,
        Err(error) => {
            return match error.code() {
                Some(code) if *code == SqlState::UNDEFINED_TABLE => Ok(false),
                Some(code) if *code == SqlState::UNDEFINED_COLUMN => Err(foreign()),
                _ => Err(fault(&error)),
            };
        }
    };
    let version = rows.first().ok_or_else(foreign)?.try_get(0);
    let version: i64 = version.map_err(|error| StoreError::Damaged(describe(&error)))?;
    match version {
        VERSION => Ok(true),
        newer if newer > VERSION => Err(StoreError::Unavailable(format!(
            "the tables have version {newer}, created by a newer program; this one supports {VERSION}"
        ))),
        other => Err(StoreError::Damaged(format!(
            "the tables have the unknown version {other}"
        ))),
    }
}

fn foreign() -> StoreError {
    StoreError::Damaged(
        "the database has a table `meta` of another program; use a separate database for the service".into(),
    )
}

/// Creates the tables if they do not exist.
///
/// `CREATE TABLE IF NOT EXISTS` is not atomic: of two copies, one may fail on a unique key of the catalogue, or on a deadlock. It
/// then checks again.
pub(super) async fn ensure(client: &Client) -> Result<()> {
    let mut tries = 0;
    while !exists(client).await? {
        let Err(error) = create(client).await else {
            continue;
        };
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
    Ok(())
}

async fn create(client: &Client) -> Result<(), Error> {
    client.batch_execute("BEGIN").await?;
    client
        .batch_execute(include_str!("../postgres.sql"))
        .await?;
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
