//! Conversion of errors to Python exceptions, with the messages of the command line.

use emab::PlayError;
use emab::learners::LearnerError;
use emab::oracle::OracleError;
use emab::spec::PointError;
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_sim::compare::sweep::SweepError;
use emab_sim::{BuildError, FolderError, SimError};
use pyo3::create_exception;
use pyo3::exceptions::{
    PyFileExistsError, PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::prelude::*;

create_exception!(
    emab,
    ProblemError,
    PyValueError,
    "An invalid problem. The message shows the place, the value found and the rule."
);

/// `ValueError` with the message of an error.
pub fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

pub fn read(error: &ReadError) -> PyErr {
    let text = error.render(false);
    ProblemError::new_err(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
}

pub fn find(error: FindError) -> PyErr {
    match error {
        FindError::Invalid(error) => read(&error),
        FindError::Unknown { .. } => PyFileNotFoundError::new_err(error.to_string()),
        FindError::Unreadable { kind, .. } => os(kind, &error),
        FindError::NoText { .. } => invalid(error),
    }
}

/// The exception of an operating system's error, such as `FileNotFoundError` or `IsADirectoryError`, with this message.
pub fn os(kind: std::io::ErrorKind, error: impl std::fmt::Display) -> PyErr {
    std::io::Error::new(kind, error.to_string()).into()
}

/// An error of a sweep; that of its file has the line.
pub fn sweep(error: SweepError) -> PyErr {
    match error {
        SweepError::File(error) => {
            let text = error.render(false);
            invalid(text.strip_prefix("error: ").unwrap_or(&text))
        }
        SweepError::Problem(error) => read(&error),
        other => invalid(other),
    }
}

/// Converts an error of a quantity of the problem of a file.
pub fn point(file: &ProblemFile) -> impl Fn(PointError) -> PyErr {
    |error| read(&file.locate(&error))
}

/// Converts an error of solving or simulating the problem of a file.
pub fn of<E: Into<SimError>>(file: &ProblemFile) -> impl Fn(E) -> PyErr {
    |error| match error.into() {
        SimError::Oracle(error)
        | SimError::Learner(LearnerError::Oracle(_, error))
        | SimError::Play {
            error: PlayError::Oracle(error),
            ..
        } => match error {
            OracleError::Point(error) => point(file)(*error),
            OracleError::TooMany { .. } => invalid(error),
        },
        error @ SimError::Threads(_) => PyRuntimeError::new_err(error.to_string()),
        other => invalid(other),
    }
}

/// Converts an error of building an experiment with the problem of a file.
pub fn of_build(file: &ProblemFile) -> impl Fn(BuildError) -> PyErr {
    |error| match error {
        BuildError::Problem(error) => read(&error),
        BuildError::Learner(error) => of(file)(error),
        BuildError::Simulation(error) => of(file)(error),
        BuildError::Checkpoints(error) => invalid(format!("`checkpoints`: {error}")),
        other => invalid(other),
    }
}

/// Converts an error of a result folder.
pub fn folder(error: FolderError) -> PyErr {
    match error {
        FolderError::Occupied(what) => PyFileExistsError::new_err(format!(
            "{what}; choose another folder, or force=True replaces it"
        )),
        FolderError::Conflict(what) => PyFileExistsError::new_err(what),
        FolderError::File(error) => PyOSError::new_err(error.to_string()),
        other => invalid(other),
    }
}
