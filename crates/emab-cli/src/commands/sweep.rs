//! `emab sweep`: every cell of a grid, one after another, and one table of all.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;

use emab_problem::ProblemFile;
use emab_report::{UNRELIABLE_NOTE, final_regret, number, table, table_csv, table_parquet};
use emab_sim::compare::sweep::{
    BegunSweep, Manifest, Sweep, SweepCellResult, SweepFile, SweepFolder, columns,
};
use emab_sim::{Device, Shard, quoted};
use serde_json::json;

use super::{PlayCells, create_folder, how_to_continue, note_finished, open_device};
use crate::args;
use crate::error::CommandError;
use crate::{load, terminal};

/// Cells that are shown; the table on disk has all of them.
const SHOWN: usize = 60;

pub fn sweep(args: &args::Sweep, json: bool) -> Result<(), CommandError> {
    let device = open_device(args.device)?;
    let name = args.file.display().to_string();
    let text = fs::read_to_string(&args.file).map_err(|error| {
        let hint = match ProblemFile::builtin(&name) {
            Some(_) => format!(
                "; `{name}` is a built-in problem, which `emab run {name}` runs: a sweep file names it as problem = \"{name}\""
            ),
            None => String::new(),
        };
        let why = match error.kind() {
            ErrorKind::IsADirectory => "it is a folder; name the sweep file".into(),
            _ => error.to_string(),
        };
        CommandError::input(format!("cannot read {name}: {why}{hint}"))
    })?;
    let file = SweepFile::parse(&name, &text)?;
    let problem = load::problem(&file.problem_beside())?;
    let sweep = Sweep::new(file, &problem)?;
    sweep.check(&problem)?;
    let shard = args.shard.unwrap_or_default();
    let manifest = Manifest::new(&sweep, text, &problem, shard);
    let folder = args.out.as_deref().map(create_folder).transpose()?;
    let begun = folder.map(|folder| SweepFolder::begin(folder, &sweep, &manifest, args.force));
    let begun = begun.transpose()?;
    let mut done = begun
        .as_ref()
        .map_or(Vec::new(), |begun| begun.done.clone());
    if let Some(begun) = &begun
        && begun.removed > 0
    {
        terminal::note(&format!(
            "note: {} of the {} cells in {} are not in this sweep and are removed",
            begun.removed,
            done.len() + begun.removed,
            quoted(begun.folder.folder().path())
        ));
    }
    for words in sweep.warnings()? {
        terminal::note(&words);
    }
    let folder = begun.as_ref().map(|begun| &begun.folder);
    run(&sweep, shard, folder, args.threads, &device, &mut done)?;
    match &begun {
        Some(begun) if shard != Shard::WHOLE => finish_shard(begun, &sweep, shard, &done, json),
        begun => finish(&sweep, begun.as_ref(), &done, json),
    }
}

/// Runs the cells that are not done.
fn run(
    sweep: &Sweep,
    shard: Shard,
    folder: Option<&SweepFolder>,
    threads: Option<u16>,
    device: &Device,
    done: &mut Vec<SweepCellResult>,
) -> Result<(), CommandError> {
    let cells: Vec<_> = sweep.share(shard).collect();
    let each = sweep.file.runs.saturating_mul(sweep.file.episodes);
    let saved: HashSet<String> = done.iter().map(|result| result.key.clone()).collect();
    let open: Vec<_> = cells
        .iter()
        .filter(|cell| !saved.contains(&cell.key))
        .collect();
    let control = PlayCells {
        title: "",
        threads,
        device,
        at_once: device.cells_at_once(),
    };
    let finished = control.play(
        &open,
        |_| each,
        |cell, control| Ok(cell.run(control)?),
        |_, result| {
            if let Some(folder) = folder {
                folder.append(&result)?;
            }
            done.push(result);
            Ok(())
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
    begun: &BegunSweep,
    sweep: &Sweep,
    shard: Shard,
    done: &[SweepCellResult],
    json: bool,
) -> Result<(), CommandError> {
    let folder = begun.folder.folder();
    if begun.finished {
        note_finished(folder, "this shard");
    }
    let path = folder.path().display().to_string();
    let mut cells: Vec<u64> = done.iter().map(|result| result.number).collect();
    // Several that are played at once end in any order.
    cells.sort_unstable();
    let document = json!({"shard": shard, "cells": cells, "folder": path});
    terminal::show(json, &document, || {
        let (part, all, shards) = (done.len(), sweep.cells.len(), shard.of());
        format!(
            "shard {shard} is done: {part} of {all} cells, in {path}; `emab merge` combines all {shards} shards"
        )
    })
}

/// Writes the table of all cells, unless the folder has it, and shows the regret of each.
pub fn finish(
    sweep: &Sweep,
    begun: Option<&BegunSweep>,
    done: &[SweepCellResult],
    json: bool,
) -> Result<(), CommandError> {
    let mut done = done.to_vec();
    done.sort_by_key(|result| result.number);
    if let Some(begun) = begun {
        write(sweep, begun, &done)?;
    }
    terminal::show(json, &sweep.document(&done), || {
        shown(sweep, &done, begun.is_some())
    })
}

/// Writes the cells and the tables, unless the folder has them.
fn write(sweep: &Sweep, begun: &BegunSweep, done: &[SweepCellResult]) -> Result<(), CommandError> {
    let columns = columns(done, &sweep.varied, sweep.file.runs);
    let parquet = table_parquet(&columns)
        .map_err(|error| CommandError::Work(format!("cannot make sweep.parquet: {error}")))?;
    let csv = table_csv(&columns).into_bytes();
    let folder = begun.folder.folder();
    let tables = [("sweep.csv", csv), ("sweep.parquet", parquet)];
    let has = |(name, content): &(&str, Vec<u8>)| {
        fs::read(folder.file(name)).is_ok_and(|found| found == *content)
    };
    if begun.finished && tables.iter().all(has) {
        note_finished(folder, "this sweep");
        return Ok(());
    }
    begun.folder.finish(done)?;
    for (name, content) in &tables {
        folder.write(name, content)?;
    }
    terminal::note(&format!(
        "wrote sweep.csv and sweep.parquet into {}; `emab plot` draws it",
        folder.path().display()
    ));
    Ok(())
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
        let stuck = learner.stuck.map(|share| format!("{:.0} %", 100.0 * share));
        row.push(stuck.unwrap_or_default());
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
    let mut shown = done.iter().take(SHOWN);
    if shown.any(|cell| cell.result.groups.is_some()) {
        text += &format!("\n{UNRELIABLE_NOTE}");
    }
    if done.len() > SHOWN {
        let place = match saved {
            true => "sweep.csv has all of them",
            false => "--out DIR saves all of them",
        };
        text += &format!("\n… and {} more; {place}", done.len() - SHOWN);
    }
    text
}
