//! What a store keeps beside the log, against what the log leads to.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::differences::between;
use super::walk::{Mark, Walk};
use super::{Findings, PAGE};
use crate::app::replay::Replay;
use crate::domain::episode::EpisodeRecord;
use crate::store::{Cell, Head, Store, StoreError};

/// Compares everything.
pub(super) fn compare(
    store: &mut dyn Store,
    head: &Head,
    walk: &mut Walk<'_>,
) -> Result<(), StoreError> {
    let found = &mut walk.found;
    if let Err(what) = walk.replay.refresh() {
        found.add("head", what);
        return Ok(());
    }
    let Some(board) = &walk.replay.board else {
        return Ok(());
    };
    compare_heads(head, &board.head, found);
    let cases = walk.replay.cases_in_order();
    compare_cases(store, head.key, &cases, found)?;
    compare_answers(store, head.key, &walk.marks, found)?;
    compare_lessons(store, head.key, &walk.replay, found)?;
    compare_cells(store, head.key, &board.mind.cells(), found)
}

fn compare_heads(there: &Head, should: &Head, found: &mut Findings) {
    // Taken apart, so that a new field cannot be forgotten.
    let fields = |head: &Head| {
        let Head {
            key: _,
            name,
            spec,
            spec_hash,
            seq,
            hash,
            closed,
            episodes,
            open,
            learned,
            missing,
            relearned,
        } = head;
        [
            ("name", name.clone()),
            ("spec", spec.clone()),
            ("spec_hash", spec_hash.clone()),
            ("seq", seq.to_string()),
            ("hash", hash.clone()),
            ("closed", closed.to_string()),
            ("episodes", episodes.to_string()),
            ("open", open.to_string()),
            ("learned", learned.to_string()),
            ("missing", missing.to_string()),
            ("relearned", relearned.to_string()),
        ]
    };
    for ((field, there), (_, should)) in fields(there).into_iter().zip(fields(should)) {
        if there == should {
            continue;
        }
        let what = match field {
            // Long, and much the same.
            "spec" => "`spec` is not what the first event says".into(),
            _ => format!("`{field}` is {there}, and the log leads to {should}"),
        };
        found.add("head", what);
    }
}

fn compare_cases(
    store: &mut dyn Store,
    key: i64,
    cases: &BTreeMap<&str, &EpisodeRecord>,
    found: &mut Findings,
) -> Result<(), StoreError> {
    let before = found.count();
    join(
        found,
        cases.keys().map(|id| (*id).to_string()),
        |after, limit| {
            let after = after.map_or("", String::as_str);
            store.cases_after(key, after, false, limit)
        },
        |case| case.id.clone(),
        |id| format!("episode {id}"),
        |case| between(case, cases.get(case.id.as_str())?),
    )?;
    if found.count() > before {
        // The same rows would be named again.
        return Ok(());
    }
    let open = cases.iter().filter(|(_, case)| case.end.is_none());
    join(
        found,
        open.map(|(id, _)| (*id).to_string()),
        |after, limit| {
            let after = after.map_or("", String::as_str);
            store.cases_after(key, after, true, limit)
        },
        |case| case.id.clone(),
        |id| format!("episode {id}, among the open ones"),
        |_| None,
    )
}

fn compare_answers(
    store: &mut dyn Store,
    key: i64,
    marks: &BTreeMap<String, Vec<Mark>>,
    found: &mut Findings,
) -> Result<(), StoreError> {
    let known = marks.iter().flat_map(|(episode, steps)| {
        (1..=steps.len() as u32).map(move |step| (episode.clone(), step))
    });
    join(
        found,
        known,
        |after, limit| {
            let after = after.map(|(episode, step)| (episode.as_str(), *step));
            store.answers_after(key, after, limit)
        },
        |answer| (answer.episode.clone(), answer.step),
        |(episode, step)| format!("decision {step} of episode {episode}"),
        |answer| {
            let steps = marks.get(&answer.episode)?;
            let (seq, hash) = steps.get((answer.step as usize).checked_sub(1)?)?;
            (<[u8; 32]>::from(Sha256::digest(answer.text.as_bytes())) != *hash).then(|| {
                format!("as it is kept to be answered, it is not what event {seq} records")
            })
        },
    )
}

fn compare_lessons(
    store: &mut dyn Store,
    key: i64,
    replay: &Replay,
    found: &mut Findings,
) -> Result<(), StoreError> {
    join(
        found,
        0..replay.lessons.len() as u64,
        |after, limit| store.lessons(key, after.map_or(0, |place| place.saturating_add(1)), limit),
        |lesson| lesson.place,
        |place| format!("learned episode {place}"),
        |lesson| {
            let should = replay.lessons.get(lesson.place as usize)?;
            (lesson.bytes != *should).then(|| "it is not what the log leads to".into())
        },
    )
}

fn compare_cells(
    store: &mut dyn Store,
    key: i64,
    cells: &[Cell],
    found: &mut Findings,
) -> Result<(), StoreError> {
    let place = |cell: &Cell| (cell.t, cell.x, cell.a);
    join(
        found,
        cells.iter().map(place),
        |after, limit| store.cells(key, after.copied(), limit),
        place,
        |(t, x, a)| format!("count of ({t}, {x}, {a})"),
        |cell| {
            let at = cells.binary_search_by_key(&place(cell), place).ok()?;
            let should = cells.get(at)?;
            let values = |cell: &Cell| (cell.count, cell.sum.to_bits());
            (values(cell) != values(should)).then(|| {
                format!(
                    "it is {} with the sum {}, and the log leads to {} with {}",
                    cell.count,
                    exact(cell.sum),
                    should.count,
                    exact(should.sum)
                )
            })
        },
    )
}

/// A number with its bits: two may look alike.
fn exact(value: f64) -> String {
    format!("{value:?} (bits {:016x})", value.to_bits())
}

/// Goes through the rows of a table, in the order of their keys, beside those that the log leads to.
///
/// `known` are the latter's keys in order, `page` reads rows after a key, and `differs` says what is wrong with a row that
/// is known.
fn join<K: Ord + Clone, R>(
    found: &mut Findings,
    known: impl Iterator<Item = K>,
    mut page: impl FnMut(Option<&K>, usize) -> Result<Vec<R>, StoreError>,
    key: impl Fn(&R) -> K,
    place: impl Fn(&K) -> String,
    differs: impl Fn(&R) -> Option<String>,
) -> Result<(), StoreError> {
    let mut known = known.peekable();
    let mut after: Option<K> = None;
    let mut limit = PAGE;
    loop {
        let rows = match page(after.as_ref(), limit) {
            // One by one, to find out which.
            Err(StoreError::Damaged(_)) if limit > 1 => {
                limit = 1;
                continue;
            }
            Err(StoreError::Damaged(what)) => {
                // What it is cannot be read either; most likely it is what comes next.
                let next = known.next();
                let place = match next.as_ref().or(after.as_ref()) {
                    Some(next) => place(next),
                    None => "rows".into(),
                };
                found.add(
                    place,
                    format!("it, or a row beside it, cannot be read: {what}"),
                );
                if next.is_none() {
                    return Ok(());
                }
                after = next;
                continue;
            }
            rows => rows?,
        };
        let count = rows.len();
        let mut moved = false;
        for row in rows {
            let key = key(&row);
            if after.as_ref().is_some_and(|after| key <= *after) {
                found.add(place(&key), "it is stored under another name than its own");
                continue;
            }
            while let Some(missing) = known.next_if(|next| *next < key) {
                found.add(place(&missing), "missing: the log leads to it");
            }
            if known.next_if(|next| *next == key).is_none() {
                found.add(place(&key), "one too many: the log does not lead to it");
            } else if let Some(what) = differs(&row) {
                found.add(place(&key), what);
            }
            after = Some(key);
            moved = true;
        }
        if count < limit || !moved {
            break;
        }
    }
    for missing in known {
        found.add(place(&missing), "missing: the log leads to it");
    }
    Ok(())
}
