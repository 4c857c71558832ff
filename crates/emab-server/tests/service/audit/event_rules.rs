//! Events that the service never records, in a valid chain.

use emab_server::app::replay::Replay;
use emab_server::domain::command::Command;
use emab_server::domain::event::{Closed, Event, EventKind, Record};

use super::recorded::{Writer, study};
use super::sqlite_rows::RECORDED;

/// The replay's error for a changed event after all events before it.
fn says(seq: u64, change: impl FnOnce(&mut Event)) -> String {
    let mut replay = Replay::default();
    let (before, from) = RECORDED.events.split_at(seq as usize - 1);
    for record in before {
        assert_eq!(replay.feed(record), Ok(None));
    }
    let mut event = match from.first() {
        Some(record) => record.read().unwrap(),
        None => Event {
            seq,
            ..before.last().unwrap().read().unwrap()
        },
    };
    event.previous = before
        .last()
        .map_or(event.previous, |last| last.hash.clone());
    change(&mut event);
    replay.feed(&event.record().unwrap()).unwrap_err()
}

/// The number of the first event that matches.
fn first(is: impl Fn(&EventKind) -> bool) -> u64 {
    let found = RECORDED
        .events
        .iter()
        .find(|record| is(&record.read().unwrap().kind));
    found.unwrap().seq
}

fn recorded(event: &mut Event) -> &mut emab_server::domain::event::StepRecorded {
    match &mut event.kind {
        EventKind::StepRecorded(recorded) => recorded,
        other => panic!("{other:?}"),
    }
}

#[test]
fn rejects_wrong_override_flags_and_reasons() {
    let followed =
        first(|what| matches!(what, EventKind::StepRecorded(recorded) if !recorded.overridden));
    let overridden =
        first(|what| matches!(what, EventKind::StepRecorded(recorded) if recorded.overridden));
    let stopped = first(|what| matches!(what, EventKind::Stopped(_)));
    assert!(says(followed, |event| recorded(event).overridden = true).contains("not overridden"));
    assert!(
        says(overridden, |event| recorded(event).overridden = false).contains("was overridden")
    );
    assert!(says(overridden, |event| recorded(event).reason = None).contains("needs a `reason`"));
    assert!(
        says(overridden, |event| recorded(event).reason =
            Some("x".repeat(2001)))
        .contains("2001")
    );
    let words = says(stopped, |event| {
        if let EventKind::Stopped(stopped) = &mut event.kind {
            stopped.overridden = !stopped.overridden;
        }
    });
    assert!(words.contains("overridden"), "{words}");
}

#[test]
fn rejects_invalid_outcome_events() {
    let seq = first(|what| matches!(what, EventKind::OutcomeGiven(_)));
    let reward = |value: f64| {
        says(seq, |event| {
            if let EventKind::OutcomeGiven(given) = &mut event.kind {
                let last = given.rewards.len() - 1;
                given.rewards[last] = Some(value);
            }
        })
    };
    assert!(reward(1e101).contains("too large"));
    assert!(reward(-0.0).contains("-0"));
    let again = says(seq + 1, |event| {
        event.kind = RECORDED.events[seq as usize - 1].read().unwrap().kind;
        if let EventKind::OutcomeGiven(given) = &mut event.kind {
            let last = given.rewards.len() - 1;
            given.rewards[last] = given.rewards[last].map(|value| value + 1.0);
        }
    });
    assert!(again.contains("was given before"), "{again}");
    let opened = first(|what| matches!(what, EventKind::Opened(_)));
    let early = says(opened + 1, |event| {
        let episode = RECORDED.events[opened as usize - 1].read().unwrap().kind;
        event.kind = RECORDED.events[seq as usize - 1].read().unwrap().kind;
        if let EventKind::OutcomeGiven(given) = &mut event.kind {
            given.episode = episode.episode().unwrap().into();
            (given.costs, given.rewards, given.last) = (vec![], vec![], true);
        }
    });
    assert!(early.contains("has not ended"), "{early}");
    let amended = first(|what| matches!(what, EventKind::Amended(_)));
    let silent = says(amended, |event| {
        if let EventKind::Amended(given) = &mut event.kind {
            given.reason = " ".into();
        }
    });
    assert!(silent.contains("a `reason` has"), "{silent}");
}

#[test]
fn rejects_invalid_episode_events() {
    let end = RECORDED.events.len() as u64 + 1;
    let opened = first(|what| matches!(what, EventKind::Opened(_)));
    let imported = first(|what| matches!(what, EventKind::Imported(_)));
    let late = says(end, |event| {
        event.kind = RECORDED.events[opened as usize - 1].read().unwrap().kind;
        if let EventKind::Opened(opened) = &mut event.kind {
            opened.episode = "late".into();
        }
    });
    assert!(late.contains("is closed"), "{late}");
    let twice = says(end, |event| event.kind = EventKind::Closed(Closed {}));
    assert!(twice.contains("closed before"), "{twice}");
    let odd = says(opened, |event| {
        if let EventKind::Opened(opened) = &mut event.kind {
            opened.episode = "a/b".into();
        }
    });
    assert!(odd.contains("1 to 128 letters"), "{odd}");
    let uneven = says(imported, |event| {
        if let EventKind::Imported(past) = &mut event.kind {
            past.actions.push("test".into());
        }
    });
    assert!(uneven.contains("each action has one feedback"), "{uneven}");
}

#[test]
fn rejects_unknown_fields_of_an_event() {
    let record = &RECORDED.events[5];
    let more = record
        .text
        .replacen("\"data\":{", "\"data\":{\"more\":1,", 1);
    let error = Record::new(record.seq, more).read().unwrap_err();
    assert!(error.to_string().contains("not written as"), "{error}");
}

#[test]
fn a_failed_restore_leaves_no_study() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::open(&folder.path().join("a.db"));
    let mut records = RECORDED.events.clone();
    records[0].text = records[0]
        .text
        .replacen("\"by\":\"t1\"", "\"by\":\"t2\"", 1);
    let refusal = writer.ask("clinic", Command::Restore(records)).unwrap_err();
    assert!(
        format!("{refusal:?}").contains("event 1: its hash"),
        "{refusal:?}"
    );
    let mut store = writer.reader();
    assert_eq!(store.head("clinic").unwrap(), None);
    // The name is free.
    writer
        .ask("clinic", Command::Create(study("clinic")))
        .unwrap();
    let zero = Record::new(
        0,
        RECORDED.events[1]
            .text
            .replacen("\"seq\":2", "\"seq\":0", 1),
    );
    let refusal = writer
        .ask("clinic", Command::Restore(vec![zero]))
        .unwrap_err();
    let refusal = emab_server::http::error::ApiError::from(refusal);
    assert_eq!(refusal.status, 409, "{refusal:?}");
}
