//! Players: learners in the fast loop.
//!
//! [`RecordingPlayer`] plays any learner: it asks by step and state, records each episode, and lets the learner learn
//! from it. [`FeedBalPlayer`] and [`SequenceUcbPlayer`] learn step by step. [`PolicyPlayer`] is a table of actions, and
//! [`RandomPlayer`] chooses at random; neither learns.

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

    /// Forgets the steps of the episode so far: it does not go on.
    fn abandon_episode(&mut self) {}

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

/// How often each action was taken, by its offset; for `stop`, how often its row was visited.
#[derive(Default)]
struct Counts(Vec<u64>);

impl Counts {
    fn grow(&mut self, tables: &Tables) {
        self.0.resize(tables.end, 0);
    }

    /// Counts a visit and the action before it; returns whether it is the first visit.
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

/// A fixed policy.
pub(crate) struct PolicyPlayer<L> {
    counts: Counts,
    policy: L,
    /// By row: the offset of its action, or of `stop`.
    chosen: Vec<u32>,
}

impl<L: Learner> PolicyPlayer<L> {
    pub(crate) fn new(policy: L) -> PolicyPlayer<L> {
        PolicyPlayer {
            counts: Counts::default(),
            policy,
            chosen: vec![0; START],
        }
    }
}

impl<L> FastLearner for PolicyPlayer<L> {
    type Shared = ();

    fn shared(&self) {}

    type Cursor<'a>
        = &'a mut PolicyPlayer<L>
    where
        L: 'a;

    fn cursor<'a>(&'a mut self, _tables: &'a Tables) -> &'a mut PolicyPlayer<L> {
        self
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

impl<L> LearnerCursor for &mut PolicyPlayer<L> {
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

impl<L: Learner> PlayerState for PolicyPlayer<L> {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
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

    fn reset(&mut self, tables: &Tables, visited: &[u32], _stream: Stream) {
        self.counts.reset(tables, visited);
    }
}

/// The random learner.
pub(crate) struct RandomPlayer {
    counts: Counts,
    learner: Random,
}

impl RandomPlayer {
    pub(crate) fn new(learner: Random) -> RandomPlayer {
        RandomPlayer {
            counts: Counts::default(),
            learner,
        }
    }
}

impl FastLearner for RandomPlayer {
    type Shared = ();

    fn shared(&self) {}

    type Cursor<'a> = RandomCursor<'a>;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> RandomCursor<'a> {
        RandomCursor {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`RandomPlayer`].
pub(crate) struct RandomCursor<'a> {
    player: &'a mut RandomPlayer,
    tables: &'a Tables,
}

impl LearnerCursor for RandomCursor<'_> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = self.tables.step_and_state(stop);
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

impl PlayerState for RandomPlayer {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        self.counts.reset(tables, visited);
        self.learner.reset(stream);
    }
}

/// UCB1 over action sequences: receives step by step what the arm and its prefixes earn.
pub(crate) struct SequenceUcbPlayer {
    counts: Counts,
    learner: Ucb1,
    /// Steps of this episode, and what was paid in them.
    steps: usize,
    paid: f64,
    reward: f64,
}

impl SequenceUcbPlayer {
    pub(crate) fn new(learner: Ucb1) -> SequenceUcbPlayer {
        SequenceUcbPlayer {
            counts: Counts::default(),
            learner,
            steps: 0,
            paid: 0.0,
            reward: 0.0,
        }
    }
}

impl FastLearner for SequenceUcbPlayer {
    type Shared = ();

    fn shared(&self) {}

    type Cursor<'a> = SequenceUcbCursor<'a>;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> SequenceUcbCursor<'a> {
        SequenceUcbCursor {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`SequenceUcbPlayer`].
pub(crate) struct SequenceUcbCursor<'a> {
    player: &'a mut SequenceUcbPlayer,
    tables: &'a Tables,
}

impl LearnerCursor for SequenceUcbCursor<'_> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, _stop: usize) -> (usize, bool) {
        let player = &mut *self.player;
        // Only the first step is in a row of a start.
        if row < self.tables.starts_end {
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

impl PlayerState for SequenceUcbPlayer {
    fn grow(&mut self, tables: &Tables) {
        self.counts.grow(tables);
    }

    fn reset(&mut self, tables: &Tables, visited: &[u32], stream: Stream) {
        self.counts.reset(tables, visited);
        self.learner.reset(stream);
    }
}

/// Any learner.
pub(crate) struct RecordingPlayer<L> {
    counts: Counts,
    learner: L,
    episode: Episode,
    episodes: u64,
    failure: Option<(u64, PlayError)>,
}

impl<L: Learner> RecordingPlayer<L> {
    pub(crate) fn new(learner: L) -> RecordingPlayer<L> {
        RecordingPlayer {
            counts: Counts::default(),
            learner,
            episode: Episode::default(),
            episodes: 0,
            failure: None,
        }
    }
}

impl<L: Learner> FastLearner for RecordingPlayer<L> {
    type Shared = ();

    fn shared(&self) {}

    type Cursor<'a>
        = RecordingCursor<'a, L>
    where
        L: 'a;

    fn cursor<'a>(&'a mut self, tables: &'a Tables) -> RecordingCursor<'a, L> {
        RecordingCursor {
            player: self,
            tables,
        }
    }

    fn count(&self, at: usize) -> u64 {
        self.counts.0[at]
    }
}

/// See [`RecordingPlayer`].
pub(crate) struct RecordingCursor<'a, L> {
    player: &'a mut RecordingPlayer<L>,
    tables: &'a Tables,
}

impl<L: Learner> LearnerCursor for RecordingCursor<'_, L> {
    type Shared = ();

    #[inline(always)]
    fn choose(&mut self, row: usize, stop: usize) -> (usize, bool) {
        let (t, x) = self.tables.step_and_state(stop);
        let player = &mut *self.player;
        player.episode.states.push(x);
        match player.learner.choose(t, x) {
            Action::Continue(a) if self.tables.allows(row, a) => {
                player.episode.actions.push(a);
                (row + WORDS * a, false)
            }
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
        let RecordingPlayer {
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
            episode.feedbacks.push(step.feedback);
            episode.costs.push(-step.paid);
        }
    }
}

impl<L: Learner> PlayerState for RecordingPlayer<L> {
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

    fn abandon_episode(&mut self) {
        self.episode.clear();
    }

    fn failure(&mut self) -> Option<(u64, PlayError)> {
        self.failure.take()
    }
}
