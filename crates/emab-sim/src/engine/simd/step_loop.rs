//! Steps of two runs side by side, so that one computes while the other waits for memory. No branch depends on a random
//! draw: the position of a run, and whether its episode is over, are data.
//!
//! Bounds are not checked here. [`Tables`] leads only to existing rows or to [`NONE`], where the walk pauses until the row
//! exists; a player is trusted or its choice is checked.

use std::borrow::Cow;
use std::hint::select_unpredictable as select;

use emab::rng::Block;
use emab::{Noise, Stream};

use super::{Level, Work};
use crate::engine::tables::{NONE, START, Tables, WORDS};

/// A learner in the fast loop: it chooses by row and receives at each step what the episode reveals at its end.
///
/// It may learn from that at once if none of its later choices in the same episode depends on it.
pub(crate) trait FastLearner {
    /// Data that the players of both runs read: one copy, because registers are few.
    type Shared: Copy;

    fn shared(&self) -> Self::Shared;

    /// The part used while stepping: small enough to stay in registers.
    type Cursor<'a>: LearnerCursor<Shared = Self::Shared>
    where
        Self: 'a;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> Self::Cursor<'a>;

    /// How often an action was taken, by its offset; for `stop`, how often its row was visited.
    fn count(&self, at: usize) -> u64;
}

/// See [`FastLearner`].
pub(crate) trait LearnerCursor {
    type Shared: Copy;

    /// The number of continuation actions it was compiled for; 0 for any number.
    const ACTIONS: usize = 0;
    /// Whether its choices need no check. Only cursors of this module may set it.
    const TRUSTED: bool = false;

    /// The offset of the action it takes in a row, and whether it stops instead; then the offset is the row's.
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool);

    /// The reward of the row whose `stop` is at this offset, and what was gained by the action taken before, if that
    /// was any (else its offset is [`NONE`]). Returns whether the row was visited for the first time.
    fn reveal(
        &mut self,
        shared: Self::Shared,
        stop: usize,
        reward: f64,
        taken: usize,
        gain: f64,
    ) -> bool;

    /// The outcome of the choice: it stopped, or it received a feedback and a payment and moves to another row.
    fn advance(&mut self, _step: &Step) {}
}

/// The outcome of a choice.
pub(crate) struct Step {
    pub(crate) stops: bool,
    /// Less than 0 for a cost.
    pub(crate) paid: f64,
    pub(crate) feedback: usize,
}

/// The position of a run, and its player.
pub(crate) struct RunState<P> {
    pub(crate) player: P,
    /// Whether there are too many rows to scan all of them.
    sparse: bool,
    /// By row: the offset of the last action chosen, if choices are recorded.
    last: Vec<u32>,
    record: bool,
    /// The rows that the next episodes begin in, from `starts[used]` on, if there are several starts.
    starts: Vec<u32>,
    used: usize,
    row: usize,
    /// The offset of the action taken before this step.
    taken: usize,
    paid: f64,
    /// The gain so far.
    pub(crate) gain: f64,
    /// Episodes to the next checkpoint.
    pub(crate) left: u64,
    pub(crate) trace: EpisodeTrace,
}

/// What a run records: the rows it visited and, on growing tables, what is needed to play the benchmark on the draws of
/// its episode.
#[derive(Default)]
pub(crate) struct EpisodeTrace {
    /// Rows in the order of their first visit, if there are too many to scan all of them.
    visited: Vec<u32>,
    /// The uniform draw of each step that did not stop, and room for more.
    pub(crate) draws: Vec<f64>,
    /// Steps that did not stop.
    pub(crate) steps: usize,
    /// Their expected costs.
    pub(crate) paid: f64,
    /// The row of the first deviation from the benchmark, or [`NONE`].
    pub(crate) deviated_at: usize,
    /// The offset of the action there, and the expected costs before it.
    pub(crate) deviated_to: usize,
    pub(crate) paid_before: f64,
    /// The row at which it stopped.
    pub(crate) stopped: usize,
    /// Whether the walk must pause: a row or room is missing, or an episode ended that deviated from the benchmark.
    pub(crate) waiting: bool,
}

impl<P: FastLearner> RunState<P> {
    /// A state at the start; `record` asks to record the last choice in each row.
    pub(crate) fn new(tables: &Tables, player: P, record: bool) -> RunState<P> {
        RunState {
            player,
            sparse: tables.grows || (tables.end - START) / tables.row > FEW_ROWS,
            last: Vec::new(),
            record,
            starts: Vec::new(),
            used: 0,
            row: START,
            taken: NONE,
            paid: 0.0,
            gain: 0.0,
            left: 0,
            trace: EpisodeTrace {
                draws: vec![0.0; 16],
                ..EpisodeTrace::default()
            },
        }
    }

    /// Allocates the new rows of the tables.
    pub(crate) fn grow(&mut self, tables: &Tables) {
        if self.record {
            self.last.resize(tables.end, 0);
        }
    }

    /// The current row, [`NONE`] if the tables do not have it yet, and the offset of the action that led to it.
    pub(crate) fn row(&self) -> (usize, usize) {
        (self.row, self.taken)
    }

    /// Sets the current row.
    pub(crate) fn set_row(&mut self, row: usize) {
        self.row = row;
    }

    /// The visited rows.
    pub(crate) fn visited<'a>(&'a self, tables: &Tables) -> Cow<'a, [u32]> {
        if self.sparse {
            return Cow::Borrowed(&self.trace.visited);
        }
        let stop = WORDS * tables.actions;
        let rows = (START..tables.end).step_by(tables.row);
        let mut visited = Vec::with_capacity(rows.len());
        let counted = rows.filter(|row| self.player.count(row + stop) > 0);
        visited.extend(counted.map(|row| row as u32));
        visited.into()
    }

    /// Starts a new run; its episodes begin in the rows that the stream draws, one after another.
    pub(crate) fn reset(&mut self, tables: &Tables, starts: &mut Stream) {
        self.trace.visited.clear();
        (self.row, self.taken, self.paid, self.gain) = (START, NONE, 0.0, 0.0);
        self.trace.waiting = false;
        if tables.several_starts() {
            self.row = tables.start(starts.uniform());
            self.starts.resize(Block::STEPS, START as u32);
            self.used = Block::STEPS;
        }
    }

    /// Draws the starts of as many episodes as can end in a block.
    pub(crate) fn draw_starts(&mut self, tables: &Tables, starts: &mut Stream) {
        if tables.several_starts() {
            self.starts.copy_within(self.used.., 0);
            let kept = Block::STEPS - self.used;
            for start in &mut self.starts[kept..] {
                *start = tables.start(starts.uniform()) as u32;
            }
            self.used = 0;
        }
    }

    /// Begins the episode anew, from the first start.
    pub(crate) fn abandon_episode(&mut self) {
        (self.row, self.taken) = (START, NONE);
    }

    /// The offset of the last action chosen in a visited row.
    pub(crate) fn last(&self, row: usize) -> usize {
        self.last[row] as usize
    }
}

/// Plays two runs from position `from` of their blocks to the end, or to the first checkpoint or pause; returns the
/// position reached.
pub(crate) fn walk<P: FastLearner>(
    level: Level,
    tables: &Tables,
    states: [&mut RunState<P>; 2],
    blocks: &[Block; 2],
    from: usize,
) -> usize {
    let is_bernoulli = |noise| matches!(noise, Noise::Bernoulli);
    let bernoulli = is_bernoulli(tables.reward_noise) || is_bernoulli(tables.cost_noise);
    let record = states.iter().any(|state| state.record);
    for state in &states {
        assert!((START..tables.end).contains(&state.row) && state.taken < tables.end);
        assert!(state.last.len() == tables.end || !record);
        assert!(state.trace.steps < state.trace.draws.len() || !tables.grows);
        let missing = state.used + (Block::STEPS - from) > state.starts.len();
        assert!(!missing || !tables.several_starts());
    }
    let sparse = states.iter().any(|state| state.sparse);
    macro_rules! walk {
        ($f:literal, $flags:expr) => {
            level.run(Walk::<P, $f, { $flags }> {
                tables,
                states,
                blocks,
                from,
            })
        };
    }
    macro_rules! with {
        ($f:literal, $flags:expr) => {
            match tables.several_starts() {
                false => walk!($f, $flags),
                true => walk!($f, $flags | STARTS),
            }
        };
    }
    match (tables.feedbacks, tables.grows, bernoulli, record || sparse) {
        (2, false, false, false) => with!(2, 0),
        (2, false, false, true) => with!(2, RECORD),
        (2, false, true, _) => with!(2, RECORD | BERNOULLI),
        (_, false, _, _) => with!(0, RECORD | BERNOULLI),
        (2, true, _, _) => with!(2, RECORD | BERNOULLI | GROWS),
        (_, true, _, _) => with!(0, RECORD | BERNOULLI | GROWS),
    }
}

/// `F` feedbacks, 0 if any number.
struct Walk<'a, P, const F: usize, const FLAGS: u8> {
    tables: &'a Tables,
    states: [&'a mut RunState<P>; 2],
    blocks: &'a [Block; 2],
    from: usize,
}

/// Noise may be Bernoulli.
const BERNOULLI: u8 = 1;
/// First visits are recorded, and last choices where asked for.
const RECORD: u8 = 2;
/// The tables grow.
const GROWS: u8 = 4;
/// There are several starts.
const STARTS: u8 = 8;
/// Up to this many rows it is cheaper to scan all of them at checkpoints than to record first visits.
pub(crate) const FEW_ROWS: usize = 256;

impl<P: FastLearner, const F: usize, const FLAGS: u8> Work for Walk<'_, P, F, FLAGS> {
    type Out = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let [one, two] = self.states;
        let (mut at_one, mut at_two) = (StepState::of(one), StepState::of(two));
        let shared = one.player.shared();
        let mut cursor_one = one.player.cursor(self.tables);
        let mut cursor_two = two.player.cursor(self.tables);
        let stepper = Stepper::<F, FLAGS> {
            tables: self.tables,
            words: self.tables.words.as_ptr(),
        };
        let mut step = self.from;
        while step < Block::STEPS {
            // SAFETY: `walk` checked the positions of the runs, and `step` keeps them valid.
            unsafe {
                stepper.step(
                    shared,
                    &mut at_one,
                    &mut cursor_one,
                    &mut one.trace,
                    &self.blocks[0],
                    step,
                );
                stepper.step(
                    shared,
                    &mut at_two,
                    &mut cursor_two,
                    &mut two.trace,
                    &self.blocks[1],
                    step,
                );
            }
            step += 1;
            if at_one.left == 0 || at_two.left == 0 {
                break;
            }
            if FLAGS & GROWS != 0 && (one.trace.waiting || two.trace.waiting) {
                break;
            }
        }
        drop((cursor_one, cursor_two));
        at_one.put(one);
        at_two.put(two);
        step
    }
}

/// The position of one run, in registers.
struct StepState {
    last: *mut u32,
    record: bool,
    /// The row that the next episode begins in, and those after it.
    start: *const u32,
    row: usize,
    taken: usize,
    paid: f64,
    gain: f64,
    left: u64,
}

impl StepState {
    fn of<P>(state: &mut RunState<P>) -> StepState {
        StepState {
            last: state.last.as_mut_ptr(),
            record: state.record,
            start: state.starts[state.used..].as_ptr(),
            row: state.row,
            taken: state.taken,
            paid: state.paid,
            gain: state.gain,
            left: state.left,
        }
    }

    fn put<P>(self, state: &mut RunState<P>) {
        let first = state.starts.as_ptr().addr();
        state.used = (self.start.addr() - first) / size_of::<u32>();
        (state.row, state.taken, state.paid) = (self.row, self.taken, self.paid);
        (state.gain, state.left) = (self.gain, self.left);
    }
}

/// The tables, in registers.
#[derive(Clone, Copy)]
struct Stepper<'a, const F: usize, const FLAGS: u8> {
    tables: &'a Tables,
    words: *const f64,
}

impl<const F: usize, const FLAGS: u8> Stepper<'_, F, FLAGS> {
    /// One step of one run.
    ///
    /// SAFETY: needs `at.row` to be a row, `at.taken` an action or `NONE`, `step` in the block, `at.last` as long as the
    /// tables if it records, and with several starts a row at `at.start`. The same holds after the call while steps of the
    /// block are left: `at.row` becomes a start or a next row, which [`Tables`] took from the pairs of the problem (or
    /// `NONE`, and then the trace is waiting), and `at.taken` an action of the row, which was checked or comes from a trusted
    /// cursor, or `NONE`.
    #[inline(always)]
    unsafe fn step<H: LearnerCursor>(
        self,
        shared: H::Shared,
        at: &mut StepState,
        cursor: &mut H,
        trace: &mut EpisodeTrace,
        block: &Block,
        step: usize,
    ) {
        unsafe {
            let row = at.row;
            let actions = if H::ACTIONS == 0 {
                self.tables.actions
            } else {
                H::ACTIONS
            };
            let stop = row + WORDS * actions;
            debug_assert!(row >= START && stop + WORDS <= self.tables.end);

            let (chosen, stops) = cursor.choose(row, stop);
            let is_action = chosen >= row && chosen < stop;
            if H::TRUSTED {
                debug_assert!(is_action);
            } else {
                assert!(is_action, "{chosen} is no action of row {row}");
            }
            if FLAGS & RECORD != 0 && at.record {
                *at.last.add(row) = select(stops, stop, chosen) as u32;
            }

            let draw = *block.reward.get_unchecked(step);
            let reward = *self.words.add(stop);
            let reward = if FLAGS & BERNOULLI != 0 {
                self.tables.reward_noise.observe(reward, draw)
            } else {
                reward + draw
            };
            let first = cursor.reveal(shared, stop, reward, at.taken, reward + at.paid);
            if FLAGS & RECORD != 0 && first {
                first_visit(&mut trace.visited, row);
            }

            // The table stores the payment of an action, below 0 for a cost.
            let draw = *block.cost.get_unchecked(step);
            let paid = *self.words.add(chosen);
            let paid = if FLAGS & BERNOULLI != 0 {
                -self.tables.cost_noise.observe(-paid, draw)
            } else {
                paid - draw
            };
            let (feedback, next) = self.next(chosen, *block.feedback.get_unchecked(step));
            cursor.advance(&Step {
                stops,
                paid,
                feedback,
            });
            if FLAGS & GROWS != 0 {
                let u = *block.feedback.get_unchecked(step);
                let cost = -*self.words.add(chosen);
                let does = select(stops, stop, chosen);
                let best = (*self.words.add(stop + 2)).to_bits() as usize;
                if at.taken == NONE {
                    trace.begin();
                }
                trace.pass(row, best, does, stops, cost, u);
                trace.waiting = if stops {
                    trace.deviated_at != NONE && !self.tables.exact
                } else {
                    next == NONE || trace.steps == trace.draws.len()
                };
            }
            let start = if FLAGS & STARTS != 0 {
                let start = *at.start;
                at.start = at.start.add(usize::from(stops));
                start as usize
            } else {
                START
            };
            at.row = select(stops, start, next);
            at.taken = select(stops, NONE, chosen);
            at.paid = paid;
            at.gain += select(stops, reward, paid);
            at.left -= u64::from(stops);
        }
    }

    /// The feedback to an action and the row that follows it, when a uniform draw is `u`.
    ///
    /// SAFETY: needs an action at `chosen`.
    #[inline(always)]
    unsafe fn next(self, chosen: usize, u: f64) -> (usize, usize) {
        unsafe {
            let bound = *self.words.add(chosen + 1);
            if F == 2 {
                let next = self.words.add(chosen + 2).cast::<u32>();
                let is_one = bound <= u;
                // Both are loaded and one is selected: loading from a selected address would wait for the comparison.
                let (zero, one) = (next.read_volatile(), next.add(1).read_volatile());
                let row = select(is_one, one, zero);
                return (usize::from(is_one), row as usize);
            }
            let (first, count) = (bound.to_bits() as usize, self.tables.feedbacks);
            let bounds = self.tables.bounds.get(first..first + count);
            // None where the action is not allowed; then it is not taken and the result is unused.
            let Some((_, bounds)) = bounds.and_then(|bounds| bounds.split_last()) else {
                return (0, 0);
            };
            // Counting bounds has no branch that a random draw could mispredict.
            let f: usize = bounds.iter().map(|&bound| usize::from(bound <= u)).sum();
            (f, *self.tables.nexts.get_unchecked(first + f) as usize)
        }
    }
}

impl EpisodeTrace {
    /// Allocates room for one more step.
    pub(crate) fn reserve_step(&mut self) {
        if self.steps == self.draws.len() {
            self.draws.resize(2 * self.steps, 0.0);
        }
    }

    /// Sets the draw of a step after the last one played.
    pub(crate) fn set(&mut self, step: usize, u: f64) {
        if step == self.draws.len() {
            self.draws.push(u);
        } else {
            self.draws[step] = u;
        }
    }

    /// Forgets the steps of the episode before.
    #[inline(always)]
    fn begin(&mut self) {
        (self.steps, self.paid, self.deviated_at) = (0, 0.0, NONE);
    }

    /// Records a step: its row, the benchmark's action and the action taken. (A branch-free version was slower.)
    #[inline(always)]
    fn pass(&mut self, row: usize, best: usize, does: usize, stops: bool, cost: f64, u: f64) {
        if best != does && self.deviated_at == NONE {
            (self.deviated_at, self.deviated_to, self.paid_before) = (row, does, self.paid);
        }
        if stops {
            self.stopped = row;
        } else {
            self.draws[self.steps] = u;
            self.steps += 1;
            self.paid += cost;
        }
    }
}

#[cold]
#[inline(never)]
fn first_visit(visited: &mut Vec<u32>, row: usize) {
    visited.push(row as u32);
}
