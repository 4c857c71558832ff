//! Rules that every [`Store`] must satisfy, checked on SQLite and PostgreSQL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use emab_server::domain::episode::{End, EpisodeRecord, Outcome, Step};
use emab_server::domain::event::{Record, sha256};
use emab_server::store::Backend;
use emab_server::store::postgres::Postgres;
use emab_server::store::sqlite::Sqlite;
use emab_server::store::{
    Changes, GainSum, Head, LearnedEpisode, Store, StoreError, StoredDecision,
};
use emab_testkit::postgres::Server;

/// Opens connections to one store.
type Open<'a> = &'a mut dyn FnMut() -> Box<dyn Store>;

#[test]
fn sqlite_satisfies_the_rules_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    check_store(&mut || store.writer().unwrap());
}

#[test]
fn postgres_satisfies_the_rules_of_a_store_in_a_database_with_a_collation() {
    let server = Server::shared().unwrap();
    // The collation orders `a` < `B` < `é` < `z`; the columns must not use it.
    server
        .execute(
            "CREATE DATABASE laws TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en'",
        )
        .or_else(|_| server.execute("CREATE DATABASE laws"))
        .unwrap();
    let store = Postgres::open(&server.url_of("laws")).unwrap();
    check_store(&mut || store.writer().unwrap());
}

/// Checks the store that `open` connects to. Studies get unique names and stay there.
fn check_store(open: Open<'_>) {
    let prefix = prefix();
    studies_are_kept(open, &prefix);
    studies_are_listed(open, &prefix);
    rows_are_kept(open, &prefix);
    rows_are_replaced(open, &prefix);
    the_decision_follows_the_episode(open, &prefix);
    studies_are_apart(open, &prefix);
    names_may_be_strange(open, &prefix);
    numbers_are_exact(open, &prefix);
    numbers_do_not_wrap(open, &prefix);
    limits_are_kept(open, &prefix);
    nothing_is_there_twice(open, &prefix);
    what_is_taken_back_is_gone(open, &prefix);
    what_is_not_committed_is_not_seen(open, &prefix);
    a_reader_can_hold_still(open, &prefix);
    no_update_is_lost(open, &prefix);
    many_rows_come_in_pages(open, &prefix);
}

/// A prefix of names that no other run uses.
fn prefix() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("rule-{now}-{}-{call}-", std::process::id())
}

/// The value; panics if the store failed.
#[track_caller]
fn must<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the store failed where it must not: {error}"),
    }
}

/// A study before its first event.
fn new_head(name: String) -> Head {
    let spec = r#"{"horizon":3,"odd":"\u0000 '\" \\ é"}"#.to_string();
    Head::new(&name, &spec)
}

/// Creates a study, committed.
#[track_caller]
fn create(store: &mut dyn Store, prefix: &str, name: &str) -> Head {
    let mut head = new_head(format!("{prefix}{name}"));
    must(store.begin());
    let key = must(store.create(&head));
    must(store.commit());
    assert!(key.is_some(), "the name `{}` was free", head.name);
    head.key = key.unwrap_or(0);
    head
}

/// Writes in one transaction.
#[track_caller]
fn put(store: &mut dyn Store, head: &Head, changes: &Changes) {
    must(store.begin());
    assert_eq!(
        must(store.lock(&head.name)).map(|found| found.key),
        Some(head.key)
    );
    must(store.write(head, changes));
    must(store.commit());
}

fn event(seq: u64) -> Record {
    Record::new(
        seq,
        format!(r#"{{"seq":{seq},  "odd":"\u0000 '' \\ é 𝄞"}}"#),
    )
}

fn decision(episode: &str, step: u32) -> StoredDecision {
    StoredDecision {
        episode: episode.into(),
        step,
        text: format!(r#"{{"step":{step} , "gain":1.10,"gain":1e2,"odd":"\u0000"}}"#),
    }
}

fn learned(position: u64) -> LearnedEpisode {
    let mut bytes = position.to_le_bytes().to_vec();
    bytes.extend(f64::NAN.to_le_bytes());
    LearnedEpisode { position, bytes }
}

fn gains(t: u32, x: u32, a: u32, sum: f64) -> GainSum {
    GainSum {
        t,
        x,
        a,
        count: 1,
        sum,
    }
}

/// An open episode at a step.
fn episode(id: &str, step: usize) -> EpisodeRecord {
    let told = Step {
        action: 1,
        feedback: 2,
        overridden: true,
        reason: Some("it's \"odd\": \0 \u{1f} \\ é 𝄞".into()),
    };
    EpisodeRecord {
        id: id.into(),
        states: (0..step).collect(),
        steps: vec![told; step.saturating_sub(1)],
        recommended: step.is_multiple_of(2).then_some(3),
        end: None,
        outcome: Outcome::default(),
        position: None,
        opened: 1,
        touched: 2,
        given: Vec::new(),
        imported: false,
    }
}

/// The episode stopped and learned, with values that are easily corrupted.
fn ended(mut episode: EpisodeRecord) -> EpisodeRecord {
    episode.end = Some(End {
        abandoned: false,
        overridden: true,
        reason: Some("enough".into()),
    });
    episode.outcome = Outcome {
        costs: vec![Some(0.1 + 0.2), None, Some(-0.0)],
        rewards: vec![Some(5e-324), Some(1.797_693_134_862_315_7e308), None],
        last: true,
    };
    episode.position = Some(7);
    episode
}

fn studies_are_kept(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let name = format!("{prefix}kept");
    assert_eq!(must(store.head(&name)), None);
    assert_eq!(must(store.key(&name)), None);
    must(store.begin());
    assert_eq!(must(store.lock(&name)), None);
    must(store.commit());

    let mut head = create(&mut *store, prefix, "kept");
    assert!(head.key > 0, "0 is the key of what is not created yet");
    assert_eq!(must(store.head(&name)).as_ref(), Some(&head));
    assert_eq!(must(open().head(&name)).as_ref(), Some(&head));
    for _ in 0..2 {
        assert_eq!(must(store.key(&name)), Some(head.key));
    }

    // Every field that changes.
    head.seq = 1 << 40;
    head.hash = sha256(b"another");
    head.closed = true;
    head.episodes = 2;
    head.open = 3;
    head.learned = 4;
    head.missing = 5;
    head.relearned = 6;
    put(&mut *store, &head, &Changes::default());
    must(store.begin());
    assert_eq!(must(store.lock(&name)).as_ref(), Some(&head));
    assert_eq!(must(store.head(&name)).as_ref(), Some(&head));
    must(store.commit());
    assert_eq!(must(open().head(&name)).as_ref(), Some(&head));

    // A taken name is not an error: the transaction continues.
    must(store.begin());
    assert_eq!(must(store.create(&new_head(name.clone()))), None);
    head.seq += 1;
    must(store.write(&head, &Changes::default()));
    must(store.commit());
    assert_eq!(must(store.head(&name)), Some(head));
}

fn studies_are_listed(open: Open<'_>, prefix: &str) {
    let mut store = open();
    // Ordered by bytes: no collation, case folding or normalization.
    let mut names: Vec<String> = ["a", "B", "é", "e\u{301}", "z", "ﬁ", "𝄞", "a b", "a-b", "ab"]
        .iter()
        .map(|name| format!("{prefix}list-{name}"))
        .collect();
    for name in &names {
        create(&mut *store, "", name);
    }
    names.sort();
    let start = format!("{prefix}list-");
    let listed = |store: &mut dyn Store, after: &str, limit| -> Vec<String> {
        let heads = must(store.heads(after, limit));
        let names = heads.into_iter().map(|head| head.name);
        names.filter(|name| name.starts_with(&start)).collect()
    };
    assert_eq!(listed(&mut *store, &start, names.len()), names);
    assert_eq!(listed(&mut *store, &names[0], 3), names[1..4]);
    assert_eq!(listed(&mut *store, &start, 0), Vec::<String>::new());
    assert_eq!(listed(&mut *store, &start, usize::MAX), names);
    let last = &names[names.len() - 1];
    assert_eq!(listed(&mut *store, last, 10), Vec::<String>::new());
}

fn rows_are_kept(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let mut head = create(&mut *store, prefix, "rows");
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
            LearnedEpisode {
                position: 2,
                bytes: (0..=255).collect(),
            },
            LearnedEpisode {
                position: 3,
                bytes: Vec::new(),
            },
        ],
        gain_sums: vec![
            gains(2, 1, 0, 0.5),
            gains(1, 300, 2, 0.25),
            gains(1, 20, 9, 1.0),
        ],
    };
    head.seq = 3;
    let expect = |store: &mut dyn Store| {
        assert_eq!(must(store.events(head.key, 0, 10)), changes.events);
        let mut found = must(store.episodes(head.key, &["a", "none", "d", "b", "a"]));
        found.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(
            found,
            [1, 0, 3].map(|position| changes.episodes[position].clone()),
            "each that there is, once"
        );
        assert_eq!(must(store.episodes(head.key, &[])), Vec::new());
        let found = must(store.episodes_after(head.key, "", false, 10));
        assert_eq!(
            found,
            [1, 0, 2, 3].map(|position| changes.episodes[position].clone())
        );
        let found = must(store.episodes_after(head.key, "", true, 10));
        assert_eq!(
            found,
            [0, 2].map(|position| changes.episodes[position].clone())
        );
        let found = must(store.decisions(head.key, "a"));
        assert_eq!(
            found,
            [2, 0, 1].map(|position| changes.decisions[position].clone())
        );
        assert_eq!(must(store.decisions(head.key, "b")), Vec::new());
        let all = must(store.decisions_after(head.key, None, 10));
        assert_eq!(all, found);
        let rest = must(store.decisions_after(head.key, Some(("a", 2)), 10));
        assert_eq!(rest, found[2..]);
        let found = must(store.learned_episodes(head.key, 0, 10));
        assert_eq!(
            found,
            [1, 0, 2, 3].map(|position| changes.learned_episodes[position].clone())
        );
        let found = must(store.gain_sums(head.key, None, 10));
        assert_eq!(found, [2, 1, 0].map(|position| changes.gain_sums[position]));
    };
    // Inside the transaction, after it, and from another connection.
    must(store.begin());
    must(store.write(&head, &changes));
    expect(&mut *store);
    must(store.commit());
    expect(&mut *store);
    drop(store);
    expect(&mut *open());

    let long = "é".repeat(1 << 20);
    let changes = Changes {
        events: vec![Record::new(4, long.clone())],
        decisions: vec![StoredDecision {
            episode: "long".into(),
            step: 1,
            text: long.clone(),
        }],
        ..Changes::default()
    };
    let mut store = open();
    put(&mut *store, &head, &changes);
    assert_eq!(must(store.events(head.key, 3, 1)), changes.events);
    assert_eq!(must(store.decisions(head.key, "long")), changes.decisions);
}

fn rows_are_replaced(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "replaced");
    let old = Changes {
        episodes: vec![episode("a", 1), episode("b", 1), episode("c", 1)],
        learned_episodes: vec![learned(0), learned(1)],
        gain_sums: vec![gains(1, 0, 0, 0.5), gains(1, 0, 1, 0.5)],
        ..Changes::default()
    };
    put(&mut *store, &head, &old);
    let mut counted = gains(1, 0, 1, -7.5);
    counted.count = 12;
    let new = Changes {
        episodes: vec![ended(episode("b", 3)), episode("d", 1)],
        learned_episodes: vec![LearnedEpisode {
            position: 0,
            bytes: b"other".to_vec(),
        }],
        gain_sums: vec![counted, gains(1, 0, 2, 0.5)],
        ..Changes::default()
    };
    put(&mut *store, &head, &new);
    let found = must(store.episodes_after(head.key, "", false, 10));
    let (a, c) = (old.episodes[0].clone(), old.episodes[2].clone());
    let (b, d) = (new.episodes[0].clone(), new.episodes[1].clone());
    assert_eq!(found, [a.clone(), b, c.clone(), d.clone()]);
    let found = must(store.episodes_after(head.key, "", true, 10));
    assert_eq!(found, [a, c, d]);
    let found = must(store.learned_episodes(head.key, 0, 10));
    assert_eq!(
        found,
        [
            new.learned_episodes[0].clone(),
            old.learned_episodes[1].clone()
        ]
    );
    let found = must(store.gain_sums(head.key, None, 10));
    assert_eq!(found, [old.gain_sums[0], counted, new.gain_sums[1]]);

    // Twice in one transaction: the last one wins.
    must(store.begin());
    for step in 1..4 {
        let changes = Changes {
            episodes: vec![episode("e", step)],
            ..Changes::default()
        };
        must(store.write(&head, &changes));
    }
    must(store.commit());
    assert_eq!(must(store.episodes(head.key, &["e"])), [episode("e", 3)]);
}

fn the_decision_follows_the_episode(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "decision");
    let none = must(store.decision(head.key, "a", None));
    assert_eq!(none, None, "there is no such episode");
    for step in 1..=3_u32 {
        let changes = Changes {
            episodes: vec![episode("a", step as usize)],
            decisions: vec![decision("a", step)],
            ..Changes::default()
        };
        put(&mut *store, &head, &changes);
        let now = must(store.decision(head.key, "a", None));
        assert_eq!(now, Some(decision("a", step)));
        let first = must(store.decision(head.key, "a", Some(1)));
        assert_eq!(first, Some(decision("a", 1)));
        assert_eq!(must(store.decision(head.key, "a", Some(step + 1))), None);
    }
    // An end is not a step, and an imported episode has no decisions.
    let mut past = ended(episode("past", 2));
    past.imported = true;
    let changes = Changes {
        episodes: vec![ended(episode("a", 3)), past, episode("further", 2)],
        decisions: vec![decision("further", 1)],
        ..Changes::default()
    };
    put(&mut *store, &head, &changes);
    let now = must(store.decision(head.key, "a", None));
    assert_eq!(now, Some(decision("a", 3)));
    assert_eq!(must(store.decision(head.key, "past", None)), None);
    assert_eq!(must(store.decision(head.key, "further", None)), None);
    assert_eq!(must(store.decision(head.key, "a", Some(u32::MAX))), None);
}

fn studies_are_apart(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let one = create(&mut *store, prefix, "apart-1");
    let two = create(&mut *store, prefix, "apart-2");
    assert_ne!(one.key, two.key);
    let changes = Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        learned_episodes: vec![learned(0)],
        gain_sums: vec![gains(1, 0, 0, 0.5)],
    };
    put(&mut *store, &one, &changes);
    assert_eq!(must(store.events(two.key, 0, 10)), Vec::new());
    assert_eq!(must(store.episodes(two.key, &["a"])), Vec::new());
    assert_eq!(must(store.episodes_after(two.key, "", true, 9)), Vec::new());
    assert_eq!(must(store.decision(two.key, "a", None)), None);
    assert_eq!(must(store.decision(two.key, "a", Some(1))), None);
    assert_eq!(must(store.decisions(two.key, "a")), Vec::new());
    assert_eq!(must(store.learned_episodes(two.key, 0, 10)), Vec::new());
    assert_eq!(must(store.gain_sums(two.key, None, 10)), Vec::new());
    // The same keys in another study, and both in one transaction.
    must(store.begin());
    must(store.write(&two, &changes));
    let more = Changes {
        events: vec![event(2)],
        ..Changes::default()
    };
    must(store.write(&one, &more));
    must(store.commit());
    assert_eq!(must(store.events(two.key, 0, 10)), [event(1)]);
    assert_eq!(must(store.events(one.key, 0, 10)), [event(1), event(2)]);
}

fn names_may_be_strange(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let fill = 200 - prefix.chars().count();
    let mut names = vec![
        "'; DROP TABLE studies; --".to_string(),
        "\"quoted\"".into(),
        "back\\slash".into(),
        "per%cent_and$1?1:x".into(),
        " spaces ".into(),
        "é".into(),
        "e\u{301}".into(),
        "E\u{301}".into(),
        "日本語 العربية \u{202e}".into(),
        "null".into(),
        "0".into(),
        "-0".into(),
        "00".into(),
        "1e2".into(),
        "𝄞".repeat(fill),
        format!("{}x", "𝄞".repeat(fill - 1)),
    ];
    for name in &names {
        let head = create(&mut *store, prefix, name);
        assert_eq!(must(store.head(&head.name)), Some(head));
    }
    let head = create(&mut *store, prefix, "strange");
    names.sort();
    let changes = Changes {
        episodes: names.iter().map(|name| episode(name, 2)).collect(),
        decisions: names.iter().map(|name| decision(name, 2)).collect(),
        ..Changes::default()
    };
    put(&mut *store, &head, &changes);
    let found = must(store.episodes_after(head.key, "", false, 100));
    assert_eq!(found, changes.episodes);
    for name in &names {
        let found = must(store.episodes(head.key, &[name]));
        assert_eq!(found, [episode(name, 2)]);
        let found = must(store.decision(head.key, name, None));
        assert_eq!(found, Some(decision(name, 2)));
        assert_eq!(must(store.decisions(head.key, name)), [decision(name, 2)]);
    }
}

fn numbers_are_exact(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "exact");
    let sums = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1 + 0.2,
        1.0 / 3.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        f64::MIN_POSITIVE - 5e-324,
        1e100,
        -1e100,
        f64::MAX,
        f64::MIN,
        9_007_199_254_740_993.0,
        9_223_372_036_854_775_808.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        f64::from_bits(0x7ff0_0000_0000_0001),
    ];
    let gain_sums: Vec<GainSum> = (0_u32..)
        .zip(sums)
        .map(|(a, sum)| gains(1, 0, a, sum))
        .collect();
    let changes = Changes {
        gain_sums,
        ..Changes::default()
    };
    // As new rows, and as replacements.
    for _ in 0..2 {
        put(&mut *store, &head, &changes);
        let found = must(open().gain_sums(head.key, None, 100));
        let found: Vec<u64> = found.iter().map(|gains| gains.sum.to_bits()).collect();
        assert_eq!(found, sums.map(f64::to_bits));
    }
}

fn numbers_do_not_wrap(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "wrap");
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
    put(&mut *store, &head, &changes);
    assert_eq!(must(store.events(head.key, most - 1, 9)), changes.events);
    let found = must(store.decision(head.key, "a", Some(u32::MAX)));
    assert_eq!(found.as_ref(), changes.decisions.first());
    assert_eq!(
        must(store.learned_episodes(head.key, most, 9)),
        changes.learned_episodes
    );
    assert_eq!(must(store.gain_sums(head.key, None, 9)), changes.gain_sums);
    let last = Some((u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(must(store.gain_sums(head.key, last, 9)), Vec::new());
    // Nothing follows a value out of range.
    for after in [most, most + 1, u64::MAX] {
        assert_eq!(must(store.events(head.key, after, 9)), Vec::new());
    }
    for from in [most + 1, u64::MAX] {
        assert_eq!(must(store.learned_episodes(head.key, from, 9)), Vec::new());
    }

    // A store may reject values beyond half of the range, but not change them.
    let mut counted = large;
    counted.count = u64::MAX;
    let mut far = head.clone();
    far.seq = u64::MAX;
    let tries = [
        (
            head.clone(),
            Changes {
                events: vec![event(u64::MAX)],
                ..Changes::default()
            },
        ),
        (
            head.clone(),
            Changes {
                learned_episodes: vec![learned(u64::MAX)],
                ..Changes::default()
            },
        ),
        (
            head.clone(),
            Changes {
                gain_sums: vec![counted],
                ..Changes::default()
            },
        ),
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
    if store.create(&far).is_ok() {
        let found = must(store.head(&far.name));
        assert_eq!(found.map(|head| head.seq), Some(far.seq));
    }
    store.rollback();
    assert_eq!(must(store.head(&head.name)), Some(head));
}

fn limits_are_kept(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "limits");
    let ids = ["a", "b", "c", "d", "e"];
    let changes = Changes {
        events: (1..=5).map(event).collect(),
        episodes: ids.map(|id| episode(id, 1)).to_vec(),
        decisions: Vec::new(),
        learned_episodes: (0..5).map(learned).collect(),
        gain_sums: (0..5).map(|x| gains(1 + x / 2, x, 0, 0.5)).collect(),
    };
    put(&mut *store, &head, &changes);
    for (limit, count) in [(0, 0), (1, 1), (3, 3), (5, 5), (6, 5), (usize::MAX, 5)] {
        let events = must(store.events(head.key, 0, limit));
        assert_eq!(events, changes.events[..count]);
        for open in [false, true] {
            let episodes = must(store.episodes_after(head.key, "", open, limit));
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
        let episodes = must(store.episodes_after(head.key, id, true, 2));
        assert_eq!(episodes, changes.episodes[next..5.min(next + 2)]);
        let learned_episodes = must(store.learned_episodes(head.key, start as u64, 2));
        assert_eq!(
            learned_episodes,
            changes.learned_episodes[start..5.min(start + 2)]
        );
        let GainSum { t, x, a, .. } = changes.gain_sums[start];
        let gain_sums = must(store.gain_sums(head.key, Some((t, x, a)), 2));
        assert_eq!(gain_sums, changes.gain_sums[next..5.min(next + 2)]);
    }
    // The row to start after need not exist.
    let episodes = must(store.episodes_after(head.key, "bb", false, 1));
    assert_eq!(episodes, changes.episodes[2..3]);
    let gain_sums = must(store.gain_sums(head.key, Some((1, u32::MAX, 9)), 1));
    assert_eq!(gain_sums, changes.gain_sums[2..3]);
}

fn nothing_is_there_twice(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "twice");
    let events = |seqs: &[u64]| Changes {
        events: seqs.iter().copied().map(event).collect(),
        ..Changes::default()
    };
    let decisions = |steps: &[u32]| Changes {
        decisions: steps.iter().map(|&step| decision("an-id", step)).collect(),
        ..Changes::default()
    };
    put(&mut *store, &head, &events(&[7001]));
    put(&mut *store, &head, &decisions(&[7002]));
    let planted: [(Changes, &[&str]); 4] = [
        (events(&[7003, 7001]), &["7001"]),
        (events(&[7004, 7004]), &["7004"]),
        (decisions(&[7003, 7002]), &["an-id", "7002"]),
        (decisions(&[7004, 7004]), &["an-id", "7004"]),
    ];
    for (changes, named) in planted {
        must(store.begin());
        must(store.write(&head, &Changes::default()));
        let result = store.write(&head, &changes);
        assert!(
            matches!(&result, Err(StoreError::Damaged(text)) if named.iter().all(|name| text.contains(name))),
            "expected that it is damaged at {named:?}, got {result:?}"
        );
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
    put(&mut *store, &head, &events(&[7002]));
}

fn what_is_taken_back_is_gone(open: Open<'_>, prefix: &str) {
    let mut store = open();
    store.rollback();
    store.rollback();
    let head = create(&mut *store, prefix, "back");
    let old = Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        learned_episodes: vec![learned(0)],
        gain_sums: vec![gains(1, 0, 0, 0.5)],
    };
    put(&mut *store, &head, &old);
    let new = Changes {
        events: vec![event(2)],
        episodes: vec![ended(episode("a", 2)), episode("b", 1)],
        decisions: vec![decision("a", 2)],
        learned_episodes: vec![
            LearnedEpisode {
                position: 0,
                bytes: Vec::new(),
            },
            learned(1),
        ],
        gain_sums: vec![gains(1, 0, 0, 0.75), gains(1, 0, 1, 0.5)],
    };
    let mut later = head.clone();
    later.seq = 2;
    later.closed = true;
    let fresh = new_head(format!("{prefix}back-fresh"));
    must(store.begin());
    let key = must(store.create(&fresh));
    assert!(key.is_some());
    must(store.write(&later, &new));
    store.rollback();
    store.rollback();
    for store in [&mut store, &mut open()] {
        assert_eq!(must(store.head(&fresh.name)), None);
        assert_eq!(must(store.head(&head.name)).as_ref(), Some(&head));
        assert_eq!(must(store.events(head.key, 0, 10)), old.events);
        let episodes = must(store.episodes_after(head.key, "", false, 10));
        assert_eq!(episodes, old.episodes);
        let episodes = must(store.episodes_after(head.key, "", true, 10));
        assert_eq!(episodes, old.episodes);
        assert_eq!(must(store.decisions(head.key, "a")), old.decisions);
        assert_eq!(
            must(store.learned_episodes(head.key, 0, 10)),
            old.learned_episodes
        );
        assert_eq!(must(store.gain_sums(head.key, None, 10)), old.gain_sums);
    }
    // A retry succeeds.
    must(store.begin());
    assert!(must(store.create(&fresh)).is_some());
    must(store.write(&later, &new));
    must(store.commit());
    assert_eq!(must(store.head(&head.name)), Some(later));
    // A dropped connection rolls back.
    must(store.begin());
    must(store.write(&head, &Changes::default()));
    drop(store);
    assert!(must(open().head(&head.name)).is_some_and(|head| head.closed));
}

fn what_is_not_committed_is_not_seen(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let mut elsewhere = open();
    let head = create(&mut *store, prefix, "seen");
    assert_eq!(must(elsewhere.head(&head.name)).as_ref(), Some(&head));
    let changes = Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        learned_episodes: vec![learned(0)],
        gain_sums: vec![gains(1, 0, 0, 0.5)],
    };
    let mut later = head.clone();
    later.seq = 1;
    let fresh = new_head(format!("{prefix}seen-fresh"));
    must(store.begin());
    must(store.create(&fresh));
    must(store.lock(&head.name));
    must(store.write(&later, &changes));
    assert_eq!(must(elsewhere.head(&fresh.name)), None);
    assert_eq!(must(elsewhere.head(&head.name)), Some(head.clone()));
    assert_eq!(must(elsewhere.events(head.key, 0, 9)), Vec::new());
    assert_eq!(must(elsewhere.episodes(head.key, &["a"])), Vec::new());
    assert_eq!(must(elsewhere.decision(head.key, "a", None)), None);
    assert_eq!(must(elsewhere.decisions(head.key, "a")), Vec::new());
    assert_eq!(must(elsewhere.learned_episodes(head.key, 0, 9)), Vec::new());
    assert_eq!(must(elsewhere.gain_sums(head.key, None, 9)), Vec::new());
    must(store.commit());
    // Visible at once after the commit.
    assert!(must(elsewhere.head(&fresh.name)).is_some());
    assert_eq!(must(elsewhere.head(&head.name)), Some(later));
    assert_eq!(must(elsewhere.events(head.key, 0, 9)), changes.events);
    let found = must(elsewhere.decision(head.key, "a", None));
    assert_eq!(found.as_ref(), changes.decisions.first());
    assert_eq!(
        must(elsewhere.learned_episodes(head.key, 0, 9)),
        changes.learned_episodes
    );
    assert_eq!(
        must(elsewhere.gain_sums(head.key, None, 9)),
        changes.gain_sums
    );
}

fn a_reader_can_hold_still(open: Open<'_>, prefix: &str) {
    let (mut store, mut still) = (open(), open());
    let head = create(&mut *store, prefix, "still");
    let mut later = head.clone();
    later.seq = 1;
    let changes = Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        ..Changes::default()
    };
    must(still.begin_snapshot());
    put(&mut *store, &later, &changes);
    assert_eq!(must(still.head(&head.name)), Some(head.clone()));
    assert_eq!(must(still.events(head.key, 0, 9)), Vec::new());
    assert_eq!(
        must(still.episodes_after(head.key, "", false, 9)),
        Vec::new()
    );
    assert_eq!(must(still.decisions_after(head.key, None, 9)), Vec::new());
    still.rollback();
    assert_eq!(must(still.head(&head.name)), Some(later));
    assert_eq!(must(still.events(head.key, 0, 9)), changes.events);
}

/// Four connections add events to one study, each at the position that it finds under the lock.
fn no_update_is_lost(open: Open<'_>, prefix: &str) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 25;
    let head = create(&mut *open(), prefix, "lost");
    let name = head.name.as_str();
    let stores: Vec<_> = (0..WRITERS).map(|_| open()).collect();
    std::thread::scope(|scope| {
        for mut store in stores {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    while !append(&mut *store, name) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
    });
    let mut store = open();
    let events = must(store.events(head.key, 0, usize::MAX));
    let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
    let all: Vec<u64> = (1..=(WRITERS * ROUNDS) as u64).collect();
    assert_eq!(seqs, all, "no number is missing, and none was given twice");
    let head = must(store.head(name));
    assert_eq!(head.map(|head| head.seq), all.last().copied());
}

/// Whether an event was added; if not, it has to be retried.
#[track_caller]
fn append(store: &mut dyn Store, name: &str) -> bool {
    let mut group = || -> Result<(), StoreError> {
        store.begin()?;
        let Some(mut head) = store.lock(name)? else {
            return Ok(());
        };
        head.seq += 1;
        let changes = Changes {
            events: vec![event(head.seq)],
            ..Changes::default()
        };
        store.write(&head, &changes)?;
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

fn many_rows_come_in_pages(open: Open<'_>, prefix: &str) {
    const ROWS: u32 = 100_000;
    const GROUP: u32 = 5_000;
    const PAGE: usize = 997;
    let mut store = open();
    let head = create(&mut *store, prefix, "many");
    let id = |position: u32| format!("{:06}", u64::from(position) * 7919 % u64::from(ROWS));
    let one = |position: u32| {
        let episode = episode(&id(position), 2);
        if position.is_multiple_of(3) {
            episode
        } else {
            ended(episode)
        }
    };
    for first in (0..ROWS).step_by(GROUP as usize) {
        let places = first..first + GROUP;
        let changes = Changes {
            events: places
                .clone()
                .map(|position| event(1 + u64::from(position)))
                .collect(),
            episodes: places.clone().map(one).collect(),
            decisions: places
                .clone()
                .map(|position| decision(&id(position), 2))
                .collect(),
            learned_episodes: places
                .clone()
                .map(|position| learned(position.into()))
                .collect(),
            gain_sums: places
                .map(|position| {
                    gains(
                        position / 1000,
                        position / 10 % 100,
                        position % 10,
                        position.into(),
                    )
                })
                .collect(),
        };
        put(&mut *store, &head, &changes);
    }

    let mut after = 0;
    while let page = must(store.events(head.key, after, PAGE))
        && !page.is_empty()
    {
        for record in page {
            assert_eq!(record, event(after + 1));
            after += 1;
        }
    }
    assert_eq!(after, u64::from(ROWS));

    for (open, count) in [(false, ROWS), (true, ROWS.div_ceil(3))] {
        let (mut after, mut met) = (String::new(), 0);
        while let page = must(store.episodes_after(head.key, &after, open, PAGE))
            && !page.is_empty()
        {
            for episode in page {
                assert!(episode.id > after && (!open || episode.end.is_none()));
                after = episode.id;
                met += 1;
            }
        }
        assert_eq!(met, count);
    }
    let ids: Vec<String> = (0..ROWS).step_by(7).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(must(store.episodes(head.key, &ids)).len(), ids.len());
    for position in (0..ROWS).step_by(1009) {
        let found = must(store.decision(head.key, &id(position), None));
        assert_eq!(found, Some(decision(&id(position), 2)));
    }

    let (mut after, mut met) = (None, 0);
    while let page = must(
        store.decisions_after(
            head.key,
            after
                .as_ref()
                .map(|(id, step): &(String, u32)| (id.as_str(), *step)),
            PAGE,
        ),
    ) && !page.is_empty()
    {
        for found in page {
            assert_eq!(found, decision(&format!("{met:06}"), 2));
            after = Some((found.episode, found.step));
            met += 1;
        }
    }
    assert_eq!(met, ROWS);

    let mut from = 0;
    while let page = must(store.learned_episodes(head.key, from, PAGE))
        && !page.is_empty()
    {
        for found in page {
            assert_eq!(found, learned(from));
            from += 1;
        }
    }
    assert_eq!(from, u64::from(ROWS));

    let (mut after, mut met) = (None, 0);
    while let page = must(store.gain_sums(head.key, after, PAGE))
        && !page.is_empty()
    {
        for found in page {
            assert_eq!(found.sum, f64::from(met));
            after = Some((found.t, found.x, found.a));
            met += 1;
        }
    }
    assert_eq!(met, ROWS);
}
