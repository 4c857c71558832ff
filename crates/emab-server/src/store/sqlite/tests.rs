use super::*;
use crate::store::conformance::check_store;

#[test]
fn the_laws_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Sqlite::open(&folder.path().join("a.db")).unwrap();
    check_store(&mut || owner.writer().unwrap());
}
