//! Steps of two runs side by side, so that one computes while the other waits, and without any branch that chance
//! decides: where a run is, and whether its episode is over, is data.
//!
//! Nothing here checks bounds. [`Tables`] has no way but to rows that it has, or to [`NONE`], where the walk ends until
//! there is one; and players answer for their choices.

use std::borrow::Cow;
use std::hint::select_unpredictable as select;

use emab::Noise;
use emab::rng::Block;

use super::{Level, Work};
use crate::engine::tables::{NONE, START, Tables, WORDS};

/// A learner as it sits in a run: it chooses by row, and is told at each step what the episode will reveal.
///
/// It may learn from that at once if nothing that it chooses later in the same episode depends on it.
pub(crate) trait FastLearner {
    /// What the players of both runs look at: one copy of it, for registers are few.
    type Shared: Copy;

    fn shared(&self) -> Self::Shared;

    /// What it holds while it plays: something small that stays in registers.
    type LearnerCursor<'a>: LearnerCursor<Shared = Self::Shared>
    where
        Self: 'a;

    fn hand<'a>(&'a mut self, tables: &'a Tables) -> Self::LearnerCursor<'a>;

    /// How often an action was taken, by its offset; of `stop`, how often its row was visited.
    fn count(&self, at: usize) -> u64;
}

/// See [`FastLearner`].
pub(crate) trait LearnerCursor {
    type Shared: Copy;

    /// How many continuation actions it was compiled for; 0 if any number.
    const ACTIONS: usize = 0;
    /// Whether its choices need no check. Only hands of the module with `unsafe` code may say so.
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

    /// What became of the choice: it stopped, or it saw a feedback, was paid, and comes to another row.
    fn advance(&mut self, _step: &Step) {}
}

/// What became of a choice.
pub(crate) struct Step {
    pub(crate) stops: bool,
    /// The offset of `stop` in the row.
    pub(crate) stop: usize,
    /// The offset of the action, if it goes on.
    pub(crate) chosen: usize,
    /// Less than 0 for a cost.
    pub(crate) paid: f64,
    pub(crate) feedback: usize,
}

/// Where a run is, and who plays it.
pub(crate) struct RunState<P> {
    pub(crate) player: P,
    /// Whether there are too many rows to look at all of them.
    sparse: bool,
    /// By row: the offset of the action that was chosen last, if that is wanted.
    last: Vec<u32>,
    watch: bool,
    row: usize,
    /// The offset of the action taken before this step.
    taken: usize,
    paid: f64,
    /// What was earned so far.
    pub(crate) gain: f64,
    /// Episodes to go before somebody wants to look.
    pub(crate) left: u64,
    pub(crate) trail: Trail,
}

/// What a run leaves behind: where it was, and on growing tables what is needed to play the benchmark on the draws of
/// its episode.
#[derive(Default)]
pub(crate) struct Trail {
    /// Rows in the order of their first visit, if there are too many to look at all of them.
    visited: Vec<u32>,
    /// The uniform draw of each step at which it went on, and room for more.
    pub(crate) draws: Vec<f64>,
    /// Steps at which it went on.
    pub(crate) steps: usize,
    /// Expected costs of them.
    pub(crate) paid: f64,
    /// The row where it first did otherwise than the benchmark, or [`NONE`].
    pub(crate) parted: usize,
    /// The offset of what it did there, and the expected costs before.
    pub(crate) parted_by: usize,
    pub(crate) paid_before: f64,
    /// The row where it stopped.
    pub(crate) stopped: usize,
    /// Whether the walk cannot go on before somebody has looked: for want of a row or of room, or because an episode is
    /// over in which it parted from the benchmark.
    pub(crate) waits: bool,
}

impl<P: FastLearner> RunState<P> {
    /// A seat for a problem; `watch` if the last choice in each row is to be known.
    pub(crate) fn new(tables: &Tables, player: P, watch: bool) -> RunState<P> {
        RunState {
            player,
            sparse: tables.grows || (tables.end - START) / tables.row > FEW_ROWS,
            last: Vec::new(),
            watch,
            row: START,
            taken: NONE,
            paid: 0.0,
            gain: 0.0,
            left: 0,
            trail: Trail {
                draws: vec![0.0; 16],
                ..Trail::default()
            },
        }
    }

    /// Makes room for rows that the tables have got.
    pub(crate) fn grow(&mut self, tables: &Tables) {
        if self.watch {
            self.last.resize(tables.end, 0);
        }
    }

    /// The row it is in, [`NONE`] if that is not in the tables, and the offset of the action that led there.
    pub(crate) fn row(&self) -> (usize, usize) {
        (self.row, self.taken)
    }

    /// Puts it into a row.
    pub(crate) fn set_row(&mut self, row: usize) {
        self.row = row;
    }

    /// The rows that were visited.
    pub(crate) fn visited<'a>(&'a self, tables: &Tables) -> Cow<'a, [u32]> {
        if self.sparse {
            return Cow::Borrowed(&self.trail.visited);
        }
        let stop = WORDS * tables.actions;
        let rows = (START..tables.end).step_by(tables.row);
        let visited = rows.filter(|row| self.player.count(row + stop) > 0);
        visited.map(|row| row as u32).collect()
    }

    /// Begins a new run.
    pub(crate) fn reset(&mut self) {
        self.trail.visited.clear();
        (self.row, self.taken, self.paid, self.gain) = (START, NONE, 0.0, 0.0);
        self.trail.waits = false;
    }

    /// The offset of the action that was chosen last in a row that was visited.
    pub(crate) fn last(&self, row: usize) -> usize {
        self.last[row] as usize
    }
}

/// Plays two runs from place `from` of their blocks to the end of them, or to where one wants to be looked at; says
/// where that was.
pub(crate) fn walk<P: FastLearner>(
    level: Level,
    tables: &Tables,
    seats: [&mut RunState<P>; 2],
    blocks: &[Block; 2],
    from: usize,
) -> usize {
    let bernoulli = [tables.reward_noise, tables.cost_noise].contains(&Noise::Bernoulli);
    let watch = seats.iter().any(|seat| seat.watch);
    for seat in &seats {
        assert!((START..tables.end).contains(&seat.row) && seat.taken < tables.end);
        assert!(seat.last.len() == tables.end || !watch);
        assert!(seat.trail.steps < seat.trail.draws.len() || !tables.grows);
    }
    let sparse = seats.iter().any(|seat| seat.sparse);
    macro_rules! with {
        ($f:literal, $flags:expr) => {
            level.run(Walk::<P, $f, { $flags }> {
                tables,
                seats,
                blocks,
                from,
            })
        };
    }
    match (tables.feedbacks, tables.grows, bernoulli, watch || sparse) {
        (2, false, false, false) => with!(2, 0),
        (2, false, false, true) => with!(2, WATCH),
        (2, false, true, _) => with!(2, WATCH | BERNOULLI),
        (_, false, _, _) => with!(0, WATCH | BERNOULLI),
        (2, true, _, _) => with!(2, WATCH | BERNOULLI | GROWS),
        (_, true, _, _) => with!(0, WATCH | BERNOULLI | GROWS),
    }
}

/// `F` feedbacks, 0 if any number.
struct Walk<'a, P, const F: usize, const FLAGS: u8> {
    tables: &'a Tables,
    seats: [&'a mut RunState<P>; 2],
    blocks: &'a [Block; 2],
    from: usize,
}

/// Some noise may be.
const BERNOULLI: u8 = 1;
/// First visits are recorded, and last choices if they are wanted.
const WATCH: u8 = 2;
/// The tables grow.
const GROWS: u8 = 4;
/// Up to so many rows it is cheaper to look at all of them now and then than to watch for first visits.
const FEW_ROWS: usize = 256;

impl<P: FastLearner, const F: usize, const FLAGS: u8> Work for Walk<'_, P, F, FLAGS> {
    type Out = usize;

    #[inline(always)]
    fn run(self) -> usize {
        let [one, two] = self.seats;
        let (mut at_one, mut at_two) = (At::of(one), At::of(two));
        let shared = one.player.shared();
        let mut hand_one = one.player.hand(self.tables);
        let mut hand_two = two.player.hand(self.tables);
        let look = Look::<F, FLAGS> {
            tables: self.tables,
            words: self.tables.words.as_ptr(),
        };
        let mut step = self.from;
        while step < Block::STEPS {
            // SAFETY: `walk` checked where the runs are, and `step` leaves them where it may find them.
            unsafe {
                look.step(
                    shared,
                    &mut at_one,
                    &mut hand_one,
                    &mut one.trail,
                    &self.blocks[0],
                    step,
                );
                look.step(
                    shared,
                    &mut at_two,
                    &mut hand_two,
                    &mut two.trail,
                    &self.blocks[1],
                    step,
                );
            }
            step += 1;
            if at_one.left == 0 || at_two.left == 0 {
                break;
            }
            if FLAGS & GROWS != 0 && (one.trail.waits || two.trail.waits) {
                break;
            }
        }
        drop((hand_one, hand_two));
        at_one.put(one);
        at_two.put(two);
        step
    }
}

/// Where one run is, in registers.
struct At {
    last: *mut u32,
    watch: bool,
    row: usize,
    taken: usize,
    paid: f64,
    gain: f64,
    left: u64,
}

impl At {
    fn of<P>(seat: &mut RunState<P>) -> At {
        At {
            last: seat.last.as_mut_ptr(),
            watch: seat.watch,
            row: seat.row,
            taken: seat.taken,
            paid: seat.paid,
            gain: seat.gain,
            left: seat.left,
        }
    }

    fn put<P>(self, seat: &mut RunState<P>) {
        (seat.row, seat.taken, seat.paid) = (self.row, self.taken, self.paid);
        (seat.gain, seat.left) = (self.gain, self.left);
    }
}

/// The tables, in registers.
#[derive(Clone, Copy)]
struct Look<'a, const F: usize, const FLAGS: u8> {
    tables: &'a Tables,
    words: *const f64,
}

impl<const F: usize, const FLAGS: u8> Look<'_, F, FLAGS> {
    /// One step of one run.
    ///
    /// SAFETY: needs `at.row` to be a row, `at.taken` an action or `NONE`, `step` in the block, and `at.last` as long
    /// as the tables if it watches. That holds after it as well: `at.row` becomes the start or a next row, which
    /// [`Tables`] took from the pairs of the problem (or `NONE`, and then the trail waits), and `at.taken` an action of
    /// the row, as was checked or the hand is trusted with, or `NONE`.
    #[inline(always)]
    unsafe fn step<H: LearnerCursor>(
        self,
        shared: H::Shared,
        at: &mut At,
        hand: &mut H,
        trail: &mut Trail,
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

            let (chosen, stops) = hand.choose(row, stop);
            let is_action = chosen >= row && chosen < stop;
            if H::TRUSTED {
                debug_assert!(is_action);
            } else {
                assert!(is_action, "{chosen} is no action of row {row}");
            }
            if FLAGS & WATCH != 0 && at.watch {
                *at.last.add(row) = select(stops, stop, chosen) as u32;
            }

            let draw = *block.reward.get_unchecked(step);
            let reward = *self.words.add(stop);
            let reward = if FLAGS & BERNOULLI != 0 {
                self.tables.reward_noise.observe(reward, draw)
            } else {
                reward + draw
            };
            let first = hand.reveal(shared, stop, reward, at.taken, reward + at.paid);
            if FLAGS & WATCH != 0 && first {
                first_visit(&mut trail.visited, row);
            }

            // The table has what an action is paid, less than 0 for a cost.
            let draw = *block.cost.get_unchecked(step);
            let paid = *self.words.add(chosen);
            let paid = if FLAGS & BERNOULLI != 0 {
                -self.tables.cost_noise.observe(-paid, draw)
            } else {
                paid - draw
            };
            let (feedback, next) = self.next(chosen, *block.feedback.get_unchecked(step));
            hand.advance(&Step {
                stops,
                stop,
                chosen,
                paid,
                feedback,
            });
            if FLAGS & GROWS != 0 {
                let u = *block.feedback.get_unchecked(step);
                let cost = -*self.words.add(chosen);
                let does = select(stops, stop, chosen);
                let best = (*self.words.add(stop + 2)).to_bits() as usize;
                trail.pass(row, best, does, stops, cost, u);
                trail.waits = if stops {
                    trail.parted != NONE && !self.tables.exact
                } else {
                    next == NONE || trail.steps == trail.draws.len()
                };
            }
            at.row = select(stops, START, next);
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
                // Both are loaded and one is kept: to load from a selected place would wait for the comparison.
                let (zero, one) = (next.read_volatile(), next.add(1).read_volatile());
                let row = select(is_one, one, zero);
                return (usize::from(is_one), row as usize);
            }
            let (first, count) = (bound.to_bits() as usize, self.tables.feedbacks);
            let bounds = self.tables.bounds.get(first..first + count);
            // None where the action is not allowed: then it is not taken, and this is not used.
            let Some((_, bounds)) = bounds.and_then(|bounds| bounds.split_last()) else {
                return (0, 0);
            };
            // Counting the bounds passed has no branch that a random number could mispredict.
            let f: usize = bounds.iter().map(|&bound| usize::from(bound <= u)).sum();
            (f, *self.tables.nexts.get_unchecked(first + f) as usize)
        }
    }
}

impl Trail {
    /// Makes room for a step more.
    pub(crate) fn make_room(&mut self) {
        if self.steps == self.draws.len() {
            self.draws.resize(2 * self.steps, 0.0);
        }
    }

    /// The draw of a step after those that it went on at.
    pub(crate) fn set(&mut self, step: usize, u: f64) {
        if step == self.draws.len() {
            self.draws.push(u);
        } else {
            self.draws[step] = u;
        }
    }

    /// Takes in a step: in which row, what the benchmark does there and what was done. (Without branches it was slower.)
    #[inline(always)]
    fn pass(&mut self, row: usize, best: usize, does: usize, stops: bool, cost: f64, u: f64) {
        if row == START {
            (self.steps, self.paid, self.parted) = (0, 0.0, NONE);
        }
        if best != does && self.parted == NONE {
            (self.parted, self.parted_by, self.paid_before) = (row, does, self.paid);
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
