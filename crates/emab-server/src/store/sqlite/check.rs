//! Checks of the whole file.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::super::{Finding, Result, StoreError, check as shared};
use super::VERSION;
use super::connection::SqliteConnection;
use super::error::fault;

/// Objects with their SQL, in a database.
const OBJECTS: &str = "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM main.sqlite_schema";

/// Checks the file, its tables and the rows that belong to no study.
pub(super) fn store(store: &mut SqliteConnection) -> Result<Vec<Finding>> {
    let version = super::version(&store.connection)?.unwrap_or(VERSION);
    let mut found = Vec::new();
    // Pages, order, types, indexes against tables.
    match lines(&store.connection, "PRAGMA main.integrity_check(100)") {
        Ok(lines) if lines == ["ok"] => {}
        Ok(lines) => found.extend(lines.iter().map(|line| Finding::new("file", line))),
        Err(StoreError::Damaged(what)) => found.push(Finding::new("file", what)),
        Err(error) => return Err(error),
    }
    let should = match version {
        1 => include_str!("../sqlite-1.sql"),
        // As the migration from version 1 leaves them.
        2 => concat!(
            include_str!("../sqlite-1.sql"),
            include_str!("../sqlite-2.sql")
        ),
        3 => concat!(
            include_str!("../sqlite-1.sql"),
            include_str!("../sqlite-2.sql"),
            include_str!("../sqlite-3.sql")
        ),
        _ => include_str!("../sqlite.sql"),
    };
    let new = Connection::open_in_memory().map_err(fault)?;
    new.execute_batch(should).map_err(fault)?;
    let objects = |connection| lines(connection, OBJECTS).map(BTreeSet::from_iter);
    match objects(&store.connection) {
        Ok(there) => found.extend(shared::objects(&there, &objects(&new)?)),
        Err(StoreError::Damaged(what)) => found.push(Finding::new("tables", what)),
        Err(error) => return Err(error),
    }
    shared::rows(store, version, &mut found)?;
    Ok(found)
}

fn lines(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut statement = connection.prepare(sql).map_err(fault)?;
    let lines = statement.query_map([], |row| row.get(0)).map_err(fault)?;
    lines.collect::<rusqlite::Result<_>>().map_err(fault)
}
