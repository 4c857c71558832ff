//! Errors of simulations.

use emab::PlayError;
use emab::environment::ScenarioError;
use emab::learners::LearnerError;
use emab::oracle::OracleError;
use thiserror::Error;

/// Why a simulation failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SimError {
    /// A learner cannot be built.
    #[error(transparent)]
    Learner(#[from] LearnerError),
    /// The problem cannot be solved.
    #[error(transparent)]
    Oracle(#[from] OracleError),
    /// An episode failed.
    #[error("learner `{learner}`, run {run}, episode {episode}: {error}")]
    Play {
        /// The learner.
        learner: String,
        /// The run, from 0.
        run: u64,
        /// The episode, from 1.
        episode: u64,
        /// The cause.
        error: PlayError,
    },
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Threads(String),
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(ScenarioError),
    /// The records of finished runs cannot be saved.
    #[error("{0}")]
    Record(String),
    /// A saved state belongs to another experiment.
    #[error("the saved state does not belong to this experiment: {0}")]
    Foreign(&'static str),
}

impl SimError {
    /// Adds where an episode failed: the learner, the run and the episode.
    pub fn in_episode(learner: &str, run: u64, episode: u64) -> impl Fn(PlayError) -> SimError {
        move |error| SimError::Play {
            learner: learner.into(),
            run,
            episode,
            error,
        }
    }
}

impl From<ScenarioError> for SimError {
    fn from(error: ScenarioError) -> SimError {
        match error {
            ScenarioError::Oracle(error) => SimError::Oracle(error),
            other => SimError::Scenario(other),
        }
    }
}
