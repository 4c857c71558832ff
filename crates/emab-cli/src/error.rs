//! Errors of commands, with their exit codes.

use emab::PlayError;
use emab::learners::LearnerError;
use emab::oracle::OracleError;
use emab::spec::PointError;
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_report::PlotError;
use emab_server::data_dir::NoFolder;
use emab_server::tokens::TokenError;
use emab_sim::compare::sweep::{SweepError, SweepFolderError};
use emab_sim::{BuildError, FileError, FolderError, SimError};

/// Why a command failed.
#[derive(Debug)]
pub enum CommandError {
    /// The input or the call is invalid: exit code 2.
    Input(String),
    /// A problem file is invalid: exit code 2, shown with its line.
    Problem(Box<ReadError>),
    /// The work failed: exit code 1.
    Work(String),
    /// The reader of standard output has closed it: exit code 0, no message.
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

    /// An invalid quantity, shown at its line of the file.
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
            LearnerError::Oracle(_, error) => CommandError::oracle(file, error),
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
            SimError::Foreign(_) | SimError::Scenario(_) => CommandError::Input(error.to_string()),
            SimError::Play { .. } | SimError::Threads(_) => CommandError::Work(error.to_string()),
        }
    }
}

impl CommandError {
    /// An error of building or running a cell of this problem.
    pub fn build(file: &ProblemFile, error: BuildError) -> CommandError {
        match error {
            BuildError::Simulation(error) => CommandError::simulation(file, error),
            other => other.into(),
        }
    }
}

impl From<BuildError> for CommandError {
    fn from(error: BuildError) -> CommandError {
        match error {
            BuildError::Problem(error) => CommandError::Problem(error),
            BuildError::Checkpoints(error) => {
                CommandError::Input(format!("--checkpoints: {error}"))
            }
            BuildError::Simulation(SimError::Play { .. } | SimError::Threads(_)) => {
                CommandError::Work(error.to_string())
            }
            other => CommandError::Input(other.to_string()),
        }
    }
}

impl From<FolderError> for CommandError {
    fn from(error: FolderError) -> CommandError {
        match error {
            FolderError::Build(error) => error.into(),
            FolderError::Conflict(_) | FolderError::State(SimError::Foreign(_)) => {
                CommandError::Input(error.to_string())
            }
            FolderError::File(_)
            | FolderError::Json(_)
            | FolderError::Damaged { .. }
            | FolderError::State(_) => CommandError::Work(error.to_string()),
        }
    }
}

impl From<SweepFolderError> for CommandError {
    fn from(error: SweepFolderError) -> CommandError {
        match error {
            SweepFolderError::Folder(error) => error.into(),
            SweepFolderError::Sweep(error) => error.into(),
        }
    }
}

impl From<SweepError> for CommandError {
    fn from(error: SweepError) -> CommandError {
        match error {
            SweepError::Simulation { .. } => CommandError::Work(error.to_string()),
            _ => CommandError::Input(error.to_string()),
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

impl From<NoFolder> for CommandError {
    fn from(error: NoFolder) -> CommandError {
        CommandError::Input(error.to_string())
    }
}

impl From<TokenError> for CommandError {
    fn from(error: TokenError) -> CommandError {
        let message = error.to_string();
        match error {
            // The system failed.
            TokenError::Read { .. }
            | TokenError::Write { .. }
            | TokenError::Busy { .. }
            | TokenError::Random(_) => CommandError::Work(message),
            // The input is invalid.
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
