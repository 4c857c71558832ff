//! Many runs of a learner: two at a time, from block to block of draws.

use std::sync::atomic::Ordering;

use emab::learners::{BuiltLearner, Ties};
use emab::oracle::OracleError;
use emab::rng::{Block, Draws};
use emab::{Action, PlayError, RegretBreakdown, Role, Stream};

use crate::engine::job::{Done, Job};
use crate::engine::players::{
    PlayerState, PolicyPlayer, RandomPlayer, RecordingPlayer, SequenceUcbPlayer,
};
use crate::engine::pool::{Pool, Queue, Worker};
use crate::engine::tables::{Growing, NONE, START, Tables, WORDS};
use crate::engine::tally::Run;
use crate::engine::vector::feedbal::{FeedBalPlayer, Indices};
use crate::engine::vector::walk::{FastLearner, RunState, walk};
use crate::engine::vector::{Fill, Level};
use crate::experiment::SimError;

/// Plays all runs of a learner in lanes, each learner in the seat that suits it: on tables of the whole problem, if
/// there are any, else on such that grow.
pub(crate) fn play_paired(
    job: &Job<'_>,
    tables: Option<&Tables>,
    level: Level,
    pool: &Pool<'_>,
    receive: &mut dyn FnMut(Option<Done>),
) -> Result<(), SimError> {
    let problem = &job.experiment.problem;
    let build = || job.config.build(problem.spec(), Some(problem));
    macro_rules! seat {
        ($player:expr) => {
            pool.run(
                || {
                    let players = [$player, $player];
                    Ok(PairedRunsWorker::new(job, tables, level, players)?)
                },
                receive,
            )
        };
    }
    let actions = problem.spec().actions().len();
    match job.config.build_typed(problem.spec(), Some(problem))? {
        BuiltLearner::FeedBal(learner)
            if actions == 1 || learner.parameters().ties == Ties::Lowest =>
        {
            let episodes = job.experiment.episodes;
            let index = learner.parameters().index_tables(problem.spec());
            let indices = &Indices::new(index, episodes);
            match actions {
                _ if Indices::too_few_for(episodes) => {
                    seat!(FeedBalPlayer::<0, true>::new(indices))
                }
                1 => seat!(FeedBalPlayer::<1, false>::new(indices)),
                _ => seat!(FeedBalPlayer::<0, false>::new(indices)),
            }
        }
        BuiltLearner::Policy(_) => seat!(PolicyPlayer::new(build()?)),
        BuiltLearner::Random(learner) => seat!(RandomPlayer::new(learner.clone())),
        BuiltLearner::Ucb1(learner) => seat!(SequenceUcbPlayer::new((*learner).clone())),
        BuiltLearner::FeedBal(_) | BuiltLearner::Other(_) => {
            seat!(RecordingPlayer::new(build()?))
        }
    }
}

/// One thread: takes runs into its lanes until there are none.
pub(crate) struct PairedRunsWorker<'a, P> {
    job: &'a Job<'a>,
    lanes: PairedRuns<'a, P>,
}

impl<'a, P: PlayerState> PairedRunsWorker<'a, P> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        tables: Option<&'a Tables>,
        level: Level,
        players: [P; 2],
    ) -> Result<PairedRunsWorker<'a, P>, OracleError> {
        let ground = match tables {
            Some(tables) => Ground::Whole(tables),
            None => Ground::Growing(Growing::new(job.world.environment())?.into()),
        };
        let lanes = PairedRuns::new(ground, level, players, job.by_place);
        Ok(PairedRunsWorker { job, lanes })
    }
}

impl<P: PlayerState> Worker for PairedRunsWorker<'_, P> {
    type Block = Done;

    // A run that is over makes room for the next at once: its neighbour must not be left alone.
    fn work(
        &mut self,
        queue: &Queue<'_>,
        send: &mut dyn FnMut(Done),
    ) -> Result<(), (u64, SimError)> {
        let runs = std::iter::from_fn(|| queue.take()).flatten();
        // Merging costs as much as a few thousand episodes: many of them are merged at once.
        const EPISODES: u64 = 500_000;
        let at_once = (EPISODES / self.job.experiment.episodes.max(1)).clamp(1, 1 << 16);
        self.play(runs, at_once, &|| !queue.halted(), send)
    }
}

impl<P: PlayerState> PairedRunsWorker<'_, P> {
    fn play(
        &mut self,
        runs: impl Iterator<Item = u64>,
        at_once: u64,
        go_on: &dyn Fn() -> bool,
        send: &mut dyn FnMut(Done),
    ) -> Result<(), (u64, SimError)> {
        let (job, experiment) = (self.job, self.job.experiment);
        let mut sink = Sink {
            job,
            at_once,
            go_on,
            send,
            gathered: Done::new(experiment.checkpoints.len()),
        };
        let runs = runs.filter(|&run| !job.done_before.contains(run)).fuse();
        let failed = self
            .lanes
            .play(experiment.seed, runs, &experiment.checkpoints, &mut sink);
        if !sink.gathered.done.is_empty() {
            (sink.send)(sink.gathered);
        }
        failed.map_err(|(run, episode, error)| {
            let learner = job.config.label().into();
            let error = SimError::Play {
                learner,
                run,
                episode,
                error,
            };
            (run, error)
        })
    }
}

/// Gathers runs that are over.
struct Sink<'a> {
    job: &'a Job<'a>,
    at_once: u64,
    go_on: &'a dyn Fn() -> bool,
    send: &'a mut dyn FnMut(Done),
    gathered: Done,
}

impl Sink<'_> {
    fn played(&mut self, episodes: u64) -> bool {
        if episodes > 0 {
            self.job.played.fetch_add(episodes, Ordering::Relaxed);
        }
        (self.go_on)()
    }

    fn done<P: FastLearner>(
        &mut self,
        tables: &Tables,
        run: u64,
        record: &Run,
        seat: &RunState<P>,
    ) {
        let gathered = &mut self.gathered;
        gathered.tally.add(record);
        gathered.finals.push((run, record.final_regret()));
        gathered.done.insert(run..run + 1);
        if self.job.by_place {
            gathered.places.add_run(tables, seat);
        }
        if gathered.tally.runs() >= self.at_once {
            let empty = Done::new(self.job.experiment.checkpoints.len());
            (self.send)(std::mem::replace(gathered, empty));
        }
    }
}

/// What is played on.
enum Ground<'a> {
    Whole(&'a Tables),
    Growing(Box<Growing>),
}

impl Ground<'_> {
    fn tables(&self) -> &Tables {
        match self {
            Ground::Whole(tables) => tables,
            Ground::Growing(growing) => &growing.tables,
        }
    }
}

/// Two seats, and what chance gives to the runs in them.
struct PairedRuns<'a, P> {
    level: Level,
    ground: Ground<'a>,
    lanes: [RunSlot<P>; 2],
    blocks: [Block; 2],
}

/// One run after another.
struct RunSlot<P> {
    seat: RunState<P>,
    draws: Draws,
    /// Uniforms for the benchmark where the learner has stopped before it.
    beyond: Stream,
    /// The run that is in this seat; none if it is empty, and what happens in it counts for nothing.
    run: Option<u64>,
    /// As far as it has come.
    record: Run,
    episode: u64,
    /// Regret by cause where it is not known from counts.
    paired: RegretBreakdown,
}

impl<'a, P: PlayerState> PairedRuns<'a, P> {
    fn new(ground: Ground<'a>, level: Level, players: [P; 2], watch: bool) -> PairedRuns<'a, P> {
        let tables = ground.tables();
        let lane = |player| RunSlot {
            seat: RunState::new(tables, player, watch),
            draws: Draws::new(tables.reward_noise, tables.cost_noise),
            beyond: Stream::new(0, 0, Role::Beyond),
            run: None,
            record: Run::default(),
            episode: 0,
            paired: RegretBreakdown::default(),
        };
        let mut lanes = players.map(lane);
        lanes.iter_mut().for_each(|lane| lane.grow(tables));
        PairedRuns {
            level,
            ground,
            lanes,
            blocks: Default::default(),
        }
    }

    /// Plays these runs, unless it is told to stop before they are over.
    fn play(
        &mut self,
        seed: u64,
        mut runs: impl Iterator<Item = u64>,
        checkpoints: &[u64],
        sink: &mut Sink<'_>,
    ) -> Result<(), (u64, u64, PlayError)> {
        let level = self.level;
        for lane in &mut self.lanes {
            lane.run = None;
        }
        loop {
            let tables = self.ground.tables();
            for (lane, block) in self.lanes.iter_mut().zip(&mut self.blocks) {
                if lane.run.is_none() {
                    lane.start(tables, seed, runs.next(), checkpoints);
                }
                level.run(Fill(&mut lane.draws, block));
            }
            if self.lanes.iter().all(|lane| lane.run.is_none()) {
                return Ok(());
            }
            let mut played = 0;
            let mut step = 0;
            while step < Block::STEPS {
                let [one, two] = &mut self.lanes;
                let seats = [&mut one.seat, &mut two.seat];
                step = walk(level, self.ground.tables(), seats, &self.blocks, step);
                if let Ground::Growing(growing) = &mut self.ground {
                    let had = growing.tables.end;
                    for (lane, block) in self.lanes.iter_mut().zip(&self.blocks) {
                        let ended = lane.attend(growing, block.feedback[step - 1]);
                        if let (Some(run), Err(error)) = (lane.run, ended) {
                            let episode = lane.now(checkpoints);
                            return Err((run, episode, error.into()));
                        }
                    }
                    if growing.tables.end > had {
                        let tables = &growing.tables;
                        self.lanes.iter_mut().for_each(|lane| lane.grow(tables));
                    }
                }
                let tables = self.ground.tables();
                for lane in &mut self.lanes {
                    if let (Some(run), Some((episode, error))) =
                        (lane.run, lane.seat.player.failure())
                    {
                        return Err((run, episode, error));
                    }
                    if lane.seat.left == 0 {
                        played += lane.look(tables, checkpoints, sink);
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
        self.seat.grow(tables);
        self.seat.player.grow(tables);
    }

    fn start(&mut self, tables: &Tables, seed: u64, run: Option<u64>, checkpoints: &[u64]) {
        self.run = run;
        let stream = Stream::new(seed, run.unwrap_or(0), Role::Learner);
        let visited = self.seat.visited(tables).into_owned();
        self.seat.player.reset(tables, &visited, stream);
        self.seat.reset();
        self.seat.left = u64::MAX;
        self.record = Run::default();
        self.episode = 0;
        self.paired = RegretBreakdown::default();
        if let Some(run) = run {
            self.draws.restart(seed, run);
            self.beyond = Stream::new(seed, run, Role::Beyond);
            self.seat.left = checkpoints.first().copied().unwrap_or(u64::MAX);
        }
    }

    /// The number of the episode that is being played, or that was over with the last step.
    fn now(&self, checkpoints: &[u64]) -> u64 {
        let next = checkpoints.get(self.record.at.len()).copied().unwrap_or(0);
        let over = next.saturating_sub(self.seat.left);
        over + u64::from(self.seat.row().0 != START)
    }

    /// Gives the walk what it waits for on growing tables: `u` is the uniform draw of the step it took last.
    #[inline]
    fn attend(&mut self, growing: &mut Growing, u: f64) -> Result<(), OracleError> {
        if self.seat.trail.waits {
            self.attend_now(growing, u)
        } else {
            Ok(())
        }
    }

    fn attend_now(&mut self, growing: &mut Growing, u: f64) -> Result<(), OracleError> {
        let seat = &mut self.seat;
        seat.trail.waits = false;
        let (row, taken) = seat.row();
        if self.run.is_none() {
            // Nobody sits here: nothing is opened for it.
            seat.set_row(START);
        } else if row == START {
            self.settle(growing)?;
        } else if row == NONE {
            let next = growing.next(taken, u)?;
            seat.set_row(next.unwrap_or(START));
        }
        self.seat.trail.make_room();
        Ok(())
    }

    /// Books the regret of an episode that is over and in which the learner parted from the benchmark: what the
    /// benchmark's path is worth on the same draws, and new ones after them, less what the learner's is.
    fn settle(&mut self, growing: &mut Growing) -> Result<(), OracleError> {
        let trail = &self.seat.trail;
        let tables = &growing.tables;
        let stop = WORDS * tables.actions;
        // Up to there both went the same way; what they paid after it and what they got parts them.
        let earned = tables.words[trail.stopped + stop] - (trail.paid - trail.paid_before);
        let best = tables.action(trail.parted, tables.best(trail.parted));
        let action = tables.action(trail.parted, trail.parted_by);
        let steps = trail.steps;

        let mut row = trail.parted;
        let mut paid = 0.0;
        let mut drawn = steps;
        loop {
            let tables = &growing.tables;
            let best = tables.best(row);
            if tables.action(row, best) == Action::Stop {
                break;
            }
            let (t, _) = tables.place(row + stop);
            while drawn < t {
                self.seat.trail.set(drawn, self.beyond.uniform());
                drawn += 1;
            }
            let u = self.seat.trail.draws[t - 1];
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

    /// A checkpoint was reached: writes down how far it is, and says how many episodes that were.
    fn look(&mut self, tables: &Tables, checkpoints: &[u64], sink: &mut Sink<'_>) -> u64 {
        self.seat.left = u64::MAX;
        let Some(run) = self.run else { return 0 };
        let (seat, record) = (&self.seat, &mut self.record);
        let passed = record.at.len();
        let Some(&episode) = checkpoints.get(passed) else {
            return 0;
        };
        let visited = seat.visited(tables);
        record.regret = if tables.exact {
            tables.causes(&visited, |at| seat.player.count(at))
        } else {
            self.paired
        };
        record.gain = seat.gain;
        record.at.push((record.regret.total(), record.gain));
        let played = episode - self.episode;
        self.episode = episode;
        match checkpoints.get(passed + 1) {
            Some(next) => self.seat.left = next - episode,
            None => {
                let stop = WORDS * tables.actions;
                let visits = visited
                    .iter()
                    .map(|&row| seat.player.count(row as usize + stop));
                record.steps = visits.sum();
                sink.done(tables, run, record, seat);
                self.run = None;
            }
        }
        played
    }
}
