//! Reuse of the arrays that vectorised environments return.

use numpy::ndarray::{Array2, Dim};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;

use crate::errors;
use crate::lists::filled;

/// Arrays that were returned to Python and are reused once Python no longer references them. Most of their entries are
/// NaN, and filling a new array takes a fifth of a step. The pool has two: a loop holds the last array during a step.
#[derive(Default)]
pub struct ArrayPool {
    arrays: Vec<PooledArray>,
}

struct PooledArray {
    array: Py<PyArray2<f64>>,
    /// The reference count while only the pool holds the array.
    unused: usize,
    /// The rows that are not all NaN.
    written: Vec<usize>,
}

/// The reference count of an array, including the call that reads it.
fn reference_count(array: &Bound<'_, PyArray2<f64>>) -> PyResult<usize> {
    let py = array.py();
    let count = py
        .import(intern!(py, "sys"))?
        .call_method1(intern!(py, "getrefcount"), (array,))?;
    count.extract()
}

impl ArrayPool {
    /// An array of NaN except for these rows.
    pub fn table<'py, V: Iterator<Item = f64>>(
        &mut self,
        py: Python<'py>,
        shape: (usize, usize),
        rows: &[usize],
        row: impl Fn(usize) -> V,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let mut place = None;
        for (i, PooledArray { array, unused, .. }) in self.arrays.iter().enumerate() {
            let array = array.bind(py);
            if array.dims() == Dim([shape.0, shape.1]) && reference_count(array)? == *unused {
                place = Some(i);
            }
        }
        let place = match place {
            Some(place) => place,
            None => {
                // Both are in use, or of another shape: drop the older one.
                self.arrays.truncate(1);
                let values = filled(f64::NAN, shape.0.saturating_mul(shape.1))?;
                let array = Array2::from_shape_vec(shape, values).map_err(errors::invalid)?;
                let array = array.into_pyarray(py);
                let array = array.unbind();
                let unused = reference_count(array.bind(py))?;
                let written = Vec::new();
                self.arrays.insert(
                    0,
                    PooledArray {
                        array,
                        unused,
                        written,
                    },
                );
                0
            }
        };
        let pooled = &mut self.arrays[place];
        let array = pooled.array.bind(py).clone();
        {
            let mut values = array.try_readwrite().map_err(errors::invalid)?;
            let values = values.as_slice_mut().map_err(errors::invalid)?;
            for i in pooled.written.drain(..) {
                values[i * shape.1..(i + 1) * shape.1].fill(f64::NAN);
            }
            for &i in rows {
                let to = &mut values[i * shape.1..(i + 1) * shape.1];
                to.iter_mut()
                    .zip(row(i))
                    .for_each(|(to, value)| *to = value);
            }
        }
        pooled.written.extend_from_slice(rows);
        Ok(array)
    }
}
