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

/// One store: opens connections to it and creates studies with names that no other run uses.
struct Stores<'a> {
    open: &'a dyn Fn() -> Result<Box<dyn Store>, StoreError>,
    prefix: String,
}

impl Stores<'_> {
    fn open(&self) -> Box<dyn Store> {
        must((self.open)())
    }

    /// A study before its first event.
    fn new_head(&self, name: &str) -> Head {
        let spec = r#"{"horizon":3,"odd":"\u0000 '\" \\ é"}"#;
        Head::new(&format!("{}{name}", self.prefix), spec)
    }

    /// A connection and a new study, committed.
    #[track_caller]
    fn study(&self, name: &str) -> (Box<dyn Store>, Head) {
        let (mut store, mut head) = (self.open(), self.new_head(name));
        must(store.begin());
        let key = must(store.create(&head));
        must(store.commit());
        assert!(key.is_some(), "the name `{}` was free", head.name);
        head.key = key.unwrap_or(0);
        (store, head)
    }
}

#[test]
fn sqlite_satisfies_the_rules_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(&folder.path().join("studies.db")).unwrap();
    check_store(&|| store.writer());
}

#[test]
fn postgres_satisfies_the_rules_of_a_store_in_a_database_with_a_collation() {
    let server = Server::shared().unwrap();
    // The collation orders `a` < `B` < `é` < `z`; the columns must not use it.
    let icu = "CREATE DATABASE laws TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en'";
    let created = server.execute(icu);
    created
        .or_else(|_| server.execute("CREATE DATABASE laws"))
        .unwrap();
    let store = Postgres::open(&server.url_of("laws")).unwrap();
    check_store(&|| store.writer());
}

/// Checks the store that `open` connects to. The studies stay there.
fn check_store(open: &dyn Fn() -> Result<Box<dyn Store>, StoreError>) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    let prefix = format!("rule-{now}-{}-{call}-", std::process::id());
    let stores = Stores { open, prefix };
    for rule in [
        studies_are_kept,
        studies_are_listed,
        rows_are_kept,
        rows_are_replaced,
        the_decision_follows_the_episode,
        studies_are_apart,
        names_may_be_strange,
        numbers_are_exact,
        numbers_do_not_wrap,
        limits_are_kept,
        nothing_is_there_twice,
        what_is_taken_back_is_gone,
        what_is_not_committed_is_not_seen,
        a_reader_can_hold_still,
        no_update_is_lost,
        many_rows_come_in_pages,
    ] {
        rule(&stores);
    }
}

/// The value; panics if the store failed.
#[track_caller]
fn must<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the store failed where it must not: {error}"),
    }
}

/// Writes in one transaction.
#[track_caller]
fn put(store: &mut Box<dyn Store>, head: &Head, changes: &Changes) {
    must(store.begin());
    let locked = must(store.lock(&head.name));
    assert_eq!(locked.map(|found| found.key), Some(head.key));
    must(store.write(head, changes));
    must(store.commit());
}

/// All rows of a study.
#[track_caller]
fn rows(store: &mut Box<dyn Store>, study: i64) -> Changes {
    Changes {
        events: must(store.events(study, 0, 99)),
        episodes: must(store.episodes_after(study, "", false, 99)),
        decisions: must(store.decisions_after(study, None, 99)),
        learned_episodes: must(store.learned_episodes(study, 0, 99)),
        gain_sums: must(store.gain_sums(study, None, 99)),
    }
}

/// One row of each kind.
fn one_of_each() -> Changes {
    Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        learned_episodes: vec![learned(0)],
        gain_sums: vec![gains(1, 0, 0, 0.5)],
    }
}

/// Asserts that no read of a study finds one of these rows.
#[track_caller]
fn assert_empty(store: &mut Box<dyn Store>, study: i64) {
    assert_eq!(rows(store, study), Changes::default());
    assert_eq!(must(store.episodes(study, &["a"])), []);
    assert_eq!(must(store.episodes_after(study, "", true, 9)), []);
    assert_eq!(must(store.decision(study, "a", None)), None);
    assert_eq!(must(store.decision(study, "a", Some(1))), None);
    assert_eq!(must(store.decisions(study, "a")), []);
}

fn of_events(events: Vec<Record>) -> Changes {
    Changes {
        events,
        ..Changes::default()
    }
}

fn of_rows(episodes: Vec<EpisodeRecord>, decisions: Vec<StoredDecision>) -> Changes {
    Changes {
        episodes,
        decisions,
        ..Changes::default()
    }
}

fn event(seq: u64) -> Record {
    let text = format!(r#"{{"seq":{seq},  "odd":"\u0000 '' \\ é 𝄞"}}"#);
    Record::new(seq, text)
}

fn decision(episode: &str, step: u32) -> StoredDecision {
    StoredDecision {
        episode: episode.into(),
        step,
        text: format!(r#"{{"step":{step} , "gain":1.10,"gain":1e2,"odd":"\u0000"}}"#),
    }
}

fn learned(position: u64) -> LearnedEpisode {
    let bytes = [position.to_le_bytes(), f64::NAN.to_le_bytes()].concat();
    LearnedEpisode { position, bytes }
}

fn learned_bytes(position: u64, bytes: Vec<u8>) -> LearnedEpisode {
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

fn studies_are_kept(stores: &Stores<'_>) {
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
    (head.missing, head.relearned) = (5, 6);
    put(&mut store, &head, &Changes::default());
    must(store.begin());
    assert_eq!(must(store.lock(&name)).as_ref(), Some(&head));
    assert_eq!(must(store.head(&name)).as_ref(), Some(&head));
    must(store.commit());
    assert_eq!(must(stores.open().head(&name)).as_ref(), Some(&head));

    // A taken name is not an error: the transaction continues.
    must(store.begin());
    assert_eq!(must(store.create(&stores.new_head("kept"))), None);
    head.seq += 1;
    must(store.write(&head, &Changes::default()));
    must(store.commit());
    assert_eq!(must(store.head(&name)), Some(head));
}

fn studies_are_listed(stores: &Stores<'_>) {
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

fn rows_are_kept(stores: &Stores<'_>) {
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
        let open = must(store.episodes_after(head.key, "", true, 10));
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

fn rows_are_replaced(stores: &Stores<'_>) {
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
    let open = must(store.episodes_after(head.key, "", true, 10));
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

fn the_decision_follows_the_episode(stores: &Stores<'_>) {
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

fn studies_are_apart(stores: &Stores<'_>) {
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

fn names_may_be_strange(stores: &Stores<'_>) {
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

fn numbers_are_exact(stores: &Stores<'_>) {
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

fn numbers_do_not_wrap(stores: &Stores<'_>) {
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
    if store.create(&far).is_ok() {
        let found = must(store.head(&far.name));
        assert_eq!(found.map(|head| head.seq), Some(far.seq));
    }
    store.rollback();
    assert_eq!(must(store.head(&head.name)), Some(head));
}

fn limits_are_kept(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("limits");
    let ids = ["a", "b", "c", "d", "e"];
    let changes = Changes {
        events: (1..=5).map(event).collect(),
        episodes: ids.map(|id| episode(id, 1)).to_vec(),
        decisions: Vec::new(),
        learned_episodes: (0..5).map(learned).collect(),
        gain_sums: (0..5).map(|x| gains(1 + x / 2, x, 0, 0.5)).collect(),
    };
    put(&mut store, &head, &changes);
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
        let learned = must(store.learned_episodes(head.key, start as u64, 2));
        assert_eq!(learned, changes.learned_episodes[start..5.min(start + 2)]);
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

fn nothing_is_there_twice(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("twice");
    let events = |seqs: &[u64]| of_events(seqs.iter().copied().map(event).collect());
    let one = |&step: &u32| decision("an-id", step);
    let decisions = |steps: &[u32]| of_rows(vec![], steps.iter().map(one).collect());
    put(&mut store, &head, &events(&[7001]));
    put(&mut store, &head, &decisions(&[7002]));
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
        let Err(StoreError::Damaged(text)) = result else {
            panic!("expected that it is damaged at {named:?}, got {result:?}")
        };
        assert!(named.iter().all(|name| text.contains(name)), "{text}");
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

fn what_is_taken_back_is_gone(stores: &Stores<'_>) {
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
    };
    let mut later = head.clone();
    (later.seq, later.closed) = (2, true);
    let fresh = stores.new_head("back-fresh");
    must(store.begin());
    let key = must(store.create(&fresh));
    assert!(key.is_some());
    must(store.write(&later, &new));
    store.rollback();
    store.rollback();
    for store in [&mut store, &mut stores.open()] {
        assert_eq!(must(store.head(&fresh.name)), None);
        assert_eq!(must(store.head(&head.name)).as_ref(), Some(&head));
        assert_eq!(rows(store, head.key), old);
        let episodes = must(store.episodes_after(head.key, "", true, 10));
        assert_eq!(episodes, old.episodes);
        assert_eq!(must(store.decisions(head.key, "a")), old.decisions);
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
    assert!(must(stores.open().head(&head.name)).is_some_and(|head| head.closed));
}

fn what_is_not_committed_is_not_seen(stores: &Stores<'_>) {
    let (mut store, head) = stores.study("seen");
    let mut elsewhere = stores.open();
    assert_eq!(must(elsewhere.head(&head.name)).as_ref(), Some(&head));
    let changes = one_of_each();
    let mut later = head.clone();
    later.seq = 1;
    let fresh = stores.new_head("seen-fresh");
    must(store.begin());
    must(store.create(&fresh));
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

fn a_reader_can_hold_still(stores: &Stores<'_>) {
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
fn no_update_is_lost(stores: &Stores<'_>) {
    const WRITERS: usize = 4;
    const ROUNDS: usize = 25;
    let (mut store, head) = stores.study("lost");
    let name = head.name.as_str();
    let writers: Vec<_> = (0..WRITERS).map(|_| stores.open()).collect();
    std::thread::scope(|scope| {
        for mut store in writers {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    while !append(&mut *store, name) {
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
        store.write(&head, &of_events(vec![event(head.seq)]))?;
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

fn many_rows_come_in_pages(stores: &Stores<'_>) {
    const ROWS: u32 = 30_000;
    const GROUP: u32 = 5_000;
    const PAGE: usize = 997;
    let (mut store, head) = stores.study("many");
    let key = head.key;
    let id = |i: u32| format!("{:06}", u64::from(i) * 7919 % u64::from(ROWS));
    let one = |i: u32| match episode(&id(i), 2) {
        open if i.is_multiple_of(3) => open,
        episode => ended(episode),
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
        };
        put(&mut store, &head, &changes);
    }

    let page = |after: &u64| store.events(key, *after, PAGE);
    let events = paged(0, page, |i, found| {
        assert_eq!(found, event(u64::from(i) + 1));
        found.seq
    });
    assert_eq!(events, ROWS);

    for (open, count) in [(false, ROWS), (true, ROWS.div_ceil(3))] {
        let mut last = String::new();
        let page = |after: &String| store.episodes_after(key, after, open, PAGE);
        let episodes = paged(String::new(), page, |_, found| {
            assert!(found.id > last && (!open || found.end.is_none()));
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
