//! The fast loop: two runs at a time, from block to block of draws.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use emab::learners::{
    BuiltLearner, FeedBalParameters, LearnerConfig, LearnerError, Random, Ties, Ucb1,
};
use emab::oracle::OracleError;
use emab::rng::{Block, Draws};
use emab::{Action, PlayError, Problem, RegretBreakdown, Role, Stream};

use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::players::{
    PlayerState, PolicyPlayer, RandomPlayer, RecordingPlayer, SequenceUcbPlayer,
};
use crate::engine::pool::{Pool, Queue, Worker};
use crate::engine::simd::feedbal::{FeedBalPlayer, Indices};
use crate::engine::simd::step_loop::{FastLearner, RunState, walk};
use crate::engine::simd::{Fill, Level};
use crate::engine::stuck::HalfCounts;
use crate::engine::tables::{Growing, NONE, START, Tables, WORDS};
use crate::engine::tally::Run;
use crate::error::SimError;

/// The player that plays a learner in the fast loop, chosen when the learner is first built.
#[derive(Clone)]
pub(crate) enum PlayerKind {
    /// [`FeedBalPlayer`].
    FeedBal(FeedBalParameters),
    /// [`PolicyPlayer`].
    Policy,
    /// [`RandomPlayer`].
    Random(Random),
    /// [`SequenceUcbPlayer`].
    SequenceUcb(Box<Ucb1>),
    /// [`RecordingPlayer`]: every other learner.
    Recording,
}

impl PlayerKind {
    /// Builds the learner once and returns its player; fails where the learner cannot be built for the problem.
    pub(crate) fn of(
        config: &LearnerConfig,
        problem: &Arc<Problem>,
    ) -> Result<PlayerKind, LearnerError> {
        let one_action = problem.spec().actions().len() == 1;
        Ok(match config.build_typed(problem.spec(), Some(problem))? {
            BuiltLearner::FeedBal(learner)
                if one_action || learner.parameters().ties == Ties::Lowest =>
            {
                PlayerKind::FeedBal(*learner.parameters())
            }
            BuiltLearner::Policy(_) => PlayerKind::Policy,
            BuiltLearner::Random(learner) => PlayerKind::Random(learner),
            BuiltLearner::Ucb1(learner) => PlayerKind::SequenceUcb(learner),
            BuiltLearner::FeedBal(_)
            | BuiltLearner::FeedBalBernstein(_)
            | BuiltLearner::Thompson(_)
            | BuiltLearner::Other(_) => PlayerKind::Recording,
        })
    }
}

/// Plays all runs of a learner two at a time: on tables of the whole problem where `tables` is set, else on tables that
/// grow with the pairs visited.
pub(crate) fn play_paired(
    task: &LearnerRuns<'_>,
    kind: &PlayerKind,
    tables: Option<&Tables>,
    level: Level,
    pool: &Pool<'_>,
    receive: &mut dyn FnMut(Option<RunBlock>),
) -> Result<(), SimError> {
    let problem = task.environment.problem(0);
    let build = || task.config.build(problem.spec(), Some(problem));
    macro_rules! play {
        ($player:expr) => {
            pool.run(
                || {
                    let players = [$player, $player];
                    Ok(PairedRunsWorker::new(task, tables, level, players)?)
                },
                receive,
            )
        };
    }
    match kind {
        PlayerKind::FeedBal(parameters) => {
            let indices = parameters.index_tables(problem.spec());
            let indices = &Indices::new(indices, task.episodes);
            match problem.spec().actions().len() {
                _ if Indices::too_few_for(task.episodes) => {
                    play!(FeedBalPlayer::<0, true>::new(indices))
                }
                1 => play!(FeedBalPlayer::<1, false>::new(indices)),
                _ => play!(FeedBalPlayer::<0, false>::new(indices)),
            }
        }
        PlayerKind::Policy => play!(PolicyPlayer::new(build()?)),
        PlayerKind::Random(learner) => play!(RandomPlayer::new(learner.clone())),
        PlayerKind::SequenceUcb(learner) => play!(SequenceUcbPlayer::new((**learner).clone())),
        PlayerKind::Recording => play!(RecordingPlayer::new(build()?)),
    }
}

/// One worker thread: plays runs in two slots until none is left.
pub(crate) struct PairedRunsWorker<'a, P> {
    task: &'a LearnerRuns<'a>,
    level: Level,
    source: TableSource<'a>,
    slots: [RunSlot<P>; 2],
    /// Draws of each slot.
    blocks: [Block; 2],
}

impl<'a, P: PlayerState> PairedRunsWorker<'a, P> {
    pub(crate) fn new(
        task: &'a LearnerRuns<'a>,
        tables: Option<&'a Tables>,
        level: Level,
        players: [P; 2],
    ) -> Result<PairedRunsWorker<'a, P>, OracleError> {
        let source = match tables {
            Some(tables) => TableSource::Whole(tables),
            None => TableSource::Growing(Growing::new(task.environment.environment())?.into()),
        };
        let tables = source.tables();
        let mut slots = players.map(|player| RunSlot {
            state: RunState::new(tables, player, task.count_choices),
            draws: Draws::new(tables.reward_noise, tables.cost_noise),
            starts: Stream::new(0, 0, Role::Start),
            beyond: Stream::new(0, 0, Role::Beyond),
            run: None,
            record: Run::default(),
            episode: 0,
            paired: RegretBreakdown::default(),
            half: HalfCounts::default(),
        });
        slots.iter_mut().for_each(|slot| slot.grow(tables));
        Ok(PairedRunsWorker {
            task,
            level,
            source,
            slots,
            blocks: Default::default(),
        })
    }
}

impl<P: PlayerState> Worker for PairedRunsWorker<'_, P> {
    type Block = RunBlock;

    // A finished run is replaced by the next one at once, so that both slots stay busy.
    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(RunBlock),
    ) -> Result<(), (u64, SimError)> {
        let task = self.task;
        let runs = std::iter::from_fn(|| queue.take()).flatten();
        let runs = runs.filter(|&run| !task.done_before.contains(run)).fuse();
        // Merging costs as much as a few thousand episodes, so many runs are merged at once.
        const EPISODES: u64 = 500_000;
        let mut sink = Sink {
            task,
            at_once: (EPISODES / task.episodes.max(1)).clamp(1, 1 << 16),
            queue,
            send,
            gathered: RunBlock::new(task),
        };
        let failed = self.play(runs, &mut sink);
        if !sink.gathered.done.is_empty() {
            (sink.send)(sink.gathered);
        }
        failed.map_err(|(run, episode, error)| {
            let label = task.config.label();
            (run, SimError::in_episode(label, run, episode)(error))
        })
    }
}

/// Collects finished runs and sends them in blocks.
struct Sink<'a> {
    task: &'a LearnerRuns<'a>,
    at_once: u64,
    queue: &'a Queue<'a>,
    send: &'a mut dyn FnMut(RunBlock),
    gathered: RunBlock,
}

impl Sink<'_> {
    fn played(&mut self, episodes: u64) -> bool {
        if episodes > 0 {
            self.task.played.fetch_add(episodes, Ordering::Relaxed);
        }
        !self.queue.halted()
    }

    fn done<P: FastLearner>(
        &mut self,
        tables: &Tables,
        run: u64,
        record: &Run,
        state: &RunState<P>,
    ) {
        let gathered = &mut self.gathered;
        gathered.add(self.task, run, record);
        if self.task.count_choices {
            gathered.choices.add_run(tables, state);
        }
        if gathered.tally.runs() >= self.at_once {
            let empty = RunBlock::new(self.task);
            (self.send)(std::mem::replace(gathered, empty));
        }
    }
}

/// The tables that the runs are played on.
enum TableSource<'a> {
    Whole(&'a Tables),
    Growing(Box<Growing>),
}

impl TableSource<'_> {
    fn tables(&self) -> &Tables {
        match self {
            TableSource::Whole(tables) => tables,
            TableSource::Growing(growing) => &growing.tables,
        }
    }
}

/// Plays one run after another.
struct RunSlot<P> {
    state: RunState<P>,
    draws: Draws,
    /// Uniforms for the starts of the episodes.
    starts: Stream,
    /// Uniforms for the benchmark after the step at which the learner stopped.
    beyond: Stream,
    /// The run in this slot; none where the slot is empty, whose steps are not counted.
    run: Option<u64>,
    /// The run's record so far.
    record: Run,
    episode: u64,
    /// Regret by cause, where counts do not give it.
    paired: RegretBreakdown,
    half: HalfCounts,
}

impl<P: PlayerState> PairedRunsWorker<'_, P> {
    /// Plays the runs until none is left or the sink asks to stop.
    fn play(
        &mut self,
        mut runs: impl Iterator<Item = u64>,
        sink: &mut Sink<'_>,
    ) -> Result<(), (u64, u64, PlayError)> {
        let (level, seed) = (self.level, self.task.seed);
        let checkpoints = &self.task.schedule.episodes;
        for slot in &mut self.slots {
            slot.run = None;
        }
        loop {
            let tables = self.source.tables();
            for (slot, block) in self.slots.iter_mut().zip(&mut self.blocks) {
                if slot.run.is_none() {
                    slot.start(tables, seed, runs.next(), checkpoints);
                }
                slot.state.draw_starts(tables, &mut slot.starts);
                level.run(Fill(&mut slot.draws, block));
            }
            if self.slots.iter().all(|slot| slot.run.is_none()) {
                return Ok(());
            }
            let mut played = 0;
            let mut step = 0;
            while step < Block::STEPS {
                let [one, two] = &mut self.slots;
                let states = [&mut one.state, &mut two.state];
                step = walk(level, self.source.tables(), states, &self.blocks, step);
                if let TableSource::Growing(growing) = &mut self.source {
                    let had = growing.tables.end;
                    for (slot, block) in self.slots.iter_mut().zip(&self.blocks) {
                        let ended = slot.resume_if_waiting(growing, block.feedback[step - 1]);
                        if let (Some(run), Err(error)) = (slot.run, ended) {
                            let episode = slot.now(checkpoints);
                            return Err((run, episode, error.into()));
                        }
                    }
                    if growing.tables.end > had {
                        let tables = &growing.tables;
                        self.slots.iter_mut().for_each(|slot| slot.grow(tables));
                    }
                }
                let tables = self.source.tables();
                for slot in &mut self.slots {
                    if let (Some(run), Some((episode, error))) =
                        (slot.run, slot.state.player.failure())
                    {
                        return Err((run, episode, error));
                    }
                    if slot.state.left == 0 {
                        played += slot.measure(tables, sink);
                    }
                }
            }
            if !sink.played(played) {
                return Ok(());
            }
        }
    }
}

impl<P: PlayerState> RunSlot<P> {
    fn grow(&mut self, tables: &Tables) {
        self.state.grow(tables);
        self.state.player.grow(tables);
    }

    fn start(&mut self, tables: &Tables, seed: u64, run: Option<u64>, checkpoints: &[u64]) {
        self.run = run;
        let stream = Stream::new(seed, run.unwrap_or(0), Role::Learner);
        let visited = self.state.visited(tables).into_owned();
        self.state.player.reset(tables, &visited, stream);
        self.starts = Stream::new(seed, run.unwrap_or(0), Role::Start);
        self.state.reset(tables, &mut self.starts);
        self.state.left = u64::MAX;
        self.record = Run::default();
        self.episode = 0;
        self.paired = RegretBreakdown::default();
        if let Some(run) = run {
            self.draws.restart(seed, run);
            self.beyond = Stream::new(seed, run, Role::Beyond);
            self.state.left = checkpoints.first().copied().unwrap_or(u64::MAX);
        }
    }

    /// The number of the current episode, or of the one that ended with the last step.
    fn now(&self, checkpoints: &[u64]) -> u64 {
        let next = checkpoints.get(self.record.at.len()).copied().unwrap_or(0);
        let over = next.saturating_sub(self.state.left);
        over + u64::from(self.state.row().1 != NONE)
    }

    /// On growing tables, provides what the walk waits for; `u` is the uniform draw of its last step.
    #[inline]
    fn resume_if_waiting(&mut self, growing: &mut Growing, u: f64) -> Result<(), OracleError> {
        if self.state.trace.waiting {
            self.resume(growing, u)
        } else {
            Ok(())
        }
    }

    fn resume(&mut self, growing: &mut Growing, u: f64) -> Result<(), OracleError> {
        let state = &mut self.state;
        state.trace.waiting = false;
        let (row, taken) = state.row();
        if self.run.is_none() {
            // An empty slot opens no pairs.
            state.abandon_episode();
            state.player.abandon_episode();
        } else if taken == NONE {
            self.add_regret(growing)?;
        } else if row == NONE {
            let next = growing.next(taken, u)?;
            state.set_row(next.unwrap_or(START));
        }
        self.state.trace.reserve_step();
        Ok(())
    }

    /// Adds the regret of a finished episode in which the learner deviated from the benchmark: the value of the
    /// benchmark's path on the same draws, and on new ones after them, less the value of the learner's path.
    fn add_regret(&mut self, growing: &mut Growing) -> Result<(), OracleError> {
        let trace = &self.state.trace;
        let tables = &growing.tables;
        let stop = WORDS * tables.actions;
        // Both paths agree up to the deviation; only costs and rewards after it differ.
        let earned = tables.words[trace.stopped + stop] - (trace.paid - trace.paid_before);
        let best = tables.action(trace.deviated_at, tables.best(trace.deviated_at));
        let action = tables.action(trace.deviated_at, trace.deviated_to);
        let steps = trace.steps;

        let mut row = trace.deviated_at;
        let mut paid = 0.0;
        let mut drawn = steps;
        loop {
            let tables = &growing.tables;
            let best = tables.best(row);
            if tables.action(row, best) == Action::Stop {
                break;
            }
            let (t, _) = tables.step_and_state(row + stop);
            while drawn < t {
                self.state.trace.set(drawn, self.beyond.uniform());
                drawn += 1;
            }
            let u = self.state.trace.draws[t - 1];
            paid -= tables.words[best];
            let Some(next) = growing.next(best, u)? else {
                break;
            };
            row = next;
        }
        let benchmark = growing.tables.words[row + stop] - paid;
        self.paired.add(best, action, benchmark - earned);
        Ok(())
    }

    /// Takes regret and gain at an episode of the schedule and returns the number of episodes since the one before.
    fn measure(&mut self, tables: &Tables, sink: &mut Sink<'_>) -> u64 {
        self.state.left = u64::MAX;
        let (schedule, benchmark) = (sink.task.schedule, sink.task.benchmark);
        let checkpoints = &schedule.episodes;
        let Some(run) = self.run else { return 0 };
        let (state, record) = (&self.state, &mut self.record);
        let passed = record.at.len();
        let Some(&episode) = checkpoints.get(passed) else {
            return 0;
        };
        let visited = state.visited(tables);
        record.regret = if tables.exact {
            tables.causes(&visited, |at| state.player.count(at))
        } else {
            self.paired
        };
        record.gain = state.gain;
        record.at.push((record.regret.total(), record.gain));
        let taken = |at| state.player.count(at);
        if let Some(pairs) = benchmark.filter(|_| schedule.half == Some(passed)) {
            self.half.keep(pairs, tables, &visited, taken);
        }
        let played = episode - self.episode;
        self.episode = episode;
        match checkpoints.get(passed + 1) {
            Some(next) => self.state.left = next - episode,
            None => {
                let stop = WORDS * tables.actions;
                let visits = visited
                    .iter()
                    .map(|&row| state.player.count(row as usize + stop));
                record.steps = visits.sum();
                let late = benchmark.filter(|_| schedule.half.is_some());
                record.stuck =
                    late.is_some_and(|pairs| self.half.is_stuck(pairs, tables, &visited, taken));
                sink.done(tables, run, record, state);
                self.run = None;
            }
        }
        played
    }
}
