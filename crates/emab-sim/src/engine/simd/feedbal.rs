//! FeedBAL in the fast loop: three words for each action, at the offsets of the tables.
//!
//! A pair is visited at most once in an episode, so an observation can be learned at once: it is not read before the
//! episode ends.

use std::hint::select_unpredictable as select;
use std::marker::PhantomData;

use emab::rng::Block;
use emab::width::IndexTable;

use super::step_loop::{FastLearner, LearnerCursor};
use crate::engine::tables::{NONE, START, Tables, WORDS};

/// Index tables (reciprocal and width by count), long enough for the runs.
pub(crate) struct Indices {
    action: IndexTable,
    stop: IndexTable,
}

impl Indices {
    /// Extends the tables to the counts of runs of this many episodes.
    pub(crate) fn new((mut action, mut stop): (IndexTable, IndexTable), episodes: u64) -> Indices {
        // A count is at most the number of episodes; a finished run continues to the end of its block.
        let most = episodes.saturating_add(Block::STEPS as u64 + 1);
        action.extend_to(most);
        stop.extend_to(most);
        Indices { action, stop }
    }

    /// Whether counts in runs of this many episodes may exceed the tables.
    pub(crate) fn too_few_for(episodes: u64) -> bool {
        episodes.saturating_add(Block::STEPS as u64 + 2) > IndexTable::MAX_LEN as u64
    }
}

/// Bytes of an entry of an index table. (One table for both, to save a pointer, was slower: it uses twice the cache
/// lines.)
const ENTRY: u64 = size_of::<[f64; 2]>() as u64;

/// FeedBAL's estimates in one run: for each action the sum of observations, the index, and the count as an offset into
/// the index table. `A` actions, 0 for any number; `FAR` if counts may exceed the tables.
pub(crate) struct FeedBalPlayer<'t, const A: usize, const FAR: bool> {
    words: Vec<f64>,
    indices: &'t Indices,
}

impl<'t, const A: usize, const FAR: bool> FeedBalPlayer<'t, A, FAR> {
    pub(crate) fn new(indices: &'t Indices) -> Self {
        FeedBalPlayer {
            words: vec![0.0; START],
            indices,
        }
    }

    /// Allocates the new rows of the tables.
    pub(crate) fn grow(&mut self, tables: &Tables) {
        let had = self.words.len();
        self.words.resize(tables.end, 0.0);
        for at in (had..tables.end).step_by(WORDS) {
            self.words[at + 1] = first_index(tables.allows_at(at));
        }
    }

    /// Resets the visited rows.
    pub(crate) fn reset(&mut self, tables: &Tables, visited: &[u32]) {
        for &row in visited {
            let row = row as usize;
            for at in (row..row + tables.row).step_by(WORDS) {
                let index = first_index(tables.allows_at(at));
                self.words[at..at + WORDS].copy_from_slice(&[0.0, index, 0.0]);
            }
        }
        self.words[NONE..START].fill(0.0);
    }
}

/// Infinite before the first observation; an action that is not allowed never wins.
fn first_index(allowed: bool) -> f64 {
    if allowed {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

impl<'t, const A: usize, const FAR: bool> FastLearner for FeedBalPlayer<'t, A, FAR> {
    type Shared = IndexPointers<'t>;

    fn shared(&self) -> IndexPointers<'t> {
        IndexPointers {
            indices: self.indices,
            action: self.indices.action.values().as_ptr(),
            stop: self.indices.stop.values().as_ptr(),
        }
    }

    type Cursor<'a>
        = FeedBalCursor<'t, A, FAR>
    where
        Self: 'a;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> FeedBalCursor<'t, A, FAR> {
        // The cursor relies on these.
        assert!(self.words.len() == tables.end);
        assert!(A == 0 || A == tables.actions);
        FeedBalCursor {
            words: self.words.as_mut_ptr(),
            of: PhantomData,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.words[at + 2].to_bits() / ENTRY
    }
}

/// The index tables as pointers, which the compiler keeps in registers.
#[derive(Clone, Copy)]
pub(crate) struct IndexPointers<'t> {
    indices: &'t Indices,
    action: *const [f64; 2],
    stop: *const [f64; 2],
}

/// The words of a run.
pub(crate) struct FeedBalCursor<'t, const A: usize, const FAR: bool> {
    words: *mut f64,
    of: PhantomData<IndexPointers<'t>>,
}

impl<'t, const A: usize, const FAR: bool> LearnerCursor for FeedBalCursor<'t, A, FAR> {
    type Shared = IndexPointers<'t>;
    const ACTIONS: usize = A;
    // `choose` gives `row + WORDS * a` for an `a` below the number of actions.
    const TRUSTED: bool = true;

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let actions = if A == 0 { (stop - row) / WORDS } else { A };
        // SAFETY: the walk passes a row, whose actions and `stop` have words.
        unsafe {
            // The largest index; the first of equal ones, `stop` before all.
            let mut chosen = row;
            let mut index = *self.words.add(row + 1);
            for a in 1..actions {
                let other = *self.words.add(row + WORDS * a + 1);
                let larger = other > index;
                chosen = select(larger, row + WORDS * a, chosen);
                index = select(larger, other, index);
            }
            let goes_on = index > *self.words.add(stop + 1);
            (chosen, !goes_on)
        }
    }

    #[inline(always)]
    fn reveal(
        &mut self,
        values: IndexPointers<'t>,
        stop: usize,
        reward: f64,
        taken: usize,
        gain: f64,
    ) -> bool {
        // SAFETY: the walk passes the `stop` of a row, and an action or `NONE`; all of them have words.
        unsafe {
            let visits = self.learn(stop, reward, values.stop, &values.indices.stop);
            self.learn(taken, gain, values.action, &values.indices.action);
            visits == ENTRY
        }
    }
}

impl<const A: usize, const FAR: bool> FeedBalCursor<'_, A, FAR> {
    /// Learns from an observation; returns the new count as an offset.
    ///
    /// SAFETY: needs three words at `at`, of which the last is a count within the table, or `FAR`.
    #[inline(always)]
    unsafe fn learn(
        &self,
        at: usize,
        value: f64,
        values: *const [f64; 2],
        table: &IndexTable,
    ) -> u64 {
        unsafe {
            let entry = self.words.add(at);
            let count = (*entry.add(2)).to_bits() + ENTRY;
            let sum = *entry + value;
            let is_kept = count / ENTRY < table.values().len() as u64;
            let [reciprocal, width] = if FAR && !is_kept {
                table.compute(count / ENTRY)
            } else {
                debug_assert!(is_kept);
                *values.byte_add(count as usize)
            };
            *entry = sum;
            *entry.add(1) = sum * reciprocal + width;
            *entry.add(2) = f64::from_bits(count);
            count
        }
    }
}
