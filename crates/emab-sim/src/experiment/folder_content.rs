//! What a folder contains, and which of its files emab wrote. A result replaces another one only on request, and never a
//! file that emab did not write.

use serde::Deserialize;

use super::record_file::RECORDS;
use super::result_folder::{Folder, FolderError, quoted};
use super::run_call::RunCall;
use super::run_folder::{CHECKPOINT, RESULT, SHARD};
use super::stored_problems::{FOLDER as ARENA_PROBLEMS, StoredProblems};
use crate::shard::Shard;

/// The manifest of a sweep.
pub(crate) const SWEEP: &str = "sweep.json";
/// The finished cells of a sweep.
pub(crate) const SWEEP_CELLS: &str = "cells.jsonl";
/// The table of a sweep.
pub(crate) const SWEEP_TABLE: &str = "sweep.csv";
/// The finished cells of an arena.
pub(crate) const ARENA_CELLS: &str = "arena.jsonl";
/// The document of `emab arena --json`.
pub const ARENA: &str = "arena.json";
/// The document of `emab reproduce --json`.
pub const REPRODUCTION: &str = "reproduction.json";
/// Its report, by which a reproduction of an earlier version is recognised.
const REPORT: &str = "report.md";

/// The page of `emab report DIR`, in the folder of any result.
const PAGE: &str = "report.html";
/// What every page of emab contains, so that it is known from pages of other programs.
pub const GENERATOR: &str = "<meta name=\"generator\" content=\"emab\">";

/// A kind of result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// A run that is in progress or was interrupted.
    UnfinishedRun,
    /// A finished shard of a run.
    RunShard,
    /// A finished run.
    Run,
    /// A sweep or a shard of one, finished or not.
    Sweep,
    /// An arena, finished or not.
    Arena,
    /// A reproduction of the paper.
    Reproduction,
}

impl ResultKind {
    /// The kind of the result that a folder has to show: a finished run, a sweep, or an arena, by the names of its files. Unlike
    /// [`FolderContent::read`] it reads no file, so that a result can be shown although files that only its continuation needs
    /// are missing or damaged.
    pub fn shown(folder: &Folder) -> Option<ResultKind> {
        let kinds: [(ResultKind, &[&str]); 3] = [
            (ResultKind::Sweep, &[SWEEP]),
            (ResultKind::Run, &[RESULT]),
            (ResultKind::Arena, &[ARENA, ARENA_CELLS]),
        ];
        let has = |names: &[&str]| names.iter().any(|name| folder.has(name));
        let mut kinds = kinds.into_iter();
        kinds.find_map(|(kind, names)| has(names).then_some(kind))
    }

    /// Whether results of this kind may have a file or a folder of this name.
    pub(super) fn owns(self, name: &str) -> bool {
        let (files, pictures): (&[&str], &[&str]) = match self {
            ResultKind::UnfinishedRun | ResultKind::RunShard | ResultKind::Run => {
                let files = &[
                    CHECKPOINT,
                    SHARD,
                    RESULT,
                    RECORDS,
                    "curve.csv",
                    "runs.csv",
                    "runs.parquet",
                    "places.csv",
                    "problem.json",
                ];
                if is_state_plot(name) {
                    return true;
                }
                (files, &["regret", "bound"])
            }
            ResultKind::Sweep => (
                &[SWEEP, SWEEP_CELLS, SWEEP_TABLE, "sweep.parquet"],
                &["sweep"],
            ),
            ResultKind::Arena => (
                &[ARENA_CELLS, ARENA, "arena.csv", "pairs.csv", ARENA_PROBLEMS],
                &["arena"],
            ),
            ResultKind::Reproduction => (
                &[REPRODUCTION, REPORT, PAGE],
                &[
                    "figure1",
                    "figure2",
                    "places",
                    "bound",
                    "feedback-gap",
                    "logarithm",
                ],
            ),
        };
        files.contains(&name) || picture(name).is_some_and(|stem| pictures.contains(&stem))
    }
}

/// The name of a picture without its ending.
fn picture(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    ["svg", "png", "pdf"].contains(&ending).then_some(stem)
}

/// Whether a file is the plot of a learner's regret by state; see [`super::state_plot_name`].
fn is_state_plot(name: &str) -> bool {
    picture(name)
        .and_then(|stem| stem.strip_prefix("places-"))
        .and_then(|rest| rest.split_once('-'))
        .is_some_and(|(number, _)| number.parse::<usize>().is_ok())
}

/// A result in a folder.
#[derive(Clone, Debug)]
pub struct FoundResult {
    /// Its kind.
    pub kind: ResultKind,
    /// What it is, for a message: "a run of …".
    pub words: String,
    /// The call of a run.
    pub(super) call: Option<RunCall>,
}

/// What a folder contains.
#[derive(Clone, Debug)]
pub struct FolderContent {
    /// The results; more than one only in a folder of an earlier version.
    pub results: Vec<FoundResult>,
    /// The files of the results; those that identify a result are last.
    files: Vec<String>,
    /// All other files.
    others: Vec<String>,
}

#[derive(Deserialize)]
struct SweepPart {
    file: String,
    shard: Shard,
}

#[derive(Deserialize)]
struct Size {
    episodes: u64,
    runs: u64,
    seed: u64,
}

impl FolderContent {
    /// The content of a folder. Fails if a file that identifies a result cannot be read.
    pub fn read(folder: &Folder) -> Result<FolderContent, FolderError> {
        let mut results = Vec::new();
        for found in [run, sweep, arena, reproduction] {
            results.extend(found(folder).map_err(not_ours)?);
        }
        let owned = |name: &String| {
            let page =
                || name == PAGE && folder.read(PAGE).is_ok_and(|page| page.contains(GENERATOR));
            let owns = |one: &FoundResult| one.kind.owns(name);
            results.iter().any(owns) || (!results.is_empty() && page())
        };
        let (mut files, others): (Vec<String>, _) = folder.files()?.into_iter().partition(owned);
        // An interrupted removal leaves a result that is recognised.
        let identifying = [
            CHECKPOINT,
            SHARD,
            RESULT,
            SWEEP,
            SWEEP_TABLE,
            ARENA_CELLS,
            REPRODUCTION,
            REPORT,
        ];
        files.sort_by_key(|name| identifying.contains(&name.as_str()));
        Ok(FolderContent {
            results,
            files,
            others,
        })
    }

    /// The only result, if it is of this kind.
    pub fn only(&self, kind: ResultKind) -> Option<&FoundResult> {
        match self.results.as_slice() {
            [one] if one.kind == kind => Some(one),
            _ => None,
        }
    }

    /// Checks that a result of this kind may be written. Fails if there are results, unless `force` is set, and in any case
    /// if emab did not write a file that the new result may replace. `difference` says in what the call differs from the
    /// result that is there.
    pub fn check_room(
        &self,
        folder: &Folder,
        kind: ResultKind,
        difference: Option<&str>,
        force: bool,
    ) -> Result<(), FolderError> {
        let path = quoted(folder.path());
        let foreign = self.others.iter().filter(|name| kind.owns(name));
        let foreign: Vec<&str> = foreign.map(String::as_str).collect();
        if !foreign.is_empty() {
            return Err(FolderError::Conflict(format!(
                "{path} contains {}, not written by emab, which the result would replace; choose another folder",
                foreign.join(", ")
            )));
        }
        if self.results.is_empty() || force {
            return Ok(());
        }
        let found = self.results.iter().map(|one| one.words.as_str());
        let found: Vec<&str> = found.collect();
        let difference = difference.map_or(String::new(), |words| format!("; {words}"));
        Err(FolderError::Occupied(format!(
            "{path} contains {}{difference}",
            found.join(" and ")
        )))
    }

    /// Makes room for a result of this kind: as [`FolderContent::check_room`], and removes the files of the results that are
    /// there. Returns whether there were any.
    pub fn make_room(
        &self,
        folder: &Folder,
        kind: ResultKind,
        difference: Option<&str>,
        force: bool,
    ) -> Result<bool, FolderError> {
        self.check_room(folder, kind, difference, force)?;
        for name in &self.files {
            match name.as_str() {
                ARENA_PROBLEMS => StoredProblems::remove(folder)?,
                name => folder.remove(name)?,
            }
        }
        Ok(!self.results.is_empty())
    }
}

/// A file that identifies a result may also be one of another program.
fn not_ours(error: FolderError) -> FolderError {
    match error {
        FolderError::Damaged(file, why) => FolderError::Damaged(
            file,
            format!("{why}; if emab did not write it, choose another folder"),
        ),
        other => other,
    }
}

fn run(folder: &Folder) -> Result<Option<FoundResult>, FolderError> {
    // The result of a run is complete when its checkpoint is removed.
    let (kind, call) = if folder.has(CHECKPOINT) {
        let call = RunCall::read_saved(folder, CHECKPOINT)?;
        (ResultKind::UnfinishedRun, call)
    } else if folder.has(SHARD) {
        let call = RunCall::read_saved(folder, SHARD)?;
        (ResultKind::RunShard, call)
    } else if folder.has(RESULT) {
        (ResultKind::Run, RunCall::read_result(folder)?)
    } else {
        return Ok(None);
    };
    let path = quoted(folder.path());
    let words = match kind {
        ResultKind::UnfinishedRun => {
            format!("an unfinished run: {call} (`emab run --resume {path}` continues it)")
        }
        _ => call.to_string(),
    };
    Ok(Some(FoundResult {
        kind,
        words,
        call: Some(call),
    }))
}

fn found(kind: ResultKind, words: String) -> Option<FoundResult> {
    let call = None;
    Some(FoundResult { kind, words, call })
}

/// Whether a file begins with a text.
fn begins(folder: &Folder, name: &str, text: &str) -> bool {
    folder.has(name) && folder.read(name).is_ok_and(|found| found.starts_with(text))
}

fn sweep(folder: &Folder) -> Result<Option<FoundResult>, FolderError> {
    if !folder.has(SWEEP) {
        // A table that was saved from Python.
        let table = begins(folder, SWEEP_TABLE, "cell,learner,");
        let words = || found(ResultKind::Sweep, "the table of a sweep".into());
        return Ok(table.then(words).flatten());
    }
    let SweepPart { file, shard } = folder.read_sealed(SWEEP)?;
    let cells = match folder.has(SWEEP_CELLS) {
        true => folder.read(SWEEP_CELLS)?.matches('\n').count(),
        false => 0,
    };
    let shard = match shard {
        Shard::WHOLE => String::new(),
        shard => format!("shard {shard} of "),
    };
    let words = format!("{shard}a sweep of {file}, {cells} finished cells");
    Ok(found(ResultKind::Sweep, words))
}

fn arena(folder: &Folder) -> Result<Option<FoundResult>, FolderError> {
    if !folder.has(ARENA_CELLS) {
        return Ok(None);
    }
    let cells: Vec<Size> = folder.read_sealed_lines(ARENA_CELLS)?;
    let settings = cells.last().map_or(String::new(), |cell| {
        let Size {
            episodes,
            runs,
            seed,
        } = cell;
        format!(" of {runs} runs of {episodes} episodes, seed {seed}")
    });
    let words = format!("an arena, {} finished cells{settings}", cells.len());
    Ok(found(ResultKind::Arena, words))
}

fn reproduction(folder: &Folder) -> Result<Option<FoundResult>, FolderError> {
    if folder.has(REPRODUCTION) {
        let Size {
            episodes,
            runs,
            seed,
        } = folder.read_json(REPRODUCTION)?;
        let words =
            format!("a reproduction of the paper, {runs} runs of {episodes} episodes, seed {seed}");
        return Ok(found(ResultKind::Reproduction, words));
    }
    let earlier = begins(folder, REPORT, "# Episodic Multi-armed Bandits");
    let words = "a reproduction of the paper by an earlier version of emab";
    Ok(earlier
        .then(|| found(ResultKind::Reproduction, words.into()))
        .flatten())
}
