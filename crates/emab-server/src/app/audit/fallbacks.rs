//! Recomputes the tables of the policy that steps were decided from while the service could not be reached.

use std::collections::BTreeMap;

use super::Report;
use crate::app::Replay;
use crate::domain::{EpisodeRecord, EventKind, PolicyReference, PolicyTable, Record, Study};

/// The choices that were made from tables, by the event that the table is based on.
pub(super) type Claims = BTreeMap<u64, Vec<Claim>>;

/// A choice that was made from a table.
pub(super) struct Claim {
    episode: String,
    place: String,
    hash: String,
    step: usize,
    state: String,
    action: String,
}

/// Adds the choice of an event, if it was made from a table. Takes its episode after it.
pub(super) fn collect(
    claims: &mut Claims,
    kind: &EventKind,
    study: &Study,
    episode: Option<&EpisodeRecord>,
) {
    let (policy, step, action) = match kind {
        EventKind::StepRecorded(told) => (&told.policy, told.step, &*told.action),
        EventKind::Stopped(stopped) => (&stopped.policy, stopped.step, "stop"),
        _ => return,
    };
    let (Some(PolicyReference { as_of, hash }), Some(episode)) = (policy, episode) else {
        return;
    };
    // A correction changes the states of later steps, and the table was used before it.
    let x = episode.states.get(step - 1).copied().unwrap_or_default();
    claims.entry(*as_of).or_default().push(Claim {
        episode: episode.id.clone(),
        place: format!("step {step} of episode {}", episode.id),
        hash: hash.clone(),
        step,
        state: study.spec.states().name(x).into_owned(),
        action: action.into(),
    });
}

/// Removes the claims of episodes that were voided: they count for nothing.
pub(super) fn drop_voided(claims: &mut Claims, replay: &Replay) {
    let is_voided = |id: &str| {
        replay
            .episodes
            .get(id)
            .is_some_and(|it| it.voided.is_some())
    };
    for claims in claims.values_mut() {
        claims.retain(|claim| !is_voided(&claim.episode));
    }
    claims.retain(|_, claims| !claims.is_empty());
}

/// Replays the log once more, and compares each table with what was claimed of it.
pub(super) fn check(mut claims: Claims, records: impl Iterator<Item = Record>, found: &mut Report) {
    let mut replay = Replay::default();
    for record in records {
        let Ok(event) = record.read() else { break };
        if replay.pass(&event, &record.hash).is_err() {
            // The walk has reported it.
            break;
        }
        if let Some(claims) = claims.remove(&record.seq) {
            compare(&mut replay, &claims, found);
        }
        if claims.is_empty() {
            return;
        }
    }
    for claim in claims.into_values().flatten() {
        found.add(
            claim.place,
            "the table that it was decided from cannot be recomputed",
        );
    }
}

fn compare(replay: &mut Replay, claims: &[Claim], found: &mut Report) {
    let refreshed = replay.refresh();
    let table = match (refreshed, &mut replay.state) {
        (Ok(()), Some(state)) => PolicyTable::of(state).map_err(|error| error.detail),
        (Err(what), _) => Err(what),
        (_, None) => Err("the study was not created before it".into()),
    };
    for claim in claims {
        let what = match &table {
            Err(what) => format!("the table that it was decided from: {what}"),
            Ok(table) if table.hash != claim.hash => format!(
                "it was decided from a table with hash {}, and the log leads to {} at event {}",
                claim.hash, table.hash, table.as_of
            ),
            Ok(table) => match table.action(claim.step, &claim.state) {
                Some(action) if action == claim.action => continue,
                action => format!(
                    "`{}` was reported as decided from the table of event {}, which has `{}` there",
                    claim.action,
                    table.as_of,
                    action.unwrap_or("nothing")
                ),
            },
        };
        found.add(claim.place.clone(), what);
    }
}
