//! The tables: whether they are there, of which version, and how they are made.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error};

use super::super::StoreError;
use super::error::{fault, said};

/// The version of `postgres.sql`.
const VERSION: i64 = 1;

/// Copies that start together meet a few times at most.
const TRIES: u32 = 40;

/// Whether the tables are there; an error if they are not ones that we know.
pub(super) async fn is_made(client: &Client) -> Result<bool, StoreError> {
    let sql = "SELECT version FROM meta WHERE application = 'emab'";
    let version: i64 = match client.query_typed(sql, &[]).await {
        Ok(rows) => match rows.first().map(|row| row.try_get(0)) {
            Some(Ok(version)) => version,
            Some(Err(error)) => return Err(StoreError::Damaged(said(&error))),
            None => return Err(strange()),
        },
        Err(error) => {
            return match error.code() {
                Some(code) if *code == SqlState::UNDEFINED_TABLE => Ok(false),
                Some(code) if *code == SqlState::UNDEFINED_COLUMN => Err(strange()),
                _ => Err(fault(&error)),
            };
        }
    };
    match version {
        VERSION => Ok(true),
        newer if newer > VERSION => Err(StoreError::Unavailable(format!(
            "the database has version {newer} of the tables, and this program knows {VERSION}: a newer one made them"
        ))),
        other => Err(StoreError::Damaged(format!(
            "the database has version {other} of the tables, which never was"
        ))),
    }
}

fn strange() -> StoreError {
    StoreError::Damaged(
        "the database has a table `meta` that is not this service's; give the service a database of its own".into(),
    )
}

/// Makes the tables, unless they are there.
///
/// `CREATE TABLE IF NOT EXISTS` looks first and makes then: of two that look at once, one may fail on a unique key of the
/// catalogue, or on a deadlock. Whoever fails so looks again.
pub(super) async fn make(client: &Client) -> Result<(), StoreError> {
    let mut tries = 0;
    while !is_made(client).await? {
        let Err(error) = create(client).await else {
            continue;
        };
        // A connection that is cut ends it; so does a role that may not.
        client
            .batch_execute("ROLLBACK")
            .await
            .map_err(|_| fault(&error))?;
        tries += 1;
        if !is_race(&error) || tries == TRIES {
            return Err(match error.code() {
                Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                    StoreError::Unavailable(format!(
                        "{}; the tables are made by a user who may (`GRANT CREATE ON SCHEMA public`)",
                        said(&error)
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
