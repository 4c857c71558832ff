//! `emab sweep`: every cell of a grid, one after another, and one table of all.

use std::collections::HashSet;
use std::fs;

use emab_report::{final_regret, number, stuck_share, table, table_csv, table_parquet};
use emab_sim::compare::sweep::{Manifest, Sweep, SweepCellResult, SweepFile, SweepFolder, columns};
use emab_sim::{Finish, Folder, Shard, quoted};
use serde_json::json;

use super::{how_to_continue, play_cells};
use crate::args;
use crate::error::CommandError;
use crate::{load, terminal};

/// Cells that are shown; the table on disk has all of them.
const SHOWN: usize = 60;

pub fn sweep(args: &args::Sweep, json: bool) -> Result<(), CommandError> {
    let name = args.file.display().to_string();
    let text = fs::read_to_string(&args.file)
        .map_err(|error| CommandError::input(format!("cannot read {name}: {error}")))?;
    let file = SweepFile::parse(&name, &text)?;
    let problem = load::problem(&file.problem_beside())?;
    let sweep = Sweep::new(file, &problem)?;
    // An invalid cell is reported before any cell runs.
    for cell in &sweep.cells {
        cell.check()?;
    }
    let shard = args.shard.unwrap_or_default();
    let manifest = Manifest::new(&sweep, text, &problem, shard);
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let (folder, mut done) = match folder {
        Some(folder) => {
            let (folder, done, others) = SweepFolder::begin(folder, &sweep, &manifest)?;
            if others > 0 {
                terminal::note(&format!(
                    "note: {others} of the {} cells in {} do not belong to this sweep any more and are left out",
                    done.len() + others,
                    quoted(folder.folder().path())
                ));
            }
            (Some(folder), done)
        }
        None => (None, Vec::new()),
    };
    run(&sweep, shard, folder.as_ref(), args.threads, &mut done)?;
    match &folder {
        Some(folder) if shard != Shard::WHOLE => finish_shard(folder, &sweep, shard, &done, json),
        folder => finish(&sweep, folder.as_ref(), &done, json),
    }
}

/// Runs the cells that are not done.
fn run(
    sweep: &Sweep,
    shard: Shard,
    folder: Option<&SweepFolder>,
    threads: Option<u16>,
    done: &mut Vec<SweepCellResult>,
) -> Result<(), CommandError> {
    let cells: Vec<_> = sweep.share(shard).collect();
    let each = sweep.file.runs.saturating_mul(sweep.file.episodes);
    let saved: HashSet<String> = done.iter().map(|result| result.key.clone()).collect();
    let finished = play_cells(
        "",
        &cells,
        |_| each,
        threads,
        |cell, control| {
            if saved.contains(&cell.key) {
                return Ok(Finish::Complete);
            }
            let Some(result) = cell.run(control)? else {
                return Ok(Finish::Stopped);
            };
            if let Some(folder) = folder {
                folder.append(&result)?;
            }
            done.push(result);
            Ok(Finish::Complete)
        },
    )?;
    if finished {
        return Ok(());
    }
    let keys: HashSet<&str> = cells.iter().map(|cell| cell.key.as_str()).collect();
    let mine = |result: &&SweepCellResult| keys.contains(result.key.as_str());
    Err(CommandError::Work(format!(
        "stopped after {} of {} cells; {}",
        done.iter().filter(mine).count(),
        cells.len(),
        how_to_continue(folder.is_some())
    )))
}

fn finish_shard(
    folder: &SweepFolder,
    sweep: &Sweep,
    shard: Shard,
    done: &[SweepCellResult],
    json: bool,
) -> Result<(), CommandError> {
    let path = folder.folder().path().display().to_string();
    let cells: Vec<u64> = done.iter().map(|result| result.number).collect();
    let document = json!({"shard": shard, "cells": cells, "folder": path});
    terminal::show(json, &document, || {
        let (part, all, shards) = (done.len(), sweep.cells.len(), shard.of());
        format!(
            "shard {shard} is done: {part} of {all} cells, in {path}; `emab merge` combines all {shards} shards"
        )
    })
}

/// Writes the table of all cells and shows the regret of each.
pub fn finish(
    sweep: &Sweep,
    folder: Option<&SweepFolder>,
    done: &[SweepCellResult],
    json: bool,
) -> Result<(), CommandError> {
    let mut done = done.to_vec();
    done.sort_by_key(|result| result.number);
    if let Some(folder) = folder {
        let columns = columns(&done, &sweep.varied, sweep.file.runs);
        folder.finish(&done)?;
        let folder = folder.folder();
        folder.write("sweep.csv", table_csv(&columns).as_bytes())?;
        let parquet = table_parquet(&columns)
            .map_err(|error| CommandError::Work(format!("cannot make sweep.parquet: {error}")))?;
        folder.write("sweep.parquet", &parquet)?;
        terminal::note(&format!(
            "wrote sweep.csv and sweep.parquet into {}; `emab plot` draws it",
            folder.path().display()
        ));
    }
    terminal::show(json, &sweep.document(&done), || {
        shown(sweep, &done, folder.is_some())
    })
}

/// The regret of each cell, as text.
fn shown(sweep: &Sweep, done: &[SweepCellResult], saved: bool) -> String {
    let varied = sweep.varied.iter().map(String::as_str);
    let header = ["cell", "learner"].into_iter().chain(varied);
    let header: Vec<&str> = header.chain(["regret", "median", "stuck"]).collect();
    let rows = done.iter().take(SHOWN).map(|result| {
        let mut row = vec![result.number.to_string(), result.base.clone()];
        row.extend(sweep.varied.iter().map(|name| {
            let value = result.value(name);
            value.map_or(String::new(), ToString::to_string)
        }));
        let learner = &result.result;
        let quantiles = learner.curve.last().and_then(|point| point.quantiles);
        row.push(final_regret(learner, sweep.file.runs));
        row.push(quantiles.map_or(String::new(), |quantiles| number(quantiles.q50)));
        row.push(stuck_share(learner, sweep.file.runs));
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut text = format!(
        "{} cells of {} runs of {} episodes, seed {}; regret against the benchmark, 95 % intervals\n{}",
        done.len(),
        sweep.file.runs,
        sweep.file.episodes,
        sweep.file.seed,
        table(&header, &rows, terminal::width())
    );
    if done.len() > SHOWN {
        let place = match saved {
            true => "sweep.csv has all of them",
            false => "--out DIR saves all of them",
        };
        text += &format!("\n… and {} more; {place}", done.len() - SHOWN);
    }
    text
}
