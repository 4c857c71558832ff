//! Tests on a real server.

mod hostile;
mod secret;

use std::sync::Arc;

use emab_testkit::postgres::Server;
use tokio_postgres::Error;

use super::connection::PgConnection;
use super::session::Tools;
use super::*;
use crate::domain::{GENESIS, Record};
use crate::store::{Changes, Head};

fn server() -> Arc<Server> {
    Server::shared().unwrap()
}

/// Timeouts for tests on a busy machine.
const SHORT: Timeouts = Timeouts {
    connect: Duration::from_secs(10),
    response: Duration::from_secs(30),
    statement: Duration::from_secs(20),
    lock: Duration::from_millis(200),
    idle: Duration::from_secs(2),
};

/// A new database and a connection pool to it.
fn opened(server: &Server, name: &str) -> Postgres {
    Postgres::open(&server.database(name).unwrap()).unwrap()
}

/// Asserts that the database cannot be opened, for this reason.
#[track_caller]
fn refused(url: &str, words: &[&str]) -> StoreError {
    let why = Postgres::open(url).unwrap_err();
    let text = why.to_string();
    assert!(words.iter().all(|word| text.contains(word)), "{text}");
    why
}

fn create(store: &mut dyn Store, name: &str) -> Head {
    let mut head = Head::new(name, "", 1);
    store.begin().unwrap();
    head.key = store.create(&head, "{}").unwrap().unwrap();
    store.commit().unwrap();
    head
}

/// Writes the next event of the chain, without a commit.
fn write_next(store: &mut dyn Store, name: &str) -> Result<Head, StoreError> {
    store.begin()?;
    let mut head = store.lock(name)?.unwrap();
    head.seq += 1;
    let event = Record::new(head.seq, format!("{} {}", head.seq, head.hash));
    head.hash = event.hash.clone();
    store.write(&head, &of_event(event))?;
    Ok(head)
}

fn of_event(event: Record) -> Changes {
    Changes {
        events: vec![event],
        ..Changes::default()
    }
}

/// Writes and commits the next event, with retries.
fn append(store: &mut dyn Store, name: &str) {
    loop {
        match write_next(store, name).and_then(|_| store.commit()) {
            Ok(()) => return,
            Err(StoreError::Retry(_)) => store.rollback(),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The last hash of these events; checks that they are a chain without gaps.
fn chained(events: &[Record]) -> String {
    let mut hash = GENESIS.to_string();
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event.seq, place as u64 + 1);
        assert_eq!(event.text, format!("{} {hash}", event.seq));
        hash.clone_from(&event.hash);
    }
    hash
}

fn link(store: &Postgres) -> PgConnection {
    store.connection(Role::Write).unwrap()
}

fn say(link: &mut PgConnection, sql: &str) -> Result<(), StoreError> {
    link.call(&async |tools: &Tools| tools.client.batch_execute(sql).await)
}

fn ask(link: &mut PgConnection, sql: &str) -> String {
    let ask = async |tools: &Tools| -> Result<String, Error> {
        let rows = tools.client.query(sql, &[]).await?;
        rows[0].try_get(0)
    };
    link.call(&ask).unwrap()
}

/// Two copies that lock the same studies would deadlock if they followed the plan of the query: a scan of an index finds the
/// studies in another order than a scan of the table.
#[test]
fn studies_are_locked_in_the_order_of_names_whatever_the_plan() {
    let server = server();
    let patient = Timeouts {
        lock: TIMEOUTS.statement,
        ..TIMEOUTS
    };
    let store = Postgres::open_with(&server.database("lock_order").unwrap(), patient).unwrap();
    let [mut writer, mut holder, mut other] = [(); 3].map(|()| link(&store));
    // The table has them in this order.
    for name in ["b", "a"] {
        create(&mut holder, name);
    }
    let plan = "SET enable_indexscan = off; SET enable_bitmapscan = off";
    say(&mut writer, plan).unwrap();
    let pid = ask(&mut writer, "SELECT pg_backend_pid()::TEXT");
    let waits = format!("SELECT count(*)::TEXT FROM pg_locks WHERE pid = {pid} AND NOT granted");
    let free = "SELECT count(*)::TEXT FROM (SELECT 1 FROM studies WHERE name = 'a' FOR UPDATE SKIP LOCKED) AS a";
    Store::begin(&mut holder).unwrap();
    holder.lock("b").unwrap();
    let heads = std::thread::scope(|scope| {
        let locked = scope.spawn(|| {
            Store::begin(&mut writer).unwrap();
            writer.lock_all(&["b", "a"])
        });
        while ask(&mut other, &waits) == "0" {
            assert!(!locked.is_finished(), "it does not wait for `b`");
            std::thread::sleep(Duration::from_millis(1));
        }
        let free = ask(&mut other, free);
        Store::rollback(&mut holder);
        assert_eq!(free, "0", "it waits for `b` before it has locked `a`");
        locked.join().unwrap().unwrap()
    });
    let names: Vec<_> = heads.iter().map(|head| &*head.name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn copies_that_contend_leave_no_gap_and_readers_see_none() {
    const EACH: usize = 150;
    let server = server();
    let url = server.database("contend").unwrap();
    let copies: Vec<Postgres> = (0..2).map(|_| Postgres::open(&url).unwrap()).collect();
    let head = create(&mut *copies[0].writer().unwrap(), "hot");
    std::thread::scope(|scope| {
        for copy in &copies {
            scope.spawn(|| {
                let mut store = copy.writer().unwrap();
                for _ in 0..EACH {
                    append(&mut *store, "hot");
                }
            });
        }
        scope.spawn(|| {
            let mut store = copies[0].reader().unwrap();
            let mut seen: Vec<Record> = Vec::new();
            while seen.len() < 2 * EACH {
                // Sequence numbers follow the order of commits.
                seen.extend(store.events(head.key, seen.len() as u64, 7).unwrap());
                chained(&seen);
            }
        });
    });
    let mut store = copies[1].reader().unwrap();
    let events = store.events(head.key, 0, usize::MAX).unwrap();
    assert_eq!(events.len(), 2 * EACH);
    let head = store.head("hot").unwrap().unwrap();
    assert_eq!(head.hash, chained(&events));
}

#[test]
fn several_copies_create_the_tables_at_once() {
    let server = server();
    for round in 0..6 {
        let url = server.database(&format!("empty{round}")).unwrap();
        let barrier = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for copy in 0..8 {
                let (url, barrier) = (&url, &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    let store = Postgres::open(url).unwrap();
                    create(&mut *store.writer().unwrap(), &format!("of-{copy}"));
                });
            }
        });
        let mut store = Postgres::open(&url).unwrap().reader().unwrap();
        assert_eq!(store.heads("", 99).unwrap().len(), 8);
    }
}

#[test]
fn an_interrupted_migration_leaves_the_earlier_version() {
    let server = Server::start().unwrap();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/postgres.sql"
    );
    server
        .execute(&std::fs::read_to_string(fixture).unwrap())
        .unwrap();
    let store = Postgres::at(&server.url(), TIMEOUTS).unwrap();
    let mut running = store.connection(Role::Inspect).unwrap();
    let migration = concat!("BEGIN;", include_str!("../postgres-2.sql"));
    say(&mut running, migration).unwrap();
    drop(running);
    // Readers and writers of the service do not migrate.
    let why = store
        .reader()
        .unwrap()
        .head("clinic")
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("version 1") && why.contains("migrates"),
        "{why}"
    );
    let mut before = Postgres::inspect(&server.url()).unwrap();
    let heads = before.heads("", 9).unwrap();
    assert_eq!((heads.len(), heads[0].rules), (2, 1));
    let spec = before.spec(heads[0].key).unwrap();
    drop(before);
    let mut after = Postgres::open(&server.url()).unwrap().reader().unwrap();
    assert_eq!(after.heads("", 9).unwrap(), heads);
    assert_eq!(after.spec(heads[0].key).unwrap(), spec);
}

#[test]
fn rejects_tables_of_other_programs_and_versions() {
    let server = server();
    let url = server.database("newer").unwrap();
    let store = Postgres::open(&url).unwrap();
    let mut running = link(&store);
    assert_eq!(ask(&mut running, "SELECT 'a'"), "a");
    say(&mut running, "UPDATE meta SET version = 7").unwrap();
    refused(&url, &["version 7", "supports 4"]);
    // Also when an older connection reconnects.
    let mut late = store.reader().unwrap();
    let result = late.heads("", 1);
    assert!(matches!(result, Err(StoreError::Unavailable(why)) if why.contains("version 7")));
    say(&mut running, "UPDATE meta SET version = 0").unwrap();
    assert!(matches!(Postgres::open(&url), Err(StoreError::Damaged(_))));
    say(&mut running, "DROP TABLE meta; CREATE TABLE meta (a INT)").unwrap();
    refused(&url, &["separate database"]);
    // A database that was emptied under a running service is not a new one.
    say(&mut running, "DROP TABLE meta").unwrap();
    let mut late = store.reader().unwrap();
    assert!(matches!(late.heads("", 1), Err(StoreError::Damaged(why)) if why.contains("missing")));
}

#[test]
fn rejects_unsuitable_databases() {
    let server = server();
    let run = |sql| server.execute(sql).unwrap();
    run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'");
    refused(&server.url_of("latin"), &["LATIN1"]);

    let url = server.database("reading").unwrap();
    run("ALTER DATABASE reading SET default_transaction_read_only = on");
    let why = refused(&url, &["does not allow writes"]);
    assert!(matches!(why, StoreError::Unavailable(_)), "{why}");

    let url = server.database("strict").unwrap();
    run("CREATE ROLE poor LOGIN PASSWORD 'poor'; REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    let poor = url.replace(&format!("emab:{}", server.password()), "poor:poor");
    let why = refused(&poor, &["GRANT CREATE"]);
    assert!(matches!(why, StoreError::Unavailable(_)), "{why}");
}

#[test]
fn commits_synchronously_whatever_the_setting() {
    let server = server();
    let url = server.database("lax").unwrap();
    for (set, used) in [
        ("off", "on"),
        ("local", "on"),
        ("on", "on"),
        ("remote_apply", "remote_apply"),
    ] {
        let sql = format!("ALTER DATABASE lax SET synchronous_commit = {set}");
        server.execute(&sql).unwrap();
        let mut link = link(&Postgres::open(&url).unwrap());
        assert_eq!(ask(&mut link, "SHOW synchronous_commit"), set);
        link.begin().unwrap();
        assert_eq!(ask(&mut link, "SHOW synchronous_commit"), used);
        let isolation = ask(&mut link, "SHOW transaction_isolation");
        assert_eq!(isolation, "read committed");
        assert_eq!(ask(&mut link, "SHOW lock_timeout"), "5s");
        link.commit().unwrap();
        assert_eq!(ask(&mut link, "SHOW lock_timeout"), "0");
    }
}

#[test]
fn an_existing_event_means_a_faster_copy_or_damage() {
    let server = server();
    let store = opened(&server, "faster");
    let (mut one, mut other) = (store.writer().unwrap(), store.writer().unwrap());
    let stale = create(&mut *one, "a");
    append(&mut *other, "a");
    // Without the lock, with an old head.
    let next = Head {
        seq: 1,
        ..stale.clone()
    };
    let mine = of_event(Record::new(1, "mine".into()));
    one.begin().unwrap();
    let result = one.write(&next, &mine);
    assert!(matches!(result, Err(StoreError::Retry(_))), "{result:?}");
    assert!(one.commit().is_err());
    one.rollback();
    append(&mut *one, "a");
    let events = one.events(stale.key, 0, 9).unwrap();
    assert_eq!(events.len(), 2);
    chained(&events);
    // Under the lock, with a log ahead of the head.
    one.begin().unwrap();
    one.lock("a").unwrap();
    one.write(&stale, &Changes::default()).unwrap();
    one.commit().unwrap();
    let result = write_next(&mut *one, "a");
    assert!(matches!(result, Err(StoreError::Damaged(_))), "{result:?}");
}

#[test]
fn rejects_names_with_a_nul() {
    let server = server();
    let store = opened(&server, "nul");
    let mut store = store.writer().unwrap();
    assert!(store.head("a\0b").is_err());
    assert!(store.episodes(1, &["a\0b"]).is_err());
    store.begin().unwrap();
    let why = store
        .create(&Head::new("a\0b", "", 1), "{}")
        .unwrap_err()
        .to_string();
    assert!(why.contains("0x00"), "{why}");
    store.rollback();
    create(&mut *store, "ab");
}

#[test]
fn a_failed_transaction_cannot_be_committed() {
    let server = server();
    let store = opened(&server, "failed");
    let mut link = link(&store);
    assert!(matches!(link.commit(), Err(StoreError::Unavailable(_))));
    assert!(matches!(link.lock("a"), Err(StoreError::Unavailable(_))));
    let head = create(&mut link, "a");
    assert!(store.reader().unwrap().begin().is_err());
    write_next(&mut link, "a").unwrap();
    assert!(say(&mut link, "SELECT 1 / 0").is_err());
    assert!(link.head("a").is_err());
    assert!(link.commit().is_err());
    assert!(link.begin().is_err());
    link.rollback();
    assert_eq!(link.head("a").unwrap(), Some(head));
    append(&mut link, "a");
}

#[test]
fn maps_error_codes_to_store_errors() {
    let server = server();
    let store = opened(&server, "codes");
    let mut link = link(&store);
    for (kind, codes) in [
        (
            "Unavailable",
            "08006 08003 53300 57P01 57P02 57P03 57014 25006 25P03 40003 XX000 42501 42P05 26000 58030",
        ),
        ("Full", "53100 53200"),
        ("Retry", "40001 40P01 55P03"),
        ("Damaged", "XX001 XX002 23505 22021 42P01 42703"),
    ] {
        for code in codes.split(' ') {
            let sql = format!("DO $$ BEGIN RAISE SQLSTATE '{code}'; END $$");
            let text = format!("{:?}", say(&mut link, &sql).unwrap_err());
            assert!(text.starts_with(kind) && text.contains(code), "{text}");
        }
    }
}
