//! Integers from Python: an error names the parameter and the value.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::lists::collect;

/// The value of a parameter as an unsigned integer; `ValueError` if it is out of range, `TypeError` if it is no integer.
pub fn unsigned(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract::<u64>().map_err(|_| {
        let message = || -> PyResult<String> {
            Ok(format!(
                "`{name}` must be a whole number from 0 to {}, got {}",
                u64::MAX,
                value.repr()?
            ))
        };
        match (message(), value.hasattr("__index__")) {
            (Err(error), _) | (_, Err(error)) => error,
            (Ok(message), Ok(true)) => PyValueError::new_err(message),
            (Ok(message), Ok(false)) => PyTypeError::new_err(message),
        }
    })
}

/// The value of a parameter as an index.
pub fn index(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(usize::try_from(unsigned(name, value)?)?)
}

/// The entries of a list as indices.
pub fn indices(name: &str, values: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<usize>> {
    collect(Some(name), values, most, |value| index(name, &value))
}
