//! Checks what is stored beside the log of a study: its specification, its restore and its checkpoint.

use super::walk::Walk;
use crate::domain::{Checkpoint, Head, Restore, Statement, sha256};
use crate::store::{Result, Store, StoreError};

pub(super) fn check(store: &mut dyn Store, head: &Head, walk: &mut Walk<'_>) -> Result<()> {
    if let Some(what) = specification(read(store.spec(head.key))?, head, walk) {
        walk.found.add("specification", what);
    }
    match read(store.restore(head.key))? {
        Err(what) => walk.found.add("restore", what),
        Ok(None) => {}
        Ok(Some(restore)) => {
            let hash = hash_of(store, head, restore.seq)?;
            if let Some(what) = wrong_restore(&restore, hash.as_deref()) {
                walk.found.add("restore", what);
            }
            walk.found.restore = Some(restore);
        }
    }
    match read(store.checkpoint(head.key))? {
        Err(what) => walk.found.add("checkpoint", what),
        Ok(None) => {}
        Ok(Some(checkpoint)) => {
            let hash = hash_of(store, head, checkpoint.seq)?;
            let restore = walk.found.restore.as_ref();
            if let Some(what) = wrong_checkpoint(&checkpoint, head, hash.as_deref(), restore) {
                walk.found.add("checkpoint", what);
            }
            walk.found.checkpoint = Some(checkpoint.seq);
            let statement = Statement::verify(&checkpoint.text);
            walk.found.checkpoint_at = statement.ok().map(|it| it.at);
        }
    }
    Ok(())
}

/// A row, or why it cannot be read.
fn read<T>(row: Result<Option<T>>) -> Result<Result<Option<T>, String>> {
    match row {
        Ok(row) => Ok(Ok(row)),
        Err(StoreError::Damaged(what)) => Ok(Err(format!("it cannot be read: {what}"))),
        Err(error) => Err(error),
    }
}

/// The hash of an event; none if there is no such event, or it cannot be read, which the walk reports.
fn hash_of(store: &mut dyn Store, head: &Head, seq: u64) -> Result<Option<String>> {
    match store.events(head.key, seq.saturating_sub(1), 1) {
        Ok(events) => {
            let event = events.into_iter().find(|event| event.seq == seq);
            Ok(event.map(|event| event.hash))
        }
        Err(StoreError::Damaged(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

// The values of a specification are too long to show.
fn specification(
    spec: Result<Option<String>, String>,
    head: &Head,
    walk: &Walk<'_>,
) -> Option<String> {
    let spec = match spec {
        Err(what) => return Some(what),
        Ok(None) => return Some("missing".into()),
        Ok(Some(spec)) => spec,
    };
    let what = match &walk.replay.state {
        Some(state) if spec != state.study.canonical => "it is not the one in the first event",
        None if sha256(spec.as_bytes()) != head.spec_hash => {
            "its hash is not the `spec_hash` of the study"
        }
        _ => return None,
    };
    Some(what.into())
}

fn wrong_restore(restore: &Restore, hash: Option<&str>) -> Option<String> {
    let Restore { seq, finished, .. } = restore;
    let times = [
        ("begun", Some(&restore.begun)),
        ("finished", finished.as_ref()),
    ];
    for (field, time) in times {
        if let Some(time) = time
            && humantime::parse_rfc3339(time).is_err()
        {
            return Some(format!("`{field}` is {time:?}, which is no time"));
        }
    }
    if finished.is_some() != restore.finished_by.is_some() {
        return Some("`finished` and `finished_by` are given together".into());
    }
    match hash {
        Some(hash) if hash != restore.hash => {
            Some(format!("event {seq} has not the hash {}", restore.hash))
        }
        None if finished.is_some() => Some(format!("there is no event {seq}, its last one")),
        _ => None,
    }
}

/// Compares a checkpoint with the log, and its signature with the key that it names.
fn wrong_checkpoint(
    checkpoint: &Checkpoint,
    head: &Head,
    hash: Option<&str>,
    restore: Option<&Restore>,
) -> Option<String> {
    let Checkpoint { seq, text } = checkpoint;
    let stated = match Statement::verify(text) {
        Ok(stated) => stated,
        Err(what) => return Some(what),
    };
    if stated.study != head.name || stated.seq != *seq {
        return Some(format!("its text is not about event {seq} of this study"));
    }
    let Some(hash) = hash else {
        let last = head.seq;
        return Some(format!(
            "the log had event {seq} when it was signed, and ends with event {last}"
        ));
    };
    if stated.hash != hash {
        return Some(format!("event {seq} had another hash when it was signed"));
    }
    wrong_restored(&stated, restore)
}

/// Compares the restoration that a checkpoint states with the one that is stored.
pub(super) fn wrong_restored(stated: &Statement, restore: Option<&Restore>) -> Option<String> {
    let stored = restore.map(|it| (&it.begun, &it.begun_by));
    let said = stated.restored.as_ref().map(|it| (&it.at, &it.by));
    let shown = |it: Option<(&String, &String)>| match it {
        Some((at, by)) => format!("a restoration by {by} at {at}"),
        None => "no restoration".into(),
    };
    (stored != said).then(|| {
        let (said, stored) = (shown(said), shown(stored));
        format!("it states {said}, and the store has {stored}")
    })
}
