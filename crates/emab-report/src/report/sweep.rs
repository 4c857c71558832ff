//! The report of a sweep.

use emab_sim::compare::sweep::SweepCellResult;

use super::{SweepContent, count, problem, repeat, soundness};
use crate::document::Block;
use crate::runs_table::{UNRELIABLE_NOTE, final_regret, stuck_share};
use crate::text_table::number;

/// Cells in the table that is shown at once; the table behind it has all.
const SHOWN: usize = 40;

pub(super) fn blocks(record: &SweepContent, command: &str) -> Vec<Block> {
    let file = &record.sweep.file;
    let (done, all) = (record.cells.len(), record.sweep.cells.len());
    let mut blocks = vec![Block::Text(format!(
        "{} of {}, {} each, over {}; seed {}. Regret against the benchmark of each cell's problem, after the last episode, with 95 % \
         intervals over the runs.",
        count(done as u64, "cell"),
        count(file.runs, "run"),
        count(file.episodes, "episode"),
        record.sweep.varied.join(", "),
        file.seed
    ))];
    if done < all {
        blocks.push(Block::Warning(format!(
            "The sweep is not finished: {} of {all} cells are missing.",
            all - done
        )));
    }
    let two: Vec<String> = record
        .cells
        .iter()
        .filter(|cell| cell.result.groups.is_some())
        .map(|cell| cell.number.to_string())
        .collect();
    if !two.is_empty() {
        blocks.push(Block::Warning(format!(
            "† Two groups of runs: the intervals of {} {} are unreliable.",
            if two.len() == 1 { "cell" } else { "cells" },
            two.join(", ")
        )));
    }
    blocks.push(Block::Heading("Regret by parameters".into()));
    blocks.push(match &record.plot {
        Ok(picture) => Block::Picture {
            name: String::new(),
            caption: format!(
                "Regret after {}, by {}.",
                count(file.episodes, "episode"),
                record.sweep.varied.join(" and ")
            ),
            svg: picture.svg.clone(),
            narrow: picture.narrow.clone(),
        },
        Err(why) => Block::Text(format!("There is no figure: {why}.")),
    });
    blocks.extend(tables(record));
    blocks.extend(soundness(record.warnings.clone()));
    blocks.extend(problem::blocks(&record.problem, None));
    let sweep_file = vec![
        Block::Text("The sweep file:".into()),
        Block::Code(record.text.trim_end().into()),
    ];
    let facts = vec![
        ("version", format!("emab {}", record.version)),
        ("problem hash", format!("`{}`", record.problem.file.hash())),
        ("hash of the sweep", format!("`{}`", record.sweep.hash())),
        ("seed", file.seed.to_string()),
        ("runs of a cell", number(file.runs as f64)),
        ("episodes of a run", number(file.episodes as f64)),
    ];
    blocks.extend(repeat(command, facts, sweep_file));
    blocks
}

/// The cells; the first of them and all behind them if there are many.
fn tables(record: &SweepContent) -> Vec<Block> {
    let mut header = vec!["cell".to_owned(), "learner".into()];
    header.extend(record.sweep.varied.iter().cloned());
    header.extend(
        [
            "regret (95 %)",
            "median",
            "stuck runs (95 %)",
            "gain/episode",
        ]
        .map(str::to_owned),
    );
    let mut rows: Vec<Vec<String>> = record
        .cells
        .iter()
        .map(|cell| row(cell, &record.sweep.varied, record.sweep.file.runs))
        .collect();
    for i in (0..header.len()).rev() {
        if rows.iter().all(|row| row[i].is_empty()) {
            header.remove(i);
            rows.iter_mut().for_each(|row| drop(row.remove(i)));
        }
    }
    let count = rows.len();
    let mut blocks = vec![Block::Table { header, rows }];
    if record.cells.iter().any(|cell| cell.result.groups.is_some()) {
        blocks.push(Block::Text(format!("{UNRELIABLE_NOTE}.")));
    }
    if count <= SHOWN {
        return blocks;
    }
    vec![Block::Details {
        summary: format!("All {count} cells"),
        blocks,
    }]
}

fn row(cell: &SweepCellResult, varied: &[String], runs: u64) -> Vec<String> {
    let mut row = vec![cell.number.to_string(), cell.base.clone()];
    let value = |name: &String| cell.value(name).map_or(String::new(), ToString::to_string);
    row.extend(varied.iter().map(value));
    let last = cell.result.curve.last();
    row.push(final_regret(&cell.result, runs));
    let median = last.and_then(|p| p.quantiles).map(|q| number(q.q50));
    row.push(median.unwrap_or_default());
    row.push(stuck_share(&cell.result, runs));
    let gain = last.map(|p| number(p.gain / p.episode.max(1) as f64));
    row.push(gain.unwrap_or_default());
    row
}
