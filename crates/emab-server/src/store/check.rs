//! Checks of a whole store, beside those of each study: its objects, and rows that belong to no study.

use std::collections::BTreeSet;

use super::sql::{Row, Sql, Stored};
use super::{Finding, Result, StoreError};
use crate::domain::{NAME_RULE, is_name};

/// The largest number of findings of one kind.
const MAX: usize = 100;

/// The studies that a table has rows of, and that do not exist. Every step is one search in an index.
macro_rules! orphans {
    ($table:literal) => {
        concat!(
            "WITH RECURSIVE found(study) AS (SELECT min(study) FROM ", $table, " UNION ALL \
             SELECT (SELECT min(study) FROM ", $table, " WHERE study > found.study) FROM found WHERE study IS NOT NULL) \
             SELECT study FROM found WHERE study IS NOT NULL AND NOT EXISTS (SELECT 1 FROM studies WHERE key = study) LIMIT 100"
        )
    };
}
/// The tables with rows of studies. Version 1 has the first five.
pub(super) const TABLES: [(&str, &str); 8] = [
    ("events", orphans!("events")),
    ("cases", orphans!("cases")),
    ("answers", orphans!("answers")),
    ("lessons", orphans!("lessons")),
    ("cells", orphans!("cells")),
    ("specs", orphans!("specs")),
    ("restores", orphans!("restores")),
    ("checkpoints", orphans!("checkpoints")),
];

/// The studies with rows before the first one that is read.
macro_rules! unread {
    ($table:literal, $condition:literal) => {
        concat!(
            "SELECT key FROM studies WHERE EXISTS (SELECT 1 FROM ",
            $table,
            " WHERE study = key AND ",
            $condition,
            ") LIMIT 100"
        )
    };
}

const UNREAD: [(&str, &str); 5] = [
    ("events", unread!("events", "seq < 1")),
    ("cases", unread!("cases", "id = ''")),
    ("answers", unread!("answers", "episode = ''")),
    ("lessons", unread!("lessons", "place < 0")),
    ("cells", unread!("cells", "t < 0")),
];

const STUDIES: &str = "SELECT key, name FROM studies ORDER BY key";

/// The key and the name of a study.
struct Study(i64, String);

impl Stored for Study {
    fn read(row: &impl Row) -> Result<Study> {
        Ok(Study(row.get(0)?, row.get(1)?))
    }
}

/// Checks the rows of all studies, and rows of none.
pub(super) fn rows(store: &mut impl Sql, version: i64, found: &mut Vec<Finding>) -> Result<()> {
    match store.rows_unprepared::<Study>(STUDIES) {
        Ok(studies) => found.extend(studies.iter().filter_map(wrong).take(MAX)),
        Err(StoreError::Damaged(what)) => found.push(Finding::new("studies", what)),
        Err(error) => return Err(error),
    }
    let tables = match version {
        1 => &TABLES[..5],
        _ => &TABLES[..],
    };
    let orphans = tables
        .iter()
        .zip(std::iter::repeat("there is no study with this key"));
    let unread = UNREAD
        .iter()
        .zip(std::iter::repeat("a row comes before the first one"));
    for ((table, sql), what) in orphans.chain(unread) {
        match store.rows_unprepared::<i64>(sql) {
            Ok(studies) => found.extend(studies.iter().map(|key| {
                let place = format!("study {key} in {table}");
                Finding::new(place, what)
            })),
            Err(StoreError::Damaged(what)) => found.push(Finding::new(*table, what)),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn wrong(Study(key, name): &Study) -> Option<Finding> {
    let place = format!("study {key}");
    if *key < 1 {
        return Some(Finding::new(place, "keys begin with 1"));
    }
    let what = format!("its name {name:?} is none: {NAME_RULE}");
    (!is_name(name)).then(|| Finding::new(place, what))
}

/// Compares the objects of a store with those that the service creates. Each is one line, which begins with its kind and name.
pub(super) fn objects(there: &BTreeSet<String>, should: &BTreeSet<String>) -> Vec<Finding> {
    let place = |line: &str| {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        words[..words.len().min(2)].join(" ")
    };
    let new = there.difference(should).take(MAX);
    let new = new.map(|line| {
        let what = format!("the service does not create it: {line}");
        Finding::new(place(line), what)
    });
    let missing = should.difference(there);
    let missing = missing.map(|line| {
        let what = format!("missing or changed: the service creates {line}");
        Finding::new(place(line), what)
    });
    new.chain(missing).collect()
}
