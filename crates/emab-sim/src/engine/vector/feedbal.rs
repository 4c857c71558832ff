//! FeedBAL in a walk: three words for each action, at the offsets of the tables.
//!
//! A pair is met at most once in an episode, so what a step reveals is learned at once: nobody looks at it before the
//! episode is over.

use std::hint::select_unpredictable as select;
use std::marker::PhantomData;

use emab::rng::Block;
use emab::width::IndexTable;

use super::walk::{FastLearner, LearnerCursor};
use crate::engine::tables::{NONE, START, Tables, WORDS};

/// What makes an index of a sum, reaching far enough for the runs to be played.
pub(crate) struct Indices {
    action: IndexTable,
    stop: IndexTable,
}

impl Indices {
    /// Makes the tables reach as far as counts in runs of so many episodes will.
    pub(crate) fn new((mut action, mut stop): (IndexTable, IndexTable), episodes: u64) -> Indices {
        // A count is at most the number of episodes, and a run that is over goes on to the end of its block.
        let most = episodes.saturating_add(Block::STEPS as u64 + 1);
        action.extend_to(most);
        stop.extend_to(most);
        Indices { action, stop }
    }

    /// Whether counts in runs of so many episodes may go beyond the tables.
    pub(crate) fn too_few_for(episodes: u64) -> bool {
        episodes.saturating_add(Block::STEPS as u64 + 2) > IndexTable::MAX_LEN as u64
    }
}

/// Bytes of a count in an index table. (One table of both, for one pointer, was slower: its lines are left twice as
/// often.)
const ENTRY: u64 = size_of::<[f64; 2]>() as u64;

/// What FeedBAL knows in one run: for each action the sum of what was observed, the index, and how often, as the
/// offset of that count in its index table. `A` actions, 0 if any number; `FAR` if counts may go beyond the tables.
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

    /// Makes room for the rows that the tables have and it has not.
    pub(crate) fn grow(&mut self, tables: &Tables) {
        let had = self.words.len();
        self.words.resize(tables.end, 0.0);
        for at in (had..tables.end).step_by(WORDS) {
            self.words[at + 1] = first_index(tables.allows_at(at));
        }
    }

    /// Forgets what was seen in these rows.
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

/// Infinite before the first observation; what may not be taken never wins.
fn first_index(allowed: bool) -> f64 {
    if allowed {
        f64::INFINITY
    } else {
        f64::NEG_INFINITY
    }
}

impl<'t, const A: usize, const FAR: bool> FastLearner for FeedBalPlayer<'t, A, FAR> {
    type Shared = Kept<'t>;

    fn shared(&self) -> Kept<'t> {
        Kept {
            indices: self.indices,
            action: self.indices.action.values().as_ptr(),
            stop: self.indices.stop.values().as_ptr(),
        }
    }

    type LearnerCursor<'a>
        = FeedBalCursor<'t, A, FAR>
    where
        Self: 'a;

    fn hand<'a>(&'a mut self, tables: &'a Tables) -> FeedBalCursor<'t, A, FAR> {
        // What the hand relies on.
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

/// The index tables as pointers: what the compiler keeps in registers.
#[derive(Clone, Copy)]
pub(crate) struct Kept<'t> {
    indices: &'t Indices,
    action: *const [f64; 2],
    stop: *const [f64; 2],
}

/// The words of a run.
pub(crate) struct FeedBalCursor<'t, const A: usize, const FAR: bool> {
    words: *mut f64,
    of: PhantomData<Kept<'t>>,
}

impl<'t, const A: usize, const FAR: bool> LearnerCursor for FeedBalCursor<'t, A, FAR> {
    type Shared = Kept<'t>;
    const ACTIONS: usize = A;
    // `choose` gives `row + WORDS * a` for an `a` below the number of actions.
    const TRUSTED: bool = true;

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let actions = if A == 0 { (stop - row) / WORDS } else { A };
        // SAFETY: the walk gives a row, for whose actions and `stop` there are words.
        unsafe {
            // The largest index, the first of equals, `stop` if it is among them.
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
        values: Kept<'t>,
        stop: usize,
        reward: f64,
        taken: usize,
        gain: f64,
    ) -> bool {
        // SAFETY: the walk gives the `stop` of a row, and an action or `NONE`, for which there are words too.
        unsafe {
            let visits = self.learn(stop, reward, values.stop, &values.indices.stop);
            self.learn(taken, gain, values.action, &values.indices.action);
            visits == ENTRY
        }
    }
}

impl<const A: usize, const FAR: bool> FeedBalCursor<'_, A, FAR> {
    /// Takes in an observation; returns the offset of how many there were.
    ///
    /// SAFETY: needs three words at `at`, of which the last is that of a count which the table keeps, or `FAR`.
    #[inline(always)]
    unsafe fn learn(
        &self,
        at: usize,
        value: f64,
        values: *const [f64; 2],
        table: &IndexTable,
    ) -> u64 {
        unsafe {
            let cell = self.words.add(at);
            let count = (*cell.add(2)).to_bits() + ENTRY;
            let sum = *cell + value;
            let is_kept = count / ENTRY < table.values().len() as u64;
            let [reciprocal, width] = if FAR && !is_kept {
                table.compute(count / ENTRY)
            } else {
                debug_assert!(is_kept);
                *values.byte_add(count as usize)
            };
            *cell = sum;
            *cell.add(1) = sum * reciprocal + width;
            *cell.add(2) = f64::from_bits(count);
            count
        }
    }
}
