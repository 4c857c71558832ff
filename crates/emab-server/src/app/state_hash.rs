//! One hash of all that a study's state is: equal for equal states, whatever store they are in.

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::app::replay::Replay;
use crate::domain::episode::EpisodeRecord;
use crate::store::{Cell, Head, Store, StoreError};

/// How many rows are read at once.
const PAGE: usize = 1_000;

/// The state of a study in a store. Where somebody may be writing, it has to be [held](Store::hold) first.
pub fn of_store(store: &mut dyn Store, head: &Head) -> Result<String, StoreError> {
    let mut state = State::new(head);
    let mut after = None;
    loop {
        let page = store.cells(head.key, after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = Some((last.t, last.x, last.a));
        page.iter().for_each(|cell| state.cell(cell));
    }
    let mut after = String::new();
    loop {
        let page = store.cases_after(head.key, &after, false, PAGE)?;
        let Some(last) = page.last() else { break };
        if last.id <= after {
            let id = &last.id;
            let what = format!("episode `{id}` is stored under another name");
            return Err(StoreError::Damaged(what));
        }
        after.clone_from(&last.id);
        page.iter().for_each(|case| state.case(case));
    }
    Ok(state.finish())
}

/// The state that a log leads to; an error where it does not even begin.
pub fn of_replay(replay: &mut Replay) -> Result<String, String> {
    replay.refresh()?;
    let board = replay.board.as_ref().ok_or("nothing was created")?;
    let mut state = State::new(&board.head);
    for cell in board.mind.cells() {
        state.cell(&cell);
    }
    for case in replay.cases_in_order().values() {
        state.case(case);
    }
    Ok(state.finish())
}

/// A state on its way into the hash, one line for each part of it.
struct State {
    hash: Sha256,
    line: String,
}

impl State {
    /// Everything of the head but its key, which is the store's.
    fn new(head: &Head) -> State {
        let mut state = State {
            hash: Sha256::new(),
            line: String::new(),
        };
        state.put(format_args!(
            "emab state 1\nstudy {}\nspec {}\nseq {}\nhash {}\nclosed {}\n",
            head.name, head.spec_hash, head.seq, head.hash, head.closed
        ));
        state.put(format_args!(
            "episodes {}\nopen {}\nlearned {}\nmissing {}\nrelearned {}\n",
            head.episodes, head.open, head.learned, head.missing, head.relearned
        ));
        state
    }

    /// In the order of (t, x, a).
    fn cell(&mut self, cell: &Cell) {
        let Cell { t, x, a, count, .. } = cell;
        let bits = cell.sum.to_bits();
        self.put(format_args!("count {t} {x} {a} {count} {bits:016x}\n"));
    }

    /// In the order of names.
    fn case(&mut self, case: &EpisodeRecord) {
        let EpisodeRecord { id, touched, .. } = case;
        self.put(format_args!("episode {} {id} {touched} ", id.len()));
        match case.place {
            Some(place) => self.put(format_args!("{place}\n")),
            None => self.put(format_args!("-\n")),
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.line.clear();
        // Writing to a string does not fail.
        let _ = self.line.write_fmt(text);
        self.hash.update(self.line.as_bytes());
    }

    fn finish(self) -> String {
        emab_problem::hex(&self.hash.finalize())
    }
}
