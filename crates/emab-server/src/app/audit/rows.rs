//! Compares the projections in a store with what the log leads to.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::differences::between;
use super::walk::Walk;
use super::{PAGE, Report};
use crate::domain::{EpisodeRecord, GainSum, Head, Status};
use crate::store::{Result, Store, StoreError, Which};

/// Compares all projections.
pub(super) fn compare(store: &mut dyn Store, head: &Head, walk: &mut Walk<'_>) -> Result<()> {
    if let Err(what) = walk.replay.refresh() {
        walk.found.add("head", what);
        return Ok(());
    }
    let Some(state) = &walk.replay.state else {
        return Ok(());
    };
    compare_heads(head, &state.head, &mut walk.found);
    compare_episodes(store, head.key, walk)?;
    compare_decisions(store, head.key, walk)?;
    compare_learned(store, head.key, walk)?;
    if head.restoring {
        // They are written at the end of the restoration.
        return Ok(());
    }
    compare_gain_sums(store, head.key, walk)
}

fn compare_heads(there: &Head, should: &Head, found: &mut Report) {
    let [there, should] =
        [there, should].map(|head| serde_json::to_value(head).unwrap_or_default());
    let shown = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    for (field, there) in there.as_object().into_iter().flatten() {
        let what = match &should[field] {
            should if there == should => continue,
            should => {
                let (there, should) = (shown(there), shown(should));
                format!("`{field}` is {there}, and the log leads to {should}")
            }
        };
        found.add("head", what);
    }
}

fn compare_episodes(store: &mut dyn Store, key: i64, walk: &mut Walk<'_>) -> Result<()> {
    let Walk { replay, found, .. } = walk;
    let episodes = replay.episodes_in_order();
    let before = found.count();
    join(
        found,
        episodes.keys().map(|id| (*id).to_string()),
        |after, limit| {
            let after = after.map_or("", String::as_str);
            store.episodes_after(key, after, Which::All, limit)
        },
        |episode| episode.id.clone(),
        |id| format!("episode {id}"),
        |episode| between(episode, episodes.get(episode.id.as_str())?),
    )?;
    if found.count() > before {
        // The same rows would be reported again.
        return Ok(());
    }
    // The same through the index of each part.
    type Is = fn(&EpisodeRecord) -> bool;
    let parts: [(Which, Is, &str); 2] = [
        (Which::Open, |it| it.end.is_none(), "the open ones"),
        (
            Which::Awaited,
            |it| it.status() == Status::Stopped,
            "the awaited ones",
        ),
    ];
    for (which, is, words) in parts {
        let part = episodes.iter().filter(|(_, episode)| is(episode));
        join(
            found,
            part.map(|(id, _)| (*id).to_string()),
            |after, limit| {
                let after = after.map_or("", String::as_str);
                store.episodes_after(key, after, which, limit)
            },
            |episode| episode.id.clone(),
            |id| format!("episode {id}, among {words}"),
            |_| None,
        )?;
    }
    Ok(())
}

fn compare_decisions(store: &mut dyn Store, key: i64, walk: &mut Walk<'_>) -> Result<()> {
    let Walk { marks, found, .. } = walk;
    let known = marks.iter().flat_map(|(episode, steps)| {
        (1..=steps.len() as u32).map(move |step| (episode.clone(), step))
    });
    join(
        found,
        known,
        |after, limit| {
            let after = after.map(|(episode, step)| (episode.as_str(), *step));
            store.decisions_after(key, after, limit)
        },
        |decision| (decision.episode.clone(), decision.step),
        |(episode, step)| format!("decision {step} of episode {episode}"),
        |decision| {
            let steps = marks.get(&decision.episode)?;
            let (seq, hash) = steps.get((decision.step as usize).checked_sub(1)?)?;
            (<[u8; 32]>::from(Sha256::digest(decision.text.as_bytes())) != *hash)
                .then(|| format!("the stored decision is not the one that event {seq} records"))
        },
    )
}

fn compare_learned(store: &mut dyn Store, key: i64, walk: &mut Walk<'_>) -> Result<()> {
    let Walk { replay, found, .. } = walk;
    join(
        found,
        0..replay.learned.len() as u64,
        |after, limit| {
            let from = after.map_or(0, |position| position.saturating_add(1));
            store.learned_episodes(key, from, limit)
        },
        |learned| learned.position,
        |position| format!("learned episode {position}"),
        |learned| {
            let should = replay.learned.get(learned.position as usize)?;
            (learned.bytes != *should).then(|| "it is not what the log leads to".into())
        },
    )
}

fn compare_gain_sums(store: &mut dyn Store, key: i64, walk: &mut Walk<'_>) -> Result<()> {
    let Walk { replay, found, .. } = walk;
    let gain_sums = replay
        .state
        .as_ref()
        .map(|state| state.learners.gain_sums());
    let gain_sums = gain_sums.unwrap_or_default();
    let key_of = |gains: &GainSum| (gains.t, gains.x, gains.a);
    join(
        found,
        gain_sums.iter().map(key_of),
        |after, limit| store.gain_sums(key, after.copied(), limit),
        key_of,
        |(t, x, a)| format!("count of ({t}, {x}, {a})"),
        |gains| {
            let at = gain_sums.binary_search_by_key(&key_of(gains), key_of);
            let should = gain_sums.get(at.ok()?)?;
            let (count, log) = (gains.count, should.count);
            (count != log || gains.sum.to_bits() != should.sum.to_bits()).then(|| {
                let (sum, leads) = (exact(gains.sum), exact(should.sum));
                format!("it is {count} with the sum {sum}, and the log leads to {log} with {leads}")
            })
        },
    )
}

/// A number with its bits.
fn exact(value: f64) -> String {
    format!("{value:?} (bits {:016x})", value.to_bits())
}

/// Merges the rows of a table with those that the log leads to, in the order of their keys.
///
/// `known` are the keys that the log leads to, in order; `page` reads rows after a key; `differs` describes a wrong row.
fn join<K: Ord + Clone, R>(
    found: &mut Report,
    known: impl Iterator<Item = K>,
    mut page: impl FnMut(Option<&K>, usize) -> Result<Vec<R>>,
    key: impl Fn(&R) -> K,
    place: impl Fn(&K) -> String,
    differs: impl Fn(&R) -> Option<String>,
) -> Result<()> {
    let mut known = known.peekable();
    let mut after: Option<K> = None;
    let mut limit = PAGE;
    loop {
        let rows = match page(after.as_ref(), limit) {
            // One by one, to find the unreadable row.
            Err(StoreError::Damaged(_)) if limit > 1 => {
                limit = 1;
                continue;
            }
            Err(StoreError::Damaged(what)) => {
                // Its key cannot be read either; most likely it is the next one.
                let next = known.next();
                let place = match next.as_ref().or(after.as_ref()) {
                    Some(next) => place(next),
                    None => "rows".into(),
                };
                let what = format!("this row or the next one cannot be read: {what}");
                found.add(place, what);
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
                found.add(place(&key), "it is stored under another name");
                continue;
            }
            while let Some(missing) = known.next_if(|next| *next < key) {
                found.add(place(&missing), "missing: the log leads to it");
            }
            if known.next_if(|next| *next == key).is_none() {
                found.add(place(&key), "extra: the log does not lead to it");
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
