//! Many runs of a learner on a problem of tables: two at a time, from block to block of draws.

use std::sync::atomic::Ordering;

use emab::learners::{FeedBal, Policy, Random, Ties, Ucb1};
use emab::{Block, Draws, PlayError, Role, Stream};

use crate::experiment::SimError;
use crate::players::{Coin, Fixed, Recorded, Seated, Sequences};
use crate::pool::{Pool, Queue, Worker};
use crate::tables::{Tables, WORDS};
use crate::tally::Run;
use crate::vector::feedbal::{FeedBalPlayer, Indices};
use crate::vector::walk::{Player, Seat, walk};
use crate::vector::{Fill, Level};
use crate::worker::{Done, Job};

/// Plays all runs of a learner in lanes, each learner in the seat that suits it.
pub(crate) fn play_in_lanes(
    job: &Job<'_>,
    tables: &Tables,
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
                    Ok(LaneWorker::new(job, tables, level, players))
                },
                receive,
            )
        };
    }
    let learner = build()?;
    let Some(known) = learner.as_any() else {
        return seat!(Recorded::new(tables, build()?));
    };
    if let Some(learner) = known.downcast_ref::<FeedBal>()
        && (tables.actions == 1 || learner.parameters().ties == Ties::Lowest)
    {
        let episodes = job.experiment.episodes;
        let index = learner.parameters().index_tables(problem.spec());
        let indices = &Indices::new(index, episodes);
        return match tables.actions {
            _ if Indices::too_few_for(episodes) => {
                seat!(FeedBalPlayer::<0, true>::new(tables, indices))
            }
            1 => seat!(FeedBalPlayer::<1, false>::new(tables, indices)),
            _ => seat!(FeedBalPlayer::<0, false>::new(tables, indices)),
        };
    }
    if known.is::<Policy>() {
        return seat!(Fixed::new(tables, &mut *build()?));
    }
    if let Some(learner) = known.downcast_ref::<Random>() {
        return seat!(Coin::new(tables, learner.clone()));
    }
    if let Some(learner) = known.downcast_ref::<Ucb1>() {
        return seat!(Sequences::new(tables, learner.clone()));
    }
    seat!(Recorded::new(tables, build()?))
}

/// One thread: takes runs into its lanes until there are none.
pub(crate) struct LaneWorker<'a, P> {
    job: &'a Job<'a>,
    lanes: Lanes<'a, P>,
}

impl<'a, P: Seated> LaneWorker<'a, P> {
    pub(crate) fn new(
        job: &'a Job<'a>,
        tables: &'a Tables,
        level: Level,
        players: [P; 2],
    ) -> LaneWorker<'a, P> {
        LaneWorker {
            job,
            lanes: Lanes::new(tables, level, players, job.by_place),
        }
    }
}

impl<P: Seated> Worker for LaneWorker<'_, P> {
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

impl<P: Seated> LaneWorker<'_, P> {
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
            tables: self.lanes.tables,
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
    tables: &'a Tables,
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

    fn done<P: Player>(&mut self, run: u64, record: &Run, seat: &Seat<P>) {
        let gathered = &mut self.gathered;
        gathered.tally.add(record);
        gathered.done.insert(run..run + 1);
        if self.job.by_place {
            gathered.places.add_run(self.tables, seat);
        }
        if gathered.tally.runs() >= self.at_once {
            let empty = Done::new(self.job.experiment.checkpoints.len());
            (self.send)(std::mem::replace(gathered, empty));
        }
    }
}

/// Two seats, and what chance gives to the runs in them.
struct Lanes<'a, P> {
    level: Level,
    tables: &'a Tables,
    lanes: [Lane<P>; 2],
    blocks: [Block; 2],
}

/// One run after another.
struct Lane<P> {
    seat: Seat<P>,
    draws: Draws,
    /// The run that is in this seat; none if it is empty, and what happens in it counts for nothing.
    run: Option<u64>,
    /// As far as it has come.
    record: Run,
    episode: u64,
}

impl<'a, P: Seated> Lanes<'a, P> {
    fn new(tables: &'a Tables, level: Level, players: [P; 2], watch: bool) -> Lanes<'a, P> {
        let lane = |player| Lane {
            seat: Seat::new(tables, player, watch),
            draws: Draws::new(tables.reward_noise, tables.cost_noise),
            run: None,
            record: Run::default(),
            episode: 0,
        };
        Lanes {
            level,
            tables,
            lanes: players.map(lane),
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
        let (level, tables) = (self.level, self.tables);
        for lane in &mut self.lanes {
            lane.run = None;
        }
        loop {
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
                step = walk(level, tables, seats, &self.blocks, step);
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

impl<P: Seated> Lane<P> {
    fn start(&mut self, tables: &Tables, seed: u64, run: Option<u64>, checkpoints: &[u64]) {
        self.run = run;
        let stream = Stream::new(seed, run.unwrap_or(0), Role::Learner);
        let visited = self.seat.visited(tables).into_owned();
        self.seat.player.reset(tables, &visited, stream);
        self.seat.reset();
        self.seat.left = u64::MAX;
        self.record = Run::default();
        self.episode = 0;
        if let Some(run) = run {
            self.draws.restart(seed, run);
            self.seat.left = checkpoints.first().copied().unwrap_or(u64::MAX);
        }
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
        record.regret = tables.causes(&visited, |at| seat.player.count(at));
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
                sink.done(run, record, seat);
                self.run = None;
            }
        }
        played
    }
}
