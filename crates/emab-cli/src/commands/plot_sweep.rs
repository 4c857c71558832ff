//! Plots of a sweep: a heat map over two parameters, lines over one, or regret over episodes.

use std::cmp::Ordering;

use emab::input::did_you_mean;
use emab_report::{
    HeatAxis, HeatCell, HeatMap, Picture, PlotOptions, Series, SeriesPoint, draw_curves,
    draw_heat_maps, draw_sweep_lines, regret_series,
};
use emab_sim::Folder;
use emab_sim::compare::sweep::{SweepCellResult, Value, read_sweep};
use emab_sim::results::CurvePoint;

use crate::args::Plot;
use crate::error::CommandError;

/// The most heat maps or lines that can be distinguished.
const MOST: usize = 12;

/// The cells to plot, and what they have in common.
struct SweepPlot<'a> {
    cells: Vec<SweepCellResult>,
    varied: Vec<String>,
    title: String,
    args: &'a Plot,
}

pub fn plot_sweep(folder: &Folder, args: &Plot) -> Result<Picture, CommandError> {
    let (sweep, mut cells) = read_sweep(folder)?;
    for only in &args.only {
        let (name, value) = only.split_once('=').ok_or_else(|| {
            CommandError::input(format!("--where must be NAME=VALUE, got `{only}`"))
        })?;
        let name = named(name, &sweep.varied)?;
        // A cell without the parameter matches every value.
        cells.retain(|cell| cell.value(&name).is_none_or(|own| is(own, value)));
    }
    if cells.is_empty() {
        return Err(CommandError::input(
            "the sweep has no finished cell with these values",
        ));
    }
    let asked = |name: &Option<String>| {
        let name = name.as_ref().map(|name| named(name, &sweep.varied));
        name.transpose()
    };
    let (x, y) = (asked(&args.x)?, asked(&args.y)?);
    if let Some(both) = x.as_ref().filter(|x| Some(*x) == y.as_ref()) {
        return Err(CommandError::input(format!(
            "--x and --y are both `{both}`; a heat map needs two that differ"
        )));
    }
    let file = &sweep.file;
    let title = || format!("{} ({} runs a cell)", file.file, file.runs);
    let label = format!("regret after {} episodes", file.episodes);
    let plot = SweepPlot {
        title: args.title.clone().unwrap_or_else(title),
        varied: sweep.varied,
        cells,
        args,
    };
    let free = |than: &Option<String>| {
        let mut varied = plot.varied.iter();
        let free = varied.find(|name| plot.values(name).len() > 1 && Some(*name) != than.as_ref());
        free.cloned()
    };
    let x = x.or_else(|| free(&y));
    let y = y.or_else(|| free(&x));
    let is_number = |name: &String| {
        plot.values(name)
            .iter()
            .all(|value| number(value).is_some())
    };
    match (x, y) {
        _ if args.curves => plot.curves(),
        (Some(x), _) if args.lines && !is_number(&x) => Err(CommandError::input(format!(
            "--lines needs a numeric parameter on the horizontal axis, and `{x}` has texts"
        ))),
        (Some(x), _) if args.lines => plot.lines(&x, label),
        (Some(x), Some(y)) => plot.heat_maps(&x, &y, &label),
        (Some(x), None) if is_number(&x) => plot.lines(&x, label),
        _ => plot.curves(),
    }
}

/// The full name of a varied parameter; `p` stands for `problem.p`.
fn named(name: &str, varied: &[String]) -> Result<String, CommandError> {
    let is_it =
        |full: &&String| *full == name || full.split_once('.').is_some_and(|(_, n)| n == name);
    let found = varied.iter().find(|full| *full == name);
    found
        .or_else(|| varied.iter().find(is_it))
        .cloned()
        .ok_or_else(|| {
            let short = varied
                .iter()
                .filter_map(|full| Some(full.split_once('.')?.1));
            let near = did_you_mean(name, varied.iter().map(String::as_str).chain(short));
            CommandError::input(format!(
                "`{name}` does not vary in this sweep{near}; the varied parameters are {}",
                varied.join(", ")
            ))
        })
}

/// Whether a value equals the requested text; 0.80 equals 0.8.
fn is(value: &Value, asked: &str) -> bool {
    match value {
        Value::Number(number) => asked.parse() == Ok(*number),
        Value::Text(text) => text == asked,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => Some(*number),
        Value::Text(_) => None,
    }
}

/// The last point of the cell of a group with these values. A cell without a parameter has the same result along its axis.
fn last_point<'a>(
    group: &[&'a SweepCellResult],
    values: &[(&str, &Value)],
) -> Option<&'a CurvePoint> {
    let is = |cell: &SweepCellResult, (name, value): &(&str, &Value)| {
        cell.value(name).is_none_or(|own| own == *value)
    };
    let mut group = group.iter();
    let found = group.find(|cell| values.iter().all(|value| is(cell, value)))?;
    found.result.curve.last()
}

impl SweepPlot<'_> {
    /// The distinct values of a parameter: numbers in increasing order, texts in the order of the cells.
    fn values(&self, name: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        for value in self.cells.iter().filter_map(|cell| cell.value(name)) {
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
        if all.iter().all(|value| number(value).is_some()) {
            all.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal));
        }
        all
    }

    /// Groups of cells that differ only in these parameters, each with a name.
    fn groups(&self, but: &[&str]) -> Result<Vec<(String, Vec<&SweepCellResult>)>, CommandError> {
        let others: Vec<&String> = self
            .varied
            .iter()
            .filter(|name| !but.contains(&name.as_str()) && self.values(name).len() > 1)
            .collect();
        let mut groups: Vec<(String, Vec<&SweepCellResult>)> = Vec::new();
        for cell in &self.cells {
            let mut name = cell.base.clone();
            for other in &others {
                if let Some(value) = cell.value(other) {
                    name += &format!(", {other} = {value}");
                }
            }
            match groups.iter_mut().find(|(n, _)| *n == name) {
                Some((_, group)) => group.push(cell),
                None => groups.push((name, vec![cell])),
            }
        }
        if groups.len() > MOST {
            return Err(CommandError::input(format!(
                "there are {} of them, and at most {MOST} can be distinguished; --where NAME=VALUE selects some",
                groups.len()
            )));
        }
        Ok(groups)
    }

    fn heat_maps(&self, x: &str, y: &str, label: &str) -> Result<Picture, CommandError> {
        let (columns, rows) = (self.values(x), self.values(y));
        let axis = |name: &str, values: &[Value]| HeatAxis {
            name: name.into(),
            values: values.iter().map(ToString::to_string).collect(),
        };
        let map = |(title, group): (String, Vec<&SweepCellResult>)| {
            let cell = |row, column| {
                let last = last_point(&group, &[(x, column), (y, row)])?;
                Some(HeatCell {
                    mean: last.regret,
                    stderr: last.stderr,
                })
            };
            let cells = rows
                .iter()
                .map(|row| columns.iter().map(|column| cell(row, column)).collect());
            HeatMap {
                title,
                x: axis(x, &columns),
                y: axis(y, &rows),
                cells: cells.collect(),
                label: label.into(),
            }
        };
        let maps: Vec<HeatMap> = self.groups(&[x, y])?.into_iter().map(map).collect();
        Ok(draw_heat_maps(&self.title, &maps)?)
    }

    /// One line over `x` for each group.
    fn lines(&self, x: &str, y_label: String) -> Result<Picture, CommandError> {
        let all = self.values(x);
        let line = |(label, group): (String, Vec<&SweepCellResult>)| {
            let point = |value| {
                let last = last_point(&group, &[(x, value)])?;
                Some(SeriesPoint {
                    x: number(value)?,
                    mean: last.regret,
                    stderr: last.stderr,
                })
            };
            Series {
                label,
                points: all.iter().filter_map(point).collect(),
                dashed: false,
            }
        };
        let lines: Vec<Series> = self.groups(&[x])?.into_iter().map(line).collect();
        let options = PlotOptions {
            title: self.title.clone(),
            x_label: x.into(),
            y_label,
            log_x: false,
            log_y: self.args.log_y,
        };
        Ok(draw_sweep_lines(&lines, "learner", &options)?)
    }

    fn curves(&self) -> Result<Picture, CommandError> {
        let groups = self.groups(&[])?;
        let lines: Vec<Series> = groups
            .iter()
            .flat_map(|(label, group)| group.iter().map(|cell| regret_series(label, &cell.result)))
            .collect();
        let options = PlotOptions {
            title: self.title.clone(),
            x_label: "episodes".into(),
            y_label: "cumulative regret".into(),
            log_x: self.args.log_x,
            log_y: self.args.log_y,
        };
        Ok(draw_curves(&lines, &options)?)
    }
}
