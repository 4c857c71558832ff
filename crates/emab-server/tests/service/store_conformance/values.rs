//! Rules on what is stored: rows are kept exactly, replaced and kept apart by study.

use super::fixtures::*;
use super::{SPEC, Stores};
use emab_server::domain::event::sha256;
use emab_server::store::*;

pub(super) fn studies_are_kept(stores: &Stores<'_>) {
    let mut store = stores.open();
    let name = format!("{}kept", stores.prefix);
    assert_eq!(must(store.head(&name)), None);
    assert_eq!(must(store.key(&name)), None);
    must(store.begin());
    assert_eq!(must(store.lock(&name)), None);
    must(store.commit());

    let (mut store, mut head) = stores.study("kept");
    assert!(head.key > 0, "0 is the key of what is not created yet");
    assert_eq!(must(store.head(&name)).as_ref(), Some(&head));
    assert_eq!(must(stores.open().head(&name)).as_ref(), Some(&head));
    for _ in 0..2 {
        assert_eq!(must(store.key(&name)), Some(head.key));
    }

    // Every field that changes.
    (head.seq, head.hash, head.closed) = (1 << 40, sha256(b"another"), true);
    (head.episodes, head.open, head.learned) = (2, 3, 4);
    (head.missing, head.relearned, head.salted) = (5, 6, true);
    put(&mut store, &head, &Changes::default());
    must(store.begin());
    assert_eq!(must(store.lock(&name)).as_ref(), Some(&head));
    assert_eq!(must(store.head(&name)).as_ref(), Some(&head));
    must(store.commit());
    assert_eq!(must(stores.open().head(&name)).as_ref(), Some(&head));

    // A taken name is not an error: the transaction continues.
    must(store.begin());
    assert_eq!(must(store.create(&stores.new_head("kept"), SPEC)), None);
    head.seq += 1;
    must(store.write(&head, &Changes::default()));
    must(store.commit());
    assert_eq!(must(store.head(&name)), Some(head));
}

pub(super) fn specifications_restores_and_checkpoints_are_kept(stores: &Stores<'_>) {
    let (mut store, mut head) = stores.study("beside");
    let (_, other) = stores.study("beside-it");
    assert_eq!(must(store.spec(head.key)).as_deref(), Some(SPEC));
    assert_eq!(must(store.spec(i64::MAX)), None);
    let mut restore = Restore {
        begun: "2026-11-16T10:00:00Z".into(),
        begun_by: "0123abcd".into(),
        finished: None,
        finished_by: None,
        seq: 7,
        hash: sha256(b"end"),
    };
    let mut checkpoint = Checkpoint {
        seq: 5,
        text: "{\"odd\":\"\\u0000 é\"}".into(),
    };
    for finished in [None, Some("2026-11-16T11:00:00Z")] {
        (restore.finished, checkpoint.seq) = (finished.map(Into::into), checkpoint.seq + 1);
        restore.finished_by = finished.map(|_| "89abcdef".into());
        must(store.begin());
        must(store.put_restore(head.key, &restore));
        must(store.put_checkpoint(head.key, &checkpoint));
        must(store.commit());
        head.restoring = finished.is_none();
        for store in [&mut store, &mut stores.open()] {
            assert_eq!(must(store.restore(head.key)).as_ref(), Some(&restore));
            assert_eq!(must(store.checkpoint(head.key)).as_ref(), Some(&checkpoint));
            assert_eq!(must(store.head(&head.name)).as_ref(), Some(&head));
            assert_eq!(must(store.restore(other.key)), None);
            assert_eq!(must(store.checkpoint(other.key)), None);
            assert_eq!(must(store.head(&other.name)).as_ref(), Some(&other));
        }
    }
    assert!(
        store.put_restore(head.key, &restore).is_err(),
        "outside a transaction"
    );
    assert!(
        store.put_checkpoint(head.key, &checkpoint).is_err(),
        "outside a transaction"
    );
}

pub(super) fn studies_are_listed(stores: &Stores<'_>) {
    // Ordered by bytes: no collation, case folding or normalization.
    let names = ["a", "B", "é", "e\u{301}", "z", "ﬁ", "𝄞", "a b", "a-b", "ab"];
    let mut names = names.map(|name| stores.study(&format!("list-{name}")).1.name);
    names.sort();
    let start = format!("{}list-", stores.prefix);
    let mut store = stores.open();
    let mut listed = |after: &str, limit| -> Vec<String> {
        let heads = must(store.heads(after, limit));
        let names = heads.into_iter().map(|head| head.name);
        names.filter(|name| name.starts_with(&start)).collect()
    };
    assert_eq!(listed(&start, names.len()), names);
    assert_eq!(listed(&names[0], 3), names[1..4]);
    assert_eq!(listed(&start, 0), [""; 0]);
    assert_eq!(listed(&start, usize::MAX), names);
    assert_eq!(listed(&names[names.len() - 1], 10), [""; 0]);
}

pub(super) fn rows_are_kept(stores: &Stores<'_>) {
    let (mut store, mut head) = stores.study("rows");
    let changes = Changes {
        events: (1..=3).map(event).collect(),
        episodes: vec![
            episode("b", 1),
            ended(episode("a", 2)),
            episode("c", 3),
            ended(episode("d", 3)),
        ],
        decisions: vec![decision("a", 2), decision("a", 10), decision("a", 1)],
        learned_episodes: vec![
            learned(1),
            learned(0),
            learned_bytes(2, (0..=255).collect()),
            learned_bytes(3, Vec::new()),
        ],
        gain_sums: vec![
            gains(2, 1, 0, 0.5),
            gains(1, 300, 2, 0.25),
            gains(1, 20, 9, 1.0),
        ],
        ..Changes::default()
    };
    // In the order of their keys.
    let mut sorted = changes.clone();
    sorted.episodes.swap(0, 1);
    sorted.decisions.rotate_right(1);
    sorted.learned_episodes.swap(0, 1);
    sorted.gain_sums.reverse();
    head.seq = 3;
    let expect = |store: &mut Box<dyn Store>| {
        assert_eq!(rows(store, head.key), sorted);
        let [a, b, c, d] = &*sorted.episodes else {
            panic!("four episodes")
        };
        let mut found = must(store.episodes(head.key, &["a", "none", "d", "b", "a"]));
        found.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(found.iter().collect::<Vec<_>>(), [a, b, d], "each once");
        assert_eq!(must(store.episodes(head.key, &[])), []);
        let open = must(store.episodes_after(head.key, "", Which::Open, 10));
        assert_eq!(open.iter().collect::<Vec<_>>(), [b, c]);
        assert_eq!(must(store.decisions(head.key, "a")), sorted.decisions);
        assert_eq!(must(store.decisions(head.key, "b")), []);
        let rest = must(store.decisions_after(head.key, Some(("a", 2)), 10));
        assert_eq!(rest, sorted.decisions[2..]);
    };
    // Inside the transaction, after it, and from another connection.
    must(store.begin());
    must(store.write(&head, &changes));
    expect(&mut store);
    must(store.commit());
    expect(&mut store);
    drop(store);
    expect(&mut stores.open());

    let text = "é".repeat(1 << 20);
    let mut changes = of_events(vec![Record::new(4, text.clone())]);
    changes.decisions.push(StoredDecision {
        text,
        ..decision("long", 1)
    });
    let mut store = stores.open();
    put(&mut store, &head, &changes);
    assert_eq!(must(store.events(head.key, 3, 1)), changes.events);
    assert_eq!(must(store.decisions(head.key, "long")), changes.decisions);
}

pub(super) fn rows_are_replaced(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("replaced");
    let old = Changes {
        episodes: vec![episode("a", 1), episode("b", 1), episode("c", 1)],
        learned_episodes: vec![learned(0), learned(1)],
        gain_sums: vec![gains(1, 0, 0, 0.5), gains(1, 0, 1, 0.5)],
        ..Changes::default()
    };
    put(&mut store, &head, &old);
    let mut counted = gains(1, 0, 1, -7.5);
    counted.count = 12;
    let new = Changes {
        episodes: vec![ended(episode("b", 3)), episode("d", 1)],
        learned_episodes: vec![learned_bytes(0, b"other".to_vec())],
        gain_sums: vec![counted, gains(1, 0, 2, 0.5)],
        ..Changes::default()
    };
    put(&mut store, &head, &new);
    let (a, c) = (old.episodes[0].clone(), old.episodes[2].clone());
    let (b, d) = (new.episodes[0].clone(), new.episodes[1].clone());
    let open = must(store.episodes_after(head.key, "", Which::Open, 10));
    assert_eq!(open, [a.clone(), c.clone(), d.clone()]);
    let replaced = Changes {
        episodes: vec![a, b, c, d],
        learned_episodes: vec![new.learned_episodes[0].clone(), learned(1)],
        gain_sums: vec![old.gain_sums[0], counted, new.gain_sums[1]],
        ..Changes::default()
    };
    assert_eq!(rows(&mut store, head.key), replaced);

    // Twice in one transaction: the last one wins.
    must(store.begin());
    for step in 1..4 {
        let changes = of_rows(vec![episode("e", step)], vec![]);
        must(store.write(&head, &changes));
    }
    must(store.commit());
    assert_eq!(must(store.episodes(head.key, &["e"])), [episode("e", 3)]);
}

pub(super) fn awaited_outcomes_follow_the_episode(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("awaited");
    let mut abandoned = stopped(episode("a", 1));
    abandoned.end.as_mut().unwrap().abandoned = true;
    let mut voided = stopped(episode("b", 1));
    voided.voided = Some("another person".into());
    let waits = [stopped(episode("c", 1)), stopped(episode("d", 2))];
    let others = [abandoned, voided, ended(episode("e", 1)), episode("f", 1)];
    let all = [&waits[..], &others[..]].concat();
    put(&mut store, &head, &of_rows(all, vec![]));
    let found = must(store.episodes_after(head.key, "", Which::Awaited, 10));
    assert_eq!(found, waits);
    let found = must(store.episodes_after(head.key, "c", Which::Awaited, 1));
    assert_eq!(found, waits[1..]);
    let learned = ended(episode("d", 2));
    put(&mut store, &head, &of_rows(vec![learned], vec![]));
    let found = must(store.episodes_after(head.key, "", Which::Awaited, 10));
    assert_eq!(found, waits[..1]);
}

pub(super) fn sessions_are_kept_until_they_end(stores: &Stores<'_>) {
    let mut store = stores.open();
    let [first, second] = ["1", "2"].map(|it| format!("{}{it}", stores.prefix));
    let (night, morning, noon) = (
        "2026-01-31T00:00:00Z",
        "2026-01-31T09:30:00Z",
        "2026-01-31T12:00:00Z",
    );
    let first = session(&first, night, morning);
    // Only in a transaction.
    assert!(store.put_session(&first).is_err());
    assert!(store.remove_session(&first.hash).is_err());
    must(store.begin());
    must(store.put_session(&first));
    assert_eq!(must(stores.open().session(&first.hash)), None);
    must(store.commit());
    // Until another one begins after its end.
    for (begun, kept) in [(night, true), (morning, true), (noon, false)] {
        let second = session(&second, begun, "2026-02-01T00:00:00Z");
        must(store.begin());
        must(store.put_session(&second));
        must(store.commit());
        let mut other = stores.open();
        assert_eq!(must(other.session(&second.hash)), Some(second));
        let found = must(other.session(&first.hash));
        assert_eq!(found, kept.then(|| first.clone()));
    }
    for _ in 0..2 {
        must(store.begin());
        must(store.remove_session(&second));
        must(store.commit());
        assert_eq!(must(store.session(&second)), None);
    }
}

pub(super) fn the_decision_follows_the_episode(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("decision");
    let none = must(store.decision(head.key, "a", None));
    assert_eq!(none, None, "there is no such episode");
    for step in 1..=3_u32 {
        let (episode, decided) = (episode("a", step as usize), decision("a", step));
        put(&mut store, &head, &of_rows(vec![episode], vec![decided]));
        let now = must(store.decision(head.key, "a", None));
        assert_eq!(now, Some(decision("a", step)));
        let first = must(store.decision(head.key, "a", Some(1)));
        assert_eq!(first, Some(decision("a", 1)));
        assert_eq!(must(store.decision(head.key, "a", Some(step + 1))), None);
    }
    // An end is not a step, and an imported episode has no decisions.
    let mut past = ended(episode("past", 2));
    past.imported = true;
    let episodes = vec![ended(episode("a", 3)), past, episode("further", 2)];
    let changes = of_rows(episodes, vec![decision("further", 1)]);
    put(&mut store, &head, &changes);
    let now = must(store.decision(head.key, "a", None));
    assert_eq!(now, Some(decision("a", 3)));
    assert_eq!(must(store.decision(head.key, "past", None)), None);
    assert_eq!(must(store.decision(head.key, "further", None)), None);
    assert_eq!(must(store.decision(head.key, "a", Some(u32::MAX))), None);
}

pub(super) fn studies_share_no_rows(stores: &Stores<'_>) {
    let (mut store, one) = stores.study("apart-1");
    let (_, two) = stores.study("apart-2");
    assert_ne!(one.key, two.key);
    put(&mut store, &one, &one_of_each());
    assert_empty(&mut store, two.key);
    // The same keys in another study, and both in one transaction.
    must(store.begin());
    must(store.write(&two, &one_of_each()));
    must(store.write(&one, &of_events(vec![event(2)])));
    must(store.commit());
    assert_eq!(must(store.events(two.key, 0, 10)), [event(1)]);
    assert_eq!(must(store.events(one.key, 0, 10)), [event(1), event(2)]);
}

pub(super) fn names_of_any_characters_are_kept(stores: &Stores<'_>) {
    let fill = 200 - stores.prefix.chars().count();
    let mut names: Vec<String> = [
        "'; DROP TABLE studies; --",
        "\"quoted\"",
        "back\\slash",
        "per%cent_and$1?1:x",
        " spaces ",
        "日本語 العربية \u{202e}",
    ]
    .map(str::to_owned)
    .to_vec();
    names.extend(["é", "e\u{301}", "E\u{301}", "null", "0", "-0", "00", "1e2"].map(str::to_owned));
    names.push("𝄞".repeat(fill));
    names.push(format!("{}x", "𝄞".repeat(fill - 1)));
    for name in &names {
        let (mut store, head) = stores.study(name);
        assert_eq!(must(store.head(&head.name)), Some(head));
    }
    let (mut store, head) = stores.study("strange");
    names.sort();
    let episodes = names.iter().map(|name| episode(name, 2)).collect();
    let decisions = names.iter().map(|name| decision(name, 2)).collect();
    let changes = of_rows(episodes, decisions);
    put(&mut store, &head, &changes);
    let found = must(store.episodes_after(head.key, "", Which::All, 100));
    assert_eq!(found, changes.episodes);
    for name in &names {
        let found = must(store.episodes(head.key, &[name]));
        assert_eq!(found, [episode(name, 2)]);
        let found = must(store.decision(head.key, name, None));
        assert_eq!(found, Some(decision(name, 2)));
        assert_eq!(must(store.decisions(head.key, name)), [decision(name, 2)]);
    }
}

pub(super) fn numbers_are_exact(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("exact");
    let mut sums = vec![0.0, -0.0, 1.0, -1.0, 0.1 + 0.2, 1.0 / 3.0, 1e100, -1e100];
    sums.extend([
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE - 5e-324,
    ]);
    sums.extend([f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY]);
    sums.extend([9_007_199_254_740_993.0, 9_223_372_036_854_775_808.0]);
    sums.extend([f64::NAN, -f64::NAN, f64::from_bits(0x7ff0_0000_0000_0001)]);
    let bits: Vec<u64> = sums.iter().map(|sum| sum.to_bits()).collect();
    let numbered = (0_u32..).zip(sums);
    let changes = Changes {
        gain_sums: numbered.map(|(a, sum)| gains(1, 0, a, sum)).collect(),
        ..Changes::default()
    };
    // As new rows, and as replacements.
    for _ in 0..2 {
        put(&mut store, &head, &changes);
        let found = must(stores.open().gain_sums(head.key, None, 100));
        let found: Vec<u64> = found.iter().map(|gains| gains.sum.to_bits()).collect();
        assert_eq!(found, bits);
    }
}

pub(super) fn numbers_out_of_range_are_rejected(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("wrap");
    let most = i64::MAX.unsigned_abs();
    let mut large = gains(u32::MAX, u32::MAX, u32::MAX, 0.0);
    large.count = most;
    let changes = Changes {
        events: vec![event(most)],
        decisions: vec![decision("a", u32::MAX)],
        learned_episodes: vec![learned(most)],
        gain_sums: vec![large],
        ..Changes::default()
    };
    put(&mut store, &head, &changes);
    assert_eq!(rows(&mut store, head.key), changes);
    assert_eq!(must(store.events(head.key, most - 1, 9)), changes.events);
    let found = must(store.decision(head.key, "a", Some(u32::MAX)));
    assert_eq!(found.as_ref(), changes.decisions.first());
    let found = must(store.learned_episodes(head.key, most, 9));
    assert_eq!(found, changes.learned_episodes);
    let last = Some((u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(must(store.gain_sums(head.key, last, 9)), []);
    // Nothing follows a value out of range.
    for after in [most, most + 1, u64::MAX] {
        assert_eq!(must(store.events(head.key, after, 9)), []);
    }
    for from in [most + 1, u64::MAX] {
        assert_eq!(must(store.learned_episodes(head.key, from, 9)), []);
    }

    // A store may reject values beyond half of the range, but not change them.
    let mut counted = large;
    counted.count = u64::MAX;
    let mut far = head.clone();
    far.seq = u64::MAX;
    let (mut learns, mut sums) = (Changes::default(), Changes::default());
    learns.learned_episodes.push(learned(u64::MAX));
    sums.gain_sums.push(counted);
    let tries = [
        (head.clone(), of_events(vec![event(u64::MAX)])),
        (head.clone(), learns),
        (head.clone(), sums),
        (far.clone(), Changes::default()),
    ];
    for (head, more) in tries {
        must(store.begin());
        if store.write(&head, &more).is_ok() {
            let events = must(store.events(head.key, most, 9));
            assert_eq!(events, more.events);
            let learned_episodes = must(store.learned_episodes(head.key, most + 1, 9));
            assert_eq!(learned_episodes, more.learned_episodes);
            if !more.gain_sums.is_empty() {
                assert_eq!(must(store.gain_sums(head.key, None, 9)), more.gain_sums);
            }
            assert_eq!(must(store.head(&head.name)), Some(head));
        }
        store.rollback();
    }
    far.name.push_str("-far");
    must(store.begin());
    if store.create(&far, SPEC).is_ok() {
        let found = must(store.head(&far.name));
        assert_eq!(found.map(|head| head.seq), Some(far.seq));
    }
    store.rollback();
    assert_eq!(must(store.head(&head.name)), Some(head));
}
