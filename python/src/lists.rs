//! Lists from Python and arrays of a given size. Rust ends the process where an allocation fails, so that sizes given by
//! users are checked: a list that is too long is a `ValueError`, an allocation that fails a `MemoryError`.

use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyMemoryError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors;

/// The most entries of a list without a limit of its own.
pub const MOST: usize = 10_000_000;

/// The entries of any iterable, at most `LIMIT`.
pub struct List<T, const LIMIT: usize = MOST>(pub Vec<T>);

impl<'a, 'py, T: FromPyObjectOwned<'py>, const LIMIT: usize> FromPyObject<'a, 'py>
    for List<T, LIMIT>
{
    type Error = PyErr;

    fn extract(values: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if values.is_instance_of::<PyString>() {
            return Err(PyTypeError::new_err("expected a list, got a text"));
        }
        let entry = |value: Bound<'py, PyAny>| value.extract().map_err(Into::into);
        collect(None, &values, LIMIT, entry).map(List)
    }
}

/// The converted entries of an iterable, at most `most`.
pub fn collect<'py, T>(
    name: Option<&str>,
    values: &Bound<'py, PyAny>,
    most: usize,
    entry: impl Fn(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let too_long = || {
        let name = name.map_or(String::new(), |name| format!("`{name}`: "));
        errors::invalid(format!("{name}at most {most} entries are supported"))
    };
    // An iterator has no length.
    if values.len().is_ok_and(|length| length > most) {
        return Err(too_long());
    }
    let mut list = Vec::new();
    for value in values.try_iter()? {
        if list.len() == most {
            return Err(too_long());
        }
        list.try_reserve(1).map_err(no_memory)?;
        list.push(entry(value?)?);
    }
    Ok(list)
}

/// A list of equal values.
pub fn filled<T: Clone>(value: T, length: usize) -> PyResult<Vec<T>> {
    let mut list = empty(length)?;
    list.resize(length, value);
    Ok(list)
}

/// An empty list with room for this many values.
pub fn empty<T>(length: usize) -> PyResult<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(length).map_err(no_memory)?;
    Ok(list)
}

fn no_memory(error: impl std::fmt::Display) -> PyErr {
    PyMemoryError::new_err(error.to_string())
}
