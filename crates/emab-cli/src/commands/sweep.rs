//! `emab sweep`: every cell of a grid, one after another, and one table of them all.

use std::collections::{HashMap, HashSet};
use std::fs;

use emab_problem::{Format, ProblemFile};
use emab_report::{Folder, confidence, number, table, table_csv, table_parquet};
use emab_sim::sweep::{Cell, CellResult, Sweep, SweepError, SweepFile, columns};
use emab_sim::{Control, Shard};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::run::{CHECKED_FIRST, holds_a_run, quoted, version};
use super::{sealed, stop_on_ctrl_c};
use crate::args;
use crate::error::CommandError;
use crate::{load, terminal};

/// What the cells of a folder belong to.
pub const MANIFEST: &str = "sweep.json";
/// The finished cells, one a line.
pub const CELLS: &str = "cells.jsonl";
const TABLES: [&str; 2] = ["sweep.csv", "sweep.parquet"];
/// What `emab plot` adds to them.
const DRAWN_LATER: [&str; 2] = ["sweep.svg", "sweep.png"];
/// Cells that are shown; the table has all of them.
const SHOWN: usize = 60;

/// All that is needed to know a sweep again.
#[derive(Clone, Serialize, Deserialize)]
pub struct Manifest {
    pub version: String,
    /// The sweep file.
    pub file: String,
    pub text: String,
    /// The problem file, as JSON.
    pub problem: String,
    pub hash: String,
    pub shard: Shard,
}

impl Manifest {
    pub fn load(folder: &Folder) -> Result<Manifest, CommandError> {
        let place = folder.file(MANIFEST).display().to_string();
        sealed::open(&place, &folder.read(MANIFEST)?)
    }

    /// The sweep.
    pub fn sweep(&self) -> Result<Sweep, CommandError> {
        let problem = ProblemFile::parse_as(Format::Json, "problem.json", &self.problem)?;
        Ok(Sweep::new(
            SweepFile::parse(&self.file, &self.text)?,
            &problem,
        )?)
    }
}

impl From<SweepError> for CommandError {
    fn from(error: SweepError) -> CommandError {
        match error {
            SweepError::Simulation { .. } => CommandError::Work(error.to_string()),
            _ => CommandError::Input(error.to_string()),
        }
    }
}

pub fn sweep(args: &args::Sweep, json: bool) -> Result<(), CommandError> {
    let name = args.file.display().to_string();
    let text = fs::read_to_string(&args.file)
        .map_err(|error| CommandError::input(format!("cannot read {name}: {error}")))?;
    let file = SweepFile::parse(&name, &text)?;
    let problem = load::problem(&file.problem_beside())?;
    let sweep = Sweep::new(file, &problem)?;
    // A cell that cannot be run is named before any is.
    for cell in &sweep.cells {
        cell.check(CHECKED_FIRST)?;
    }
    let manifest = Manifest {
        version: version(),
        file: name,
        text,
        problem: problem.canonical().into(),
        hash: sweep.hash(),
        shard: args.shard.unwrap_or_default(),
    };
    let folder = args.out.as_deref().map(Folder::create).transpose()?;
    let mut done = match &folder {
        Some(folder) => begin(folder, &sweep, &manifest)?,
        None => Vec::new(),
    };
    run(&sweep, &manifest, folder.as_ref(), args.threads, &mut done)?;
    match (&folder, manifest.shard) {
        (Some(folder), shard) if shard != Shard::WHOLE => {
            finish_shard(folder, &sweep, shard, &done, json)
        }
        _ => finish(&sweep, folder.as_ref(), &done, json),
    }
}

/// Takes the folder, and what cells of this sweep it has already.
fn begin(
    folder: &Folder,
    sweep: &Sweep,
    manifest: &Manifest,
) -> Result<Vec<CellResult>, CommandError> {
    let path = quoted(folder.path());
    if holds_a_run(folder) {
        return Err(CommandError::input(format!(
            "{path} holds what `emab run` left; choose another folder"
        )));
    }
    let mut done = Vec::new();
    if folder.has(MANIFEST) {
        let before = Manifest::load(folder)?;
        if before.shard != manifest.shard {
            return Err(CommandError::input(format!(
                "{path} holds shard {}, and this is shard {}; choose another folder for it",
                before.shard, manifest.shard
            )));
        }
        if before.version != manifest.version {
            return Err(CommandError::input(format!(
                "{path} was begun by emab {}, and this is {}: its random numbers may differ. Choose another folder",
                before.version, manifest.version
            )));
        }
        let all = read_cells(folder)?;
        let count = all.len();
        done = known(sweep, all);
        if done.is_empty() && count > 0 {
            return Err(CommandError::input(format!(
                "{path} holds {count} cells of another sweep; choose another folder, or remove its {CELLS}"
            )));
        }
        if done.len() < count {
            terminal::note(&format!(
                "note: {} of the {count} cells in {path} are not of this sweep any more and are left out",
                count - done.len()
            ));
        }
    }
    for name in TABLES.iter().chain(&DRAWN_LATER) {
        folder.remove(name)?;
    }
    keep(folder, manifest)?;
    write_cells(folder, &done)?;
    Ok(done)
}

/// Writes down what the folder is of.
pub fn keep(folder: &Folder, manifest: &Manifest) -> Result<(), CommandError> {
    Ok(folder.write(MANIFEST, sealed::seal(manifest)?.as_bytes())?)
}

/// The results that are of this sweep, with what their cells are called in it: the one they were run for may have
/// varied other parameters.
pub fn known(sweep: &Sweep, all: Vec<CellResult>) -> Vec<CellResult> {
    let cells = sweep.cells.iter();
    let cells: HashMap<&str, &Cell> = cells.map(|cell| (cell.key.as_str(), cell)).collect();
    let mut known: Vec<CellResult> = all
        .into_iter()
        .filter_map(|result| {
            let cell = cells.get(result.key.as_str())?;
            Some(CellResult {
                number: cell.number,
                base: cell.base.clone(),
                values: cell.values.clone(),
                // Cells of earlier versions do not say it, and have all that it takes.
                result: result
                    .result
                    .against_optimum(result.benchmark_value, result.optimal_value),
                ..result
            })
        })
        .collect();
    known.sort_by_key(|result| result.number);
    known.dedup_by_key(|result| result.number);
    known
}

pub fn read_cells(folder: &Folder) -> Result<Vec<CellResult>, CommandError> {
    if !folder.has(CELLS) {
        return Ok(Vec::new());
    }
    let text = folder.read(CELLS)?;
    let mut cells = Vec::new();
    for (i, line) in text.split_inclusive('\n').enumerate() {
        // A line without its end was being written when the machine stopped: that cell is done anew.
        if line.ends_with('\n') {
            let place = format!("line {} of {}", i + 1, folder.file(CELLS).display());
            cells.push(sealed::open(&place, line)?);
        }
    }
    Ok(cells)
}

fn write_cells(folder: &Folder, cells: &[CellResult]) -> Result<(), CommandError> {
    let lines: Result<Vec<String>, CommandError> = cells.iter().map(sealed::seal).collect();
    Ok(folder.write(CELLS, lines?.concat().as_bytes())?)
}

/// Runs the cells that are not done.
fn run(
    sweep: &Sweep,
    manifest: &Manifest,
    folder: Option<&Folder>,
    threads: Option<u16>,
    done: &mut Vec<CellResult>,
) -> Result<(), CommandError> {
    let stop = stop_on_ctrl_c();
    let share: Vec<_> = sweep.share(manifest.shard).collect();
    let each = sweep.file.runs.saturating_mul(sweep.file.episodes);
    let bar = terminal::progress(each.saturating_mul(share.len() as u64));
    let kept: HashSet<String> = done.iter().map(|result| result.key.clone()).collect();
    for (i, cell) in share.iter().enumerate() {
        if kept.contains(&cell.key) {
            continue;
        }
        bar.set_message(format!("{} of {}", i + 1, share.len()));
        let before = each.saturating_mul(i as u64);
        let mut control = Control {
            threads: threads.unwrap_or(0).into(),
            stop,
            watch: &mut |progress, _| bar.set_position(before.saturating_add(progress.done)),
        };
        let Some(result) = cell.run(&sweep.file, &mut control)? else {
            bar.finish_and_clear();
            let mine = |result: &&CellResult| share.iter().any(|cell| cell.key == result.key);
            let next = match folder {
                Some(_) => "the same call goes on from there",
                None => "nothing was kept; --out DIR would have kept it",
            };
            return Err(CommandError::Work(format!(
                "stopped after {} of {} cells; {next}",
                done.iter().filter(mine).count(),
                share.len()
            )));
        };
        if let Some(folder) = folder {
            folder.append(CELLS, sealed::seal(&result)?.as_bytes())?;
        }
        done.push(result);
    }
    bar.finish_and_clear();
    Ok(())
}

fn finish_shard(
    folder: &Folder,
    sweep: &Sweep,
    shard: Shard,
    done: &[CellResult],
    json: bool,
) -> Result<(), CommandError> {
    let path = folder.path().display().to_string();
    if json {
        let cells: Vec<u64> = done.iter().map(|result| result.number).collect();
        return terminal::print_json(&json!({"shard": shard, "cells": cells, "folder": path}));
    }
    terminal::print(&format!(
        "shard {shard} is done: {} of {} cells, in {path}; `emab merge` makes one result of all {} shards",
        done.len(),
        sweep.cells.len(),
        shard.of()
    ))
}

/// Leaves the table of all cells, and shows how each ended.
pub fn finish(
    sweep: &Sweep,
    folder: Option<&Folder>,
    done: &[CellResult],
    json: bool,
) -> Result<(), CommandError> {
    let mut done = done.to_vec();
    done.sort_by_key(|result| result.number);
    if let Some(folder) = folder {
        let columns = columns(&done, &sweep.varied, sweep.file.runs);
        write_cells(folder, &done)?;
        folder.write("sweep.csv", table_csv(&columns).as_bytes())?;
        let parquet = table_parquet(&columns)
            .map_err(|error| CommandError::Work(format!("cannot make sweep.parquet: {error}")))?;
        folder.write("sweep.parquet", &parquet)?;
        terminal::note(&format!(
            "wrote {} into {}; `emab plot` draws it",
            TABLES.join(" and "),
            folder.path().display()
        ));
    }
    if json {
        return terminal::print_json(&sweep.document(&version(), &done));
    }
    terminal::print(&shown(sweep, &done, folder.is_some()))
}

/// How each cell ended, as text.
fn shown(sweep: &Sweep, done: &[CellResult], kept: bool) -> String {
    let mut header = vec!["cell".to_owned(), "learner".into()];
    header.extend(sweep.varied.iter().cloned());
    header.push("regret".into());
    let rows = done.iter().take(SHOWN).map(|result| {
        let mut row = vec![result.number.to_string(), result.base.clone()];
        row.extend(sweep.varied.iter().map(|name| {
            let value = result.value(name);
            value.map_or(String::new(), ToString::to_string)
        }));
        let last = result.result.curve.last();
        row.push(last.map_or(String::new(), |p| match sweep.file.runs {
            1 => format!("{} (one run)", number(p.regret)),
            _ => confidence(p.regret, p.stderr),
        }));
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut text = format!(
        "{} cells of {} runs of {} episodes, seed {}; regret against the benchmark, 95 % intervals\n{}",
        done.len(),
        sweep.file.runs,
        sweep.file.episodes,
        sweep.file.seed,
        table(&header, &rows, terminal::width())
    );
    if done.len() > SHOWN {
        let rest = done.len() - SHOWN;
        let place = if kept {
            "sweep.csv has them"
        } else {
            "--out DIR keeps them all"
        };
        text += &format!("\n… and {rest} more; {place}");
    }
    text
}
