//! One table of many cells: a row for each cell and checkpoint.

use emab::RegretBreakdown;

use super::cell::{SweepCellResult, Value};
use crate::results::{Column, CurvePoint, Values};

type PointValue = fn(&CurvePoint) -> Option<f64>;
type CauseValue = fn(&RegretBreakdown) -> f64;

/// The columns of the table, ordered by cell and then by episode. `varied` lists the varied parameters.
///
/// It has no times, because they differ between runs of the same sweep.
pub fn columns(cells: &[SweepCellResult], varied: &[String], runs: u64) -> Vec<Column> {
    let mut cells: Vec<&SweepCellResult> = cells.iter().collect();
    cells.sort_by_key(|cell| cell.number);
    let rows: Vec<(&SweepCellResult, usize)> = cells
        .into_iter()
        .flat_map(|cell| (0..cell.result.curve.len()).map(move |i| (cell, i)))
        .collect();
    let mut columns = Vec::new();
    let mut add = |name: &str, values: Values| {
        let name = name.to_owned();
        columns.push(Column { name, values });
    };
    let counts = |of: &dyn Fn(&SweepCellResult, usize) -> Option<u64>| {
        Values::Counts(rows.iter().map(|(cell, i)| of(cell, *i)).collect())
    };
    let numbers = |of: &dyn Fn(&SweepCellResult, usize) -> Option<f64>| {
        Values::Numbers(rows.iter().map(|(cell, i)| of(cell, *i)).collect())
    };
    let texts = |of: &dyn Fn(&SweepCellResult) -> Option<String>| {
        Values::Texts(rows.iter().map(|(cell, _)| of(cell)).collect())
    };
    add("cell", counts(&|cell, _| Some(cell.number)));
    add("learner", texts(&|cell| Some(cell.base.clone())));
    for name in varied {
        let all_numbers = rows
            .iter()
            .filter_map(|(cell, _)| cell.value(name))
            .all(|value| matches!(value, Value::Number(_)));
        let values = if all_numbers {
            numbers(&|cell, _| match cell.value(name) {
                Some(Value::Number(number)) => Some(*number),
                _ => None,
            })
        } else {
            texts(&|cell| cell.value(name).map(Value::to_string))
        };
        add(name, values);
    }
    add("label", texts(&|cell| Some(cell.result.label.clone())));
    add("runs", counts(&|_, _| Some(runs)));
    add("seed", counts(&|cell, _| Some(cell.seed)));
    let episode = |cell: &SweepCellResult, i: usize| Some(cell.result.curve[i].episode);
    add("episode", counts(&episode));
    let curve: [(&str, PointValue); 10] = [
        ("regret", |point| Some(point.regret)),
        ("stderr", |point| Some(point.stderr)),
        ("gain", |point| Some(point.gain)),
        ("gain_stderr", |point| Some(point.gain_stderr)),
        ("regret_optimal", |point| point.regret_optimal),
        ("q05", |point| Some(point.quantiles?.q05)),
        ("q25", |point| Some(point.quantiles?.q25)),
        ("q50", |point| Some(point.quantiles?.q50)),
        ("q75", |point| Some(point.quantiles?.q75)),
        ("q95", |point| Some(point.quantiles?.q95)),
    ];
    for (name, of) in curve {
        add(name, numbers(&|cell, i| of(&cell.result.curve[i])));
    }
    // Causes and stuck runs are known only at the last checkpoint.
    let last = |cell: &SweepCellResult, i| i + 1 == cell.result.curve.len();
    let causes: [(&str, CauseValue); 3] = [
        ("early_stop", |causes| causes.early_stop),
        ("late_stop", |causes| causes.late_stop),
        ("wrong_action", |causes| causes.wrong_action),
    ];
    for (name, of) in causes {
        let value = |cell: &SweepCellResult, i| last(cell, i).then(|| of(&cell.result.causes));
        add(name, numbers(&value));
    }
    let stuck = |cell: &SweepCellResult, i| cell.result.stuck.filter(|_| last(cell, i));
    add("stuck", numbers(&stuck));
    let benchmark = |cell: &SweepCellResult, _| Some(cell.reference.benchmark_value);
    add("benchmark_value", numbers(&benchmark));
    let optimum = |cell: &SweepCellResult, _| cell.reference.optimal_value;
    add("optimal_value", numbers(&optimum));
    let estimator = |cell: &SweepCellResult| Some(cell.reference.estimator.clone());
    add("estimator", texts(&estimator));
    columns
}
