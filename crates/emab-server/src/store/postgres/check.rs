//! Checks of the whole database schema.

use std::collections::BTreeSet;

use super::super::sql::{Row, Sql, Stored};
use super::super::{Finding, Result, check as shared};
use super::connection::PgConnection;
use super::schema::VERSION;

/// The objects that the service creates. A line begins with the versions that have it.
const OBJECTS: &str = include_str!("objects.txt");

/// The objects in the schema of the table `meta`, one line each: everything that can change what a statement reads or writes.
const FIND_OBJECTS: &str = include_str!("objects.sql");

const META: &str = "SELECT application || ' ' || version FROM meta ORDER BY 1";

/// Checks the tables and the rows that belong to no study.
pub(super) fn store(store: &mut PgConnection) -> Result<Vec<Finding>> {
    let meta = store.rows_unprepared::<String>(META)?;
    let version = match &meta[..] {
        [only] if only == "emab 1" => 1,
        [only] if only == "emab 2" => 2,
        [only] if only == "emab 3" => 3,
        _ => VERSION,
    };
    let mut found = Vec::new();
    if meta != [format!("emab {version}")] {
        let what = format!("it has the rows {meta:?}; the service writes one");
        found.push(Finding::new("table meta", what));
    }
    let there = store.rows_unprepared::<String>(FIND_OBJECTS)?;
    found.extend(shared::objects(
        &there.into_iter().collect(),
        &created(version),
    ));
    shared::rows(store, version, &mut found)?;
    if version > 1 {
        let tokens = store.rows_unprepared::<Token>(TOKENS)?;
        found.extend(tokens.iter().filter_map(Token::wrong));
    }
    Ok(found)
}

const TOKENS: &str = "SELECT id, body FROM tokens ORDER BY id";

/// The id and the text of a token.
struct Token(String, String);

impl Stored for Token {
    fn read(row: &impl Row) -> Result<Token> {
        Ok(Token(row.get(0)?, row.get(1)?))
    }
}

impl Token {
    /// A token that no request can use.
    fn wrong(&self) -> Option<Finding> {
        let Token(id, body) = self;
        let read: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
        let hash = read["hash"]
            .as_str()
            .and_then(|hash| hash.strip_prefix("sha256:"));
        let proper = read["id"] == **id && hash.is_some_and(|hash| hash.starts_with(id));
        let what = "its text is not that of a token with this id, and it is not valid";
        (!proper).then(|| Finding::new(format!("token {id}"), what))
    }
}

/// The objects of a version.
fn created(version: i64) -> BTreeSet<String> {
    let version = version.to_string();
    let lines = OBJECTS.lines().filter_map(|line| line.split_once(' '));
    let lines = lines.filter(|(versions, _)| versions.contains(&version));
    lines.map(|(_, line)| line.to_owned()).collect()
}
