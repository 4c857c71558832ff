//! Prepares an experiment: problem, scenario, learners, defaults, checkpoints and warnings, in one place.

use std::sync::Arc;

use emab::learners::{LearnerConfig, LearnerDefaults, LearnerError};
use emab::oracle::OracleError;
use emab::{ConditionedEnvironment, Problem, Scenario};
use emab_problem::{ProblemFile, ReadError};
use thiserror::Error;

use super::checkpoints::{CheckpointError, check_checkpoints, log_spaced};
use super::run::Experiment;
use crate::engine::paired_runs::PlayerKind;
use crate::error::SimError;
use crate::shard::Shard;
use crate::soundness;

/// Pairs that [`ProblemFile::check`] visits before a simulation; it checks further pairs when it reaches them.
pub const CHECKED_PAIRS: usize = 20_000;

/// Why an experiment cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BuildError {
    /// The problem file has no model, or a value in it is invalid.
    #[error(transparent)]
    Problem(Box<ReadError>),
    /// A learner cannot be read or built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The checkpoints are invalid.
    #[error(transparent)]
    Checkpoints(#[from] CheckpointError),
    /// The episodes at which single runs are recorded are invalid.
    #[error("recorded episodes: {0}")]
    Recorded(CheckpointError),
    /// The number of episodes or runs is 0.
    #[error("`{0}` must be at least 1, got 0")]
    Zero(&'static str),
    /// The problem cannot be solved.
    #[error(transparent)]
    Simulation(#[from] SimError),
}

impl From<ReadError> for BuildError {
    fn from(error: ReadError) -> BuildError {
        BuildError::Problem(Box::new(error))
    }
}

/// A problem stated in code, or a problem file, which adds a scenario and defaults for learners.
#[derive(Clone)]
pub enum ProblemSource {
    /// A problem stated in code.
    Problem(Arc<Problem>),
    /// A problem file.
    File(Box<ProblemFile>),
}

impl From<Arc<Problem>> for ProblemSource {
    fn from(problem: Arc<Problem>) -> ProblemSource {
        ProblemSource::Problem(problem)
    }
}

impl From<&ProblemFile> for ProblemSource {
    fn from(file: &ProblemFile) -> ProblemSource {
        ProblemSource::File(Box::new(file.clone()))
    }
}

/// A learner as text (`name` or `name:key=value,...`), or configured.
#[derive(Clone)]
pub enum LearnerSource {
    /// As text; parameters that it leaves out come from the problem file.
    Text(String),
    /// Configured.
    Config(LearnerConfig),
}

impl From<&str> for LearnerSource {
    fn from(text: &str) -> LearnerSource {
        LearnerSource::Text(text.into())
    }
}

impl From<&String> for LearnerSource {
    fn from(text: &String) -> LearnerSource {
        LearnerSource::Text(text.clone())
    }
}

impl From<LearnerConfig> for LearnerSource {
    fn from(config: LearnerConfig) -> LearnerSource {
        LearnerSource::Config(config)
    }
}

/// Describes an experiment; see [`Experiment::builder`].
#[derive(Clone)]
#[must_use]
pub struct ExperimentBuilder {
    source: ProblemSource,
    scenario: Option<Scenario>,
    learners: Vec<LearnerSource>,
    episodes: u64,
    runs: u64,
    seed: u64,
    checkpoints: Vec<u64>,
    recorded: Option<Vec<u64>>,
    count_choices: bool,
    shard: Shard,
    environment: Option<Arc<ConditionedEnvironment>>,
}

impl ExperimentBuilder {
    pub(super) fn new(source: ProblemSource) -> ExperimentBuilder {
        ExperimentBuilder {
            source,
            scenario: None,
            learners: Vec::new(),
            episodes: 10_000,
            runs: 100,
            seed: 1,
            checkpoints: Vec::new(),
            recorded: None,
            count_choices: false,
            shard: Shard::WHOLE,
            environment: None,
        }
    }

    /// The scenario; by default that of the problem file.
    pub fn scenario(mut self, scenario: Scenario) -> Self {
        self.scenario = Some(scenario);
        self
    }

    /// Adds learners, each played on the same runs. Default: `feedbal`.
    pub fn learners<L: Into<LearnerSource>>(
        mut self,
        learners: impl IntoIterator<Item = L>,
    ) -> Self {
        self.learners.extend(learners.into_iter().map(Into::into));
        self
    }

    /// Episodes of a run. Default: 10,000.
    pub fn episodes(mut self, episodes: u64) -> Self {
        self.episodes = episodes;
        self
    }

    /// Runs. Default: 100.
    pub fn runs(mut self, runs: u64) -> Self {
        self.runs = runs;
        self
    }

    /// The seed. Default: 1.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The episodes at which regret is recorded, besides the last one. Default: [`log_spaced`].
    pub fn checkpoints(mut self, at: Vec<u64>) -> Self {
        self.checkpoints = at;
        self
    }

    /// Records regret and gain of every run, at the last episode and at these, which are checkpoints too. Default: no records.
    pub fn record_runs(mut self, at: Vec<u64>) -> Self {
        self.recorded = Some(at);
        self
    }

    /// Counts choices by step-state pair where regret is exact; see [`Experiment::regret_by_state`].
    pub fn count_choices(mut self, count: bool) -> Self {
        self.count_choices = count;
        self
    }

    /// The part of the runs to play.
    pub fn shard(mut self, shard: Shard) -> Self {
        self.shard = shard;
        self
    }

    /// Uses the solved environment of another experiment on the same problem, scenario and number of episodes.
    pub fn environment(mut self, environment: Arc<ConditionedEnvironment>) -> Self {
        self.environment = Some(environment);
        self
    }

    /// Reads the learners, enumerates and solves the problem once, and builds each learner once. Fails on the first
    /// error in that order.
    pub fn build(self) -> Result<Experiment, BuildError> {
        let (problem, scenario, defaults) = match &self.source {
            ProblemSource::Problem(problem) => (
                problem.clone(),
                Scenario::default(),
                LearnerDefaults::default(),
            ),
            ProblemSource::File(file) => (file.problem()?, file.scenario(), *file.learning()),
        };
        let scenario = self.scenario.unwrap_or(scenario);
        let located = |error: SimError| match (error, &self.source) {
            (SimError::Oracle(OracleError::Point(point)), ProblemSource::File(file))
            | (
                SimError::Learner(LearnerError::Oracle(_, OracleError::Point(point))),
                ProblemSource::File(file),
            ) => BuildError::from(file.locate(&point)),
            (SimError::Learner(error), _) => BuildError::Learner(error),
            (error, _) => BuildError::Simulation(error),
        };
        let learners = match self.learners.is_empty() {
            true => vec!["feedbal".into()],
            false => self.learners,
        };
        let learners = learners.into_iter().map(|learner| match learner {
            LearnerSource::Text(text) => LearnerConfig::parse(&text, &defaults),
            LearnerSource::Config(config) => Ok(config),
        });
        let learners: Vec<LearnerConfig> = learners
            .map(|config| config.and_then(|config| config.for_episodes(self.episodes)))
            .collect::<Result<_, _>>()?;
        for (name, count) in [("episodes", self.episodes), ("runs", self.runs)] {
            if count == 0 {
                return Err(BuildError::Zero(name));
            }
        }
        let mut checkpoints = match self.checkpoints.is_empty() {
            true => log_spaced(self.episodes),
            false => self.checkpoints,
        };
        let recorded = match self.recorded {
            None => Vec::new(),
            Some(at) => check_checkpoints(at, self.episodes).map_err(BuildError::Recorded)?,
        };
        checkpoints.extend(&recorded);
        let checkpoints = check_checkpoints(checkpoints, self.episodes)?;
        let environment = match self.environment {
            Some(environment) => environment,
            None => {
                // Errors in a later phase name the phase.
                if let ProblemSource::File(file) = &self.source
                    && !scenario.phases.is_empty()
                {
                    file.check(CHECKED_PAIRS)?;
                }
                let environment =
                    ConditionedEnvironment::new(problem.clone(), &scenario, self.episodes);
                Arc::new(environment.map_err(|error| located(error.into()))?)
            }
        };
        let players = learners
            .iter()
            .map(|config| {
                config.check_conditions(&scenario.conditions)?;
                PlayerKind::of(config, environment.problem(0))
            })
            .collect::<Result<_, _>>()
            .map_err(|error| located(SimError::Learner(error)))?;
        Ok(Experiment {
            problem,
            scenario,
            learners,
            players,
            episodes: self.episodes,
            runs: self.runs,
            seed: self.seed,
            checkpoints,
            recorded,
            count_choices: self.count_choices,
            shard: self.shard,
            environment,
        })
    }
}

impl Experiment {
    /// Notes on assumed parameters, and warnings on learners whose confidence widths do not cover the variation of the
    /// problem or its conditions.
    pub fn warnings(&self) -> Result<Vec<String>, SimError> {
        let mut words: Vec<String> = Vec::new();
        for config in &self.learners {
            words.extend(soundness::assumed_words(config));
        }
        let environment = match self.environment.phases() {
            1 => Some(self.environment.environment()),
            _ => None,
        };
        let unsound = soundness::unsound_learners(
            &self.problem,
            &self.scenario.conditions,
            environment,
            &self.learners,
        )?;
        words.extend(unsound);
        Ok(words)
    }
}
