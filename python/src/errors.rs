//! Conversion of errors to Python exceptions, with the messages of the command line.

use emab::PlayError;
use emab::oracle::OracleError;
use emab::spec::PointError;
use emab_problem::{FindError, ProblemFile, ReadError};
use emab_sim::compare::sweep::SweepError;
use emab_sim::{BuildError, SimError};
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
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
        FindError::Unreadable { .. } => PyOSError::new_err(error.to_string()),
        FindError::NoText { .. } => invalid(error),
    }
}

pub fn point(file: &ProblemFile, error: &PointError) -> PyErr {
    read(&file.locate(error))
}

pub fn oracle(file: &ProblemFile, error: OracleError) -> PyErr {
    match error {
        OracleError::Point(error) => point(file, &error),
        OracleError::TooMany { .. } => invalid(error),
    }
}

pub fn learner(file: &ProblemFile, error: emab::learners::LearnerError) -> PyErr {
    match error {
        emab::learners::LearnerError::Oracle(_, error) => oracle(file, error),
        other => invalid(other),
    }
}

pub fn build(file: &ProblemFile, error: BuildError) -> PyErr {
    match error {
        BuildError::Problem(error) => read(&error),
        BuildError::Learner(error) => learner(file, error),
        BuildError::Simulation(error) => simulation(file, error),
        other => invalid(other),
    }
}

pub fn simulation(file: &ProblemFile, error: SimError) -> PyErr {
    match error {
        SimError::Learner(error) => learner(file, error),
        SimError::Oracle(error)
        | SimError::Play {
            error: PlayError::Oracle(error),
            ..
        } => oracle(file, error),
        SimError::Threads(_) => PyRuntimeError::new_err(error.to_string()),
        other => invalid(other),
    }
}

pub fn sweep(error: SweepError) -> PyErr {
    invalid(error)
}
