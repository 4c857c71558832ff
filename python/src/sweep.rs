//! Sweeps: all cells, or a shard of them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use emab_problem::ProblemFile;
use emab_report::{table_csv, table_parquet};
use emab_sim::Shard;
use emab_sim::compare::sweep::{SweepCell, SweepCellResult, SweepError, SweepFile, columns};
use emab_sim::compare::{CellControl, run_cells};
use emab_sim::results::Column;
use pyo3::prelude::*;

use crate::device::open_device;
use crate::errors;
use crate::lists::List;
use crate::problem::Problem;
use crate::progress::{Interrupt, Progress};

/// The cells of a sweep; the public function is :func:`emab.sweep`.
#[pyclass(frozen, module = "emab._emab")]
pub struct Sweep {
    inner: emab_sim::compare::sweep::Sweep,
    problem: Arc<ProblemFile>,
    device_notices: Mutex<Vec<String>>,
}

#[pymethods]
impl Sweep {
    /// Read a sweep in TOML; ``file`` is its path, also in errors. ``problem`` replaces the problem of the file.
    /// ``check=False`` skips the check of all cells.
    #[new]
    #[pyo3(signature = (text, file = "<sweep>", problem = None, *, check = true))]
    fn new(
        py: Python<'_>,
        text: &str,
        file: &str,
        problem: Option<&Problem>,
        check: bool,
    ) -> PyResult<Sweep> {
        let sweep = SweepFile::parse(file, text).map_err(errors::sweep)?;
        let problem = match problem {
            Some(problem) => problem.file.clone(),
            None => Arc::new(ProblemFile::find(&sweep.problem_beside()).map_err(errors::find)?),
        };
        let inner = py.detach(|| {
            let inner = emab_sim::compare::sweep::Sweep::new(sweep, &problem)?;
            if check {
                inner.check(&problem)?;
            }
            Ok::<_, SweepError>(inner)
        });
        let inner = inner.map_err(errors::sweep)?;
        Ok(Sweep {
            inner,
            problem,
            device_notices: Mutex::default(),
        })
    }

    /// The problem before any variation.
    #[getter]
    fn problem(&self) -> Problem {
        Problem {
            file: self.problem.clone(),
        }
    }

    /// The number of episodes of a cell, over all runs.
    #[getter]
    fn episodes(&self) -> u64 {
        let file = &self.inner.file;
        file.runs.saturating_mul(file.episodes)
    }

    /// Notes on assumed parameters and warnings about unsound widths, each kind once.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.inner.warnings()).map_err(errors::sweep)
    }

    /// The number of cells.
    fn __len__(&self) -> usize {
        self.inner.cells.len()
    }

    /// Run the cells of a shard, such as ``"3/16"``, and return their results as JSON. ``watch(done, total)`` counts
    /// episodes.
    #[pyo3(signature = (shard = "1/1", threads = 0, watch = None, device = "cpu"))]
    fn run(
        &self,
        py: Python<'_>,
        shard: &str,
        threads: usize,
        watch: Option<Py<PyAny>>,
        device: &str,
    ) -> PyResult<Vec<String>> {
        let device = py.detach(|| open_device(device))?;
        let shard: Shard = shard.parse().map_err(errors::invalid)?;
        let interrupt = Arc::new(Interrupt::default());
        let report = Progress {
            callback: watch,
            interrupt: interrupt.clone(),
        };
        let cells: Vec<_> = self.inner.share(shard).collect();
        let each = self.episodes();
        let total = each.saturating_mul(cells.len() as u64);
        let mut done = Vec::new();
        let finish = py.detach(|| {
            let mut control = CellControl {
                threads,
                device: device.clone(),
                at_once: device.cells_at_once(),
                stop: &interrupt.stop,
                watch: &mut |_, played| report.report(played, total),
            };
            run_cells(
                &cells,
                |_| each,
                &mut control,
                |cell: &&SweepCell, control| cell.run(control),
                |_, result| {
                    done.push(result);
                    Ok::<_, SweepError>(())
                },
            )
        });
        *self.notices() = device.take_notices();
        interrupt.take()?;
        finish.map_err(errors::invalid)?;
        let texts = done.iter().map(serde_json::to_string);
        texts.collect::<Result<_, _>>().map_err(errors::invalid)
    }

    /// What the processor played instead of the device of the last run, and why.
    #[getter]
    fn device_notices(&self) -> Vec<String> {
        self.notices().clone()
    }

    /// Return the document of ``emab sweep --json`` from all cells, in any order.
    fn document(&self, cells: List<String>) -> PyResult<String> {
        let cells = self.parse(&cells.0)?;
        let document = self.inner.document(&cells);
        let text = serde_json::to_string_pretty(&document).map_err(errors::invalid)?;
        Ok(text + "\n")
    }

    /// Return ``sweep.csv`` of ``emab sweep --out``.
    fn csv(&self, cells: List<String>) -> PyResult<String> {
        Ok(table_csv(&self.columns(&cells.0)?))
    }

    /// Return ``sweep.parquet`` of ``emab sweep --out``.
    fn parquet(&self, cells: List<String>) -> PyResult<Vec<u8>> {
        table_parquet(&self.columns(&cells.0)?).map_err(errors::invalid)
    }
}

impl Sweep {
    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        let notices = self.device_notices.lock();
        notices.unwrap_or_else(PoisonError::into_inner)
    }

    fn columns(&self, cells: &[String]) -> PyResult<Vec<Column>> {
        let cells = self.parse(cells)?;
        Ok(columns(&cells, &self.inner.varied, self.inner.file.runs))
    }

    /// Return all cells in order; an error unless each is given once.
    fn parse(&self, cells: &[String]) -> PyResult<Vec<SweepCellResult>> {
        let mut all = Vec::new();
        for cell in cells {
            let cell: Result<SweepCellResult, _> = serde_json::from_str(cell);
            all.push(cell.map_err(|error| {
                errors::invalid(format!("this is not a cell of a sweep: {error}"))
            })?);
        }
        all.sort_by_key(|cell| cell.number);
        let keys = self.inner.cells.iter().map(|cell| &cell.key);
        if !keys.eq(all.iter().map(|cell| &cell.key)) {
            return Err(errors::invalid(format!(
                "these are not the cells of this sweep, each once: it has {}, and {} were given",
                self.inner.cells.len(),
                all.len()
            )));
        }
        Ok(all)
    }
}
