//! Versions of the tables, and files of other programs.

use super::*;
use crate::domain::{End, EpisodeRecord, Stamp, Status, Step};

#[test]
fn rejects_files_of_other_programs_unchanged() {
    let (_folder, file) = new_file();
    let both = |part: &str| {
        let bytes = fs::read(&file).unwrap();
        for result in [
            Sqlite::open(&file).map(drop),
            Sqlite::inspect(&file).map(drop),
        ] {
            let text = refused(result).to_string();
            assert!(text.contains(part) && text.contains("studies.db"), "{text}");
        }
        assert_eq!(fs::read(&file).unwrap(), bytes);
    };
    let text = "Not a database, but long enough to be one. ".repeat(100);
    fs::write(&file, text).unwrap();
    both("file is not a database");

    fs::remove_file(&file).unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE t (a)").unwrap();
    both("of another program");
    drop(other);

    fs::remove_file(&file).unwrap();
    drop(Sqlite::open(&file).unwrap());
    let newer = Connection::open(&file).unwrap();
    let updated = newer.pragma_update(None, "user_version", VERSION + 1);
    updated.unwrap();
    drop(newer);
    both("written by a newer program");

    // An empty file is accepted: a crash may have left it.
    fs::write(&file, "").unwrap();
    let error = refused(Sqlite::inspect(&file)).to_string();
    assert!(error.contains("it is empty"), "{error}");
    Sqlite::open(&file).unwrap();
}

#[test]
fn an_interrupted_migration_leaves_the_earlier_version() {
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/studies.db"
    );
    let (folder, file) = new_file();
    fs::copy(fixture, &file).unwrap();
    let version = |file: &Path| super::super::version(&Connection::open(file).unwrap()).unwrap();
    // The disk is full.
    let connection = Connection::open(&file).unwrap();
    connection
        .query_row("PRAGMA max_page_count = 1", [], |_| Ok(()))
        .unwrap();
    let error = prepare(&connection).unwrap_err();
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    drop(connection);
    assert_eq!(version(&file), Some(1));
    // The process is killed before the commit, with the changed pages already in the log.
    let connection = Connection::open(&file).unwrap();
    connection
        .execute_batch("PRAGMA cache_size = 0; BEGIN")
        .unwrap();
    connection
        .execute_batch(include_str!("../../sqlite-2.sql"))
        .unwrap();
    let killed = folder.path().join("killed.db");
    fs::copy(&file, &killed).unwrap();
    fs::copy(beside(&file, "-wal"), beside(&killed, "-wal")).unwrap();
    drop(connection);
    for file in [&file, &killed] {
        assert_eq!(version(file), Some(1));
        assert_eq!(
            Sqlite::inspect(file).unwrap().heads("", 9).unwrap().len(),
            2
        );
        drop(Sqlite::open(file).unwrap());
        assert_eq!(version(file), Some(VERSION));
    }
}

#[test]
fn a_migrated_store_has_the_same_schema_as_a_new_one() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let (_folder, file) = new_file();
    let schema = || {
        drop(Sqlite::open(&file).unwrap());
        let connection = Connection::open(&file).unwrap();
        let sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name";
        let mut statement = connection.prepare(sql).unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((0..4)
                .map(|column| row.get(column))
                .collect::<Result<Vec<Option<String>>, _>>())
        };
        let rows = statement.query_map([], row).unwrap();
        rows.map(|row| row.unwrap().unwrap()).collect::<Vec<_>>()
    };
    let new = schema();
    for fixture in ["studies.db", "studies-3.db"] {
        fs::copy(fixtures.join(fixture), &file).unwrap();
        assert_eq!(schema(), new);
    }
}

/// The migrations and the views find the episodes with an awaited outcome by the JSON text.
#[test]
fn a_pattern_finds_awaited_outcomes_whatever_the_text() {
    let sql = include_str!("../../sqlite-3-as-4.sql");
    let pattern = sql.lines().find(|line| line.contains("LIKE")).unwrap();
    let pattern = pattern.trim().trim_end_matches(" AS awaited,");
    for other in [
        include_str!("../../sqlite-4.sql"),
        include_str!("../../postgres-4.sql"),
        include_str!("../../postgres/rows.rs"),
    ] {
        assert!(other.contains(pattern));
    }

    let words = r#""place":null "end":{"abandoned":false "voided":"x""#;
    let escaped = words.replace('"', "\\\"");
    let broken = r#"\","voided":"x","place":null,"end":{"abandoned":false,"#;
    let texts = ["", "place", "end", "voided", words, &escaped, broken];
    let mut episodes = Vec::new();
    for text in texts {
        for case in 0..16 {
            let is = |bit: usize| case & (1 << bit) != 0;
            let text = || Some(text.to_owned());
            let stamp = || text().map(|by| Stamp { at: by.clone(), by });
            let end = End {
                abandoned: is(1),
                reason: text(),
                stamp: stamp(),
                ..End::default()
            };
            let step = Step {
                reason: text(),
                corrected: text(),
                ..Step::default()
            };
            episodes.push(EpisodeRecord {
                id: format!("{}{}", episodes.len(), text().unwrap()),
                states: vec![0, 0],
                steps: vec![step],
                end: is(0).then_some(end),
                position: is(2).then_some(1),
                voided: text().filter(|_| is(3)),
                voided_stamp: stamp(),
                settled_at: text(),
                given: text().into_iter().collect(),
                givers: text().map(|by| (by, vec![0])).into_iter().collect(),
                ..EpisodeRecord::default()
            });
        }
    }
    let stopped = episodes.iter().filter(|it| it.status() == Status::Stopped);
    assert_eq!(stopped.count(), texts.len());
    let (_folder, _file, owner, mut store) = new_store();
    let head = study(&mut *store, 1);
    let changes = Changes {
        episodes,
        ..Changes::default()
    };
    store.begin().unwrap();
    store.write(&head, &changes).unwrap();
    store.commit().unwrap();
    let connection = connect(&owner.file, Role::Write).unwrap();
    connection.execute_batch(sql).unwrap();
    let counts = "SELECT count(*), sum(one.awaited), sum(one.awaited <> other.awaited)
        FROM main.cases AS one JOIN temp.cases AS other USING (study, id)";
    let counts: (i64, i64, i64) = connection
        .query_row(counts, [], |row| row.try_into())
        .unwrap();
    let all = texts.len() as i64;
    assert_eq!(counts, (16 * all, all, 0));
}

#[test]
fn a_changed_table_needs_a_new_version() {
    // A later version must read existing files.
    let hash = sha256(include_bytes!("../../sqlite.sql"));
    assert_eq!((VERSION, &hash[..16]), (4, "45b6da772c5f3f99"));
}
