//! Rows of every kind, and shorthands for reading and writing them.

use emab_server::domain::author::Stamp;
use emab_server::domain::episode::{End, EpisodeRecord, Outcome, Step};
use emab_server::domain::event::Record;
use emab_server::store::{
    Changes, GainSum, Head, LearnedEpisode, Session, Store, StoreError, StoredDecision, Which,
};

/// The value; panics if the store failed.
#[track_caller]
pub(super) fn must<T>(result: Result<T, StoreError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("the store failed where it must not: {error}"),
    }
}

/// Writes in one transaction.
#[track_caller]
pub(super) fn put(store: &mut Box<dyn Store>, head: &Head, changes: &Changes) {
    must(store.begin());
    let locked = must(store.lock(&head.name));
    assert_eq!(locked.map(|found| found.key), Some(head.key));
    must(store.write(head, changes));
    must(store.commit());
}

/// All rows of a study.
#[track_caller]
pub(super) fn rows(store: &mut Box<dyn Store>, study: i64) -> Changes {
    Changes {
        events: must(store.events(study, 0, 99)),
        episodes: must(store.episodes_after(study, "", Which::All, 99)),
        decisions: must(store.decisions_after(study, None, 99)),
        learned_episodes: must(store.learned_episodes(study, 0, 99)),
        gain_sums: must(store.gain_sums(study, None, 99)),
        ..Changes::default()
    }
}

/// One row of each kind.
pub(super) fn one_of_each() -> Changes {
    Changes {
        events: vec![event(1)],
        episodes: vec![episode("a", 1)],
        decisions: vec![decision("a", 1)],
        learned_episodes: vec![learned(0)],
        gain_sums: vec![gains(1, 0, 0, 0.5)],
        ..Changes::default()
    }
}

/// Asserts that no read of a study finds one of these rows.
#[track_caller]
pub(super) fn assert_empty(store: &mut Box<dyn Store>, study: i64) {
    assert_eq!(rows(store, study), Changes::default());
    assert_eq!(must(store.episodes(study, &["a"])), []);
    for which in [Which::Open, Which::Awaited] {
        assert_eq!(must(store.episodes_after(study, "", which, 9)), []);
    }
    assert_eq!(must(store.decision(study, "a", None)), None);
    assert_eq!(must(store.decision(study, "a", Some(1))), None);
    assert_eq!(must(store.decisions(study, "a")), []);
}

pub(super) fn of_events(events: Vec<Record>) -> Changes {
    Changes {
        events,
        ..Changes::default()
    }
}

pub(super) fn of_rows(episodes: Vec<EpisodeRecord>, decisions: Vec<StoredDecision>) -> Changes {
    Changes {
        episodes,
        decisions,
        ..Changes::default()
    }
}

pub(super) fn event(seq: u64) -> Record {
    let text = format!(r#"{{"seq":{seq},  "odd":"\u0000 '' \\ é 𝄞"}}"#);
    Record::new(seq, text)
}

pub(super) fn decision(episode: &str, step: u32) -> StoredDecision {
    StoredDecision {
        episode: episode.into(),
        step,
        text: format!(r#"{{"step":{step} , "gain":1.10,"gain":1e2,"odd":"\u0000"}}"#),
    }
}

pub(super) fn learned(position: u64) -> LearnedEpisode {
    let bytes = [position.to_le_bytes(), f64::NAN.to_le_bytes()].concat();
    LearnedEpisode { position, bytes }
}

pub(super) fn learned_bytes(position: u64, bytes: Vec<u8>) -> LearnedEpisode {
    LearnedEpisode { position, bytes }
}

pub(super) fn gains(t: u32, x: u32, a: u32, sum: f64) -> GainSum {
    GainSum {
        t,
        x,
        a,
        count: 1,
        sum,
    }
}

fn stamp() -> Option<Stamp> {
    Some(Stamp {
        at: "2026-01-31T09:30:00.000000Z".into(),
        by: "Zoë \"Z\" O'Brien".into(),
    })
}

/// An open episode at a step.
pub(super) fn episode(id: &str, step: usize) -> EpisodeRecord {
    let told = Step {
        action: 1,
        feedback: 2,
        overridden: true,
        reason: Some("it's \"odd\": \0 \u{1f} \\ é 𝄞".into()),
        recommended: Some(0),
        corrected: Some("mistyped".into()),
        fallback: true,
        reported: Some((0, 1)),
        stamp: stamp(),
        corrected_stamp: stamp(),
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
        ..EpisodeRecord::default()
    }
}

/// The episode stopped and learned, with values that are easily corrupted.
pub(super) fn ended(mut episode: EpisodeRecord) -> EpisodeRecord {
    episode.end = Some(End {
        fallback: true,
        abandoned: false,
        overridden: true,
        reason: Some("enough".into()),
        stamp: stamp(),
    });
    episode.outcome = Outcome {
        costs: vec![Some(0.1 + 0.2), None, Some(-0.0)],
        rewards: vec![Some(5e-324), Some(1.797_693_134_862_315_7e308), None],
        last: true,
    };
    episode.position = Some(7);
    episode
}

/// The episode stopped, and its outcome awaited.
pub(super) fn stopped(episode: EpisodeRecord) -> EpisodeRecord {
    EpisodeRecord {
        position: None,
        ..ended(episode)
    }
}

pub(super) fn session(hash: &str, begun: &str, expires: &str) -> Session {
    Session {
        hash: hash.into(),
        token: "0a1b2c3d".into(),
        begun: begun.into(),
        expires: expires.into(),
    }
}
