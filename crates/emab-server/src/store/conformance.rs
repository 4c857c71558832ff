//! Laws that any [`Store`] must keep, to be called from the tests of each.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Answer, Cell, Changes, Head, LearnedEpisode, Store, StoreError};
use crate::domain::episode::{End, EpisodeRecord, Outcome, Step};
use crate::domain::event::{Record, sha256};

/// Opens connections to one store, again and again.
type Open<'a> = &'a mut dyn FnMut() -> Box<dyn Store>;

/// Checks the store that `open` gives connections to, each of which must be able to write.
///
/// The store need not be empty: studies get names that were never used. They stay there. It takes some seconds, most
/// of them for 100,000 rows of each kind.
///
/// # Panics
///
/// At the first law that is broken.
pub fn check_store(open: Open<'_>) {
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

/// What no other call, in this process or another, begins its names with.
fn prefix() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.unwrap_or_default().as_nanos();
    format!("law-{now}-{}-{call}-", std::process::id())
}

/// The value, since without it no law can be checked.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "a suite of laws says by a panic that one is broken"
)]
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

/// Writes in a transaction of its own.
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

fn answer(episode: &str, step: u32) -> Answer {
    Answer {
        episode: episode.into(),
        step,
        text: format!(r#"{{"step":{step} , "gain":1.10,"gain":1e2,"odd":"\u0000"}}"#),
    }
}

fn lesson(place: u64) -> LearnedEpisode {
    let mut bytes = place.to_le_bytes().to_vec();
    bytes.extend(f64::NAN.to_le_bytes());
    LearnedEpisode { place, bytes }
}

fn cell(t: u32, x: u32, a: u32, sum: f64) -> Cell {
    Cell {
        t,
        x,
        a,
        count: 1,
        sum,
    }
}

/// An open episode at a step.
fn case(id: &str, step: usize) -> EpisodeRecord {
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
        place: None,
        opened: 1,
        touched: 2,
        given: Vec::new(),
        imported: false,
    }
}

/// The same, stopped, learned from, with numbers that are easily spoilt.
fn ended(mut case: EpisodeRecord) -> EpisodeRecord {
    case.end = Some(End {
        abandoned: false,
        overridden: true,
        reason: Some("enough".into()),
    });
    case.outcome = Outcome {
        costs: vec![Some(0.1 + 0.2), None, Some(-0.0)],
        rewards: vec![Some(5e-324), Some(1.797_693_134_862_315_7e308), None],
        last: true,
    };
    case.place = Some(7);
    case
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

    // A taken name is an answer and no failure: the transaction goes on.
    must(store.begin());
    assert_eq!(must(store.create(&new_head(name.clone()))), None);
    head.seq += 1;
    must(store.write(&head, &Changes::default()));
    must(store.commit());
    assert_eq!(must(store.head(&name)), Some(head));
}

fn studies_are_listed(open: Open<'_>, prefix: &str) {
    let mut store = open();
    // By bytes: no language's order, no case folding, no normal form.
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
        cases: vec![
            case("b", 1),
            ended(case("a", 2)),
            case("c", 3),
            ended(case("d", 3)),
        ],
        answers: vec![answer("a", 2), answer("a", 10), answer("a", 1)],
        lessons: vec![
            lesson(1),
            lesson(0),
            LearnedEpisode {
                place: 2,
                bytes: (0..=255).collect(),
            },
            LearnedEpisode {
                place: 3,
                bytes: Vec::new(),
            },
        ],
        cells: vec![
            cell(2, 1, 0, 0.5),
            cell(1, 300, 2, 0.25),
            cell(1, 20, 9, 1.0),
        ],
    };
    head.seq = 3;
    let expect = |store: &mut dyn Store| {
        assert_eq!(must(store.events(head.key, 0, 10)), changes.events);
        let mut found = must(store.cases(head.key, &["a", "none", "d", "b", "a"]));
        found.sort_by(|one, other| one.id.cmp(&other.id));
        assert_eq!(
            found,
            [1, 0, 3].map(|place| changes.cases[place].clone()),
            "each that there is, once"
        );
        assert_eq!(must(store.cases(head.key, &[])), Vec::new());
        let found = must(store.cases_after(head.key, "", false, 10));
        assert_eq!(
            found,
            [1, 0, 2, 3].map(|place| changes.cases[place].clone())
        );
        let found = must(store.cases_after(head.key, "", true, 10));
        assert_eq!(found, [0, 2].map(|place| changes.cases[place].clone()));
        let found = must(store.answers(head.key, "a"));
        assert_eq!(found, [2, 0, 1].map(|place| changes.answers[place].clone()));
        assert_eq!(must(store.answers(head.key, "b")), Vec::new());
        let all = must(store.answers_after(head.key, None, 10));
        assert_eq!(all, found);
        let rest = must(store.answers_after(head.key, Some(("a", 2)), 10));
        assert_eq!(rest, found[2..]);
        let found = must(store.lessons(head.key, 0, 10));
        assert_eq!(
            found,
            [1, 0, 2, 3].map(|place| changes.lessons[place].clone())
        );
        let found = must(store.cells(head.key, None, 10));
        assert_eq!(found, [2, 1, 0].map(|place| changes.cells[place]));
    };
    // Inside of the transaction, after it, and from elsewhere.
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
        answers: vec![Answer {
            episode: "long".into(),
            step: 1,
            text: long.clone(),
        }],
        ..Changes::default()
    };
    let mut store = open();
    put(&mut *store, &head, &changes);
    assert_eq!(must(store.events(head.key, 3, 1)), changes.events);
    assert_eq!(must(store.answers(head.key, "long")), changes.answers);
}

fn rows_are_replaced(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "replaced");
    let old = Changes {
        cases: vec![case("a", 1), case("b", 1), case("c", 1)],
        lessons: vec![lesson(0), lesson(1)],
        cells: vec![cell(1, 0, 0, 0.5), cell(1, 0, 1, 0.5)],
        ..Changes::default()
    };
    put(&mut *store, &head, &old);
    let mut counted = cell(1, 0, 1, -7.5);
    counted.count = 12;
    let new = Changes {
        cases: vec![ended(case("b", 3)), case("d", 1)],
        lessons: vec![LearnedEpisode {
            place: 0,
            bytes: b"other".to_vec(),
        }],
        cells: vec![counted, cell(1, 0, 2, 0.5)],
        ..Changes::default()
    };
    put(&mut *store, &head, &new);
    let found = must(store.cases_after(head.key, "", false, 10));
    let (a, c) = (old.cases[0].clone(), old.cases[2].clone());
    let (b, d) = (new.cases[0].clone(), new.cases[1].clone());
    assert_eq!(found, [a.clone(), b, c.clone(), d.clone()]);
    let found = must(store.cases_after(head.key, "", true, 10));
    assert_eq!(found, [a, c, d]);
    let found = must(store.lessons(head.key, 0, 10));
    assert_eq!(found, [new.lessons[0].clone(), old.lessons[1].clone()]);
    let found = must(store.cells(head.key, None, 10));
    assert_eq!(found, [old.cells[0], counted, new.cells[1]]);

    // Twice in one transaction: the last one stays.
    must(store.begin());
    for step in 1..4 {
        let changes = Changes {
            cases: vec![case("e", step)],
            ..Changes::default()
        };
        must(store.write(&head, &changes));
    }
    must(store.commit());
    assert_eq!(must(store.cases(head.key, &["e"])), [case("e", 3)]);
}

fn the_decision_follows_the_episode(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "decision");
    let none = must(store.answer(head.key, "a", None));
    assert_eq!(none, None, "there is no such episode");
    for step in 1..=3_u32 {
        let changes = Changes {
            cases: vec![case("a", step as usize)],
            answers: vec![answer("a", step)],
            ..Changes::default()
        };
        put(&mut *store, &head, &changes);
        let now = must(store.answer(head.key, "a", None));
        assert_eq!(now, Some(answer("a", step)));
        let first = must(store.answer(head.key, "a", Some(1)));
        assert_eq!(first, Some(answer("a", 1)));
        assert_eq!(must(store.answer(head.key, "a", Some(step + 1))), None);
    }
    // An end is no step; and an episode that came from the past was never asked about.
    let mut past = ended(case("past", 2));
    past.imported = true;
    let changes = Changes {
        cases: vec![ended(case("a", 3)), past, case("further", 2)],
        answers: vec![answer("further", 1)],
        ..Changes::default()
    };
    put(&mut *store, &head, &changes);
    let now = must(store.answer(head.key, "a", None));
    assert_eq!(now, Some(answer("a", 3)));
    assert_eq!(must(store.answer(head.key, "past", None)), None);
    assert_eq!(must(store.answer(head.key, "further", None)), None);
    assert_eq!(must(store.answer(head.key, "a", Some(u32::MAX))), None);
}

fn studies_are_apart(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let one = create(&mut *store, prefix, "apart-1");
    let two = create(&mut *store, prefix, "apart-2");
    assert_ne!(one.key, two.key);
    let changes = Changes {
        events: vec![event(1)],
        cases: vec![case("a", 1)],
        answers: vec![answer("a", 1)],
        lessons: vec![lesson(0)],
        cells: vec![cell(1, 0, 0, 0.5)],
    };
    put(&mut *store, &one, &changes);
    assert_eq!(must(store.events(two.key, 0, 10)), Vec::new());
    assert_eq!(must(store.cases(two.key, &["a"])), Vec::new());
    assert_eq!(must(store.cases_after(two.key, "", true, 9)), Vec::new());
    assert_eq!(must(store.answer(two.key, "a", None)), None);
    assert_eq!(must(store.answer(two.key, "a", Some(1))), None);
    assert_eq!(must(store.answers(two.key, "a")), Vec::new());
    assert_eq!(must(store.lessons(two.key, 0, 10)), Vec::new());
    assert_eq!(must(store.cells(two.key, None, 10)), Vec::new());
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
        cases: names.iter().map(|name| case(name, 2)).collect(),
        answers: names.iter().map(|name| answer(name, 2)).collect(),
        ..Changes::default()
    };
    put(&mut *store, &head, &changes);
    let found = must(store.cases_after(head.key, "", false, 100));
    assert_eq!(found, changes.cases);
    for name in &names {
        let found = must(store.cases(head.key, &[name]));
        assert_eq!(found, [case(name, 2)]);
        let found = must(store.answer(head.key, name, None));
        assert_eq!(found, Some(answer(name, 2)));
        assert_eq!(must(store.answers(head.key, name)), [answer(name, 2)]);
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
    let cells: Vec<Cell> = (0_u32..)
        .zip(sums)
        .map(|(a, sum)| cell(1, 0, a, sum))
        .collect();
    let changes = Changes {
        cells,
        ..Changes::default()
    };
    // Once as new rows, once over them.
    for _ in 0..2 {
        put(&mut *store, &head, &changes);
        let found = must(open().cells(head.key, None, 100));
        let found: Vec<u64> = found.iter().map(|cell| cell.sum.to_bits()).collect();
        assert_eq!(found, sums.map(f64::to_bits));
    }
}

fn numbers_do_not_wrap(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "wrap");
    let most = i64::MAX.unsigned_abs();
    let mut large = cell(u32::MAX, u32::MAX, u32::MAX, 0.0);
    large.count = most;
    let changes = Changes {
        events: vec![event(most)],
        answers: vec![answer("a", u32::MAX)],
        lessons: vec![lesson(most)],
        cells: vec![large],
        ..Changes::default()
    };
    put(&mut *store, &head, &changes);
    assert_eq!(must(store.events(head.key, most - 1, 9)), changes.events);
    let found = must(store.answer(head.key, "a", Some(u32::MAX)));
    assert_eq!(found.as_ref(), changes.answers.first());
    assert_eq!(must(store.lessons(head.key, most, 9)), changes.lessons);
    assert_eq!(must(store.cells(head.key, None, 9)), changes.cells);
    let last = Some((u32::MAX, u32::MAX, u32::MAX));
    assert_eq!(must(store.cells(head.key, last, 9)), Vec::new());
    // After what cannot be there is nothing.
    for after in [most, most + 1, u64::MAX] {
        assert_eq!(must(store.events(head.key, after, 9)), Vec::new());
    }
    for from in [most + 1, u64::MAX] {
        assert_eq!(must(store.lessons(head.key, from, 9)), Vec::new());
    }

    // Beyond half of the range a store may refuse, but not write something else.
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
                lessons: vec![lesson(u64::MAX)],
                ..Changes::default()
            },
        ),
        (
            head.clone(),
            Changes {
                cells: vec![counted],
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
            let lessons = must(store.lessons(head.key, most + 1, 9));
            assert_eq!(lessons, more.lessons);
            if !more.cells.is_empty() {
                assert_eq!(must(store.cells(head.key, None, 9)), more.cells);
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
        cases: ids.map(|id| case(id, 1)).to_vec(),
        answers: Vec::new(),
        lessons: (0..5).map(lesson).collect(),
        cells: (0..5).map(|x| cell(1 + x / 2, x, 0, 0.5)).collect(),
    };
    put(&mut *store, &head, &changes);
    for (limit, count) in [(0, 0), (1, 1), (3, 3), (5, 5), (6, 5), (usize::MAX, 5)] {
        let events = must(store.events(head.key, 0, limit));
        assert_eq!(events, changes.events[..count]);
        for open in [false, true] {
            let cases = must(store.cases_after(head.key, "", open, limit));
            assert_eq!(cases, changes.cases[..count]);
        }
        let lessons = must(store.lessons(head.key, 0, limit));
        assert_eq!(lessons, changes.lessons[..count]);
        let cells = must(store.cells(head.key, None, limit));
        assert_eq!(cells, changes.cells[..count]);
    }
    // After is after, from is from.
    for (start, id) in ids.iter().enumerate() {
        let next = start + 1;
        let events = must(store.events(head.key, start as u64, 2));
        assert_eq!(events, changes.events[start..5.min(start + 2)]);
        let cases = must(store.cases_after(head.key, id, true, 2));
        assert_eq!(cases, changes.cases[next..5.min(next + 2)]);
        let lessons = must(store.lessons(head.key, start as u64, 2));
        assert_eq!(lessons, changes.lessons[start..5.min(start + 2)]);
        let Cell { t, x, a, .. } = changes.cells[start];
        let cells = must(store.cells(head.key, Some((t, x, a)), 2));
        assert_eq!(cells, changes.cells[next..5.min(next + 2)]);
    }
    // And what one is after need not be there.
    let cases = must(store.cases_after(head.key, "bb", false, 1));
    assert_eq!(cases, changes.cases[2..3]);
    let cells = must(store.cells(head.key, Some((1, u32::MAX, 9)), 1));
    assert_eq!(cells, changes.cells[2..3]);
}

fn nothing_is_there_twice(open: Open<'_>, prefix: &str) {
    let mut store = open();
    let head = create(&mut *store, prefix, "twice");
    let events = |seqs: &[u64]| Changes {
        events: seqs.iter().copied().map(event).collect(),
        ..Changes::default()
    };
    let answers = |steps: &[u32]| Changes {
        answers: steps.iter().map(|&step| answer("an-id", step)).collect(),
        ..Changes::default()
    };
    put(&mut *store, &head, &events(&[7001]));
    put(&mut *store, &head, &answers(&[7002]));
    let planted: [(Changes, &[&str]); 4] = [
        (events(&[7003, 7001]), &["7001"]),
        (events(&[7004, 7004]), &["7004"]),
        (answers(&[7003, 7002]), &["an-id", "7002"]),
        (answers(&[7004, 7004]), &["an-id", "7004"]),
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
        let found = must(store.answers(head.key, "an-id"));
        assert_eq!(found, [answer("an-id", 7002)]);
    }
    // A study that is not there has nothing to write to.
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
        cases: vec![case("a", 1)],
        answers: vec![answer("a", 1)],
        lessons: vec![lesson(0)],
        cells: vec![cell(1, 0, 0, 0.5)],
    };
    put(&mut *store, &head, &old);
    let new = Changes {
        events: vec![event(2)],
        cases: vec![ended(case("a", 2)), case("b", 1)],
        answers: vec![answer("a", 2)],
        lessons: vec![
            LearnedEpisode {
                place: 0,
                bytes: Vec::new(),
            },
            lesson(1),
        ],
        cells: vec![cell(1, 0, 0, 0.75), cell(1, 0, 1, 0.5)],
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
        let cases = must(store.cases_after(head.key, "", false, 10));
        assert_eq!(cases, old.cases);
        let cases = must(store.cases_after(head.key, "", true, 10));
        assert_eq!(cases, old.cases);
        assert_eq!(must(store.answers(head.key, "a")), old.answers);
        assert_eq!(must(store.lessons(head.key, 0, 10)), old.lessons);
        assert_eq!(must(store.cells(head.key, None, 10)), old.cells);
    }
    // The same again now succeeds.
    must(store.begin());
    assert!(must(store.create(&fresh)).is_some());
    must(store.write(&later, &new));
    must(store.commit());
    assert_eq!(must(store.head(&head.name)), Some(later));
    // What is left without a word is taken back, too.
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
        cases: vec![case("a", 1)],
        answers: vec![answer("a", 1)],
        lessons: vec![lesson(0)],
        cells: vec![cell(1, 0, 0, 0.5)],
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
    assert_eq!(must(elsewhere.cases(head.key, &["a"])), Vec::new());
    assert_eq!(must(elsewhere.answer(head.key, "a", None)), None);
    assert_eq!(must(elsewhere.answers(head.key, "a")), Vec::new());
    assert_eq!(must(elsewhere.lessons(head.key, 0, 9)), Vec::new());
    assert_eq!(must(elsewhere.cells(head.key, None, 9)), Vec::new());
    must(store.commit());
    // And at once, when it is.
    assert!(must(elsewhere.head(&fresh.name)).is_some());
    assert_eq!(must(elsewhere.head(&head.name)), Some(later));
    assert_eq!(must(elsewhere.events(head.key, 0, 9)), changes.events);
    let found = must(elsewhere.answer(head.key, "a", None));
    assert_eq!(found.as_ref(), changes.answers.first());
    assert_eq!(must(elsewhere.lessons(head.key, 0, 9)), changes.lessons);
    assert_eq!(must(elsewhere.cells(head.key, None, 9)), changes.cells);
}

fn a_reader_can_hold_still(open: Open<'_>, prefix: &str) {
    let (mut store, mut still) = (open(), open());
    let head = create(&mut *store, prefix, "still");
    let mut later = head.clone();
    later.seq = 1;
    let changes = Changes {
        events: vec![event(1)],
        cases: vec![case("a", 1)],
        answers: vec![answer("a", 1)],
        ..Changes::default()
    };
    must(still.hold());
    put(&mut *store, &later, &changes);
    assert_eq!(must(still.head(&head.name)), Some(head.clone()));
    assert_eq!(must(still.events(head.key, 0, 9)), Vec::new());
    assert_eq!(must(still.cases_after(head.key, "", false, 9)), Vec::new());
    assert_eq!(must(still.answers_after(head.key, None, 9)), Vec::new());
    still.rollback();
    assert_eq!(must(still.head(&head.name)), Some(later));
    assert_eq!(must(still.events(head.key, 0, 9)), changes.events);
}

/// Four connections add events to one study, each at the place that it finds under the lock.
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

/// Whether an event was added; if not, it has to be tried again.
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
        Err(StoreError::Again(_)) => {
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
    let id = |place: u32| format!("{:06}", u64::from(place) * 7919 % u64::from(ROWS));
    let one = |place: u32| {
        let case = case(&id(place), 2);
        if place.is_multiple_of(3) {
            case
        } else {
            ended(case)
        }
    };
    for first in (0..ROWS).step_by(GROUP as usize) {
        let places = first..first + GROUP;
        let changes = Changes {
            events: places
                .clone()
                .map(|place| event(1 + u64::from(place)))
                .collect(),
            cases: places.clone().map(one).collect(),
            answers: places.clone().map(|place| answer(&id(place), 2)).collect(),
            lessons: places.clone().map(|place| lesson(place.into())).collect(),
            cells: places
                .map(|place| cell(place / 1000, place / 10 % 100, place % 10, place.into()))
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
        while let page = must(store.cases_after(head.key, &after, open, PAGE))
            && !page.is_empty()
        {
            for case in page {
                assert!(case.id > after && (!open || case.end.is_none()));
                after = case.id;
                met += 1;
            }
        }
        assert_eq!(met, count);
    }
    let ids: Vec<String> = (0..ROWS).step_by(7).map(id).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    assert_eq!(must(store.cases(head.key, &ids)).len(), ids.len());
    for place in (0..ROWS).step_by(1009) {
        let found = must(store.answer(head.key, &id(place), None));
        assert_eq!(found, Some(answer(&id(place), 2)));
    }

    let (mut after, mut met) = (None, 0);
    while let page = must(
        store.answers_after(
            head.key,
            after
                .as_ref()
                .map(|(id, step): &(String, u32)| (id.as_str(), *step)),
            PAGE,
        ),
    ) && !page.is_empty()
    {
        for found in page {
            assert_eq!(found, answer(&format!("{met:06}"), 2));
            after = Some((found.episode, found.step));
            met += 1;
        }
    }
    assert_eq!(met, ROWS);

    let mut from = 0;
    while let page = must(store.lessons(head.key, from, PAGE))
        && !page.is_empty()
    {
        for found in page {
            assert_eq!(found, lesson(from));
            from += 1;
        }
    }
    assert_eq!(from, u64::from(ROWS));

    let (mut after, mut met) = (None, 0);
    while let page = must(store.cells(head.key, after, PAGE))
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
