//! An arena: learners compared on the same problems and the same runs.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use emab::learners::{Access, LearnerConfig, LearnerError};
use emab::{ConditionedEnvironment, Environment, Learner, Problem, Role, Stream};
use emab_problem::ProblemFile;

use super::cell::Cell;
use super::default_learners::default_learners;
use crate::error::SimError;
use crate::experiment::{BuildError, Control, Experiment};
use crate::limit::lower_bound;
use crate::results::{
    ArenaCellResult, ArenaLowerBound, ArenaSetting, ExcludedLearner, Measured, REFERENCE,
};
use crate::shard::Shard;

/// Episodes, runs and seed of an arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaSettings {
    /// Episodes of a run.
    pub episodes: u64,
    /// The episode at which learners are compared, from 1 to `episodes`.
    pub ranked_at: u64,
    /// Runs.
    pub runs: u64,
    /// The seed.
    pub seed: u64,
}

/// One problem of an arena, and the learners on it.
///
/// ```
/// use std::sync::atomic::AtomicBool;
/// use emab_sim::{Control, Device};
/// use emab_sim::compare::{ArenaEntrants, ArenaSettings};
///
/// let file = emab_problem::ProblemFile::builtin("resource").unwrap().unwrap();
/// let settings = ArenaSettings { episodes: 20, ranked_at: 20, runs: 4, seed: 1 };
/// let problems = ArenaEntrants::enter(vec![file], &["oasm".into()], settings).unwrap();
/// // FeedBAL is always included; `oasm` applies to another form of problem.
/// let cell = &problems[0].cells[0];
/// assert_eq!(cell.learner.label(), "feedbal");
/// assert_eq!(problems[0].excluded[0].label, "oasm");
/// let stop = AtomicBool::new(false);
/// let mut control = Control { threads: 1, device: Device::processor(), stop: &stop, watch: &mut |_, _| {} };
/// let result = problems[0].run(cell, &mut control).unwrap().unwrap();
/// assert_eq!(result.finals.len(), 4);
/// ```
pub struct ArenaEntrants {
    /// The problem.
    pub file: ProblemFile,
    /// The learners that apply.
    pub cells: Vec<Cell>,
    /// The learners that do not apply.
    pub excluded: Vec<ExcludedLearner>,
    settings: ArenaSettings,
    /// Solved for the first cell and shared by the others.
    environment: OnceLock<Arc<ConditionedEnvironment>>,
    /// Shared by the learners whose memory is measured, so that it does not count.
    problem: OnceLock<Arc<Problem>>,
}

impl ArenaEntrants {
    /// Enters learners on every problem, each once: the ones asked for (all of [`default_learners`] if none is), and
    /// FeedBAL always. A learner that does not apply to a problem is excluded there. Fails if a learner that was asked
    /// for can play on no problem, for another reason than the form of the problems.
    pub fn enter(
        files: Vec<ProblemFile>,
        asked: &[String],
        settings: ArenaSettings,
    ) -> Result<Vec<ArenaEntrants>, LearnerError> {
        let problem = |file| ArenaEntrants {
            file,
            cells: Vec::new(),
            excluded: Vec::new(),
            settings,
            environment: OnceLock::new(),
            problem: OnceLock::new(),
        };
        let mut problems: Vec<ArenaEntrants> = files.into_iter().map(problem).collect();
        let mut learners: Vec<String> = vec![REFERENCE.into()];
        let more = match asked.is_empty() {
            true => default_learners(),
            false => asked.iter().map(|text| text.trim().to_owned()).collect(),
        };
        for learner in more {
            if !learners.contains(&learner) {
                learners.push(learner);
            }
        }
        for learner in &learners {
            let mut wrong = None;
            for problem in &mut problems {
                match problem.cell(learner) {
                    Ok(cell) => problem.cells.push(cell),
                    Err(error) => {
                        problem.excluded.push(ExcludedLearner {
                            label: learner.clone(),
                            why: error.reason(),
                        });
                        if !error.does_not_apply() {
                            wrong.get_or_insert(error);
                        }
                    }
                }
            }
            // A default learner is left out where the problem lacks a parameter that it needs.
            let asked = asked.iter().any(|text| text.trim() == learner);
            let mut cells = problems.iter().flat_map(|problem| &problem.cells);
            let plays = cells.any(|cell| cell.learner.label() == learner);
            if let Some(error) = wrong.filter(|_| asked && !plays) {
                return Err(error);
            }
        }
        Ok(problems)
    }

    fn cell(&self, learner: &str) -> Result<Cell, LearnerError> {
        let ArenaSettings {
            episodes,
            ranked_at,
            runs,
            seed,
        } = self.settings;
        let learner =
            LearnerConfig::parse(learner, self.file.learning())?.for_episodes(episodes)?;
        learner.check_conditions(self.file.conditions())?;
        // A file without a model was rejected when it was checked.
        if let Ok(problem) = self.file.problem() {
            learner.build(problem.spec(), Some(&problem))?;
        }
        Ok(Cell {
            problem: self.file.clone(),
            learner,
            episodes,
            runs,
            shard: Shard::WHOLE,
            seed,
            checkpoints: vec![episodes],
            // A run of one episode has no halves.
            recorded: Some(
                [ranked_at / 2, ranked_at]
                    .into_iter()
                    .filter(|at| *at > 0)
                    .collect(),
            ),
        })
    }

    /// The experiment of a cell; the problem is solved once.
    fn experiment(&self, cell: &Cell) -> Result<Experiment, BuildError> {
        let experiment = cell.experiment(self.environment.get().cloned())?;
        let _ = self.environment.set(experiment.environment().clone());
        Ok(experiment)
    }

    /// The number of learners that are ranked: those that see only episodes.
    pub fn ranked(&self) -> usize {
        let ranked = |cell: &&Cell| cell.learner.entry().access == Access::Spec;
        self.cells.iter().filter(ranked).count()
    }

    /// Plays the runs of a cell; none if it was stopped.
    pub fn run(
        &self,
        cell: &Cell,
        control: &mut Control<'_>,
    ) -> Result<Option<ArenaCellResult>, BuildError> {
        let experiment = self.experiment(cell)?;
        let Some(state) = Cell::run(&experiment, control)? else {
            return Ok(None);
        };
        let result = experiment.results(&state).pop();
        let (Some(learner), Some(result)) = (state.learners.first(), result) else {
            return Ok(None);
        };
        let ranked_at = self.settings.ranked_at;
        let has_half = ranked_at > 1;
        let position = usize::from(has_half);
        let at = |position: usize| {
            let records = learner.records.iter();
            records.filter_map(move |record| record.at.get(position).copied())
        };
        let per_episode = |(_, gain): (f64, f64)| gain / ranked_at as f64;
        let halves = at(0).filter(|_| has_half).map(|(regret, _)| regret);
        let stuck = learner.records.iter().map(|record| record.stuck);
        let stuck: Option<u64> = stuck.map(|stuck| stuck.map(u64::from)).sum();
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads = match control.threads {
            // A card plays; the time that passes is its own.
            _ if control.device.gpu_name().is_some() => 1,
            0 => processors as u64,
            // More threads than processors take turns.
            threads => threads.min(processors) as u64,
        };
        let busy = result.seconds * threads.min(cell.share()) as f64;
        Ok(Some(ArenaCellResult {
            learner: result.learner,
            label: result.label,
            parameters: result.parameters,
            finals: at(position).map(|(regret, _)| regret).collect(),
            halves: halves.collect(),
            stuck,
            gain: Measured::of(at(position).map(per_episode)),
            steps: result.steps,
            nanoseconds: 1e9 * busy / result.steps.max(1) as f64,
            memory: None,
        }))
    }

    /// The learner of a cell after some episodes of the first run, to measure its memory; none if it was stopped.
    pub fn learner_after(
        &self,
        cell: &Cell,
        episodes: u64,
        stop: &AtomicBool,
    ) -> Result<Option<Box<dyn Learner + Send>>, BuildError> {
        let problem = match self.problem.get() {
            Some(problem) => problem.clone(),
            None => {
                let problem = self.file.problem()?;
                self.problem.get_or_init(|| problem).clone()
            }
        };
        let mut environment = match self.environment.get() {
            Some(solved) if self.file.conditions().is_none() => solved.environment().clone(),
            _ => Environment::new(problem.clone()).map_err(SimError::from)?,
        };
        let mut learner = cell.learner.build(problem.spec(), Some(&problem))?;
        environment.restart(cell.seed, 0);
        learner.reset(Stream::new(cell.seed, 0, Role::Learner));
        for episode in 1..=episodes {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let played = environment.play(&mut *learner);
            played.map_err(SimError::in_episode(cell.learner.label(), 0, episode))?;
        }
        Ok(Some(learner))
    }

    fn lower_bound(&self) -> Option<ArenaLowerBound> {
        let bound = lower_bound(&self.file)?;
        Some(ArenaLowerBound {
            target: bound.target(),
            constant: bound.constant()?,
            at_n: bound.at(self.settings.ranked_at)?,
        })
    }

    /// The problem and the values of its benchmark and optimal policy; none if no learner applies.
    pub fn setting(&self) -> Result<Option<ArenaSetting>, BuildError> {
        // The values do not depend on the learner.
        let Some(cell) = self.cells.first() else {
            return Ok(None);
        };
        Ok(Some(ArenaSetting {
            problem: self.file.name().into(),
            problem_hash: self.file.hash().into(),
            values: self.experiment(cell)?.reference_values()?,
            conditions: self.file.conditions().clone(),
            lower_bound: self.lower_bound(),
        }))
    }
}
