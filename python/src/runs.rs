//! Records of single runs as arrays, and arrays as the tables of a result folder.

use emab_report::write_runs;
use emab_sim::results::RunRecord;
use emab_tables::{Format, TableError};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::lists::List;

/// Runs, regret and gain by run and recorded episode, and whether each run is stuck.
pub type RunArrays<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray2<f64>>,
    Bound<'py, PyArray2<f64>>,
    Option<Bound<'py, PyArray1<bool>>>,
);

/// The records of a learner as arrays.
pub fn arrays<'py>(py: Python<'py>, records: &[RunRecord], episodes: usize) -> RunArrays<'py> {
    let numbers: Vec<u64> = records.iter().map(|record| record.run).collect();
    let value = |of: fn(&(f64, f64)) -> f64| {
        Array2::from_shape_fn((records.len(), episodes), |(run, episode)| {
            records[run].at.get(episode).map_or(f64::NAN, of)
        })
    };
    let (regret, gain) = (value(|at| at.0), value(|at| at.1));
    let stuck: Option<Vec<bool>> = records.iter().map(|record| record.stuck).collect();
    (
        numbers.into_pyarray(py),
        regret.into_pyarray(py),
        gain.into_pyarray(py),
        stuck.map(|stuck| stuck.into_pyarray(py)),
    )
}

type GivenArrays<'py> = (
    PyReadonlyArray1<'py, u64>,
    PyReadonlyArray2<'py, f64>,
    PyReadonlyArray2<'py, f64>,
    Option<PyReadonlyArray1<'py, bool>>,
);

/// The table ``runs.csv`` (``format="csv"``) or ``runs.parquet``, from the arrays of each learner.
#[pyfunction]
pub fn runs_table<'py>(
    py: Python<'py>,
    format: &str,
    labels: List<String>,
    episodes: List<u64>,
    runs: Vec<GivenArrays<'py>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let format = match format {
        "csv" => Format::Csv,
        "parquet" => Format::Parquet,
        other => {
            return Err(errors::invalid(format!(
                "`format` must be csv or parquet, got {other}"
            )));
        }
    };
    let mut records = Vec::new();
    for (learner, (numbers, regret, gain, stuck)) in runs.iter().enumerate() {
        let (regret, gain) = (regret.as_array(), gain.as_array());
        let stuck = stuck.as_ref().map(PyReadonlyArray1::as_array);
        let rows = regret.rows().into_iter().zip(gain.rows());
        for (i, (run, (regret, gain))) in numbers.as_array().iter().zip(rows).enumerate() {
            let record = RunRecord {
                run: *run,
                stuck: stuck.and_then(|stuck| stuck.get(i).copied()),
                at: regret.iter().copied().zip(gain.iter().copied()).collect(),
            };
            records.push(Ok((learner, record)));
        }
    }
    let labels: Vec<&str> = labels.0.iter().map(String::as_str).collect();
    let records = records.into_iter();
    let bytes = write_runs::<_, TableError>(format, &labels, &episodes.0, records, Vec::new());
    Ok(PyBytes::new(py, &bytes.map_err(errors::invalid)?))
}
