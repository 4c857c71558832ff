//! Integers from Python: an error names the parameter and the value.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::lists::collect;

/// A count or a seed: an unsigned integer, also as a float with a whole value, such as `1e5`. `ValueError` if it is out of range
/// or not whole, `TypeError` if it is no number.
pub fn unsigned(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    // Up to here a double represents every integer.
    const EXACT: f64 = (1_u64 << 53) as f64;
    if value.hasattr("__index__")? {
        return integer(name, value);
    }
    // Also a float32 of NumPy, which is no Python float.
    match value.extract::<f64>() {
        Ok(float) if float.fract() == 0.0 && (0.0..=EXACT).contains(&float) => Ok(float as u64),
        Ok(float) => Err(PyValueError::new_err(format!(
            "`{name}` must be a whole number of at least 0, as a float of at most 2**53, got {float}"
        ))),
        Err(_) => integer(name, value),
    }
}

/// The value of a parameter as an unsigned integer; `ValueError` if it is out of range, `TypeError` if it is no integer.
fn integer(name: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    value.extract::<u64>().or_else(|_| {
        let got = value.repr()?;
        Err(match value.hasattr("__index__")? {
            true => PyValueError::new_err(format!(
                "`{name}` must be a whole number from 0 to 2**64 - 1, got {got}"
            )),
            false => PyTypeError::new_err(format!("`{name}` must be a whole number, got {got}")),
        })
    })
}

/// The value of a parameter as an index.
pub fn index(name: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    Ok(usize::try_from(integer(name, value)?)?)
}

/// The entries of a list of an episode as indices; `name` is also that of the list of names in the specification.
pub fn indices(name: &str, values: &Bound<'_, PyAny>, most: usize) -> PyResult<Vec<usize>> {
    collect(Some(name), values, most, |value| {
        if value.is_instance_of::<PyString>() {
            let got = value.repr()?;
            return Err(PyTypeError::new_err(format!(
                "`{name}` must be indices, got the name {got}: use spec.{name}.index({got})"
            )));
        }
        index(name, &value)
    })
}
