//! Why a command did not do what it was asked, and with which exit code.

use emab::learners::LearnerError;
use emab::oracle::OracleError;
use emab::{PlayError, PointError};
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_report::{FileError, PlotError};
use emab_server::folder::NoFolder;
use emab_server::tokens::TokenError;
use emab_sim::{CheckpointError, SimError};

/// A failure: what to say and how to exit.
#[derive(Debug)]
pub enum Failure {
    /// The input or the call was wrong: exit code 2.
    Input(String),
    /// A problem file was wrong: exit code 2, shown with its line.
    Problem(Box<ReadError>),
    /// The work failed: exit code 1.
    Work(String),
    /// Whoever reads our output has gone: nothing to say, and no failure of ours.
    Closed,
}

impl Failure {
    pub fn code(&self) -> u8 {
        match self {
            Failure::Input(_) | Failure::Problem(_) => 2,
            Failure::Work(_) => 1,
            Failure::Closed => 0,
        }
    }

    pub fn input(message: impl Into<String>) -> Failure {
        Failure::Input(message.into())
    }

    /// A quantity that breaks a rule, shown in the file it came from.
    pub fn point(file: &ProblemFile, error: &PointError) -> Failure {
        Failure::Problem(Box::new(file.locate(error)))
    }

    pub fn oracle(file: &ProblemFile, error: OracleError) -> Failure {
        match error {
            OracleError::Point(point) => Failure::point(file, &point),
            OracleError::TooMany { .. } => Failure::Input(error.to_string()),
        }
    }

    pub fn learner(file: &ProblemFile, error: LearnerError) -> Failure {
        match error {
            LearnerError::Oracle { error, .. } => Failure::oracle(file, error),
            other => Failure::Input(other.to_string()),
        }
    }

    pub fn simulation(file: &ProblemFile, error: SimError) -> Failure {
        match error {
            SimError::Learner(error) => Failure::learner(file, error),
            SimError::Oracle(error) => Failure::oracle(file, error),
            SimError::Play {
                error: PlayError::Oracle(error),
                ..
            } => Failure::oracle(file, error),
            SimError::Foreign(_) | SimError::ConditionedEnvironment(_) => {
                Failure::Input(error.to_string())
            }
            SimError::Play { .. } | SimError::Threads(_) => Failure::Work(error.to_string()),
        }
    }
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Failure {
        Failure::Problem(Box::new(error))
    }
}

impl From<FindError> for Failure {
    fn from(error: FindError) -> Failure {
        match error {
            FindError::Mistake(error) => Failure::Problem(error),
            other => Failure::Input(other.to_string()),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure::Work(error.to_string())
    }
}

impl From<PlotError> for Failure {
    fn from(error: PlotError) -> Failure {
        Failure::Work(format!("cannot draw: {error}"))
    }
}

impl From<CheckpointError> for Failure {
    fn from(error: CheckpointError) -> Failure {
        Failure::Input(format!("--checkpoints: {error}"))
    }
}

impl From<NoFolder> for Failure {
    fn from(error: NoFolder) -> Failure {
        Failure::Input(error.to_string())
    }
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Failure {
        let message = error.to_string();
        match error {
            // The system's doing.
            TokenError::Read { .. }
            | TokenError::Write { .. }
            | TokenError::Busy { .. }
            | TokenError::Random(_) => Failure::Work(message),
            // Something to be put right.
            TokenError::Missing { .. }
            | TokenError::Broken { .. }
            | TokenError::Writable { .. }
            | TokenError::Rule(_)
            | TokenError::Role(_)
            | TokenError::Taken { .. }
            | TokenError::Unknown { .. }
            | TokenError::Ambiguous { .. } => Failure::Input(message),
        }
    }
}
