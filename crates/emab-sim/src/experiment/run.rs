//! An experiment: learners on a problem, many runs each, on several threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use emab::learners::LearnerConfig;
use emab::{ConditionedEnvironment, Problem, Scenario};

use super::builder::ExperimentBuilder;
use super::state::State;
use crate::VERSION;
use crate::engine::Loop;
use crate::engine::choice_counts::ChoiceCounts;
use crate::engine::gpu::Device;
use crate::engine::gpu::play::{OnCard, play_on_card};
use crate::engine::learner_runs::{LearnerRuns, RunBlock};
use crate::engine::paired_runs::{PlayerKind, play_paired};
use crate::engine::pool::{Pool, TICK};
use crate::engine::reference::RunWorker;
use crate::engine::schedule::Schedule;
use crate::engine::simd::Level;
use crate::engine::stuck::{self, BenchmarkPairs};
use crate::engine::tables::Tables;
use crate::error::SimError;
use crate::results::{LearnerResult, ReferenceValues, RunRecord, RunResult, StateRegret};
use crate::shard::Shard;

/// Learners on a problem, ready to run: the problem is solved and each learner can be built.
#[derive(Clone)]
pub struct Experiment {
    pub(super) problem: Arc<Problem>,
    pub(super) scenario: Scenario,
    pub(super) learners: Vec<LearnerConfig>,
    pub(super) players: Vec<PlayerKind>,
    pub(super) episodes: u64,
    pub(super) runs: u64,
    pub(super) seed: u64,
    /// Increasing; the last one is `episodes`.
    pub(super) checkpoints: Vec<u64>,
    /// Some of the checkpoints; the last one is `episodes`. Empty if single runs are not recorded.
    pub(super) recorded: Vec<u64>,
    pub(super) count_choices: bool,
    pub(crate) shard: Shard,
    /// The problem under its scenario, with its reachable pairs enumerated and its benchmark solved.
    pub(super) environment: Arc<ConditionedEnvironment>,
}

/// Progress, reported a few times a second.
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
    /// It was stopped; the state has the runs done so far.
    Stopped,
}

/// Threads, device, stop flag and progress callback of a simulation.
pub struct Control<'a> {
    /// Threads; 0 means one per processor.
    pub threads: usize,
    /// Where runs are played.
    pub device: Device,
    /// Setting it to true stops the experiment within moments.
    pub stop: &'a AtomicBool,
    /// Called a few times a second, and every ten seconds with the state to save.
    pub watch: &'a mut dyn FnMut(Progress, Option<&State>),
}

/// Takes the records of finished runs: the position of the learner, and its runs in any order.
pub type RunSink<'a> = dyn FnMut(usize, Vec<RunRecord>) -> Result<(), SimError> + 'a;

/// Interval between two states to save.
const SAVE: Duration = Duration::from_secs(10);

impl Experiment {
    /// Starts to describe an experiment on a problem or a problem file.
    ///
    /// ```
    /// use std::sync::atomic::AtomicBool;
    /// use emab_sim::{Control, Device, Experiment};
    ///
    /// let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
    /// let experiment = Experiment::builder(&file).learners(["feedbal", "ucb1"]).episodes(100).runs(4).build().unwrap();
    /// let mut state = experiment.state();
    /// let stop = AtomicBool::new(false);
    /// experiment.run(&mut state, &mut Control { threads: 1, device: Device::processor(), stop: &stop, watch: &mut |_, _| {} }).unwrap();
    /// assert_eq!(experiment.results(&state)[1].label, "ucb1");
    /// ```
    pub fn builder(problem: impl Into<super::ProblemSource>) -> ExperimentBuilder {
        ExperimentBuilder::new(problem.into())
    }

    /// The learners, each on the same runs.
    pub fn learners(&self) -> &[LearnerConfig] {
        &self.learners
    }

    /// The episodes at which single runs are recorded; empty if they are not.
    pub fn recorded_episodes(&self) -> &[u64] {
        &self.recorded
    }

    /// The scenario that the problem is played under.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// The problem under its scenario, solved; another experiment on the same problem can share it.
    pub fn environment(&self) -> &Arc<ConditionedEnvironment> {
        &self.environment
    }

    /// The runs of this experiment's shard.
    pub fn share(&self) -> Range<u64> {
        self.shard.share(self.runs)
    }

    /// The values of the benchmark and of the optimal policy.
    pub fn reference_values(&self) -> Result<ReferenceValues, SimError> {
        let mut environment = (*self.environment).clone();
        let (benchmark_value, benchmark_stderr) = environment.benchmark_value(self.seed)?;
        // The difference of both values gives regret against the optimum only if it is the same in all episodes and
        // recommendations are followed.
        let comparable = environment.phases() == 1 && self.scenario.conditions.overrides.is_none();
        Ok(ReferenceValues {
            benchmark_value,
            benchmark_stderr,
            optimal_value: match comparable {
                true => environment.optimal_value()?,
                false => None,
            },
            estimator: environment.environment().estimator().name().into(),
        })
    }

    /// The loop for this scenario: a fast one without conditions, otherwise the reference.
    fn fastest(&self, device: &Device) -> Loop {
        let has_conditions = !self.scenario.is_none() || !self.problem.dropout().is_none();
        match (has_conditions, device.card().is_some()) {
            (false, false) => Loop::PairedRuns(Level::best()),
            (false, true) => Loop::Card(Level::best()),
            (true, false) => Loop::Reference,
            (true, true) => {
                device.note("conditions and drift are played on the processor".into());
                Loop::Reference
            }
        }
    }

    /// Plays all runs that are not done, on several threads, and adds them to `state`. Fails if the state belongs to
    /// another experiment or an episode fails.
    pub fn run(&self, state: &mut State, control: &mut Control<'_>) -> Result<Finish, SimError> {
        self.check(state)?;
        self.run_with(state, control, self.fastest(&control.device), None)
    }

    /// The same, with the records of single runs going to `sink` instead of the state, so that memory does not grow with the
    /// number of runs. The records of a run reach it before the run is part of a state.
    pub fn run_into(
        &self,
        state: &mut State,
        control: &mut Control<'_>,
        sink: &mut RunSink<'_>,
    ) -> Result<Finish, SimError> {
        self.check(state)?;
        self.run_with(state, control, self.fastest(&control.device), Some(sink))
    }

    /// The same with a given loop.
    pub(crate) fn run_with(
        &self,
        state: &mut State,
        control: &mut Control<'_>,
        by: Loop,
        mut sink: Option<&mut RunSink<'_>>,
    ) -> Result<Finish, SimError> {
        let choices = self
            .count_choices
            .then(|| ChoiceCounts::new(&self.environment));
        let choices = choices.flatten();
        for learner in &mut state.learners {
            let foreign = || SimError::Foreign("its counts by state are not those of this problem");
            learner.tally.start_choices(&choices).ok_or_else(foreign)?;
        }
        // Threads copy what the tables have solved.
        let mut environment = (*self.environment).clone();
        let tables = match by {
            Loop::PairedRuns(_) | Loop::Card(..) => Tables::whole(environment.environment_mut())?,
            Loop::Reference => None,
        };
        let benchmark = match stuck::is_known(&environment) {
            true => Some(BenchmarkPairs::new(environment.environment_mut())?),
            false => None,
        };
        let schedule = Schedule::new(&self.checkpoints, &self.recorded);
        let share = self.share();
        let runs = share.end - share.start;
        let all = runs.saturating_mul(self.learners.len() as u64);
        let total = self.episodes.saturating_mul(all);
        let done: u64 = state.learners.iter().map(|l| l.done.len()).sum();
        let played = AtomicU64::new(done.saturating_mul(self.episodes));
        for i in 0..self.learners.len() {
            let shared = SharedRun {
                environment: &environment,
                tables: tables.as_ref(),
                schedule: &schedule,
                benchmark: benchmark.as_ref(),
                by,
                played: &played,
                total,
            };
            self.run_learner(i, state, &shared, control, sink.as_deref_mut())?;
            if i + 1 < self.learners.len() {
                let done = played.load(Ordering::Relaxed);
                (control.watch)(Progress { done, total }, Some(state));
            }
            if control.stop.load(Ordering::Relaxed) && state.learners[i].done.len() < runs {
                return Ok(Finish::Stopped);
            }
        }
        let complete = state.learners.iter().all(|l| l.done.len() == runs);
        Ok(match complete {
            true => Finish::Complete,
            false => Finish::Stopped,
        })
    }

    fn run_learner(
        &self,
        i: usize,
        state: &mut State,
        shared: &SharedRun<'_>,
        control: &mut Control<'_>,
        mut sink: Option<&mut RunSink<'_>>,
    ) -> Result<(), SimError> {
        let began = Instant::now();
        let seconds_before = state.learners[i].seconds;
        let config = &self.learners[i];
        let (played, total) = (shared.played, shared.total);
        let mut task = LearnerRuns {
            config,
            environment: shared.environment,
            episodes: self.episodes,
            seed: self.seed,
            schedule: shared.schedule,
            benchmark: shared.benchmark,
            count_choices: state.learners[i].tally.choices.is_some(),
            done_before: state.learners[i].done.clone(),
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
        let (mut reported, mut saved) = (began, began);
        let mut not_recorded = None;
        let mut receive = |block: Option<RunBlock>| {
            let learner = &mut state.learners[i];
            if let Some(block) = block {
                match &mut sink {
                    Some(sink) if !block.records.is_empty() => {
                        if let Err(error) = sink(i, block.records) {
                            not_recorded.get_or_insert(error);
                            control.stop.store(true, Ordering::Relaxed);
                            return;
                        }
                    }
                    _ => learner.records.extend(block.records),
                }
                learner.tally.merge(&block.tally);
                if let Some(sum) = &mut learner.tally.choices {
                    sum.add(&block.choices);
                }
                learner.done.merge(&block.done);
            }
            if reported.elapsed() < TICK {
                return;
            }
            reported = Instant::now();
            learner.seconds = seconds_before + began.elapsed().as_secs_f64();
            let save = saved.elapsed() >= SAVE;
            if save {
                saved = reported;
            }
            (control.watch)(progress(), save.then_some(&*state));
        };
        let device = &control.device;
        // The fast loop plays a few steps beyond the end of a run; a user-defined learner must not see them.
        let by = match config.is_user_defined() {
            true => {
                if device.card().is_some() {
                    device.note_processor(config.name(), "it is user-defined".into());
                }
                Loop::Reference
            }
            false => shared.by,
        };
        let (player, tables) = (&self.players[i], shared.tables);
        let ended = match by {
            Loop::Card(level) => {
                let mut done = task.done_before.clone();
                let mut receive_from_card = |block: Option<RunBlock>| {
                    block.iter().for_each(|block| done.merge(&block.done));
                    receive(block);
                };
                match play_on_card(&task, tables, device, &pool, &mut receive_from_card)? {
                    OnCard::Played => {}
                    OnCard::NotSupported(reason) => device.note_processor(config.name(), reason),
                    OnCard::Failed(error) => device.fail(&error),
                }
                let runs = pool.runs.end - pool.runs.start;
                if done.len() == runs {
                    Ok(())
                } else {
                    task.done_before = done;
                    let _turn = device.processor_turn();
                    play_paired(&task, player, tables, level, &pool, &mut receive)
                }
            }
            Loop::PairedRuns(level) => {
                let _turn = device.processor_turn();
                play_paired(&task, player, tables, level, &pool, &mut receive)
            }
            Loop::Reference => {
                let _turn = device.processor_turn();
                pool.run(|| RunWorker::new(&task), &mut receive)
            }
        };
        let learner = &mut state.learners[i];
        learner.seconds = seconds_before + began.elapsed().as_secs_f64();
        learner.records.sort_unstable_by_key(|record| record.run);
        (control.watch)(progress(), None);
        not_recorded.map_or(ended, Err)
    }

    /// The regret of each learner by step-state pair, if choices were counted.
    pub fn regret_by_state(
        &self,
        state: &State,
    ) -> Result<Option<Vec<Vec<StateRegret>>>, SimError> {
        let mut environment = (*self.environment).clone();
        let mut all = Vec::new();
        for learner in &state.learners {
            let Some(choices) = &learner.tally.choices else {
                return Ok(None);
            };
            all.push(choices.results(environment.environment_mut(), self.runs)?);
        }
        Ok(Some(all))
    }

    /// The document of a finished state: what `emab run --json` prints. The hash is that of the problem file.
    pub fn document(&self, state: &State, problem_hash: &str) -> Result<RunResult, SimError> {
        let result = RunResult {
            version: VERSION.into(),
            problem: self.problem.name().into(),
            problem_hash: problem_hash.into(),
            seed: self.seed,
            runs: self.runs,
            episodes: self.episodes,
            conditions: self.scenario.conditions.clone(),
            values: self.reference_values()?,
            learners: self.results(state),
        };
        Ok(result.against_optimum())
    }

    /// The results of a state, in the order of the learners. Regret is against the benchmark;
    /// [`LearnerResult::against_optimum`] adds regret against the optimal policy.
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
                stuck: learner.tally.stuck(),
                groups: learner.tally.groups(),
                steps: learner.tally.steps,
                seconds: learner.seconds,
            })
            .collect()
    }
}

/// What the learners of an experiment share while it runs.
struct SharedRun<'a> {
    environment: &'a ConditionedEnvironment,
    tables: Option<&'a Tables>,
    schedule: &'a Schedule,
    benchmark: Option<&'a BenchmarkPairs>,
    by: Loop,
    played: &'a AtomicU64,
    total: u64,
}
