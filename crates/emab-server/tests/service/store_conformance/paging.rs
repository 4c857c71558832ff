//! Rules on reads of many rows: limit, start and pages.

use super::Stores;
use super::fixtures::*;
use emab_server::domain::episode::Status;
use emab_server::store::*;

pub(super) fn reads_respect_limit_and_start(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("limits");
    let ids = ["a", "b", "c", "d", "e"];
    let changes = Changes {
        events: (1..=5).map(event).collect(),
        episodes: ids.map(|id| episode(id, 1)).to_vec(),
        decisions: Vec::new(),
        learned_episodes: (0..5).map(learned).collect(),
        gain_sums: (0..5).map(|x| gains(1 + x / 2, x, 0, 0.5)).collect(),
        ..Changes::default()
    };
    put(&mut store, &head, &changes);
    for (limit, count) in [(0, 0), (1, 1), (3, 3), (5, 5), (6, 5), (usize::MAX, 5)] {
        let events = must(store.events(head.key, 0, limit));
        assert_eq!(events, changes.events[..count]);
        for which in [Which::All, Which::Open] {
            let episodes = must(store.episodes_after(head.key, "", which, limit));
            assert_eq!(episodes, changes.episodes[..count]);
        }
        let learned_episodes = must(store.learned_episodes(head.key, 0, limit));
        assert_eq!(learned_episodes, changes.learned_episodes[..count]);
        let gain_sums = must(store.gain_sums(head.key, None, limit));
        assert_eq!(gain_sums, changes.gain_sums[..count]);
    }
    // `after` excludes, `from` includes.
    for (start, id) in ids.iter().enumerate() {
        let next = start + 1;
        let events = must(store.events(head.key, start as u64, 2));
        assert_eq!(events, changes.events[start..5.min(start + 2)]);
        let episodes = must(store.episodes_after(head.key, id, Which::Open, 2));
        assert_eq!(episodes, changes.episodes[next..5.min(next + 2)]);
        let learned = must(store.learned_episodes(head.key, start as u64, 2));
        assert_eq!(learned, changes.learned_episodes[start..5.min(start + 2)]);
        let GainSum { t, x, a, .. } = changes.gain_sums[start];
        let gain_sums = must(store.gain_sums(head.key, Some((t, x, a)), 2));
        assert_eq!(gain_sums, changes.gain_sums[next..5.min(next + 2)]);
    }
    let mut events = must(store.events_at(head.key, &[4, 2, 2, 9, 0, u64::MAX]));
    events.sort_by_key(|event| event.seq);
    assert_eq!(
        events,
        [changes.events[1].clone(), changes.events[3].clone()]
    );
    assert_eq!(must(store.events_at(head.key, &[])), []);
    // The row to start after need not exist.
    let episodes = must(store.episodes_after(head.key, "bb", Which::All, 1));
    assert_eq!(episodes, changes.episodes[2..3]);
    let gain_sums = must(store.gain_sums(head.key, Some((1, u32::MAX, 9)), 1));
    assert_eq!(gain_sums, changes.gain_sums[2..3]);
}

/// Reads pages until one is empty and returns the number of rows. `visit` gets the number of a row and returns its key.
fn paged<R, K>(
    mut after: K,
    mut page: impl FnMut(&K) -> Result<Vec<R>, StoreError>,
    mut visit: impl FnMut(u32, R) -> K,
) -> u32 {
    let mut count = 0;
    while let rows = must(page(&after))
        && !rows.is_empty()
    {
        for row in rows {
            after = visit(count, row);
            count += 1;
        }
    }
    count
}

pub(super) fn many_rows_are_read_in_pages(stores: &Stores<'_>) {
    const ROWS: u32 = 30_000;
    const GROUP: u32 = 5_000;
    const PAGE: usize = 997;
    let (mut store, head) = stores.study("many");
    let key = head.key;
    let id = |i: u32| format!("{:06}", u64::from(i) * 7919 % u64::from(ROWS));
    let one = |i: u32| match (i % 3, episode(&id(i), 2)) {
        (0, open) => open,
        (1, episode) => stopped(episode),
        (_, episode) => ended(episode),
    };
    let sum = |i: u32| gains(i / 1000, i / 10 % 100, i % 10, i.into());
    for first in (0..ROWS).step_by(GROUP as usize) {
        let group = || first..first + GROUP;
        let changes = Changes {
            events: group().map(|i| event(1 + u64::from(i))).collect(),
            episodes: group().map(one).collect(),
            decisions: group().map(|i| decision(&id(i), 2)).collect(),
            learned_episodes: group().map(|i| learned(i.into())).collect(),
            gain_sums: group().map(sum).collect(),
            ..Changes::default()
        };
        put(&mut store, &head, &changes);
    }

    let page = |after: &u64| store.events(key, *after, PAGE);
    let events = paged(0, page, |i, found| {
        assert_eq!(found, event(u64::from(i) + 1));
        found.seq
    });
    assert_eq!(events, ROWS);

    for (which, count) in [
        (Which::All, ROWS),
        (Which::Open, ROWS / 3),
        (Which::Awaited, ROWS / 3),
    ] {
        let mut last = String::new();
        let page = |after: &String| store.episodes_after(key, after, which, PAGE);
        let episodes = paged(String::new(), page, |_, found| {
            let is_part = match which {
                Which::All => true,
                Which::Open => found.status() == Status::Open,
                Which::Awaited => found.status() == Status::Stopped,
            };
            assert!(found.id > last && is_part);
            last.clone_from(&found.id);
            found.id
        });
        assert_eq!(episodes, count);
    }
    let ids: Vec<String> = (0..ROWS).step_by(7).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(must(store.episodes(key, &ids)).len(), ids.len());
    for i in (0..ROWS).step_by(1009) {
        let found = must(store.decision(key, &id(i), None));
        assert_eq!(found, Some(decision(&id(i), 2)));
    }

    let page = |after: &Option<(String, u32)>| {
        let after = after.as_ref().map(|(id, step)| (id.as_str(), *step));
        store.decisions_after(key, after, PAGE)
    };
    let decisions = paged(None, page, |i, found| {
        assert_eq!(found, decision(&format!("{i:06}"), 2));
        Some((found.episode, found.step))
    });
    assert_eq!(decisions, ROWS);

    let page = |from: &u64| store.learned_episodes(key, *from, PAGE);
    let learned_episodes = paged(0, page, |i, found| {
        assert_eq!(found, learned(i.into()));
        found.position + 1
    });
    assert_eq!(learned_episodes, ROWS);

    let page = |after: &Option<_>| store.gain_sums(key, *after, PAGE);
    let gain_sums = paged(None, page, |i, found| {
        assert_eq!(found.sum, f64::from(i));
        Some((found.t, found.x, found.a))
    });
    assert_eq!(gain_sums, ROWS);
}
