//! The result folder of an arena: its finished cells, one per line of `arena.jsonl`.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use crate::VERSION;
use crate::experiment::result_folder::{Folder, FolderError, SWEEP_MANIFEST, quoted};
use crate::experiment::run_folder::contains_run;
use crate::results::ArenaCellResult;
use crate::shard::Shard;

const CELLS: &str = "arena.jsonl";

/// A finished cell, with everything it depends on besides its learner.
#[derive(Serialize, Deserialize)]
struct SavedCell {
    version: String,
    problem_hash: String,
    episodes: u64,
    /// The episode at which learners are compared; none for the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ranked_at: Option<u64>,
    runs: u64,
    /// The part of the runs; none for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shard: Option<Shard>,
    seed: u64,
    cell: ArenaCellResult,
}

impl SavedCell {
    fn new(cell: &Cell, result: ArenaCellResult) -> SavedCell {
        let ranked_at = cell.recorded.as_ref().and_then(|at| at.last().copied());
        SavedCell {
            version: VERSION.into(),
            problem_hash: cell.problem.hash().into(),
            episodes: cell.episodes,
            ranked_at: ranked_at.filter(|at| *at < cell.episodes),
            runs: cell.runs,
            shard: Some(cell.shard).filter(|shard| *shard != Shard::WHOLE),
            seed: cell.seed,
            cell: result,
        }
    }

    /// Whether two cells depend on the same, besides their learners.
    fn is_like(&self, other: &SavedCell) -> bool {
        fn basis(cell: &SavedCell) -> impl PartialEq {
            let texts = (&cell.version, &cell.problem_hash);
            let runs = (cell.runs, cell.shard, cell.seed);
            (texts, cell.episodes, cell.ranked_at, runs)
        }
        basis(self) == basis(other)
    }
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
        let sought = SavedCell::new(cell, ArenaCellResult::default());
        let same = |saved: &&SavedCell| {
            let result = &saved.cell;
            let set = |(name, value): &(&str, _)| result.parameters.get(*name) == Some(value);
            saved.is_like(&sought)
                && result.label == cell.learner.label()
                && result.parameters.len() == parameters.len()
                && parameters.iter().all(set)
                && result.finals.len() as u64 == cell.share()
        };
        self.saved.iter().find(same).map(|saved| saved.cell.clone())
    }

    /// Saves the result of a cell.
    pub fn append(&self, cell: &Cell, result: &ArenaCellResult) -> Result<(), FolderError> {
        let saved = SavedCell::new(cell, result.clone());
        self.folder.append_sealed(CELLS, &saved)
    }
}
