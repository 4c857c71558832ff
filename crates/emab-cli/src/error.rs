//! Errors of commands, with their exit codes.

use emab::PlayError;
use emab::learners::LearnerError;
use emab::oracle::OracleError;
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_report::PlotError;
use emab_server::serve::{NoFolder, ServeError};
use emab_server::tokens::TokenError;
use emab_sim::compare::sweep::{SweepError, SweepFolderError};
use emab_sim::{BuildError, FileError, FolderError, SimError};
use emab_tables::TableError;

/// Why a command failed.
#[derive(Debug)]
pub enum CommandError {
    /// The input or the call is invalid: exit code 2.
    Input(String),
    /// A problem file or a sweep file is invalid: exit code 2, shown with its line.
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

    /// Converts an error of solving or simulating the problem of a file. An invalid quantity is shown at its line.
    pub fn of<E: Into<SimError>>(file: &ProblemFile) -> impl Fn(E) -> CommandError {
        |error| match error.into() {
            SimError::Oracle(error)
            | SimError::Learner(LearnerError::Oracle(_, error))
            | SimError::Play {
                error: PlayError::Oracle(error),
                ..
            } => match error {
                OracleError::Point(error) => CommandError::Problem(Box::new(file.locate(&error))),
                OracleError::TooMany { .. } => CommandError::Input(error.to_string()),
            },
            error => BuildError::Simulation(error).into(),
        }
    }

    /// Converts an error of building or running a cell of the problem of a file.
    pub fn of_cell(file: &ProblemFile) -> impl Fn(BuildError) -> CommandError {
        |error| match error {
            BuildError::Simulation(error) => CommandError::of(file)(error),
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
            BuildError::Recorded(error) => CommandError::Input(format!("--record-at: {error}")),
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
            FolderError::Conflict(_)
            | FolderError::Occupied(_)
            | FolderError::State(SimError::Foreign(_)) => CommandError::Input(error.to_string()),
            other => CommandError::Work(other.to_string()),
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
            SweepError::File(error) | SweepError::Problem(error) => CommandError::Problem(error),
            SweepError::Cell(_, BuildError::Simulation(_)) => CommandError::Work(error.to_string()),
            other => CommandError::Input(other.to_string()),
        }
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

/// Conversions of errors with a text: the errors of the system are `Work`, all others are `Input`.
macro_rules! from_text {
    ($($error:ty: $system:pat,)*) => {
        $(impl From<$error> for CommandError {
            fn from(error: $error) -> CommandError {
                match matches!(error, $system) {
                    true => CommandError::Work(error.to_string()),
                    false => CommandError::Input(error.to_string()),
                }
            }
        })*
    };
}

from_text! {
    FileError: _,
    ServeError: ServeError::Store(_) | ServeError::Bind { .. } | ServeError::Start(_) | ServeError::Demo(_),
    TokenError: TokenError::Read { .. } | TokenError::Write { .. } | TokenError::Busy { .. } | TokenError::Random(_)
        | TokenError::Store(_) | TokenError::Row(_),
}

impl From<ReadError> for CommandError {
    fn from(error: ReadError) -> CommandError {
        CommandError::Problem(Box::new(error))
    }
}

impl From<PlotError> for CommandError {
    fn from(error: PlotError) -> CommandError {
        let text = format!("cannot draw: {error}");
        match error {
            PlotError::Option(..) => CommandError::Input(text),
            _ => CommandError::Work(text),
        }
    }
}

impl From<TableError> for CommandError {
    fn from(error: TableError) -> CommandError {
        CommandError::Work(format!("cannot write the table: {error}"))
    }
}

impl From<NoFolder> for CommandError {
    fn from(error: NoFolder) -> CommandError {
        CommandError::Input(error.to_string())
    }
}
