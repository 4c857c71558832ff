//! Integers from Python: an error names the parameter and the value.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyFloat;

use crate::lists::collect;

/// A count or a seed: an unsigned integer, also as a float with a whole value, such as `1e5`. `ValueError` if it is out of range
/// or not whole, `TypeError` if it is no number.
pub fn unsigned(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    // Up to here a double represents every integer.
    const EXACT: f64 = (1_u64 << 53) as f64;
    if let Ok(float) = value.cast::<PyFloat>() {
        let float = float.value();
        return match float.fract() == 0.0 && (0.0..=EXACT).contains(&float) {
            true => Ok(float as u64),
            false => Err(PyValueError::new_err(format!(
                "`{name}` must be a whole number of at least 0, as a float of at most 2**53, got {float}"
            ))),
        };
    }
    integer(name, value)
}

/// The value of a parameter as an unsigned integer; `ValueError` if it is out of range, `TypeError` if it is no integer.
fn integer(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
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
    Ok(usize::try_from(integer(name, value)?)?)
}

/// The entries of a list as indices.
pub fn indices(name: &str, values: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<usize>> {
    collect(Some(name), values, most, |value| index(name, &value))
}
