//! A hash of the state of a study: equal for equal states, in any store.

use sha2::{Digest, Sha256};

use crate::app::Replay;
use crate::domain::{EpisodeRecord, GainSum, Head, RULES_3};
use crate::store::{Store, StoreError, Which};

/// The number of rows in one read.
const PAGE: usize = 1_000;

/// The state of a study in a store. While a service may be writing, begin a [snapshot](Store::begin_snapshot) first.
pub fn of_store(store: &mut dyn Store, head: &Head) -> Result<String, StoreError> {
    let mut state = State::new(head);
    let mut after = None;
    loop {
        let page = store.gain_sums(head.key, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some((last.t, last.x, last.a));
        page.iter().for_each(|gains| state.gain_sum(gains));
    }
    let mut after = String::new();
    loop {
        let page = store.episodes_after(head.key, &after, Which::All, PAGE)?;
        let Some(last) = page.last() else { break };
        if last.id <= after {
            let id = &last.id;
            let what = format!("episode `{id}` is stored under another name");
            return Err(StoreError::Damaged(what));
        }
        after.clone_from(&last.id);
        page.iter().for_each(|episode| state.episode(episode));
    }
    Ok(state.finish())
}

/// The state that a log leads to; fails if the log is empty.
pub fn of_replay(replay: &mut Replay) -> Result<String, String> {
    replay.refresh()?;
    let replayed = replay.state.as_ref().ok_or("nothing was created")?;
    let mut state = State::new(&replayed.head);
    for gains in replayed.learners.gain_sums() {
        state.gain_sum(&gains);
    }
    for episode in replay.episodes_in_order().values() {
        state.episode(episode);
    }
    Ok(state.finish())
}

/// Hashes a state, one line for each part.
struct State(Sha256);

impl State {
    /// Hashes the head without its key, which differs between stores.
    fn new(head: &Head) -> State {
        let mut state = State(Sha256::new());
        state.put(format_args!(
            "emab state 1\nstudy {}\nspec {}\nseq {}\nhash {}\nclosed {}\n",
            head.name, head.spec_hash, head.seq, head.hash, head.closed
        ));
        state.put(format_args!(
            "episodes {}\nopen {}\nlearned {}\nmissing {}\nrelearned {}\n",
            head.episodes, head.open, head.learned, head.missing, head.relearned
        ));
        if head.rules >= RULES_3 {
            let details = serde_json::to_string(&head.details).unwrap_or_default();
            state.put(format_args!("details {details}\n"));
        }
        state
    }

    /// In the order of (t, x, a).
    fn gain_sum(&mut self, gains: &GainSum) {
        let GainSum { t, x, a, count, .. } = gains;
        let bits = gains.sum.to_bits();
        self.put(format_args!("count {t} {x} {a} {count} {bits:016x}\n"));
    }

    /// In the order of names.
    fn episode(&mut self, episode: &EpisodeRecord) {
        let EpisodeRecord { id, touched, .. } = episode;
        self.put(format_args!("episode {} {id} {touched} ", id.len()));
        match episode.position {
            Some(position) => self.put(format_args!("{position}\n")),
            None => self.put(format_args!("-\n")),
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.update(text.to_string());
    }

    fn finish(self) -> String {
        emab_problem::hex(&self.0.finalize())
    }
}
