//! Whole numbers as Python gives them: what is negative, too large or no whole number is named, with its place.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The number that was given for this parameter.
pub fn whole(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract::<u64>().map_err(|_| {
        let words = || -> PyResult<String> {
            Ok(format!(
                "`{name}` must be a whole number from 0 to {}, got {}",
                u64::MAX,
                value.repr()?
            ))
        };
        match (words(), value.hasattr("__index__")) {
            (Err(error), _) | (_, Err(error)) => error,
            (Ok(words), Ok(true)) => PyValueError::new_err(words),
            (Ok(words), Ok(false)) => PyTypeError::new_err(words),
        }
    })
}

/// The same, for something that is counted in memory.
pub fn index(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(usize::try_from(whole(name, value)?)?)
}

/// The numbers of a list.
pub fn indices(name: &str, values: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    values
        .try_iter()?
        .map(|value| index(name, &value?))
        .collect()
}
