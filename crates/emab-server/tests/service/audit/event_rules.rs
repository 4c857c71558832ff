//! Events that the service never records, in a valid chain.

use emab_server::app::replay::Replay;
use emab_server::domain::command::Command;
use emab_server::domain::event::{Closed, Event, EventKind, Record};
use emab_server::http::error::ApiError;

use super::recorded::{Writer, restore_command, study};
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
    let mut events = RECORDED.events.iter();
    let found = events.find(|record| is(&record.read().unwrap().kind));
    found.unwrap().seq
}

/// The kind of a recorded event.
fn kind(seq: u64) -> EventKind {
    RECORDED.events[seq as usize - 1].read().unwrap().kind
}

/// Asserts that the replay rejects an event whose data are changed, with these words.
macro_rules! rejected {
    ($words:expr, $seq:expr, $kind:ident, $data:ident => $change:expr) => {{
        let words = says($seq, |event| match &mut event.kind {
            EventKind::$kind($data) => $change,
            other => panic!("{other:?}"),
        });
        assert!(words.contains($words), "{words}");
    }};
}

#[test]
fn rejects_wrong_override_flags_and_reasons() {
    let step = |overridden| {
        first(
            move |kind| matches!(kind, EventKind::StepRecorded(step) if step.overridden == overridden),
        )
    };
    let (followed, overridden) = (step(false), step(true));
    let stopped = first(|kind| matches!(kind, EventKind::Stopped(_)));
    rejected!("not overridden", followed, StepRecorded, step => step.overridden = true);
    rejected!("was overridden", overridden, StepRecorded, step => step.overridden = false);
    rejected!("needs a `reason`", overridden, StepRecorded, step => step.reason = None);
    rejected!("2001", overridden, StepRecorded, step => step.reason = Some("x".repeat(2001)));
    rejected!("overridden", stopped, Stopped, stop => stop.overridden = !stop.overridden);
}

#[test]
fn rejects_invalid_outcome_events() {
    let seq = first(|kind| matches!(kind, EventKind::OutcomeGiven(_)));
    rejected!("too large", seq, OutcomeGiven, given => *given.rewards.last_mut().unwrap() = Some(1e101));
    rejected!("-0", seq, OutcomeGiven, given => *given.rewards.last_mut().unwrap() = Some(-0.0));
    let again = says(seq + 1, |event| {
        event.kind = kind(seq);
        if let EventKind::OutcomeGiven(given) = &mut event.kind {
            let last = given.rewards.len() - 1;
            given.rewards[last] = given.rewards[last].map(|value| value + 1.0);
        }
    });
    assert!(again.contains("was given before"), "{again}");
    let opened = first(|kind| matches!(kind, EventKind::Opened(_)));
    let early = says(opened + 1, |event| {
        event.kind = kind(seq);
        if let EventKind::OutcomeGiven(given) = &mut event.kind {
            given.episode = kind(opened).episode().unwrap().into();
            (given.costs, given.rewards, given.last) = (vec![], vec![], true);
        }
    });
    assert!(early.contains("has not ended"), "{early}");
    let amended = first(|kind| matches!(kind, EventKind::Amended(_)));
    rejected!("a `reason` has", amended, Amended, given => given.reason = " ".into());
}

#[test]
fn rejects_invalid_episode_events() {
    let end = RECORDED.events.len() as u64 + 1;
    let opened = first(|kind| matches!(kind, EventKind::Opened(_)));
    let imported = first(|kind| matches!(kind, EventKind::Imported(_)));
    let late = says(end, |event| {
        event.kind = kind(opened);
        if let EventKind::Opened(opened) = &mut event.kind {
            opened.episode = "late".into();
        }
    });
    assert!(late.contains("is closed"), "{late}");
    let twice = says(end, |event| {
        event.kind = EventKind::Closed(Closed {
            reason: None,
            request: None,
        })
    });
    assert!(twice.contains("closed before"), "{twice}");
    rejected!("1 to 128 letters", opened, Opened, opened => opened.episode = "a/b".into());
    rejected!("each action has one feedback", imported, Imported, past => past.actions.push("test".into()));
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
    records[0].text = records[0].text.replacen("\"00000001\"", "\"00000002\"", 1);
    let refusal = writer.ask("clinic", restore_command(records)).unwrap_err();
    let refusal = format!("{refusal:?}");
    assert!(refusal.contains("event 1: its hash"), "{refusal}");
    let mut store = writer.reader();
    assert_eq!(store.head("clinic").unwrap(), None);
    // The name is free.
    let create = Command::Create(study("clinic"));
    writer.ask("clinic", create).unwrap();
    let text = &RECORDED.events[1].text;
    let zero = Record::new(0, text.replacen("\"seq\":2", "\"seq\":0", 1));
    let refusal = writer.ask("clinic", restore_command(vec![zero]));
    let refusal = ApiError::from(refusal.unwrap_err());
    assert_eq!(refusal.status, 409, "{refusal:?}");
}
