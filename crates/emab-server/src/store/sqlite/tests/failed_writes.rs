//! A full store, and transactions that SQLite has ended.

use super::*;

#[test]
fn a_full_store_still_reads_and_later_writes() {
    let (_folder, _file, owner, _) = new_store();
    let mut store = direct(&owner);
    let mut head = study(&mut store, 5);
    let most = |store: &SqliteConnection, pages: u32| {
        let set = format!("PRAGMA max_page_count = {pages}");
        store.connection.query_row(&set, [], |_| Ok(())).unwrap();
    };
    most(&store, 60);
    store.begin().unwrap();
    let mut next = head.clone();
    append(&mut store, &mut next, 100).unwrap();
    let error = refused(append(&mut store, &mut next, 1 << 20));
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    // Whether or not SQLite ended the transaction, nothing can be written before the next one.
    if store.connection.is_autocommit() {
        refused(append(&mut store, &mut next, 1));
        refused(store.commit());
    }
    store.rollback();
    assert_eq!(count(&mut store), (5, 5));
    assert_eq!(count(&mut *owner.reader().unwrap()), (5, 5));
    // Small writes succeed, and all once there is space again.
    commit(&mut store, &mut head, 100);
    most(&store, 1_000_000);
    commit(&mut store, &mut head, 1 << 20);
    assert_eq!(count(&mut store), (7, 7));
}

/// The disk is full: the log cannot grow, at any point of a batch.
#[test]
#[ignore = "mounts a small disk: root only"]
fn a_full_disk_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    mount(&["mount", "-t", "tmpfs", "-o", "size=8m", "none"], &folder);
    let file = folder.path().join("studies.db");
    let owner = Sqlite::open(&file).unwrap();
    let mut store = owner.writer().unwrap();
    let mut head = study(&mut *store, 5);
    let (mut full, mut written) = (0, 5);
    let filler = folder.path().join("filler");
    for round in 0..200 {
        // Space varies.
        if round % 40 == 0 {
            fs::write(&filler, vec![0; 3 << 20]).unwrap_or_default();
        } else if round % 40 == 20 {
            fs::remove_file(&filler).unwrap_or_default();
        }
        let mut next = head.clone();
        let group = store
            .begin()
            .and_then(|()| append(&mut *store, &mut next, 30_000))
            .and_then(|()| store.commit());
        match group {
            Ok(()) => {
                head = next;
                written += 1;
            }
            Err(StoreError::Full(_)) => {
                store.rollback();
                full += 1;
            }
            Err(error) => panic!("{error:?} in round {round}"),
        }
        assert_eq!(count(&mut *store), (written, written as usize));
    }
    drop((store, owner));
    fs::remove_file(&filler).unwrap_or_default();
    let left = count(&mut *Sqlite::open(&file).unwrap().reader().unwrap());
    mount(&["umount"], &folder);
    assert!(full > 0 && written > 50, "{full} full, {written} written");
    assert_eq!(left, (written, written as usize));
}

#[test]
fn rejects_writes_after_sqlite_ended_the_transaction() {
    let (_folder, _file, owner, _) = new_store();
    let mut store = direct(&owner);
    let mut head = study(&mut store, 2);
    store.begin().unwrap();
    append(&mut store, &mut head.clone(), 10).unwrap();
    store.connection.execute_batch("ROLLBACK").unwrap();
    refused(store.write(&head, &Changes::default()));
    refused(store.create(&head, "{}"));
    refused(store.lock("s"));
    refused(store.commit());
    store.rollback();
    assert_eq!(count(&mut store), (2, 2));
    // A failed commit leaves the transaction open: here a deferred foreign key.
    let table = "PRAGMA foreign_keys = ON; CREATE TABLE kept (key INTEGER PRIMARY KEY, \
         study REFERENCES studies DEFERRABLE INITIALLY DEFERRED)";
    store.connection.execute_batch(table).unwrap();
    store.begin().unwrap();
    append(&mut store, &mut head.clone(), 10).unwrap();
    let wrong = "INSERT INTO kept (study) VALUES (77)";
    store.connection.execute(wrong, []).unwrap();
    refused(store.commit());
    assert!(!store.connection.is_autocommit());
    store.rollback();
    assert_eq!(count(&mut store), (2, 2));
    commit(&mut store, &mut head, 10);
    assert_eq!(count(&mut store), (3, 3));
}
