//! Files, locks, crashes, full disks and damage. The rules of every store are in `tests/service/store_conformance`.

mod backup;
mod failed_writes;
mod statements;
mod versions;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use super::*;
use crate::domain::{Record, sha256};
use crate::store::{Changes, Head};

fn new_file() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("studies.db");
    (folder, file)
}

/// A new store: its file, its owner and a writer.
fn new_store() -> (TempDir, PathBuf, Sqlite, Box<dyn Store>) {
    let (folder, file) = new_file();
    let owner = Sqlite::open(&file).unwrap();
    let store = owner.writer().unwrap();
    (folder, file, owner, store)
}

/// A writer whose SQLite connection the test uses itself.
fn direct(owner: &Sqlite) -> SqliteConnection {
    let connection = connect(&owner.file, Role::Write).unwrap();
    SqliteConnection::new(owner.file.clone(), connection, Role::Write, None)
}

fn beside(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// A study with events, committed one by one.
fn study(store: &mut dyn Store, events: u64) -> Head {
    let mut head = Head::new("s", &sha256(b"{}"), 1);
    store.begin().unwrap();
    head.key = store.create(&head, "{}").unwrap().unwrap();
    store.commit().unwrap();
    for _ in 0..events {
        commit(store, &mut head, 100);
    }
    head
}

/// Commits the next event, of this length.
fn commit(store: &mut dyn Store, head: &mut Head, length: usize) {
    store.begin().unwrap();
    append(store, head, length).unwrap();
    store.commit().unwrap();
}

/// Writes the next event, of this length.
fn append(store: &mut dyn Store, head: &mut Head, length: usize) -> Result<(), StoreError> {
    let mut next = head.clone();
    next.seq += 1;
    let changes = Changes {
        events: vec![Record::new(next.seq, "e".repeat(length))],
        ..Changes::default()
    };
    store.write(&next, &changes)?;
    *head = next;
    Ok(())
}

/// The number of events, by the head and by the log.
fn count(store: &mut dyn Store) -> (u64, usize) {
    let head = store.head("s").unwrap().unwrap();
    let events = store.events(head.key, 0, usize::MAX).unwrap();
    assert!(events.iter().all(Record::is_intact));
    (head.seq, events.len())
}

/// The error of what must not succeed.
#[track_caller]
fn refused<T>(result: Result<T, StoreError>) -> StoreError {
    match result {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error,
    }
}

/// Runs a program with the folder as its last argument.
fn mount(arguments: &[&str], folder: &TempDir) {
    let mut command = Command::new(arguments[0]);
    let command = command.args(&arguments[1..]).arg(folder.path());
    assert!(command.status().unwrap().success());
}

/// Runs one of the tests below in a separate process, with a file.
fn process(test: &str, file: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--include-ignored", "--nocapture"])
        .arg(format!("store::sqlite::tests::{test}"))
        .env("EMAB_TEST_FILE", file)
        .output()
        .unwrap()
}

/// The file of such a process.
fn given_file() -> Option<PathBuf> {
    std::env::var_os("EMAB_TEST_FILE").map(PathBuf::from)
}

#[test]
fn a_file_has_one_owner() {
    let (folder, file) = new_file();
    let owner = Sqlite::open(&file).unwrap();
    // Another name of the same file.
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for name in [&file, &link] {
        let error = refused(Sqlite::open(name)).to_string();
        for part in ["studies.db`", "another process", "--store postgres://"] {
            assert!(error.contains(part), "{error}");
        }
    }
    // A failed second owner does not release the lock of the first.
    let opens = || String::from_utf8(process("other_process_opens", &file).stdout).unwrap();
    let text = opens();
    assert!(text.contains("another process"), "{text}");

    // The lock lasts as long as the last connection.
    let reader = owner.reader().unwrap();
    drop(owner);
    refused(Sqlite::open(&file));
    drop(reader);
    let text = opens();
    assert!(text.contains("opened"), "{text}");
    Sqlite::open(&link).unwrap();
}

#[test]
#[ignore = "a process of another test"]
fn other_process_opens() {
    let Some(file) = given_file() else { return };
    match Sqlite::open(&file) {
        Ok(_) => println!("opened"),
        Err(error) => println!("{error}"),
    }
}

#[test]
fn a_crash_loses_nothing_committed_and_keeps_nothing_else() {
    let (_folder, file) = new_file();
    let output = process("other_process_crashes", &file);
    assert!(!output.status.success());
    assert!(fs::metadata(beside(&file, "-wal")).unwrap().len() > 0);

    // An inspection reads the log and changes nothing.
    let bytes = fs::read(&file).unwrap();
    let log = fs::read(beside(&file, "-wal")).unwrap();
    let mut store = Sqlite::inspect(&file).unwrap();
    assert_eq!(count(&mut *store), (20, 20));
    drop(store);
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(fs::read(beside(&file, "-wal")).unwrap(), log);

    let owner = Sqlite::open(&file).unwrap();
    let mut store = owner.writer().unwrap();
    assert_eq!(count(&mut *store), (20, 20));
    let mut head = store.head("s").unwrap().unwrap();
    commit(&mut *store, &mut head, 100);
    assert_eq!(count(&mut *store), (21, 21));
}

#[test]
#[ignore = "a process of another test"]
fn other_process_crashes() {
    let Some(file) = given_file() else { return };
    let owner = Sqlite::open(&file).unwrap();
    let mut store = owner.writer().unwrap();
    let mut head = study(&mut *store, 20);
    store.begin().unwrap();
    // Enough that the cache spills to the log before the commit.
    append(&mut *store, &mut head, 50 << 20).unwrap();
    assert!(fs::metadata(beside(&file, "-wal")).unwrap().len() > 10 << 20);
    std::process::abort();
}

#[test]
fn reads_a_truncated_log_up_to_the_last_commit() {
    let (_folder, file, _owner, mut store) = new_store();
    study(&mut *store, 20);
    let copy = beside(&file, ".copy");
    fs::copy(&file, &copy).unwrap();
    let log = fs::read(beside(&file, "-wal")).unwrap();
    let mut seen = Vec::new();
    for length in (0..=log.len()).step_by(log.len() / 50) {
        fs::write(beside(&copy, "-wal"), &log[..length]).unwrap();
        let _ = fs::remove_file(beside(&copy, "-shm"));
        let mut store = Sqlite::inspect(&copy).unwrap();
        if store.head("s").unwrap().is_some() {
            let (seq, events) = count(&mut *store);
            assert_eq!(seq, events as u64, "whole transactions only");
            seen.push(seq);
        }
    }
    assert!(seen.is_sorted() && seen.len() > 40, "{seen:?}");
}

#[test]
fn closing_leaves_one_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a/b/file:c?mode=memory");
    let owner = Sqlite::open(&file).unwrap();
    let mut store = owner.writer().unwrap();
    study(&mut *store, 3);
    for end in ["", "-wal", "-shm", ".lock"] {
        let mode = fs::metadata(beside(&file, end)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{end}");
    }
    // The last connection cleans up.
    let reader = owner.reader().unwrap();
    drop((owner, store));
    assert!(beside(&file, "-wal").exists());
    drop(reader);
    assert!(!beside(&file, "-wal").exists() && !beside(&file, "-shm").exists());
    assert_eq!(count(&mut *Sqlite::inspect(&file).unwrap()), (3, 3));
}

#[test]
fn inspection_does_not_change_the_file() {
    let (folder, file) = new_file();
    let error = refused(Sqlite::inspect(&file)).to_string();
    assert!(error.contains("studies.db` cannot be read"), "{error}");
    assert!(!file.exists());
    let error = refused(Sqlite::inspect(folder.path())).to_string();
    assert!(error.contains("is not a file"), "{error}");

    // With an owner: commits are visible at once.
    let owner = Sqlite::open(&file).unwrap();
    let mut store = owner.writer().unwrap();
    let mut head = study(&mut *store, 5);
    let mut other = Sqlite::inspect(&file).unwrap();
    assert_eq!(count(&mut *other), (5, 5));
    store.begin().unwrap();
    append(&mut *store, &mut head, 100).unwrap();
    assert_eq!(count(&mut *other), (5, 5));
    store.commit().unwrap();
    assert_eq!(count(&mut *other), (6, 6));
    assert!(matches!(other.begin(), Err(StoreError::Unavailable(_))));
    let result = other.write(&head, &Changes::default());
    assert!(matches!(result, Err(StoreError::Unavailable(_))));
    drop((other, store, owner));

    // Without an owner.
    let bytes = fs::read(&file).unwrap();
    let time = fs::metadata(&file).unwrap().modified().unwrap();
    let mut other = Sqlite::inspect(&file).unwrap();
    assert_eq!(count(&mut *other), (6, 6));
    drop(other);
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), time);
    Sqlite::open(&file).unwrap();
}

/// A copy on a read-only disk, with a name that needs escaping in a URI.
#[test]
#[ignore = "mounts a folder: root only"]
fn a_file_is_read_where_nothing_can_be_written() {
    let (folder, file, owner, mut store) = new_store();
    let strange = folder.path().join("a %2f?b#c é.db");
    study(&mut *store, 5);
    let log = fs::read(beside(&file, "-wal")).unwrap();
    let early = fs::read(&file).unwrap();
    drop((store, owner));
    fs::copy(&file, &strange).unwrap();
    let crashed = folder.path().join("crashed.db");
    fs::write(&crashed, early).unwrap();
    fs::write(beside(&crashed, "-wal"), log).unwrap();
    let path = folder.path().to_str().unwrap();
    mount(&["mount", "--bind", path], &folder);
    mount(&["mount", "-o", "remount,ro,bind"], &folder);
    let found = Sqlite::inspect(&strange).map(|mut store| count(&mut *store));
    let error = Sqlite::inspect(&crashed).map(drop);
    mount(&["umount"], &folder);
    assert_eq!(found.unwrap(), (5, 5));
    let error = refused(error).to_string();
    assert!(error.contains("copy both files"), "{error}");
    assert!(!beside(&strange, "-shm").exists());
    assert_eq!(count(&mut *Sqlite::inspect(&crashed).unwrap()), (5, 5));
}

#[test]
fn readers_do_not_write() {
    let (_folder, _file, owner, mut store) = new_store();
    let head = study(&mut *store, 1);
    let mut reader = owner.reader().unwrap();
    assert!(matches!(reader.begin(), Err(StoreError::Unavailable(_))));
    reader.rollback();
    let result = reader.write(&head, &Changes::default());
    assert!(matches!(result, Err(StoreError::Unavailable(_))));
    assert_eq!(count(&mut *reader), (1, 1));
    // A programming error does not write either.
    let connection = connect(&owner.file, Role::Read).unwrap();
    connection.execute("DELETE FROM events", []).unwrap_err();
}

#[test]
fn rejects_a_file_with_several_names() {
    let (_folder, file, owner, mut store) = new_store();
    let mut head = study(&mut *store, 1);
    let link = file.with_file_name("link.db");
    fs::hard_link(&file, &link).unwrap();
    for result in [
        Sqlite::open(&link).map(drop),
        Sqlite::inspect(&file).map(drop),
        store.begin(),
    ] {
        let text = refused(result).to_string();
        assert!(text.contains("has 2 names (hard links)"), "{text}");
    }
    fs::remove_file(&link).unwrap();
    commit(&mut *store, &mut head, 10);
    // A symbolic link is another name of the same file, with the same lock.
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let text = refused(Sqlite::open(&link)).to_string();
    assert!(text.contains("served by another process"), "{text}");
    drop(owner);
}

#[test]
fn a_second_writer_has_to_retry() {
    let (_folder, _file, owner, mut one) = new_store();
    let mut two = owner.writer().unwrap();
    study(&mut *one, 1);
    one.begin().unwrap();
    let error = refused(two.begin());
    assert!(matches!(error, StoreError::Retry(_)), "{error:?}");
    two.rollback();
    assert_eq!(count(&mut *two), (1, 1));
    one.commit().unwrap();
    two.begin().unwrap();
    two.commit().unwrap();
}

#[test]
fn reports_damage_as_damage() {
    let (_folder, file, owner, mut store) = new_store();
    let mut head = study(&mut *store, 1);
    store.begin().unwrap();
    for _ in 1..500 {
        append(&mut *store, &mut head, 100).unwrap();
    }
    store.commit().unwrap();
    drop((store, owner));
    let plant = |sql: &str| {
        let connection = Connection::open(&file).unwrap();
        assert_eq!(connection.execute(sql, []).unwrap(), 1);
    };
    let damaged = |result: Result<(), StoreError>, part: &str| {
        let error = refused(result);
        let named = matches!(&error, StoreError::Damaged(text) if text.contains(part));
        assert!(named, "{error:?}");
    };
    plant("INSERT INTO cases VALUES (1, 'a', 1, 1, 0, '{\"id\":\"a\",\"states\":[0')");
    plant("UPDATE studies SET learned = -1");
    plant("INSERT INTO cells VALUES (1, 1, 5000000000, 0, 1, 0)");
    let mut store = Sqlite::inspect(&file).unwrap();
    damaged(store.episodes(head.key, &["a"]).map(drop), "episode `a`");
    damaged(store.head("s").map(drop), "-1");
    damaged(store.gain_sums(head.key, None, 9).map(drop), "5000000000");
    drop(store);

    // A page in the middle.
    let mut bytes = fs::read(&file).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0x5a);
    fs::write(&file, bytes).unwrap();
    let mut store = Sqlite::inspect(&file).unwrap();
    damaged(store.events(head.key, 0, usize::MAX).map(drop), "malformed");
}

#[test]
fn rejects_writes_to_a_moved_file() {
    let (folder, file, _owner, mut store) = new_store();
    study(&mut *store, 1);
    let away = folder.path().join("away.db");
    fs::rename(&file, &away).unwrap();
    assert!(matches!(store.begin(), Err(StoreError::Unavailable(_))));
    fs::copy(&away, &file).unwrap();
    assert!(matches!(store.begin(), Err(StoreError::Unavailable(_))));
    fs::rename(&away, &file).unwrap();
    store.begin().unwrap();
    store.commit().unwrap();
}

/// A reader that stays in the log: the writer continues, and the log shrinks after the reader left.
#[test]
fn empties_a_long_log_after_the_readers_left() {
    let (_folder, file, owner, mut store) = new_store();
    let mut head = study(&mut *store, 1);
    let log = beside(&file, "-wal");
    let length = || fs::metadata(&log).unwrap().len();
    let mut grow = || commit(&mut *store, &mut head, 1 << 20);
    for _ in 0..80 {
        grow();
        // Without readers it begins anew at 64 MiB.
        assert!(length() < 96 << 20);
    }
    let reader = connect(&owner.file, Role::Read).unwrap();
    let begun = reader.execute_batch("BEGIN; SELECT seq FROM studies");
    begun.unwrap();
    for _ in 0..150 {
        grow();
    }
    assert!(length() > 140 << 20);
    reader.execute_batch("COMMIT").unwrap();
    let end = std::time::Instant::now() + Duration::from_secs(60);
    while length() > 96 << 20 {
        assert!(std::time::Instant::now() < end, "{}", length());
        std::thread::sleep(Duration::from_millis(10));
        grow();
    }
}
