//! Backups.

use super::super::backup::backup_by;
use super::*;

#[test]
fn a_backup_is_the_store_at_its_start_while_the_service_writes() {
    let (folder, file, _owner, mut store) = new_store();
    let mut head = study(&mut *store, 50);
    let to = folder.path().join("backup.db");
    let mut steps = 0;
    // The service writes between any two steps.
    let mut write = |_, _| {
        steps += 1;
        commit(&mut *store, &mut head, 5_000);
    };
    backup_by(1, &file, &to, false, &mut write).unwrap();
    assert!(steps > 10);
    let mut copy = Sqlite::inspect(&to).unwrap();
    assert_eq!(count(&mut *copy), (50, 50));
    assert_eq!(copy.check_store().unwrap(), []);
    drop(copy);
    // One file, which a service opens and continues.
    assert!(!beside(&to, "-wal").exists() || fs::metadata(beside(&to, "-wal")).unwrap().len() == 0);
    let mut restored = Sqlite::open(&to).unwrap().writer().unwrap();
    let mut head = restored.head("s").unwrap().unwrap();
    commit(&mut *restored, &mut head, 10);
    assert_eq!(count(&mut *restored), (51, 51));
}

#[test]
fn an_interrupted_backup_leaves_no_file() {
    let (folder, file, _owner, mut store) = new_store();
    study(&mut *store, 50);
    let to = folder.path().join("backup/studies.db");
    let names = || -> Vec<_> {
        let entries = fs::read_dir(to.parent().unwrap()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    fs::create_dir(to.parent().unwrap()).unwrap();
    let mut interrupt = |_, _| panic!("interrupted");
    let run = std::panic::AssertUnwindSafe(|| backup_by(1, &file, &to, false, &mut interrupt));
    std::panic::catch_unwind(run).unwrap_err();
    assert_eq!(names(), [""; 0]);
    // Nothing is replaced unasked.
    fs::write(&to, "mine").unwrap();
    let error = refused(backup(&file, &to, false, &mut |_, _| {})).to_string();
    assert!(
        error.contains("exists") && error.contains("--force"),
        "{error}"
    );
    assert_eq!(fs::read(&to).unwrap(), b"mine");
    backup(&file, &to, true, &mut |_, _| {}).unwrap();
    assert_eq!(names(), ["studies.db"]);
    assert_eq!(count(&mut *Sqlite::inspect(&to).unwrap()), (50, 50));
    // An earlier version is copied as it is.
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/studies.db"
    );
    let earlier = folder.path().join("earlier.db");
    fs::copy(fixture, &earlier).unwrap();
    backup(&earlier, &to, true, &mut |_, _| {}).unwrap();
    assert_eq!(version(&Connection::open(&to).unwrap()).unwrap(), Some(1));
    let text = folder.path().join("text");
    fs::write(&text, "no store").unwrap();
    refused(backup(
        &text,
        &folder.path().join("none"),
        false,
        &mut |_, _| {},
    ));
    assert!(!folder.path().join("none").exists());
}
