//! Learners on a problem, many runs each, on several threads; can be stopped and taken up again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::results::{LearnerResult, RunResult, StateRegret};
use emab::environment::ScenarioError;
use emab::learners::{LearnerConfig, LearnerError};
use emab::{ConditionedEnvironment, PlayError, Problem, Scenario};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::engine::choice_counts::ChoiceCounts;
use crate::engine::job::{Done, Job};
use crate::engine::paired_runs::play_paired;
use crate::engine::pool::{Pool, TICK};
use crate::engine::tables::Tables;
use crate::engine::tally::Tally;
use crate::engine::vector::Level;
use crate::experiment::runs::RunSet;
use crate::experiment::shard::Shard;

/// Why an experiment failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimError {
    /// A learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The truth cannot be worked out.
    #[error(transparent)]
    Oracle(#[from] emab::oracle::OracleError),
    /// An episode could not be played to its end.
    #[error("learner `{learner}`, run {run}, episode {episode}: {error}")]
    Play {
        /// The learner.
        learner: String,
        /// The run, from 0.
        run: u64,
        /// The episode, from 1.
        episode: u64,
        /// Why.
        error: PlayError,
    },
    /// Not one thread could be started.
    #[error("cannot start a thread: {0}")]
    Threads(String),
    /// The circumstances cannot be.
    #[error(transparent)]
    ConditionedEnvironment(ScenarioError),
    /// A saved state of another experiment.
    #[error("the saved state is not of this experiment: {0}")]
    Foreign(&'static str),
}

impl From<ScenarioError> for SimError {
    fn from(error: ScenarioError) -> SimError {
        match error {
            ScenarioError::Oracle(error) => SimError::Oracle(error),
            other => SimError::ConditionedEnvironment(other),
        }
    }
}

/// What to run.
#[derive(Clone)]
pub struct Experiment {
    /// The problem.
    pub problem: Arc<Problem>,
    /// What it is played under.
    pub circumstances: Scenario,
    /// The learners, each on the same runs.
    pub learners: Vec<LearnerConfig>,
    /// Episodes a run.
    pub episodes: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
    /// The episodes at which regret is recorded, rising, the last one being `episodes`.
    pub checkpoints: Vec<u64>,
    /// Whether to record where the regret comes from, for problems whose regret is exact.
    pub places: bool,
    /// Which of the runs are done here.
    pub shard: Shard,
}

/// How far an experiment has come: all that is needed to go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// One a learner.
    pub learners: Vec<LearnerState>,
}

/// How far one learner has come. Two are equal when all is that would be saved: the regret of single runs is not.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LearnerState {
    /// The runs that are done.
    pub done: RunSet,
    /// What they amount to.
    pub tally: Tally,
    /// How long they took.
    pub seconds: f64,
    /// Each run with its regret at the last checkpoint, in the order they were done.
    #[serde(skip)]
    finals: Vec<(u64, f64)>,
}

impl PartialEq for LearnerState {
    fn eq(&self, other: &LearnerState) -> bool {
        (&self.done, &self.tally, self.seconds) == (&other.done, &other.tally, other.seconds)
    }
}

impl LearnerState {
    /// The regret of each run at the last checkpoint, by run: what two learners on the same runs are compared by.
    /// None where some runs were read from a file, which keeps their sums alone.
    pub fn finals(&self) -> Option<Vec<f64>> {
        let mut finals = self.finals.clone();
        finals.sort_unstable_by_key(|(run, _)| *run);
        let whole = finals.len() as u64 == self.done.len();
        whole.then(|| finals.into_iter().map(|(_, regret)| regret).collect())
    }
}

/// How far it is, told a few times a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Episodes played, of all learners and runs.
    pub done: u64,
    /// Episodes to play.
    pub total: u64,
}

/// How an experiment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All runs are done.
    Complete,
    /// It was stopped; the state says how far it came.
    Stopped,
}

/// What whoever watches wants to be told and when to stop.
pub struct Control<'a> {
    /// Threads; 0 stands for one a processor.
    pub threads: usize,
    /// Set to true from anywhere, ends the experiment within a moment.
    pub stop: &'a AtomicBool,
    /// Called a few times a second, and often enough with the state to be worth saving.
    pub watch: &'a mut dyn FnMut(Progress, Option<&State>),
}

/// Between two states to be saved.
const SAVE: Duration = Duration::from_secs(10);

impl Experiment {
    /// The state in which nothing is done.
    pub fn state(&self) -> State {
        let learner = LearnerState {
            done: RunSet::default(),
            tally: Tally::new(self.checkpoints.len()),
            seconds: 0.0,
            finals: Vec::new(),
        };
        State {
            learners: vec![learner; self.learners.len()],
        }
    }

    /// The runs that are done here.
    pub fn share(&self) -> Range<u64> {
        self.shard.share(self.runs)
    }

    /// Whether a state, which may have come from a file, can be one of this experiment.
    fn check(&self, state: &State) -> Result<(), SimError> {
        if state.learners.len() != self.learners.len() {
            return Err(SimError::Foreign("it has another number of learners"));
        }
        for learner in &state.learners {
            if !learner.tally.is_whole(self.checkpoints.len()) {
                return Err(SimError::Foreign(
                    "its sums are not those of these checkpoints",
                ));
            }
            if learner.done.last().is_some_and(|run| run >= self.runs) {
                return Err(SimError::Foreign("it has more runs"));
            }
            if !learner.done.is_within(&self.share()) {
                return Err(SimError::Foreign("it has runs of another shard"));
            }
            if learner.tally.runs() != learner.done.len() {
                return Err(SimError::Foreign("its sums and its list of runs disagree"));
            }
        }
        Ok(())
    }

    /// Its problem under its circumstances, solved, and the counts by place that go with it.
    fn solved(&self) -> Result<(ConditionedEnvironment, Option<ChoiceCounts>), SimError> {
        let world =
            ConditionedEnvironment::new(self.problem.clone(), &self.circumstances, self.episodes)?;
        let places = if self.places {
            ChoiceCounts::new(&world)
        } else {
            None
        };
        Ok((world, places))
    }

    /// What could be earned if the truth were known.
    pub fn worth(&self) -> Result<ReferenceValues, SimError> {
        let mut world =
            ConditionedEnvironment::new(self.problem.clone(), &self.circumstances, self.episodes)?;
        let (benchmark_value, benchmark_stderr) = world.benchmark_value(self.seed)?;
        // The difference of both values an episode tells regret against the optimum only where it is the same in all
        // of them, and where what is recommended is done.
        let comparable = world.phases() == 1 && self.circumstances.conditions.overrides.is_none();
        Ok(ReferenceValues {
            benchmark_value,
            benchmark_stderr,
            optimal_value: match comparable {
                true => world.optimal_value()?,
                false => None,
            },
            estimator: world.environment().estimator().name(),
        })
    }

    /// How it is played: fast where everything is as the paper has it, step by step where it is not.
    fn fastest(&self) -> Loop {
        if self.circumstances.is_none() && self.problem.dropout().is_none() {
            Loop::PairedRuns(Level::best())
        } else {
            Loop::Plain
        }
    }

    /// Does all runs that are not done, on several threads, and leaves the result in `state`.
    pub fn run(&self, state: &mut State, control: &mut Control<'_>) -> Result<Finish, SimError> {
        self.check(state)?;
        self.run_with(state, control, self.fastest())
    }

    /// The same with a loop of one's choice.
    pub(crate) fn run_with(
        &self,
        state: &mut State,
        control: &mut Control<'_>,
        by: Loop,
    ) -> Result<Finish, SimError> {
        // Solved once here; every thread begins with a copy of what is known.
        let (mut world, places) = self.solved()?;
        for learner in &mut state.learners {
            let foreign = || SimError::Foreign("its counts by place are not those of this problem");
            learner.tally.take_places(&places).ok_or_else(foreign)?;
        }
        // A learner that cannot be built is named before anything runs.
        for config in &self.learners {
            let problem = world.problem(0);
            config.build(problem.spec(), Some(problem))?;
        }
        let tables = match by {
            Loop::PairedRuns(_) => Tables::whole(world.environment_mut())?,
            Loop::Plain => None,
        };
        let share = self.share();
        let runs = share.end - share.start;
        let total = self
            .episodes
            .saturating_mul(runs)
            .saturating_mul(self.learners.len() as u64);
        let done: u64 = state.learners.iter().map(|l| l.done.len()).sum();
        let played = AtomicU64::new(done.saturating_mul(self.episodes));
        for i in 0..self.learners.len() {
            let bench = Bench {
                world: &world,
                tables: tables.as_ref(),
                by,
                played: &played,
                total,
            };
            self.run_learner(i, state, &bench, control)?;
            if i + 1 < self.learners.len() {
                let done = played.load(Ordering::Relaxed);
                (control.watch)(Progress { done, total }, Some(state));
            }
            if control.stop.load(Ordering::Relaxed) && state.learners[i].done.len() < runs {
                return Ok(Finish::Stopped);
            }
        }
        let complete = state.learners.iter().all(|l| l.done.len() == runs);
        Ok(if complete {
            Finish::Complete
        } else {
            Finish::Stopped
        })
    }

    fn run_learner(
        &self,
        i: usize,
        state: &mut State,
        bench: &Bench<'_>,
        control: &mut Control<'_>,
    ) -> Result<(), SimError> {
        let began = Instant::now();
        let before = state.learners[i].clone();
        let config = &self.learners[i];
        let (played, total) = (bench.played, bench.total);
        let job = Job {
            experiment: self,
            config,
            world: bench.world,
            by_place: before.tally.places.is_some(),
            done_before: before.done,
            played,
        };
        let pool = Pool {
            threads: control.threads,
            runs: self.share(),
            episodes: self.episodes,
            stop: control.stop,
        };
        let progress = || Progress {
            done: played.load(Ordering::Relaxed),
            total,
        };
        let (mut told, mut saved) = (began, began);
        let mut receive = |block: Option<Done>| {
            let learner = &mut state.learners[i];
            if let Some(Done {
                done,
                tally,
                places,
                finals,
            }) = block
            {
                learner.tally.merge(&tally);
                if let Some(sum) = &mut learner.tally.places {
                    sum.add(&places);
                }
                learner.done.merge(&done);
                learner.finals.extend(finals);
            }
            if told.elapsed() < TICK {
                return;
            }
            told = Instant::now();
            learner.seconds = before.seconds + began.elapsed().as_secs_f64();
            let save = saved.elapsed() >= SAVE;
            if save {
                saved = told;
            }
            (control.watch)(progress(), save.then_some(&*state));
        };
        // The fast loop plays a little beyond the end of a run; somebody's own code is called for what counts alone.
        let by = if config.is_user_defined() {
            Loop::Plain
        } else {
            bench.by
        };
        let ended = match by {
            Loop::PairedRuns(level) => play_paired(&job, bench.tables, level, &pool, &mut receive),
            Loop::Plain => pool.run(
                || crate::engine::reference::RunWorker::new(&job),
                &mut receive,
            ),
        };
        state.learners[i].seconds = before.seconds + began.elapsed().as_secs_f64();
        (control.watch)(progress(), None);
        ended
    }

    /// Adds the state of another shard of the same experiment.
    pub fn merge(&self, state: &mut State, other: &State) -> Result<(), SimError> {
        let whole = Experiment {
            shard: Shard::WHOLE,
            ..self.clone()
        };
        whole.check(state)?;
        whole.check(other)?;
        for (mine, theirs) in state.learners.iter_mut().zip(&other.learners) {
            let both = mine.done.len() + theirs.done.len();
            let mut done = mine.done.clone();
            done.merge(&theirs.done);
            if done.len() != both {
                return Err(SimError::Foreign("a run is in both of them"));
            }
            mine.tally
                .merge_all(&theirs.tally)
                .ok_or(SimError::Foreign(
                    "one counts by place and the other does not",
                ))?;
            mine.done = done;
            mine.seconds += theirs.seconds;
            mine.finals.extend(&theirs.finals);
        }
        Ok(())
    }

    /// Whether a state has all runs.
    pub fn is_complete(&self, state: &State) -> bool {
        state
            .learners
            .iter()
            .all(|learner| learner.done.len() == self.runs)
    }

    /// Where the regret of each learner came from, if it was recorded.
    pub fn places(&self, state: &State) -> Result<Option<Vec<Vec<StateRegret>>>, SimError> {
        let (mut world, _) = self.solved()?;
        let mut all = Vec::new();
        for learner in &state.learners {
            let Some(places) = &learner.tally.places else {
                return Ok(None);
            };
            all.push(places.results(world.environment_mut(), self.runs)?);
        }
        Ok(Some(all))
    }

    /// The document of a finished state: what `emab run --json` prints. The hash is that of the problem's file.
    pub fn document(
        &self,
        state: &State,
        version: &str,
        problem_hash: &str,
    ) -> Result<RunResult, SimError> {
        let worth = self.worth()?;
        let result = RunResult {
            version: version.into(),
            problem: self.problem.name().into(),
            problem_hash: problem_hash.into(),
            seed: self.seed,
            runs: self.runs,
            episodes: self.episodes,
            conditions: self.circumstances.conditions.clone(),
            benchmark_value: worth.benchmark_value,
            benchmark_stderr: worth.benchmark_stderr,
            optimal_value: worth.optimal_value,
            estimator: worth.estimator.into(),
            learners: self.results(state),
        };
        Ok(result.against_optimum())
    }

    /// The results of a state, in the order of the learners; regret is against the benchmark alone, until
    /// [`LearnerResult::against_optimum`] is told what both policies earn.
    pub fn results(&self, state: &State) -> Vec<LearnerResult> {
        self.learners
            .iter()
            .zip(&state.learners)
            .map(|(config, learner)| LearnerResult {
                learner: config.name().into(),
                label: config.label().into(),
                parameters: config
                    .parameters()
                    .iter()
                    .map(|(name, value)| ((*name).into(), value.clone()))
                    .collect(),
                curve: learner.tally.curve(&self.checkpoints),
                causes: learner.tally.causes(),
                steps: learner.tally.steps,
                seconds: learner.seconds,
            })
            .collect()
    }
}

/// What could be earned in an episode if the truth were known: under drift, on average over the episodes of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReferenceValues {
    /// What the benchmark earns.
    pub benchmark_value: f64,
    /// Its standard error, 0 where it is exact.
    pub benchmark_stderr: f64,
    /// What the optimal policy earns; none where too much can be reached to know, where laws drift, and where people
    /// override what is recommended.
    pub optimal_value: Option<f64>,
    /// How regret is measured: `exact` or `paired`.
    pub estimator: &'static str,
}

/// How episodes are played.
#[derive(Clone, Copy)]
pub(crate) enum Loop {
    /// Two runs side by side, with the instructions of a level.
    PairedRuns(Level),
    /// Step by step.
    Plain,
}

/// What all learners share while they run.
struct Bench<'a> {
    world: &'a ConditionedEnvironment,
    tables: Option<&'a Tables>,
    by: Loop,
    played: &'a AtomicU64,
    total: u64,
}
