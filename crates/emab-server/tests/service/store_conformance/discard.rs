//! The rule on removing a study.

use super::fixtures::*;
use super::{SPEC, Stores};
use emab_server::store::*;

/// A study with a row in every table.
fn filled(stores: &Stores<'_>, name: &str, finished: Option<&str>) -> (Box<dyn Store>, Head) {
    let (mut store, mut head) = stores.study(name);
    let restore = Restore {
        begun: "2026-11-16T10:00:00Z".into(),
        finished: finished.map(Into::into),
        ..Restore::default()
    };
    let checkpoint = Checkpoint {
        seq: 1,
        text: "{}".into(),
    };
    must(store.begin());
    must(store.put_restore(head.key, &restore));
    must(store.put_checkpoint(head.key, &checkpoint));
    must(store.write(&head, &one_of_each()));
    must(store.commit());
    head.restoring = finished.is_none();
    (store, head)
}

pub(super) fn a_study_that_is_being_restored_can_be_discarded(stores: &Stores<'_>) {
    let (_, other) = filled(stores, "discard-beside", None);
    let (_, live) = filled(stores, "discard-live", Some("2026-11-16T11:00:00Z"));
    let (mut store, head) = filled(stores, "discard", None);
    let mut elsewhere = stores.open();
    assert!(store.discard(head.key).is_err(), "outside a transaction");
    for key in [live.key, i64::MAX] {
        must(store.begin());
        let failed = store.discard(key);
        assert!(matches!(failed, Err(StoreError::Damaged(_))), "{failed:?}");
        store.rollback();
    }
    // A rollback keeps it.
    must(store.begin());
    must(store.discard(head.key));
    store.rollback();
    assert_eq!(must(elsewhere.key(&head.name)), Some(head.key));
    assert_eq!(rows(&mut elsewhere, head.key), one_of_each());
    must(store.begin());
    must(store.lock(&head.name));
    must(store.discard(head.key));
    must(store.commit());
    for store in [&mut store, &mut elsewhere] {
        assert_eq!(must(store.key(&head.name)), None);
        assert_eq!(must(store.head(&head.name)), None);
        assert_empty(store, head.key);
        assert_eq!(must(store.spec(head.key)), None);
        assert_eq!(must(store.restore(head.key)), None);
        assert_eq!(must(store.checkpoint(head.key)), None);
        for kept in [&other, &live] {
            assert_eq!(must(store.head(&kept.name)).as_ref(), Some(kept));
            assert_eq!(rows(store, kept.key), one_of_each());
            assert!(must(store.checkpoint(kept.key)).is_some());
            assert!(must(store.restore(kept.key)).is_some());
        }
    }
    // The name is free; the key is not, because readers may hold it.
    let (_, again) = stores.study("discard");
    assert_ne!(again.key, head.key);
    assert_eq!(must(elsewhere.key(&again.name)), Some(again.key));
    assert_eq!(must(elsewhere.spec(again.key)).as_deref(), Some(SPEC));
    assert_empty(&mut elsewhere, again.key);
}
