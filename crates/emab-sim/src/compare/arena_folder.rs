//! The result folder of an arena: its finished cells, one per line of `arena.jsonl`.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use crate::VERSION;
use crate::experiment::result_folder::{Folder, FolderError, SWEEP_MANIFEST, quoted};
use crate::experiment::run_folder::contains_run;
use crate::results::ArenaCellResult;

const CELLS: &str = "arena.jsonl";

/// A finished cell, with everything it depends on besides its learner.
#[derive(Serialize, Deserialize)]
struct SavedCell {
    version: String,
    problem_hash: String,
    episodes: u64,
    runs: u64,
    seed: u64,
    cell: ArenaCellResult,
}

/// The result folder of an arena.
pub struct ArenaFolder {
    folder: Folder,
    saved: Vec<SavedCell>,
}

impl ArenaFolder {
    /// Reads the finished cells of a folder. Fails if it contains a run or a sweep, or if a cell is damaged.
    pub fn open(folder: Folder) -> Result<ArenaFolder, FolderError> {
        if contains_run(&folder) || folder.has(SWEEP_MANIFEST) {
            return Err(FolderError::Conflict(format!(
                "{} contains results of `emab run` or `emab sweep`; choose another folder",
                quoted(folder.path())
            )));
        }
        let saved: Vec<SavedCell> = folder.read_sealed_lines(CELLS)?;
        // An interrupted line must not continue with the next cell.
        if folder.has(CELLS) && !folder.read(CELLS)?.ends_with('\n') {
            folder.write_sealed_lines(CELLS, &saved)?;
        }
        Ok(ArenaFolder { folder, saved })
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The result of a cell that was finished before.
    pub fn find(&self, cell: &Cell) -> Option<ArenaCellResult> {
        let parameters = cell.learner.parameters();
        let same = |saved: &&SavedCell| {
            let result = &saved.cell;
            let set = |(name, value): &(&str, _)| result.parameters.get(*name) == Some(value);
            saved.version == VERSION
                && saved.problem_hash == cell.problem.hash()
                && (saved.episodes, saved.runs, saved.seed) == (cell.episodes, cell.runs, cell.seed)
                && result.label == cell.learner.label()
                && result.parameters.len() == parameters.len()
                && parameters.iter().all(set)
                && result.finals.len() as u64 == cell.runs
        };
        self.saved.iter().find(same).map(|saved| saved.cell.clone())
    }

    /// Saves the result of a cell.
    pub fn append(&self, cell: &Cell, result: &ArenaCellResult) -> Result<(), FolderError> {
        let saved = SavedCell {
            version: VERSION.into(),
            problem_hash: cell.problem.hash().into(),
            episodes: cell.episodes,
            runs: cell.runs,
            seed: cell.seed,
            cell: result.clone(),
        };
        self.folder.append_sealed(CELLS, &saved)
    }
}
