//! Rules on transactions: duplicates, rollback, isolation and contending writers.

use std::time::Duration;

use super::fixtures::*;
use super::{SPEC, Stores};
use emab_server::store::*;

pub(super) fn duplicates_are_rejected(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("twice");
    let events = |seqs: &[u64]| of_events(seqs.iter().copied().map(event).collect());
    let one = |&step: &u32| decision("an-id", step);
    let decisions = |steps: &[u32]| of_rows(vec![], steps.iter().map(one).collect());
    put(&mut store, &head, &events(&[7001]));
    put(&mut store, &head, &decisions(&[7002]));
    let planted = [
        (events(&[7003, 7001]), "7001"),
        (events(&[7004, 7004]), "7004"),
    ];
    for (changes, named) in planted {
        must(store.begin());
        must(store.write(&head, &Changes::default()));
        let result = store.write(&head, &changes);
        let Err(StoreError::Damaged(text)) = result else {
            panic!("expected that it is damaged at {named}, got {result:?}")
        };
        assert!(text.contains(named), "{text}");
        store.rollback();
        assert_eq!(must(store.events(head.key, 0, 10)), [event(7001)]);
        let found = must(store.decisions(head.key, "an-id"));
        assert_eq!(found, [decision("an-id", 7002)]);
    }
    // A study that does not exist cannot be written.
    let mut absent = head.clone();
    absent.key = i64::MAX;
    must(store.begin());
    let result = store.write(&absent, &Changes::default());
    assert!(matches!(result, Err(StoreError::Damaged(_))), "{result:?}");
    store.rollback();
    put(&mut store, &head, &events(&[7002]));
}

/// A correction replaces the decision of a step, and may leave no observation of a gain.
pub(super) fn corrections_replace_and_remove(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("corrected");
    put(&mut store, &head, &one_of_each());
    let mut replaced = decision("a", 1);
    replaced.text = "{}".into();
    let corrected = Changes {
        decisions: vec![replaced.clone()],
        gain_sums: vec![gains(1, 1, 0, 0.25)],
        removed_gain_sums: vec![(1, 0, 0), (7, 7, 7)],
        ..Changes::default()
    };
    put(&mut store, &head, &corrected);
    let found = rows(&mut store, head.key);
    assert_eq!(found.decisions, [replaced]);
    assert_eq!(found.gain_sums, [gains(1, 1, 0, 0.25)]);
    let mut paused = head.clone();
    (paused.details.paused, paused.details.overrides) = (true, 1 << 40);
    put(&mut store, &paused, &Changes::default());
    assert_eq!(must(store.head(&head.name)), Some(paused));
}

pub(super) fn a_rollback_removes_every_row(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("back");
    store.rollback();
    store.rollback();
    let old = one_of_each();
    put(&mut store, &head, &old);
    let new = Changes {
        events: vec![event(2)],
        episodes: vec![ended(episode("a", 2)), episode("b", 1)],
        decisions: vec![decision("a", 2)],
        learned_episodes: vec![learned_bytes(0, Vec::new()), learned(1)],
        gain_sums: vec![gains(1, 0, 0, 0.75), gains(1, 0, 1, 0.5)],
        ..Changes::default()
    };
    let mut later = head.clone();
    (later.seq, later.closed) = (2, true);
    let fresh = stores.new_head("back-fresh");
    must(store.begin());
    let key = must(store.create(&fresh, SPEC));
    assert!(key.is_some());
    must(store.write(&later, &new));
    store.rollback();
    store.rollback();
    for store in [&mut store, &mut stores.open()] {
        assert_eq!(must(store.head(&fresh.name)), None);
        assert_eq!(must(store.head(&head.name)).as_ref(), Some(&head));
        assert_eq!(rows(store, head.key), old);
        let episodes = must(store.episodes_after(head.key, "", Which::Open, 10));
        assert_eq!(episodes, old.episodes);
        assert_eq!(must(store.decisions(head.key, "a")), old.decisions);
    }
    // A retry succeeds.
    must(store.begin());
    assert!(must(store.create(&fresh, SPEC)).is_some());
    must(store.write(&later, &new));
    must(store.commit());
    assert_eq!(must(store.head(&head.name)), Some(later));
    // A dropped connection rolls back.
    must(store.begin());
    must(store.write(&head, &Changes::default()));
    drop(store);
    assert!(must(stores.open().head(&head.name)).is_some_and(|head| head.closed));
}

pub(super) fn uncommitted_rows_are_invisible(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("seen");
    let mut elsewhere = stores.open();
    assert_eq!(must(elsewhere.head(&head.name)).as_ref(), Some(&head));
    let changes = one_of_each();
    let mut later = head.clone();
    later.seq = 1;
    let fresh = stores.new_head("seen-fresh");
    must(store.begin());
    must(store.create(&fresh, SPEC));
    must(store.lock(&head.name));
    must(store.write(&later, &changes));
    assert_eq!(must(elsewhere.head(&fresh.name)), None);
    assert_eq!(must(elsewhere.head(&head.name)), Some(head.clone()));
    assert_empty(&mut elsewhere, head.key);
    must(store.commit());
    // Visible at once after the commit.
    assert!(must(elsewhere.head(&fresh.name)).is_some());
    assert_eq!(must(elsewhere.head(&head.name)), Some(later));
    assert_eq!(rows(&mut elsewhere, head.key), changes);
    let found = must(elsewhere.decision(head.key, "a", None));
    assert_eq!(found.as_ref(), changes.decisions.first());
}

pub(super) fn a_snapshot_does_not_change(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("still");
    let mut still = stores.open();
    let mut later = head.clone();
    later.seq = 1;
    must(still.begin_snapshot());
    put(&mut store, &later, &one_of_each());
    assert_eq!(must(still.head(&head.name)), Some(head.clone()));
    assert_empty(&mut still, head.key);
    still.rollback();
    assert_eq!(must(still.head(&head.name)), Some(later));
    assert_eq!(rows(&mut still, head.key), one_of_each());
}

/// Four connections add events to one study, each at the position that it finds under the lock.
pub(super) fn no_update_is_lost(stores: &Stores<'_>) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 25;
    let (mut store, head) = stores.study("lost");
    let name = head.name.as_str();
    let writers: Vec<_> = (0..WRITERS).map(|_| stores.open()).collect();
    std::thread::scope(|scope| {
        for mut store in writers {
            scope.spawn(move || {
                // Events collide by their keys; a row that is only updated is protected by its lock alone.
                for events in (0..ROUNDS).flat_map(|_| [1, 0]) {
                    while !advance(&mut *store, name, events) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
    });
    let events = must(store.events(head.key, 0, usize::MAX));
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let all: Vec<u64> = (1..=(WRITERS * ROUNDS) as u64).collect();
    assert_eq!(seqs, all, "no number is missing, and none was given twice");
    let head = must(store.head(name)).unwrap();
    assert_eq!(Some(head.seq), all.last().copied());
    assert_eq!(head.episodes, 2 * head.seq, "every update is counted");
}

/// Counts an update of the head, and adds events; whether it was done. If not, it has to be retried.
#[track_caller]
fn advance(store: &mut dyn Store, name: &str, events: u64) -> bool {
    let mut group = || -> Result<(), StoreError> {
        store.begin()?;
        let Some(mut head) = store.lock(name)? else {
            return Ok(());
        };
        // Other writers get the chance to read the same head.
        std::thread::sleep(Duration::from_millis(1));
        let first = head.seq + 1;
        (head.seq, head.episodes) = (head.seq + events, head.episodes + 1);
        store.write(&head, &of_events((first..=head.seq).map(event).collect()))?;
        store.commit()
    };
    match group() {
        Ok(()) => true,
        Err(StoreError::Retry(_)) => {
            store.rollback();
            false
        }
        failed => {
            must(failed);
            false
        }
    }
}
