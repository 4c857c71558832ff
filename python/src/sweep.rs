//! A grid of settings, as Python sees it: all of it, or a shard of its cells.

use std::sync::Arc;

use emab_problem::ProblemFile;
use emab_report::{table_csv, table_parquet};
use emab_sim::compare::sweep::{SweepCellResult, SweepFile, columns};
use emab_sim::compare::{CellControl, run_cells};
use emab_sim::{Finish, Shard};
use pyo3::prelude::*;

use crate::errors;
use crate::problem::Problem;
use crate::watch::{Trouble, Watch};

/// The cells of a sweep file. :func:`emab.sweep` is what people use.
#[pyclass(frozen, module = "emab._emab")]
pub struct Sweep {
    inner: emab_sim::compare::sweep::Sweep,
    problem: Arc<ProblemFile>,
}

#[pymethods]
impl Sweep {
    /// The sweep of a text in TOML; ``file`` is where it stands, and what errors call it. The problem is the one that
    /// the file names, unless another is given. ``check=False`` is for those who know that every cell can be run.
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
            for cell in inner.cells.iter().filter(|_| check) {
                cell.check()?;
            }
            Ok(inner)
        });
        let inner = inner.map_err(errors::sweep)?;
        Ok(Sweep { inner, problem })
    }

    /// The problem, before anything is varied.
    #[getter]
    fn problem(&self) -> Problem {
        Problem {
            file: self.problem.clone(),
        }
    }

    /// Episodes of a cell, all runs together.
    #[getter]
    fn episodes(&self) -> u64 {
        let file = &self.inner.file;
        file.runs.saturating_mul(file.episodes)
    }

    /// How many cells there are.
    fn __len__(&self) -> usize {
        self.inner.cells.len()
    }

    /// Run the cells of a shard, such as ``"3/16"``: each cell's result as JSON. ``watch(done, total)`` is told in
    /// episodes.
    #[pyo3(signature = (shard = "1/1", threads = 0, watch = None))]
    fn run(
        &self,
        py: Python<'_>,
        shard: &str,
        threads: usize,
        watch: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let shard: Shard = shard.parse().map_err(errors::wrong)?;
        let trouble = Arc::new(Trouble::default());
        let watch = Watch {
            callback: watch,
            trouble: trouble.clone(),
        };
        let cells: Vec<_> = self.inner.share(shard).collect();
        let each = self.episodes();
        let total = each.saturating_mul(cells.len() as u64);
        let mut done = Vec::new();
        let finish = py.detach(|| {
            let mut control = CellControl {
                threads,
                stop: &trouble.stop,
                watch: &mut |_, played| watch.look(played, total),
            };
            run_cells(
                &cells,
                |_| each,
                &mut control,
                |cell, control| {
                    let result = cell.run(control)?;
                    let stopped = result.is_none();
                    done.extend(result);
                    Ok(if stopped {
                        Finish::Stopped
                    } else {
                        Finish::Complete
                    })
                },
            )
        });
        trouble.take()?;
        finish.map_err(errors::sweep)?;
        let texts = done.iter().map(serde_json::to_string);
        texts.collect::<Result<_, _>>().map_err(errors::wrong)
    }

    /// The document that ``emab sweep --json`` prints, of all cells in any order.
    fn document(&self, cells: Vec<String>) -> PyResult<String> {
        let cells = self.whole(&cells)?;
        let document = self.inner.document(&cells);
        let text = serde_json::to_string_pretty(&document).map_err(errors::wrong)?;
        Ok(text + "\n")
    }

    /// The table that ``emab sweep --out`` leaves as ``sweep.csv``.
    fn csv(&self, cells: Vec<String>) -> PyResult<String> {
        let cells = self.whole(&cells)?;
        let columns = columns(&cells, &self.inner.varied, self.inner.file.runs);
        Ok(table_csv(&columns))
    }

    /// The table that ``emab sweep --out`` leaves as ``sweep.parquet``.
    fn parquet(&self, cells: Vec<String>) -> PyResult<Vec<u8>> {
        let cells = self.whole(&cells)?;
        let columns = columns(&cells, &self.inner.varied, self.inner.file.runs);
        table_parquet(&columns).map_err(errors::wrong)
    }
}

impl Sweep {
    /// All cells, each once, in their order.
    fn whole(&self, cells: &[String]) -> PyResult<Vec<SweepCellResult>> {
        let mut all = Vec::new();
        for cell in cells {
            let cell: Result<SweepCellResult, _> = serde_json::from_str(cell);
            all.push(cell.map_err(|error| errors::wrong(format!("this is no cell: {error}")))?);
        }
        all.sort_by_key(|cell| cell.number);
        let keys = self.inner.cells.iter().map(|cell| &cell.key);
        if !keys.eq(all.iter().map(|cell| &cell.key)) {
            return Err(errors::wrong(format!(
                "these are not the cells of this sweep, each once: it has {}, and {} were given",
                self.inner.cells.len(),
                all.len()
            )));
        }
        Ok(all)
    }
}
