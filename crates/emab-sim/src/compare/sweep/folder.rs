//! The result folder of a sweep: its manifest (`sweep.json`), its finished cells, one per line of `cells.jsonl`, and its
//! tables.

use std::collections::{HashMap, HashSet};

use emab_problem::{Format, ProblemFile};
use serde::{Deserialize, Serialize};

use super::cell::{Sweep, SweepCell, SweepCellResult};
use super::file::{SweepError, SweepFile};
use crate::VERSION;
use crate::experiment::merge::{ShardFolder, check_shards};
use crate::experiment::result_folder::{Folder, FolderError, SWEEP_MANIFEST as MANIFEST, quoted};
use crate::experiment::run_folder::contains_run;
use crate::shard::Shard;

const CELLS: &str = "cells.jsonl";
/// The tables, and the plots that `emab plot` adds.
const TABLES: [&str; 4] = ["sweep.csv", "sweep.parquet", "sweep.svg", "sweep.png"];

/// A sweep as saved in its folder: enough to read it again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of emab.
    pub version: String,
    /// The sweep file's name.
    pub file: String,
    /// The sweep file's text.
    pub text: String,
    /// The problem file, as JSON.
    problem: String,
    hash: String,
    /// The part of the cells.
    pub shard: Shard,
}

impl Manifest {
    /// The manifest of a sweep that was read from this text.
    pub fn new(sweep: &Sweep, text: String, problem: &ProblemFile, shard: Shard) -> Manifest {
        Manifest {
            version: VERSION.into(),
            file: sweep.file.file.clone(),
            text,
            problem: problem.canonical().into(),
            hash: sweep.hash(),
            shard,
        }
    }

    /// The manifest of a folder.
    pub fn read(folder: &Folder) -> Result<Manifest, FolderError> {
        folder.read_sealed(MANIFEST)
    }

    /// The problem file, before any parameter is varied.
    pub fn problem(&self) -> Result<ProblemFile, FolderError> {
        let problem = ProblemFile::parse_as(Format::Json, "problem.json", &self.problem)?;
        Ok(problem)
    }

    /// The sweep.
    pub fn sweep(&self) -> Result<Sweep, SweepFolderError> {
        let problem = self.problem()?;
        let file = SweepFile::parse(&self.file, &self.text)?;
        Ok(Sweep::new(file, &problem)?)
    }
}

/// Why the folder of a sweep cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SweepFolderError {
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The sweep in the folder is invalid.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

/// The result folder of a sweep.
pub struct SweepFolder {
    folder: Folder,
}

impl SweepFolder {
    /// Takes a folder for a sweep and returns the cells that it has already, with the number of cells of other sweeps.
    /// Fails if the folder contains a run, another shard, only cells of another sweep, or cells of another version.
    pub fn begin(
        folder: Folder,
        sweep: &Sweep,
        manifest: &Manifest,
    ) -> Result<(SweepFolder, Vec<SweepCellResult>, usize), FolderError> {
        let path = quoted(folder.path());
        let conflict = |what: String| Err(FolderError::Conflict(what));
        if contains_run(&folder) {
            return conflict(format!(
                "{path} contains results of `emab run`; choose another folder"
            ));
        }
        let (mut done, mut others) = (Vec::new(), 0);
        if folder.has(MANIFEST) {
            let before: Manifest = folder.read_sealed(MANIFEST)?;
            if before.shard != manifest.shard {
                return conflict(format!(
                    "{path} contains shard {}, and this is shard {}; choose another folder for it",
                    before.shard, manifest.shard
                ));
            }
            if before.version != manifest.version {
                return conflict(format!(
                    "{path} was begun by emab {}, and this is emab {}, whose random numbers may differ; choose another folder",
                    before.version, manifest.version
                ));
            }
            let all = folder.read_sealed_lines(CELLS)?;
            let count = all.len();
            done = cells_of(sweep, all);
            others = count - done.len();
            if done.is_empty() && count > 0 {
                return conflict(format!(
                    "{path} contains {count} cells of another sweep; choose another folder, or remove its {CELLS}"
                ));
            }
        }
        for name in TABLES {
            folder.remove(name)?;
        }
        folder.write_sealed(MANIFEST, manifest)?;
        folder.write_sealed_lines(CELLS, &done)?;
        Ok((SweepFolder { folder }, done, others))
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Saves a finished cell.
    pub fn append(&self, result: &SweepCellResult) -> Result<(), FolderError> {
        self.folder.append_sealed(CELLS, result)
    }

    /// Saves all cells, in order.
    pub fn finish(&self, done: &[SweepCellResult]) -> Result<(), FolderError> {
        self.folder.write_sealed_lines(CELLS, done)
    }
}

/// Whether a folder contains a sweep.
pub fn contains_sweep(folder: &Folder) -> bool {
    folder.has(MANIFEST)
}

/// The sweep of a folder and its finished cells.
pub fn read_sweep(folder: &Folder) -> Result<(Sweep, Vec<SweepCellResult>), SweepFolderError> {
    let sweep = Manifest::read(folder)?.sweep()?;
    let done = cells_of(&sweep, folder.read_sealed_lines(CELLS)?);
    Ok((sweep, done))
}

/// The results that belong to a sweep, with the number and values of their cells in it: they may come from a sweep that
/// varied other parameters.
fn cells_of(sweep: &Sweep, all: Vec<SweepCellResult>) -> Vec<SweepCellResult> {
    let cells = sweep.cells.iter();
    let cells: HashMap<&str, &SweepCell> = cells.map(|cell| (cell.key.as_str(), cell)).collect();
    let mut known: Vec<SweepCellResult> = all
        .into_iter()
        .filter_map(|result| {
            let cell = cells.get(result.key.as_str())?;
            Some(SweepCellResult {
                number: cell.number,
                base: cell.base.clone(),
                values: cell.values.clone(),
                // Cells of earlier versions lack the regret against the optimum, but have the values it follows from.
                result: result.result.against_optimum(&result.reference),
                ..result
            })
        })
        .collect();
    known.sort_by_key(|result| result.number);
    known.dedup_by_key(|result| result.number);
    known
}

/// Merges the finished shards of a sweep into a folder. Fails if shards are missing, unfinished or of different sweeps,
/// or if the folder contains something else.
pub fn merge_sweeps(
    folders: &[Folder],
    out: impl FnOnce() -> Result<Folder, FolderError>,
) -> Result<(Sweep, SweepFolder, Vec<SweepCellResult>), SweepFolderError> {
    let conflict = |what: String| SweepFolderError::Folder(FolderError::Conflict(what));
    if let Some(other) = folders.iter().find(|folder| !folder.has(MANIFEST)) {
        return Err(conflict(format!(
            "{} contains no shard of a sweep, and other folders do",
            quoted(other.path())
        )));
    }
    let manifests = folders.iter().map(|folder| folder.read_sealed(MANIFEST));
    let manifests: Vec<Manifest> = manifests.collect::<Result<_, _>>()?;
    let shards: Vec<ShardFolder<'_>> = manifests
        .iter()
        .zip(folders)
        .map(|(manifest, folder)| ShardFolder {
            path: folder.path(),
            shard: manifest.shard,
            common: vec![
                ("version of emab", manifest.version.clone()),
                ("sweep", manifest.hash.clone()),
            ],
        })
        .collect();
    let version = manifests.first().map_or("", |first| &first.version);
    check_shards(version, &shards)?;
    let mut manifest = manifests[0].clone();
    let sweep = manifest.sweep()?;
    let mut done = Vec::new();
    for (folder, Manifest { shard, .. }) in folders.iter().zip(&manifests) {
        let results = cells_of(&sweep, folder.read_sealed_lines(CELLS)?);
        let has: HashSet<u64> = results.iter().map(|result| result.number).collect();
        if let Some(cell) = sweep.share(*shard).find(|cell| !has.contains(&cell.number)) {
            return Err(conflict(format!(
                "{} contains an unfinished shard: {} is missing; run the command that began it again to continue",
                quoted(folder.path()),
                cell.describe()
            )));
        }
        let mine: HashSet<u64> = sweep.share(*shard).map(|cell| cell.number).collect();
        let results = results.into_iter();
        done.extend(results.filter(|result| mine.contains(&result.number)));
    }
    let out = out()?;
    check_target(&out, &manifest)?;
    manifest.shard = Shard::WHOLE;
    out.write_sealed(MANIFEST, &manifest)?;
    Ok((sweep, SweepFolder { folder: out }, done))
}

/// Fails if a folder contains anything but this sweep, undivided.
fn check_target(out: &Folder, sweep: &Manifest) -> Result<(), FolderError> {
    let before = out.has(MANIFEST).then(|| out.read_sealed(MANIFEST));
    let before: Option<Manifest> = before.transpose()?;
    let what = match before {
        Some(before) if before.hash != sweep.hash => "another sweep".into(),
        Some(before) if before.shard != Shard::WHOLE => format!("shard {}", before.shard),
        _ if contains_run(out) => "results of `emab run`".into(),
        _ => return Ok(()),
    };
    Err(FolderError::Conflict(format!(
        "{} contains {what}; choose another folder for the result",
        quoted(out.path())
    )))
}
