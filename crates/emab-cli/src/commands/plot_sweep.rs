//! Plots of a sweep: a heat map over two parameters, lines over one, or regret over episodes.

use std::cmp::Ordering;
use std::path::Path;

use emab::input::did_you_mean;
use emab_report::{
    HeatAxis, HeatCell, HeatMap, Picture, PlotOptions, Series, SeriesPoint, draw_curves,
    draw_heat_maps, draw_sweep_lines, interval_note,
};
use emab_sim::compare::sweep::{Manifest, SweepCellResult, Value, read_sweep};
use emab_sim::results::LearnerResult;
use emab_sim::{Folder, Shard, quoted};

use super::plot::{band_note, band_series, no_quantiles};
use super::plot_learners::Learners;
use crate::args::{Band, Plot};
use crate::error::CommandError;
use crate::terminal;

/// The most heat maps or lines that can be distinguished.
const MOST: usize = 12;

/// The cells to plot, and what they have in common.
struct SweepPlot<'a> {
    cells: Vec<SweepCellResult>,
    varied: Vec<String>,
    learners: Learners,
    /// The default title, without what the bands are.
    title: String,
    runs: u64,
    episodes: u64,
    args: &'a Plot,
}

/// Says how many cells of an unfinished sweep are drawn, and how to finish it.
pub fn note_unfinished(folder: &Folder) -> Result<(), CommandError> {
    let (sweep, cells) = read_sweep(folder)?;
    let (done, all) = (cells.len(), sweep.cells.len());
    if done < all {
        let Manifest { file, shard, .. } = Manifest::read(folder)?;
        let how = match shard == Shard::WHOLE {
            true => format!(
                "`emab sweep {} --out {}` runs the rest",
                quoted(Path::new(&file)),
                quoted(folder.path())
            ),
            false => format!("this is shard {shard}, and `emab merge` combines the shards"),
        };
        terminal::note(&format!("note: {done} of {all} cells are finished; {how}"));
    }
    Ok(())
}

pub fn plot_sweep(folder: &Folder, args: &Plot) -> Result<Picture, CommandError> {
    let (sweep, mut cells) = read_sweep(folder)?;
    for only in &args.only {
        let (name, value) = only.split_once('=').ok_or_else(|| {
            CommandError::input(format!("--where must be NAME=VALUE, got `{only}`"))
        })?;
        let name = named(name, &sweep.varied)?;
        let existing = values(&cells, &name);
        // A cell without the parameter matches every value.
        cells.retain(|cell| cell.value(&name).is_none_or(|own| is(own, value)));
        if !existing.iter().any(|own| is(own, value)) {
            let existing: Vec<String> = existing.iter().map(ToString::to_string).collect();
            return Err(CommandError::input(format!(
                "--where {only}: no finished cell has this value; the values of `{name}` are {}",
                existing.join(", ")
            )));
        }
    }
    let known = cells.iter();
    let known = known.map(|cell| (cell.base.as_str(), cell.result.learner.as_str()));
    let learners = Learners::choose(args, known)?;
    cells.retain(|cell| learners.position(&cell.base).is_some());
    cells.sort_by_key(|cell| learners.position(&cell.base));
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
    let plot = SweepPlot {
        title: file.file.clone(),
        runs: file.runs,
        episodes: file.episodes,
        varied: sweep.varied,
        cells,
        learners,
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
        (Some(x), _) if args.lines => plot.lines(&x),
        (Some(x), Some(y)) => plot.heat_maps(&x, &y),
        (Some(x), None) if is_number(&x) => plot.lines(&x),
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

/// The cell of a group with these values. A cell without a parameter has the same result along its axis.
fn cell_with<'a>(
    group: &[&'a SweepCellResult],
    values: &[(&str, &Value)],
) -> Option<&'a LearnerResult> {
    let is = |cell: &SweepCellResult, (name, value): &(&str, &Value)| {
        cell.value(name).is_none_or(|own| own == *value)
    };
    let mut group = group.iter();
    let found = group.find(|cell| values.iter().all(|value| is(cell, value)))?;
    Some(&found.result)
}

/// The distinct values of a parameter: numbers in increasing order, texts in the order of the cells.
fn values(cells: &[SweepCellResult], name: &str) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for value in cells.iter().filter_map(|cell| cell.value(name)) {
        if !all.contains(value) {
            all.push(value.clone());
        }
    }
    if all.iter().all(|value| number(value).is_some()) {
        all.sort_by(|a, b| number(a).partial_cmp(&number(b)).unwrap_or(Ordering::Equal));
    }
    all
}

impl SweepPlot<'_> {
    fn values(&self, name: &str) -> Vec<Value> {
        values(&self.cells, name)
    }

    /// Groups of cells that differ only in these parameters, each with the name of its learner and its other values.
    fn groups(&self, but: &[&str]) -> Result<Vec<(String, Vec<&SweepCellResult>)>, CommandError> {
        let others: Vec<&String> = self
            .varied
            .iter()
            .filter(|name| !but.contains(&name.as_str()) && self.values(name).len() > 1)
            .collect();
        let mut groups: Vec<(String, Vec<&SweepCellResult>)> = Vec::new();
        for cell in &self.cells {
            let mut name = self.learners.name(&cell.base).to_owned();
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
                "there are {} lines or maps, and at most {MOST} can be told apart; --learner NAME and --where NAME=VALUE select some",
                groups.len()
            )));
        }
        Ok(groups)
    }

    /// The default options: the title, and the result at the end of the runs on the vertical axis.
    fn options(&self, x_label: &str, bands: &str) -> PlotOptions {
        let what = match self.args.band {
            Band::Ci => "",
            Band::Quantile => "median ",
        };
        PlotOptions {
            title: format!("{} ({} runs a cell{bands})", self.title, self.runs),
            x_label: x_label.into(),
            y_label: format!("{what}regret after {} episodes", self.episodes),
            ..PlotOptions::default()
        }
    }

    fn heat_maps(&self, x: &str, y: &str) -> Result<Picture, CommandError> {
        let lines = self.args.line_options();
        if !lines.is_empty() {
            return Err(CommandError::input(format!(
                "{}: for lines, and this sweep is drawn as a heat map; --lines draws final regret over `{x}`, --curves regret over episodes",
                lines.join(", ")
            )));
        }
        let (columns, rows) = (self.values(x), self.values(y));
        let mut options = self.options("", "");
        let label = std::mem::take(&mut options.y_label);
        let options = self.args.options(options);
        let axis = |label: &str, name: &str, values: &[Value]| HeatAxis {
            name: if label.is_empty() { name } else { label }.into(),
            values: values.iter().map(ToString::to_string).collect(),
        };
        let mut maps = Vec::new();
        for (title, group) in self.groups(&[x, y])? {
            let cell = |row, column| {
                let found = cell_with(&group, &[(x, column), (y, row)]);
                found.map_or(Ok(None), |found| self.point(0.0, found))
            };
            let mut cells = Vec::new();
            for row in &rows {
                let points = columns.iter().map(|column| cell(row, column));
                let points = points.collect::<Result<Vec<_>, _>>()?;
                cells.push(
                    points
                        .into_iter()
                        .map(|point| point.map(heat_cell))
                        .collect(),
                );
            }
            maps.push(HeatMap {
                title,
                x: axis(&options.x_label, x, &columns),
                y: axis(&options.y_label, y, &rows),
                cells,
                label: label.clone(),
            });
        }
        Ok(draw_heat_maps(&maps, &options)?)
    }

    /// The final result at this place of the horizontal axis, with the requested bands.
    fn point(&self, x: f64, result: &LearnerResult) -> Result<Option<SeriesPoint>, CommandError> {
        let Some(last) = result.curve.last() else {
            return Ok(None);
        };
        match (self.args.band, &last.quantiles) {
            (Band::Ci, _) => Ok(Some(SeriesPoint::of_mean(x, result, last, self.runs))),
            (Band::Quantile, Some(quantiles)) => Ok(Some(SeriesPoint::quantiles(x, quantiles))),
            (Band::Quantile, None) => Err(no_quantiles("this sweep")),
        }
    }

    /// One line over `x` for each group.
    fn lines(&self, x: &str) -> Result<Picture, CommandError> {
        let all = self.values(x);
        let mut lines = Vec::new();
        for (label, group) in self.groups(&[x])? {
            let mut points = Vec::new();
            for value in &all {
                if let (Some(at), Some(found)) = (number(value), cell_with(&group, &[(x, value)])) {
                    points.extend(self.point(at, found)?);
                }
            }
            lines.push(Series {
                label,
                points,
                bound: false,
            });
        }
        // The lines of one learner differ by values of parameters, which have an order.
        let mut by = String::new();
        if let [one] = self.learners.chosen()
            && lines.len() > 1
        {
            by = self.learners.name(one).to_owned();
            let shorten = |line: &mut Series| {
                let rest = line
                    .label
                    .strip_prefix(&by)
                    .and_then(|rest| rest.strip_prefix(", "));
                if let Some(rest) = rest {
                    line.label = rest.to_owned();
                }
            };
            lines.iter_mut().for_each(shorten);
        }
        let options = PlotOptions {
            caption: interval_note(&lines),
            ..self.options(x, band_note(self.args.band))
        };
        Ok(draw_sweep_lines(&lines, &by, &self.args.options(options))?)
    }

    fn curves(&self) -> Result<Picture, CommandError> {
        let mut lines = Vec::new();
        for (label, group) in &self.groups(&[])? {
            for cell in group {
                lines.push(band_series(label, &cell.result, self.runs, self.args.band)?);
            }
        }
        let options = PlotOptions {
            y_label: "cumulative regret".into(),
            caption: interval_note(&lines),
            ..self.options("episodes", band_note(self.args.band))
        };
        Ok(draw_curves(&lines, &self.args.options(options))?)
    }
}

/// The cell of a heat map; a median has no interval.
fn heat_cell(point: SeriesPoint) -> HeatCell {
    HeatCell {
        centre: point.centre,
        half_width: match point.outer {
            None => point.band.1 - point.centre,
            Some(_) => 0.0,
        },
        unreliable: point.unreliable,
    }
}
