//! Numbers and tables as the command prints them.

use emab::Conditions;
use emab::theory::Bounds;
use emab_report::{Content, Entry, RunContent};
use emab_sim::background::{RunBackground, run_command};
use emab_sim::results::RunResult;
use pyo3::prelude::*;

use crate::errors;
use crate::lists::List;
use crate::problem::Problem;

/// The header and the rows of a table.
pub type Cells = (Vec<String>, Vec<Vec<String>>);

/// A number with enough digits to compare, and thousands separators.
#[pyfunction]
pub fn format_number(value: f64) -> String {
    emab_report::number(value)
}

/// A mean over this many runs and its 95 % interval, with as many digits as the interval supports.
#[pyfunction]
pub fn format_interval(mean: f64, stderr: f64, runs: u64) -> String {
    emab_report::confidence(mean, stderr, runs)
}

/// Half the width of the 95 % interval of a mean over this many runs, in standard errors: Student's t below 30 runs.
#[pyfunction]
pub fn critical_value(runs: u64) -> f64 {
    emab::stats::half_width(1.0, runs)
}

/// `` (did you mean …?)`` with the nearest of these names, or nothing.
#[pyfunction]
pub fn did_you_mean(name: &str, known: List<String>) -> String {
    emab::input::did_you_mean(name, known.0.iter().map(String::as_str))
}

/// A table without wrapped cells.
#[pyfunction]
pub fn text_table(header: List<String>, rows: List<List<String>>) -> String {
    let header: Vec<&str> = header.0.iter().map(String::as_str).collect();
    let rows: Vec<Vec<String>> = rows.0.into_iter().map(|row| row.0).collect();
    emab_report::table(&header, &rows, usize::MAX)
}

/// Conditions as ``emab run --condition`` takes them, from the JSON of a result.
#[pyfunction]
pub fn format_conditions(conditions: &str) -> PyResult<String> {
    let conditions: Conditions = serde_json::from_str(conditions).map_err(errors::invalid)?;
    Ok(conditions.to_string())
}

/// The cells of the table of ``emab run``, from the document of ``emab run --json``.
#[pyfunction]
pub fn regret_cells(document: &str) -> PyResult<Cells> {
    let result: RunResult = serde_json::from_str(document).map_err(errors::invalid)?;
    let (header, rows) = emab_report::regret_rows(&result);
    Ok((owned(&header), rows))
}

/// The cells of the quantiles of ``emab run``, from the document of ``emab run --json``; None if the result has none.
#[pyfunction]
pub fn distribution_cells(document: &str) -> PyResult<Option<Cells>> {
    let result: RunResult = serde_json::from_str(document).map_err(errors::invalid)?;
    let rows = emab_report::distribution_rows(&result);
    Ok(rows.map(|(header, rows)| (owned(&header), rows)))
}

/// Sentences on learners whose runs form two groups, from the document of ``emab run --json``.
#[pyfunction]
pub fn group_notes(document: &str) -> PyResult<Vec<String>> {
    let result: RunResult = serde_json::from_str(document).map_err(errors::invalid)?;
    Ok(emab_report::group_notes(&result))
}

/// The page of ``emab report``, from the document of ``emab run --json``, its problem, if that is known, and the
/// episodes at which single runs were recorded.
#[pyfunction]
#[pyo3(signature = (document, problem=None, recorded=None))]
pub fn report_page(
    document: &str,
    problem: Option<PyRef<'_, Problem>>,
    recorded: Option<List<u64>>,
) -> PyResult<String> {
    let result: RunResult = serde_json::from_str(document).map_err(errors::invalid)?;
    let background = match problem {
        Some(problem) => {
            let file = problem.file.with_conditions(&result.conditions);
            let file = file.map_err(|error| errors::read(&error))?;
            let failed = errors::of_build(&file);
            Some(RunBackground::of(&result, file.clone()).map_err(failed)?)
        }
        None => None,
    };
    let recorded = recorded.map_or(Vec::new(), |list| list.0);
    let entry = Entry {
        folder: result.problem.clone(),
        command: run_command(&result, "problem.json", &recorded),
        content: Content::Run(Box::new(RunContent {
            result,
            background,
            places: Vec::new(),
        })),
    };
    Ok(emab_report::report(&[entry]).html())
}

/// The cells of the table of ``emab bounds``.
pub fn bounds_cells(bounds: &Bounds) -> Cells {
    let (header, rows) = emab_report::bounds_rows(bounds);
    (owned(&header), rows)
}

fn owned(header: &[&str]) -> Vec<String> {
    header.iter().map(|cell| (*cell).to_owned()).collect()
}
