//! Learners as they sit in a walk.
//!
//! Any learner can be [`Recorded`]: it is asked by step and state, its episodes are written down, and it learns from
//! each when it is over. [`FeedBalPlayer`] and [`Sequences`] learn at once. Those that never learn have nothing to write
//! down: a [`Fixed`] policy is a table, and a [`Coin`] chooses at random.

use emab::learners::{Random, Ucb1};
use emab::{Action, Episode, Learner, PlayError, Stream};

use crate::tables::{NONE, START, Tables, WORDS};
use crate::vector::feedbal::FeedBalPlayer;
use crate::vector::walk::{Hand, Player, Step};

/// What lanes ask of a player between two runs.
pub(crate) trait Seated: Player {
    /// Makes room for all rows of the tables.
    fn grow(&mut self, tables: &Tables);

    /// Forgets what it saw in these rows, all that were visited, and takes up a new source of randomness.
    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream);

    /// What it did that is not allowed, and in which episode, if it did.
    fn failure(&mut self) -> Option<(u64, PlayError)> {
        None
    }
}

impl<const A: usize, const FAR: bool> Seated for FeedBalPlayer<'_, A, FAR> {
    fn grow(&mut self, tables: &Tables) {
        FeedBalPlayer::grow(self, tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], _stream: Stream) {
        FeedBalPlayer::reset(self, tables, visited);
    }
}

/// How often each action was taken, by its offset; of `stop`, how often its row was visited.
#[derive(Default)]
struct Counts(Vec<u64>);

impl Counts {
    fn grow(&mut self, tables: &Tables) {
        self.0.resize(tables.end, 0);
    }

    /// Counts a visit and what was taken before it; returns whether it is the first.
    #[inline(always)]
    fn add(&mut self, stop: usize, taken: usize) -> bool {
        self.0[taken] += 1;
        self.0[stop] += 1;
        self.0[stop] == 1
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32]) {
        for &row in visited {
            self.0[row as usize..row as usize + tables.row].fill(0);
        }
        self.0[NONE] = 0;
    }
}

/// A policy that never changes.
pub(crate) struct Fixed<L> {
    counts: Counts,
    policy: L,
    /// By row: the offset of its action, or of `stop`.
    chosen: Vec<u32>,
}

impl<L: Learner> Fixed<L> {
    pub(crate) fn new(policy: L) -> Fixed<L> {
        Fixed {
            counts: Counts::default(),
            policy,
            chosen: vec![0; START],
        }
    }
}

impl<L> Player for Fixed<L> {
    type Shared = ();

    fn shared(&self) {}

    type Hand<'a>
        = &'a mut Fixed<L>
    where
        L: 'a;

    fn hand<'a>(&'a mut self, _tables: &'a Tables) -> &'a mut Fixed<L> {
        self
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

impl<L> Hand for &mut Fixed<L> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let chosen = self.chosen[row] as usize;
        let stops = chosen == stop;
        (if stops { row } else { chosen }, stops)
    }

    #[inline(always)]
    fn reveal(&mut self, _: (), stop: usize, _reward: f64, taken: usize, _gain: f64) -> bool {
        self.counts.add(stop, taken)
    }
}

impl<L: Learner> Seated for Fixed<L> {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
        let had = self.chosen.len();
        self.chosen.resize(tables.end, 0);
        for row in (had..tables.end).step_by(tables.row) {
            let stop = row + WORDS * tables.actions;
            let (t, x) = tables.place(stop);
            self.chosen[row] = match self.policy.choose(t, x) {
                Action::Continue(a) if tables.allows(row, a) => row + WORDS * a,
                _ => stop,
            } as u32;
        }
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], _stream: Stream) {
        self.counts.reset(tables, visited);
    }
}

/// The learner that chooses at random.
pub(crate) struct Coin {
    counts: Counts,
    learner: Random,
}

impl Coin {
    pub(crate) fn new(learner: Random) -> Coin {
        Coin {
            counts: Counts::default(),
            learner,
        }
    }
}

impl Player for Coin {
    type Shared = ();

    fn shared(&self) {}

    type Hand<'a> = CoinHand<'a>;

    fn hand<'a>(&'a mut self, tables: &'a Tables) -> CoinHand<'a> {
        CoinHand {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`Coin`].
pub(crate) struct CoinHand<'a> {
    player: &'a mut Coin,
    tables: &'a Tables,
}

impl Hand for CoinHand<'_> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = self.tables.place(stop);
        match self.player.learner.choose(t, x) {
            Action::Continue(a) => (row + WORDS * a, false),
            Action::Stop => (row, true),
        }
    }

    #[inline(always)]
    fn reveal(&mut self, _: (), stop: usize, _reward: f64, taken: usize, _gain: f64) -> bool {
        self.player.counts.add(stop, taken)
    }
}

impl Seated for Coin {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        self.counts.reset(tables, visited);
        self.learner.reset(stream);
    }
}

/// A learner of whole sequences: told step by step what its arm and the arm's prefixes earn.
pub(crate) struct Sequences {
    counts: Counts,
    learner: Ucb1,
    /// Steps taken in this episode, and what was paid in them.
    steps: usize,
    paid: f64,
    reward: f64,
}

impl Sequences {
    pub(crate) fn new(learner: Ucb1) -> Sequences {
        Sequences {
            counts: Counts::default(),
            learner,
            steps: 0,
            paid: 0.0,
            reward: 0.0,
        }
    }
}

impl Player for Sequences {
    type Shared = ();

    fn shared(&self) {}

    type Hand<'a> = SequencesHand<'a>;

    fn hand<'a>(&'a mut self, tables: &'a Tables) -> SequencesHand<'a> {
        SequencesHand {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`Sequences`].
pub(crate) struct SequencesHand<'a> {
    player: &'a mut Sequences,
    tables: &'a Tables,
}

impl Hand for SequencesHand<'_> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, _stop: usize) -> (usize, bool) {
        let player = &mut *self.player;
        // Only the first step is in the first row.
        if row == START {
            player.learner.begin();
            (player.steps, player.paid) = (0, 0.0);
        }
        match player.learner.planned(player.steps) {
            Some(a) if self.tables.allows(row, a) => (row + WORDS * a, false),
            _ => (row, true),
        }
    }

    #[inline(always)]
    fn reveal(&mut self, _: (), stop: usize, reward: f64, taken: usize, _gain: f64) -> bool {
        self.player.reward = reward;
        self.player.counts.add(stop, taken)
    }

    #[inline(always)]
    fn advance(&mut self, step: &Step) {
        let player = &mut *self.player;
        let gain = player.reward + player.paid;
        if step.stops {
            player.learner.stopped(player.steps, gain);
        } else {
            player.learner.passed(player.steps, gain);
            player.steps += 1;
            player.paid += step.paid;
        }
    }
}

impl Seated for Sequences {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        self.counts.reset(tables, visited);
        self.learner.reset(stream);
    }
}

/// Any learner.
pub(crate) struct Recorded<L> {
    counts: Counts,
    learner: L,
    episode: Episode,
    episodes: u64,
    failure: Option<(u64, PlayError)>,
}

impl<L: Learner> Recorded<L> {
    pub(crate) fn new(learner: L) -> Recorded<L> {
        Recorded {
            counts: Counts::default(),
            learner,
            episode: Episode::default(),
            episodes: 0,
            failure: None,
        }
    }
}

impl<L: Learner> Player for Recorded<L> {
    type Shared = ();

    fn shared(&self) {}

    type Hand<'a>
        = RecordedHand<'a, L>
    where
        L: 'a;

    fn hand<'a>(&'a mut self, tables: &'a Tables) -> RecordedHand<'a, L> {
        RecordedHand {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`Recorded`].
pub(crate) struct RecordedHand<'a, L> {
    player: &'a mut Recorded<L>,
    tables: &'a Tables,
}

impl<L: Learner> Hand for RecordedHand<'_, L> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = self.tables.place(stop);
        let player = &mut *self.player;
        player.episode.states.push(x);
        match player.learner.choose(t, x) {
            Action::Continue(a) if self.tables.allows(row, a) => (row + WORDS * a, false),
            Action::Stop => (row, true),
            action => {
                let error = PlayError::NotAllowed { t, x, action };
                player.failure.get_or_insert((player.episodes + 1, error));
                (row, true)
            }
        }
    }

    #[inline(always)]
    fn reveal(&mut self, _: (), stop: usize, reward: f64, taken: usize, _gain: f64) -> bool {
        self.player.episode.rewards.push(reward);
        self.player.counts.add(stop, taken)
    }

    #[inline(always)]
    fn advance(&mut self, step: &Step) {
        let Recorded {
            learner,
            episode,
            episodes,
            ..
        } = &mut *self.player;
        if step.stops {
            learner.learn(episode);
            *episodes += 1;
            episode.clear();
        } else {
            let row = step.stop - WORDS * self.tables.actions;
            episode.actions.push((step.chosen - row) / WORDS);
            episode.feedbacks.push(step.feedback);
            episode.costs.push(-step.paid);
        }
    }
}

impl<L: Learner> Seated for Recorded<L> {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        self.counts.reset(tables, visited);
        self.episode.clear();
        self.episodes = 0;
        self.failure = None;
        self.learner.reset(stream);
    }

    fn failure(&mut self) -> Option<(u64, PlayError)> {
        self.failure.take()
    }
}
