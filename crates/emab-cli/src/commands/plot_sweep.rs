//! Plots of a sweep: a heat map over two parameters, lines over one, or regret over episodes.

use emab_report::{
    HeatAxis, HeatCell, HeatMap, Picture, PlotOptions, Series, SeriesPoint, SweepLines,
    draw_curves, draw_heat_maps, draw_sweep_lines, regret_series,
};
use emab_sim::Folder;
use emab_sim::compare::sweep::{SweepCellResult, Value, read_sweep};

use crate::args::Plot;
use crate::error::CommandError;

/// The most heat maps or lines that can be distinguished.
const MOST: usize = 12;

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
    let mut varied: Vec<&String> = sweep.varied.iter().collect();
    varied.retain(|name| values(&cells, name).len() > 1);
    let other = |than: &Option<String>| varied.iter().find(|name| Some(**name) != than.as_ref());
    let x = x.or_else(|| other(&y).map(|name| (*name).clone()));
    let y = y.or_else(|| other(&x).map(|name| (*name).clone()));
    let title = args
        .title
        .clone()
        .unwrap_or_else(|| format!("{} ({} runs a cell)", sweep.file.file, sweep.file.runs));
    let label = format!("regret after {} episodes", sweep.file.episodes);
    let is_number = |name: &String| {
        let all = values(&cells, name);
        all.iter().all(|value| matches!(value, Value::Number(_)))
    };
    match (x, y) {
        _ if args.curves => curves(&cells, &sweep.varied, title, args),
        (Some(x), _) if args.lines => {
            if !is_number(&x) {
                return Err(CommandError::input(format!(
                    "--lines needs a numeric parameter on the horizontal axis, and `{x}` has texts"
                )));
            }
            family(&cells, &x, &sweep.varied, title, label, args)
        }
        (Some(x), Some(y)) => heat_maps(&cells, &x, &y, &sweep.varied, &title, &label),
        (Some(x), None) if is_number(&x) => family(&cells, &x, &sweep.varied, title, label, args),
        _ => curves(&cells, &sweep.varied, title, args),
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
            CommandError::input(format!(
                "`{name}` does not vary in this sweep; the varied parameters are {}",
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

/// The distinct values of a parameter: numbers in increasing order, texts in the order of the cells.
fn values(cells: &[SweepCellResult], name: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for value in cells.iter().filter_map(|cell| cell.value(name)) {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    if all.iter().all(|value| matches!(value, Value::Number(_))) {
        let number = |value: &Value| match value {
            Value::Number(number) => *number,
            Value::Text(_) => 0.0,
        };
        all.sort_by(|a, b| number(a).total_cmp(&number(b)));
    }
    all
}

/// Groups of cells that differ only in these parameters, each with a name.
fn groups<'a>(
    cells: &'a [SweepCellResult],
    varied: &[String],
    but: &[&str],
) -> Result<Vec<(String, Vec<&'a SweepCellResult>)>, CommandError> {
    let others: Vec<&String> = varied
        .iter()
        .filter(|name| !but.contains(&name.as_str()) && values(cells, name).len() > 1)
        .collect();
    let mut groups: Vec<(String, Vec<&SweepCellResult>)> = Vec::new();
    for cell in cells {
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

fn heat_maps(
    cells: &[SweepCellResult],
    x: &str,
    y: &str,
    varied: &[String],
    title: &str,
    label: &str,
) -> Result<Picture, CommandError> {
    let (columns, rows) = (values(cells, x), values(cells, y));
    let axis = |name: &str, values: &[Value]| HeatAxis {
        name: name.into(),
        values: values.iter().map(ToString::to_string).collect(),
    };
    let mut maps = Vec::new();
    for (name, group) in groups(cells, varied, &[x, y])? {
        // A learner without one of the parameters has the same result along its axis.
        let is = |cell: &SweepCellResult, name: &str, value: &Value| {
            cell.value(name).is_none_or(|own| own == value)
        };
        let at = |row: &Value, column: &Value| {
            let found = group
                .iter()
                .find(|cell| is(cell, x, column) && is(cell, y, row))?;
            let last = found.result.curve.last()?;
            Some(HeatCell {
                mean: last.regret,
                stderr: last.stderr,
            })
        };
        maps.push(HeatMap {
            title: name,
            x: axis(x, &columns),
            y: axis(y, &rows),
            cells: rows
                .iter()
                .map(|row| columns.iter().map(|column| at(row, column)).collect())
                .collect(),
            label: label.into(),
        });
    }
    Ok(draw_heat_maps(title, &maps)?)
}

fn family(
    cells: &[SweepCellResult],
    x: &str,
    varied: &[String],
    title: String,
    y_label: String,
    args: &Plot,
) -> Result<Picture, CommandError> {
    let mut lines = Vec::new();
    let all = values(cells, x);
    for (label, group) in groups(cells, varied, &[x])? {
        let mut points = Vec::new();
        for value in &all {
            let Value::Number(number) = value else {
                continue;
            };
            // A learner without the parameter is a horizontal line.
            let cell = group
                .iter()
                .find(|cell| cell.value(x).is_none_or(|own| own == value));
            if let Some(last) = cell.and_then(|cell| cell.result.curve.last()) {
                points.push(SeriesPoint {
                    x: *number,
                    mean: last.regret,
                    stderr: last.stderr,
                });
            }
        }
        lines.push(Series {
            label,
            points,
            dashed: false,
        });
    }
    Ok(draw_sweep_lines(&SweepLines {
        title,
        x_name: x.into(),
        y_label,
        by: "learner".into(),
        lines,
        log_y: args.log_y,
    })?)
}

fn curves(
    cells: &[SweepCellResult],
    varied: &[String],
    title: String,
    args: &Plot,
) -> Result<Picture, CommandError> {
    let mut lines = Vec::new();
    for (label, group) in groups(cells, varied, &[])? {
        for cell in group {
            lines.push(regret_series(&label, &cell.result));
        }
    }
    let options = PlotOptions {
        title,
        x_label: "episodes".into(),
        y_label: "cumulative regret".into(),
        log_x: args.log_x,
        log_y: args.log_y,
    };
    Ok(draw_curves(&lines, &options)?)
}
