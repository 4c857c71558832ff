//! Changed rows in PostgreSQL.

use std::sync::Arc;

use emab_server::audit::{Report, audit_study};
use emab_server::domain::command::Command;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{Address, postgres::Postgres};
use emab_testkit::postgres::Server;

use super::recorded::{Writer, restore_command};
use super::sqlite_rows::{RECORDED, findings};

fn audit(address: &Address) -> Report {
    let mut store = address.inspect().unwrap();
    store.begin_snapshot().unwrap();
    let head = store.head("clinic").unwrap().unwrap();
    audit_study(&mut *store, head).unwrap()
}

#[test]
fn finds_changed_rows_in_postgres() {
    let server = Server::shared().unwrap();
    let address: Address = server.url().parse().unwrap();
    assert!(address.inspect().is_err(), "there is nothing to inspect");
    let writer = Writer::over(Arc::new(Postgres::open(&server.url()).unwrap()));
    let restore = restore_command(RECORDED.events.clone());
    writer.ask("clinic", restore).unwrap();
    writer.ask("clinic", Command::FinishRestore(None)).unwrap();
    let mut file = Sqlite::inspect(&RECORDED.path()).unwrap();
    let head = file.head("clinic").unwrap().unwrap();
    let restored = audit(&address);
    let restore = restored.restore.clone();
    assert_eq!(restore.as_ref().unwrap().begun_by, "00000001 (Anna)");
    let report = audit_study(&mut *file, head).unwrap();
    assert_eq!(restored, Report { restore, ..report });

    // A change, its reverse, and the place that the audit names.
    let table = r#"
        UPDATE events SET text = replace(text, '"by":"00000001"', '"by":"00000002"') WHERE seq = 40 => UPDATE events SET text = replace(text, '"by":"00000002"', '"by":"00000001"') WHERE seq = 40 => event 40
        UPDATE cells SET sum = sum + 1 WHERE (t, x, a) = (2, 1, 0) => UPDATE cells SET sum = sum - 1 WHERE (t, x, a) = (2, 1, 0) => count of (2, 1, 0)
        UPDATE cases SET body = replace(body, ':', ': ') WHERE id = 'p7' => UPDATE cases SET body = replace(body, ': ', ':') WHERE id = 'p7' => episode p7
        UPDATE cases SET step = step + 1 WHERE id = 'p7' => UPDATE cases SET step = step - 1 WHERE id = 'p7' => episode p7
        UPDATE cases SET open = false WHERE id = 'p11' => UPDATE cases SET open = true WHERE id = 'p11' => episode p11
        UPDATE cases SET awaited = true WHERE id = 'p11' => UPDATE cases SET awaited = false WHERE id = 'p11' => episode p11
        INSERT INTO answers SELECT study, 'stray', 1, '{}' FROM answers LIMIT 1 => DELETE FROM answers WHERE episode = 'stray' => decision 1 of episode stray
        UPDATE lessons SET place = 1000 WHERE place = 30 => UPDATE lessons SET place = 30 WHERE place = 1000 => learned episode 30
        UPDATE studies SET missing = missing - 1 => UPDATE studies SET missing = missing + 1 => head
    "#;
    // All at once, and taken back in the reverse order.
    let objects = "
        CREATE TABLE t (a INT) => DROP TABLE t => table t
        CREATE VIEW v AS SELECT 1 AS a => DROP VIEW v => view v
        CREATE FUNCTION f() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END' => DROP FUNCTION f => function f
        INSERT INTO meta VALUES ('more', 1) => DELETE FROM meta WHERE application = 'more' => table meta
        INSERT INTO events VALUES (77, 1, '', '') => DELETE FROM events WHERE study = 77 => study 77 in events
        INSERT INTO lessons SELECT key, -1, '' FROM studies => DELETE FROM lessons WHERE place < 0 => study 1 in lessons
        INSERT INTO tokens VALUES ('00000000', '{}') => DELETE FROM tokens => token 00000000
        UPDATE studies SET name = 'a b' => UPDATE studies SET name = 'clinic' => study 1
        CREATE TRIGGER t BEFORE UPDATE ON cases FOR EACH ROW EXECUTE FUNCTION f() => DROP TRIGGER t ON cases => trigger t
        CREATE RULE r AS ON INSERT TO events DO INSTEAD NOTHING => DROP RULE r ON events => rule r
        CREATE POLICY p ON cells => DROP POLICY p ON cells => policy p
        ALTER TABLE cells ENABLE ROW LEVEL SECURITY => ALTER TABLE cells DISABLE ROW LEVEL SECURITY => table cells
        ALTER TABLE lessons SET UNLOGGED => ALTER TABLE lessons SET LOGGED => table lessons
        DROP INDEX cases_open => CREATE INDEX cases_open ON cases (study, id) WHERE open => index cases_open
        DROP INDEX cases_awaited => CREATE INDEX cases_awaited ON cases (study, id) WHERE awaited => index cases_awaited
        ALTER TABLE cells ADD COLUMN more TEXT => ALTER TABLE cells DROP COLUMN more => column cells.more
        ALTER TABLE cells ALTER COLUMN a SET DEFAULT 1 => ALTER TABLE cells ALTER COLUMN a DROP DEFAULT => column cells.a
        CREATE SCHEMA other CREATE TABLE c () INHERITS (cells) => DROP SCHEMA other CASCADE => child other.c
    ";
    let lines: Vec<Vec<&str>> = objects
        .trim()
        .lines()
        .map(|line| line.trim().split(" => ").collect())
        .collect();
    let check = || {
        let mut store = address.inspect().unwrap();
        store.begin_snapshot().unwrap();
        store.check_store().unwrap()
    };
    lines
        .iter()
        .for_each(|line| server.execute(line[0]).unwrap());
    let found = check();
    for line in &lines {
        assert!(
            found.iter().any(|it| it.place == line[2]),
            "{line:?}: {found:#?}"
        );
    }
    lines
        .iter()
        .rev()
        .for_each(|line| server.execute(line[1]).unwrap());
    assert_eq!(check(), []);
    server.execute("UPDATE studies SET key = key + 70").unwrap();
    let tables = [
        "events", "cases", "answers", "lessons", "cells", "specs", "restores",
    ];
    let places: Vec<String> = check().into_iter().map(|it| it.place).collect();
    assert_eq!(places, tables.map(|table| format!("study 1 in {table}")));
    server.execute("UPDATE studies SET key = key - 70").unwrap();
    for line in table.trim().lines() {
        let [there, back, place] = *line.trim().split(" => ").collect::<Vec<_>>() else {
            panic!("{line}")
        };
        server.execute(there).unwrap();
        let report = audit(&address);
        assert_eq!(findings(&report)[0], place, "{there}: {report:#?}");
        server.execute(back).unwrap();
        let report = audit(&address);
        assert!(report.is_clean(), "{back}: {report:#?}");
    }
}
