//! Runs the experiments with the given settings, threads, progress callback and stop flag.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use emab::Problem;
use emab::learners::{LearnerConfig, LearnerDefaults, LearnerError, MAX_FIXED_OUTCOMES};
use emab::oracle::{Benchmark, FixedSequence, Optimal, OracleError, best_fixed};
use emab::spec::SpecError;
use emab_problem::{BUILTIN, ProblemFile, ReadError};
use emab_report::PlotError;
use emab_sim::results::{LearnerResult, StateRegret};
use emab_sim::{
    BuildError, Control, Device, Experiment, Finish, Progress, SimError, Verification,
    VerificationResult,
};
use thiserror::Error;

use crate::measurement::{Estimate, last};

/// Why the experiments failed.
#[derive(Debug, Error)]
pub enum LedgerError {
    /// A simulation failed.
    #[error(transparent)]
    Sim(#[from] SimError),
    /// A problem cannot be solved.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// A learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// A built-in problem cannot be read.
    #[error(transparent)]
    Read(#[from] Box<ReadError>),
    /// An instance cannot be stated.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// An experiment cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A picture cannot be drawn.
    #[error("cannot draw: {0}")]
    Plot(#[from] PlotError),
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
}

impl From<ReadError> for LedgerError {
    fn from(error: ReadError) -> LedgerError {
        LedgerError::Read(Box::new(error))
    }
}

/// Size of the experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Runs of each curve of the figures; other experiments scale with it.
    pub runs: u64,
    /// Episodes in each run of the figures.
    pub episodes: u64,
    /// The seed.
    pub seed: u64,
}

impl Settings {
    /// Runs and episodes of the paper's figures.
    pub const PAPER: Settings = Settings {
        runs: 1000,
        episodes: 20_000,
        seed: 1,
    };
    /// Few runs, for a result within seconds.
    pub const QUICK: Settings = Settings {
        runs: 60,
        ..Settings::PAPER
    };

    /// A number of runs that is `full` at the paper's settings and scales with them, at least `least`.
    pub fn scaled(&self, full: u64, least: u64) -> u64 {
        (full.saturating_mul(self.runs) / Settings::PAPER.runs).max(least)
    }
}

/// Runs experiments one after another.
pub struct Runner<'a> {
    /// Size of the experiments.
    pub settings: Settings,
    /// Threads; 0 means one per processor.
    pub threads: usize,
    /// Stops the work soon after it is set.
    pub stop: &'a AtomicBool,
    /// Called with the current experiment and its progress.
    pub watch: &'a mut dyn FnMut(&str, Progress),
}

/// Results of one experiment.
pub(crate) struct Outcome {
    pub(crate) results: Vec<LearnerResult>,
    /// By learner.
    pub(crate) places: Vec<Vec<StateRegret>>,
}

/// One experiment.
pub(crate) struct Job<'a> {
    /// Name for the progress callback.
    pub(crate) what: &'a str,
    pub(crate) problem: Arc<Problem>,
    pub(crate) learners: Vec<LearnerConfig>,
    pub(crate) episodes: u64,
    pub(crate) runs: u64,
    /// Besides the last episode.
    pub(crate) checkpoints: Vec<u64>,
}

impl Runner<'_> {
    pub(crate) fn run(&mut self, job: Job<'_>) -> Result<Outcome, LedgerError> {
        let mut checkpoints = job.checkpoints;
        checkpoints.push(job.episodes);
        let experiment = Experiment::builder(job.problem)
            .learners(job.learners)
            .episodes(job.episodes)
            .runs(job.runs)
            .seed(self.settings.seed)
            .checkpoints(checkpoints)
            .count_choices(true)
            .build()?;
        let mut state = experiment.state();
        let watch = &mut *self.watch;
        let finish = experiment.run(
            &mut state,
            &mut Control {
                threads: self.threads,
                device: Device::processor(),
                stop: self.stop,
                watch: &mut |progress, _| watch(job.what, progress),
            },
        )?;
        if finish == Finish::Stopped {
            return Err(LedgerError::Stopped);
        }
        Ok(Outcome {
            results: experiment.results(&state),
            places: experiment.regret_by_state(&state)?.unwrap_or_default(),
        })
    }

    /// The regret of one learner at the end of its runs.
    pub(crate) fn final_regret(
        &mut self,
        what: &str,
        problem: Arc<Problem>,
        learner: LearnerConfig,
        episodes: u64,
        runs: u64,
    ) -> Result<Estimate, LedgerError> {
        let [regret] = self.ends(what, problem, [learner], (episodes, runs))?;
        Ok(regret)
    }

    /// The regret of learners on a problem file at the end of the same runs.
    pub(crate) fn final_regrets(
        &mut self,
        what: &str,
        file: &ProblemFile,
        [one, other]: [&str; 2],
        episodes: u64,
        runs: u64,
    ) -> Result<[Estimate; 2], LedgerError> {
        let learners = [learner_of(file, one)?, learner_of(file, other)?];
        self.ends(what, file.problem()?, learners, (episodes, runs))
    }

    /// The regret of learners at the end of the same runs.
    pub(crate) fn ends<const N: usize>(
        &mut self,
        what: &str,
        problem: Arc<Problem>,
        learners: [LearnerConfig; N],
        (episodes, runs): (u64, u64),
    ) -> Result<[Estimate; N], LedgerError> {
        let outcome = self.run(Job {
            what,
            problem,
            learners: learners.into(),
            episodes,
            runs,
            checkpoints: Vec::new(),
        })?;
        Ok(std::array::from_fn(|i| last(&outcome.results[i], runs)))
    }

    /// Verifies a learner on a problem file.
    pub(crate) fn verify(
        &mut self,
        what: &str,
        file: &ProblemFile,
        learner: &str,
        episodes: u64,
        runs: u64,
    ) -> Result<VerificationResult, LedgerError> {
        let learner = learner_of(file, learner)?;
        self.verify_config(what, file.problem()?, learner, episodes, runs)
    }

    pub(crate) fn verify_config(
        &mut self,
        what: &str,
        problem: Arc<Problem>,
        learner: LearnerConfig,
        episodes: u64,
        runs: u64,
    ) -> Result<VerificationResult, LedgerError> {
        let verification = Verification {
            problem,
            learner,
            episodes,
            runs,
            seed: self.settings.seed,
            conditions: emab::Conditions::default(),
        };
        let watch = &mut *self.watch;
        let verified = verification.run(&mut Control {
            threads: self.threads,
            device: Device::processor(),
            stop: self.stop,
            watch: &mut |progress, _| watch(what, progress),
        })?;
        verified.ok_or(LedgerError::Stopped)
    }
}

/// A problem with its benchmark and its optimal policy.
pub(crate) struct Solved {
    pub(crate) benchmark: Benchmark,
    pub(crate) optimal: Optimal,
    /// Expected gain of the benchmark in an episode.
    pub(crate) value: f64,
    /// Expected gain of the optimal policy.
    pub(crate) best: f64,
}

impl Solved {
    pub(crate) fn new(problem: Arc<Problem>) -> Result<Solved, OracleError> {
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        Ok(Solved {
            value: benchmark.start_value()?,
            best: optimal.start_value(benchmark.pairs()),
            benchmark,
            optimal,
        })
    }

    /// The best fixed sequence, if there are not too many.
    pub(crate) fn best_fixed(&self) -> Option<FixedSequence> {
        best_fixed(self.benchmark.pairs(), &self.optimal, MAX_FIXED_OUTCOMES)
    }
}

/// The built-in problems in the paper's setting, in which every episode begins in the same state.
pub(crate) fn builtins() -> Result<Vec<(&'static str, ProblemFile)>, LedgerError> {
    let mut problems = Vec::new();
    for problem in BUILTIN {
        let file = builtin(problem.name)?;
        if file.spec().starts().len() == 1 {
            problems.push((problem.name, file));
        }
    }
    Ok(problems)
}

/// A built-in problem.
pub(crate) fn builtin(name: &str) -> Result<ProblemFile, LedgerError> {
    match ProblemFile::builtin(name) {
        Some(file) => Ok(file?),
        // An unknown name gives the error of an empty file.
        None => Ok(ProblemFile::parse(name, "")?),
    }
}

/// A learner whose parameters are all in the text.
pub(crate) fn learner(text: &str) -> Result<LearnerConfig, LedgerError> {
    Ok(LearnerConfig::parse(text, &LearnerDefaults::default())?)
}

/// A learner with the defaults of a problem file.
pub(crate) fn learner_of(file: &ProblemFile, text: &str) -> Result<LearnerConfig, LedgerError> {
    Ok(LearnerConfig::parse(text, file.learning())?)
}
