//! Players: learners in the fast loop.
//!
//! [`FeedBalPlayer`] has tables of its own. Every other player is a [`CountingPlayer`]: it counts its choices beside a
//! learner that [`Recording`] asks by step and state and that learns from recorded episodes, that learns step by step
//! ([`SequenceUcb`]), or that does not learn ([`PolicyTable`], [`Random`]).

use emab::learners::{Random, Ucb1};
use emab::{Action, Episode, Learner, PlayError, Stream};

use crate::engine::simd::feedbal::FeedBalPlayer;
use crate::engine::simd::step_loop::{FastLearner, LearnerCursor, Step};
use crate::engine::tables::{NONE, START, Tables, WORDS};

/// What a run slot needs of a player between two runs.
pub(crate) trait PlayerState: FastLearner {
    /// Allocates all rows of the tables.
    fn grow(&mut self, tables: &Tables);

    /// Resets the visited rows and starts with a new random stream.
    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream);

    /// The first choice that was not allowed, with its episode.
    fn failure(&mut self) -> Option<(u64, PlayError)> {
        None
    }
}

impl<const A: usize, const FAR: bool> PlayerState for FeedBalPlayer<'_, A, FAR> {
    fn grow(&mut self, tables: &Tables) {
        FeedBalPlayer::grow(self, tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], _stream: Stream) {
        FeedBalPlayer::reset(self, tables, visited);
    }
}

/// The learner of a [`CountingPlayer`]; its methods are those of [`LearnerCursor`] and [`PlayerState`].
pub(crate) trait TableLearner {
    fn choose(&mut self, tables: &Tables, row: usize, stop: usize) -> (usize, bool);

    fn reveal(&mut self, _reward: f64) {}

    fn advance(&mut self, _tables: &Tables, _step: &Step) {}

    fn grow(&mut self, _tables: &Tables) {}

    fn reset(&mut self, stream: Stream);

    fn failure(&mut self) -> Option<(u64, PlayError)> {
        None
    }
}

/// A learner, and how often each action was taken, by its offset; for `stop`, how often its row was visited.
pub(crate) struct CountingPlayer<L> {
    counts: Vec<u64>,
    learner: L,
}

impl<L: TableLearner> CountingPlayer<L> {
    pub(crate) fn new(learner: L) -> CountingPlayer<L> {
        CountingPlayer {
            counts: Vec::new(),
            learner,
        }
    }
}

impl<L: TableLearner> FastLearner for CountingPlayer<L> {
    type Shared = ();

    fn shared(&self) {}

    type Cursor<'a>
        = CountingCursor<'a, L>
    where
        L: 'a;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> CountingCursor<'a, L> {
        CountingCursor {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts[at]
    }
}

/// See [`CountingPlayer`].
pub(crate) struct CountingCursor<'a, L> {
    player: &'a mut CountingPlayer<L>,
    tables: &'a Tables,
}

impl<L: TableLearner> LearnerCursor for CountingCursor<'_, L> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        self.player.learner.choose(self.tables, row, stop)
    }

    #[inline(always)]
    fn reveal(&mut self, _: (), stop: usize, reward: f64, taken: usize, _gain: f64) -> bool {
        let CountingPlayer { counts, learner } = &mut *self.player;
        learner.reveal(reward);
        counts[taken] += 1;
        counts[stop] += 1;
        counts[stop] == 1
    }

    #[inline(always)]
    fn advance(&mut self, step: &Step) {
        self.player.learner.advance(self.tables, step);
    }
}

impl<L: TableLearner> PlayerState for CountingPlayer<L> {
    fn grow(&mut self, tables: &Tables) {
        self.counts.resize(tables.end, 0);
        self.learner.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        for &row in visited {
            self.counts[row as usize..row as usize + tables.row].fill(0);
        }
        self.counts[NONE] = 0;
        self.learner.reset(stream);
    }

    fn failure(&mut self) -> Option<(u64, PlayError)> {
        self.learner.failure()
    }
}

/// A fixed policy.
pub(crate) struct PolicyTable<L> {
    policy: L,
    /// By row: the offset of its action, or of `stop`.
    chosen: Vec<u32>,
}

impl<L: Learner> PolicyTable<L> {
    pub(crate) fn new(policy: L) -> PolicyTable<L> {
        PolicyTable {
            policy,
            chosen: vec![0; START],
        }
    }
}

impl<L: Learner> TableLearner for PolicyTable<L> {
    #[inline(always)]
    fn choose(&mut self, _tables: &Tables, row: usize, stop: usize) -> (usize, bool) {
        let chosen = self.chosen[row] as usize;
        let stops = chosen == stop;
        (if stops { row } else { chosen }, stops)
    }

    fn grow(&mut self, tables: &Tables) {
        let had = self.chosen.len();
        self.chosen.resize(tables.end, 0);
        for row in (had..tables.end).step_by(tables.row) {
            let stop = row + WORDS * tables.actions;
            let (t, x) = tables.step_and_state(stop);
            self.chosen[row] = match self.policy.choose(t, x) {
                Action::Continue(a) if tables.allows(row, a) => row + WORDS * a,
                _ => stop,
            } as u32;
        }
    }

    fn reset(&mut self, _stream: Stream) {}
}

impl TableLearner for Random {
    #[inline(always)]
    fn choose(&mut self, tables: &Tables, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = tables.step_and_state(stop);
        match Learner::choose(self, t, x) {
            Action::Continue(a) => (row + WORDS * a, false),
            Action::Stop => (row, true),
        }
    }

    fn reset(&mut self, stream: Stream) {
        Learner::reset(self, stream);
    }
}

/// UCB1 over action sequences: receives step by step what the arm and its prefixes earn.
pub(crate) struct SequenceUcb {
    learner: Ucb1,
    /// Steps of this episode, and what was paid in them.
    steps: usize,
    paid: f64,
    reward: f64,
}

impl SequenceUcb {
    pub(crate) fn new(learner: Ucb1) -> SequenceUcb {
        SequenceUcb {
            learner,
            steps: 0,
            paid: 0.0,
            reward: 0.0,
        }
    }
}

impl TableLearner for SequenceUcb {
    #[inline(always)]
    fn choose(&mut self, tables: &Tables, row: usize, _stop: usize) -> (usize, bool) {
        // Only the first step is in the first row.
        if row == START {
            self.learner.begin();
            (self.steps, self.paid) = (0, 0.0);
        }
        match self.learner.planned(self.steps) {
            Some(a) if tables.allows(row, a) => (row + WORDS * a, false),
            _ => (row, true),
        }
    }

    #[inline(always)]
    fn reveal(&mut self, reward: f64) {
        self.reward = reward;
    }

    #[inline(always)]
    fn advance(&mut self, _tables: &Tables, step: &Step) {
        let gain = self.reward + self.paid;
        if step.stops {
            self.learner.stopped(self.steps, gain);
        } else {
            self.learner.passed(self.steps, gain);
            self.steps += 1;
            self.paid += step.paid;
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.learner.reset(stream);
    }
}

/// Any learner.
pub(crate) struct Recording<L> {
    learner: L,
    episode: Episode,
    episodes: u64,
    failure: Option<(u64, PlayError)>,
}

impl<L: Learner> Recording<L> {
    pub(crate) fn new(learner: L) -> Recording<L> {
        Recording {
            learner,
            episode: Episode::default(),
            episodes: 0,
            failure: None,
        }
    }
}

impl<L: Learner> TableLearner for Recording<L> {
    #[inline(always)]
    fn choose(&mut self, tables: &Tables, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = tables.step_and_state(stop);
        self.episode.states.push(x);
        match self.learner.choose(t, x) {
            Action::Continue(a) if tables.allows(row, a) => (row + WORDS * a, false),
            Action::Stop => (row, true),
            action => {
                let error = PlayError::NotAllowed { t, x, action };
                self.failure.get_or_insert((self.episodes + 1, error));
                (row, true)
            }
        }
    }

    #[inline(always)]
    fn reveal(&mut self, reward: f64) {
        self.episode.rewards.push(reward);
    }

    #[inline(always)]
    fn advance(&mut self, tables: &Tables, step: &Step) {
        let episode = &mut self.episode;
        if step.stops {
            self.learner.learn(episode);
            self.episodes += 1;
            episode.clear();
        } else {
            let row = step.stop - WORDS * tables.actions;
            episode.actions.push((step.chosen - row) / WORDS);
            episode.feedbacks.push(step.feedback);
            episode.costs.push(-step.paid);
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.episode.clear();
        self.episodes = 0;
        self.failure = None;
        self.learner.reset(stream);
    }

    fn failure(&mut self) -> Option<(u64, PlayError)> {
        self.failure.take()
    }
}
