//! Random changes of the file's bytes: the content is unchanged, or the audit finds the change.

use std::path::Path;

use emab_server::audit::audit_study;
use emab_server::store::sqlite::Sqlite;
use proptest::prelude::*;
use rusqlite::{Connection, OpenFlags, types::Value};

use super::sqlite_rows::RECORDED;

/// All rows; `None` if the file cannot be read.
fn dump(path: &Path) -> Option<Vec<Vec<Value>>> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let mut all = Vec::new();
    for (table, key) in [
        ("studies", "key"),
        ("specs", "study"),
        ("restores", "study"),
        ("checkpoints", "study"),
        ("events", "study, seq"),
        ("cases", "study, id"),
        ("answers", "study, episode, step"),
        ("lessons", "study, place"),
        ("cells", "study, t, x, a"),
    ] {
        let sql = format!("SELECT * FROM {table} ORDER BY {key}");
        let mut statement = file.prepare(&sql).ok()?;
        let columns = statement.column_count();
        let mut rows = statement.query([]).ok()?;
        while let Some(row) = rows.next().ok()? {
            let values = (0..columns).map(|column| row.get::<_, Value>(column));
            all.push(values.collect::<Result<_, _>>().ok()?);
        }
    }
    Some(all)
}

/// Whether the audit finds nothing.
fn is_clean(path: &Path) -> bool {
    let Ok(mut store) = Sqlite::inspect(path) else {
        return false;
    };
    let Ok(heads) = store.heads("", 10) else {
        return false;
    };
    if !store.check_store().is_ok_and(|found| found.is_empty()) {
        return false;
    }
    let studies = heads.len();
    let mut audits = heads.into_iter().map(|head| audit_study(&mut *store, head));
    studies == 2 && audits.all(|report| report.is_ok_and(|report| report.is_clean()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn finds_any_changed_byte_of_the_file_that_changes_its_content(at in any::<prop::sample::Index>(), by in 1..=255_u8) {
        let (_folder, path) = RECORDED.copy();
        let before = dump(&path);
        prop_assert!(before.is_some());
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= by;
        std::fs::write(&path, &bytes).unwrap();
        let after = dump(&path);
        prop_assert!(after == before || !is_clean(&path), "byte {at} ^ {by}: changed, and not found");
    }
}
