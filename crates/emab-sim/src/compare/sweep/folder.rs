//! The result folder of a sweep: its manifest (`sweep.json`), its finished cells, one per line of `cells.jsonl`, and its
//! tables.

use std::collections::{HashMap, HashSet};

use emab_problem::{Format, ProblemFile};
use serde::{Deserialize, Serialize};

use super::cell::{Sweep, SweepCell, SweepCellResult};
use super::file::{SweepError, SweepFile};
use crate::VERSION;
use crate::experiment::folder_content::{
    FolderContent, ResultKind, SWEEP as MANIFEST, SWEEP_CELLS as CELLS, SWEEP_TABLE,
};
use crate::experiment::merge::{ShardFolder, check_shards};
use crate::experiment::result_folder::{Folder, FolderError, quoted};
use crate::shard::Shard;

/// The tables, and the plots that `emab plot` adds.
const TABLES: [&str; 5] = [
    SWEEP_TABLE,
    "sweep.parquet",
    "sweep.svg",
    "sweep.png",
    "sweep.pdf",
];

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

    /// In what `this` sweep differs so that no cell is the same, as text.
    fn difference(&self, this: &Manifest) -> Option<String> {
        if self.shard != this.shard {
            return Some(match this.shard {
                Shard::WHOLE => "this call has all cells".into(),
                shard => format!("this call is shard {shard}"),
            });
        }
        (self.version != this.version).then(|| {
            format!(
                "it was begun by emab {}, and this is emab {}, whose random numbers may differ",
                self.version, this.version
            )
        })
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

/// What [`SweepFolder::begin`] found.
pub struct BegunSweep {
    /// The folder.
    pub folder: SweepFolder,
    /// The finished cells of the sweep.
    pub done: Vec<SweepCellResult>,
    /// The number of finished cells of other sweeps, which were removed.
    pub removed: usize,
    /// Whether the folder has all cells of this sweep; nothing is written then.
    pub finished: bool,
}

impl SweepFolder {
    /// Takes a folder for a sweep and finds the cells that it has already. Fails if a finished cell is not in this sweep, or
    /// if the folder contains something else: another result, another shard, or cells of another version. With `force`
    /// these are removed; finished cells of this sweep are kept.
    pub fn begin(
        folder: Folder,
        sweep: &Sweep,
        manifest: &Manifest,
        force: bool,
    ) -> Result<BegunSweep, FolderError> {
        let content = FolderContent::read(&folder)?;
        let before = content.only(ResultKind::Sweep);
        let before = before.filter(|_| folder.has(MANIFEST));
        let before = before.map(|_| folder.read_sealed::<Manifest>(MANIFEST));
        let before = before.transpose()?;
        let mut difference = before
            .as_ref()
            .and_then(|before| before.difference(manifest));
        let before = before.filter(|_| difference.is_none());
        let (mut done, mut removed) = (Vec::new(), 0);
        if before.is_some() {
            let all: Vec<SweepCellResult> = folder.read_sealed_lines(CELLS)?;
            let keys: HashSet<&str> = sweep.cells.iter().map(|cell| &*cell.key).collect();
            let others = all.iter().filter(|one| !keys.contains(&*one.key));
            removed = others.count();
            done = cells_of(sweep, all);
        }
        if removed > 0 {
            difference = Some(format!("{removed} of them are not in this sweep"));
        }
        if before.is_none() || (removed > 0 && !force) {
            content.make_room(&folder, ResultKind::Sweep, difference.as_deref(), force)?;
        }
        let mut share = sweep.share(manifest.shard);
        let has: HashSet<u64> = done.iter().map(|result| result.number).collect();
        let finished = before.is_some_and(|before| before.hash == manifest.hash)
            && share.all(|cell| has.contains(&cell.number));
        if !finished {
            for name in TABLES {
                folder.remove(name)?;
            }
            folder.write_sealed(MANIFEST, manifest)?;
            folder.write_sealed_lines(CELLS, &done)?;
        }
        Ok(BegunSweep {
            folder: SweepFolder { folder },
            done,
            removed,
            finished,
        })
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

/// Merges the finished shards of a sweep into a folder, which [`SweepFolder::begin`] takes. Fails if shards are missing,
/// unfinished or of different sweeps.
pub fn merge_sweeps(
    folders: &[Folder],
    out: impl FnOnce() -> Result<Folder, FolderError>,
    force: bool,
) -> Result<(Sweep, BegunSweep), SweepFolderError> {
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
    manifest.shard = Shard::WHOLE;
    let mut begun = SweepFolder::begin(out()?, &sweep, &manifest, force)?;
    begun.done = done;
    Ok((sweep, begun))
}
