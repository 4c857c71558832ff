//! Teaching the learners of a study what was learned, from the store.

use std::collections::BTreeMap;

use crate::app::error::CommandError;
use crate::domain::learned_episode::unpack;
use crate::domain::learners::StudyLearners;
use crate::domain::state::StudyState;
use crate::store::{Store, StoreError};

/// How many learned episodes are read at once.
const PAGE: usize = 4_096;

/// Teaches the mind of a board everything that was learned, in order; what is not yet in the store comes from `pending`.
pub fn rebuild(
    board: &mut StudyState,
    store: &mut dyn Store,
    pending: &BTreeMap<u64, Vec<u8>>,
) -> Result<(), CommandError> {
    board.mind = StudyLearners::new(&board.study)?;
    apply_new(board, store, pending)?;
    board.stale = false;
    Ok(())
}

/// Teaches the mind of a board what was learned since.
pub fn apply_new(
    board: &mut StudyState,
    store: &mut dyn Store,
    pending: &BTreeMap<u64, Vec<u8>>,
) -> Result<(), CommandError> {
    let (key, end) = (board.head.key, board.head.learned);
    while board.mind.taught < end {
        let from = board.mind.taught;
        let page = store.lessons(key, from, PAGE.min((end - from) as usize))?;
        let stored = page.iter().map(|lesson| (lesson.place, &lesson.bytes));
        let mut lessons: BTreeMap<u64, &Vec<u8>> = stored.collect();
        let last = match page.last() {
            Some(lesson) => lesson.place + 1,
            None => end,
        };
        lessons.extend(
            pending
                .range(from..last)
                .map(|(place, bytes)| (*place, bytes)),
        );
        for (place, bytes) in lessons {
            let episode = unpack(bytes).filter(|_| place == board.mind.taught);
            let episode = episode.ok_or_else(|| {
                let taught = board.mind.taught;
                StoreError::Damaged(format!("learned episode {taught} is missing or unreadable"))
            })?;
            board.mind.learn(&episode);
        }
        if board.mind.taught == from {
            return Err(StoreError::Damaged(format!("learned episode {from} is missing")).into());
        }
    }
    Ok(())
}
