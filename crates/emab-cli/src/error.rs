//! Why a command did not do what it was asked, and with which exit code.

use emab::PlayError;
use emab::learners::LearnerError;
use emab::oracle::OracleError;
use emab::spec::PointError;
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_report::{FileError, PlotError};
use emab_server::data_dir::NoFolder;
use emab_server::tokens::TokenError;
use emab_sim::{CheckpointError, SimError};

/// A failure: what to say and how to exit.
#[derive(Debug)]
pub enum CommandError {
    /// The input or the call was wrong: exit code 2.
    Input(String),
    /// A problem file was wrong: exit code 2, shown with its line.
    Problem(Box<ReadError>),
    /// The work failed: exit code 1.
    Work(String),
    /// Whoever reads our output has gone: nothing to say, and no failure of ours.
    Closed,
}

impl CommandError {
    pub fn code(&self) -> u8 {
        match self {
            CommandError::Input(_) | CommandError::Problem(_) => 2,
            CommandError::Work(_) => 1,
            CommandError::Closed => 0,
        }
    }

    pub fn input(message: impl Into<String>) -> CommandError {
        CommandError::Input(message.into())
    }

    /// A quantity that breaks a rule, shown in the file it came from.
    pub fn point(file: &ProblemFile, error: &PointError) -> CommandError {
        CommandError::Problem(Box::new(file.locate(error)))
    }

    pub fn oracle(file: &ProblemFile, error: OracleError) -> CommandError {
        match error {
            OracleError::Point(point) => CommandError::point(file, &point),
            OracleError::TooMany { .. } => CommandError::Input(error.to_string()),
        }
    }

    pub fn learner(file: &ProblemFile, error: LearnerError) -> CommandError {
        match error {
            LearnerError::Oracle { error, .. } => CommandError::oracle(file, error),
            other => CommandError::Input(other.to_string()),
        }
    }

    pub fn simulation(file: &ProblemFile, error: SimError) -> CommandError {
        match error {
            SimError::Learner(error) => CommandError::learner(file, error),
            SimError::Oracle(error) => CommandError::oracle(file, error),
            SimError::Play {
                error: PlayError::Oracle(error),
                ..
            } => CommandError::oracle(file, error),
            SimError::Foreign(_) | SimError::ConditionedEnvironment(_) => {
                CommandError::Input(error.to_string())
            }
            SimError::Play { .. } | SimError::Threads(_) => CommandError::Work(error.to_string()),
        }
    }
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> CommandError {
        CommandError::Problem(Box::new(error))
    }
}

impl From<FindError> for CommandError {
    fn from(error: FindError) -> CommandError {
        match error {
            FindError::Invalid(error) => CommandError::Problem(error),
            other => CommandError::Input(other.to_string()),
        }
    }
}

impl From<FileError> for CommandError {
    fn from(error: FileError) -> CommandError {
        CommandError::Work(error.to_string())
    }
}

impl From<PlotError> for CommandError {
    fn from(error: PlotError) -> CommandError {
        CommandError::Work(format!("cannot draw: {error}"))
    }
}

impl From<CheckpointError> for CommandError {
    fn from(error: CheckpointError) -> CommandError {
        CommandError::Input(format!("--checkpoints: {error}"))
    }
}

impl From<NoFolder> for CommandError {
    fn from(error: NoFolder) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

impl From<TokenError> for CommandError {
    fn from(error: TokenError) -> CommandError {
        let message = error.to_string();
        match error {
            // The system's doing.
            TokenError::Read { .. }
            | TokenError::Write { .. }
            | TokenError::Busy { .. }
            | TokenError::Random(_) => CommandError::Work(message),
            // Something to be put right.
            TokenError::Missing { .. }
            | TokenError::Broken { .. }
            | TokenError::Writable { .. }
            | TokenError::Rule(_)
            | TokenError::Role(_)
            | TokenError::Taken { .. }
            | TokenError::Unknown { .. }
            | TokenError::Ambiguous { .. } => CommandError::Input(message),
        }
    }
}
