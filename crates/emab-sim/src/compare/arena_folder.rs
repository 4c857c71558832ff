//! The result folder of an arena: its finished cells, one per line of `arena.jsonl`.

use serde::{Deserialize, Serialize};

use super::cell::Cell;
use crate::VERSION;
use crate::experiment::folder_content::{ARENA, ARENA_CELLS as CELLS, FolderContent, ResultKind};
use crate::experiment::result_folder::{Folder, FolderError};
use crate::results::{ArenaCellResult, ArenaResult};
use crate::shard::Shard;

/// The tables and plots of a finished arena.
const TABLES: [&str; 6] = [
    "pairs.csv",
    ARENA,
    "arena.csv",
    "arena.svg",
    "arena.png",
    "arena.pdf",
];

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
        SavedCell {
            version: VERSION.into(),
            problem_hash: cell.problem.hash().into(),
            episodes: cell.episodes,
            ranked_at: cell.ranked_at().filter(|at| *at < cell.episodes),
            runs: cell.runs,
            shard: Some(cell.shard).filter(|shard| *shard != Shard::WHOLE),
            seed: cell.seed,
            cell: result,
        }
    }

    /// Whether it is the result of a cell, or, with `rounds`, of some of its runs.
    fn is_of(&self, cell: &Cell, rounds: bool) -> bool {
        let parameters = cell.learner.parameters();
        let result = &self.cell;
        let set = |(name, value): &(&str, _)| result.parameters.get(*name) == Some(value);
        let ranked_at = cell.ranked_at().filter(|at| *at < cell.episodes);
        self.version == VERSION
            && self.problem_hash == cell.problem.hash()
            && (self.episodes, self.seed) == (cell.episodes, cell.seed)
            && (rounds || (self.runs == cell.runs && self.shard.is_none()))
            && self.ranked_at == ranked_at
            && result.label == cell.learner.label()
            && result.parameters.len() == parameters.len()
            && parameters.iter().all(set)
    }
}

/// How many finished cells a call does not have, and what it has instead.
fn not_in_call(others: usize, cell: Option<&Cell>) -> String {
    let are = if others == 1 { "is" } else { "are" };
    let call = cell.map(|cell| {
        let at = cell.ranked_at().filter(|at| *at < cell.episodes);
        let at = at.map_or(String::new(), |at| format!(", compared after {at}"));
        let (runs, episodes, seed) = (cell.runs, cell.episodes, cell.seed);
        format!(", which has {runs} runs of {episodes} episodes{at}, seed {seed}")
    });
    format!(
        "{others} of them {are} not in this call{}",
        call.unwrap_or_default()
    )
}

/// The margin of the finished arena in a folder; none if there is none, or if its pairs were not compared.
fn stored_margin(folder: &Folder) -> Result<Option<f64>, FolderError> {
    if !folder.has(ARENA) {
        return Ok(None);
    }
    let result: ArenaResult = folder.read_json(ARENA)?;
    let mut pairs = result
        .problems
        .iter()
        .filter_map(|problem| problem.pairs.as_ref());
    Ok(pairs.next().map(|pairs| pairs.margin))
}

/// The result folder of an arena.
pub struct ArenaFolder {
    folder: Folder,
    saved: Vec<SavedCell>,
}

impl ArenaFolder {
    /// Takes a folder for an arena of these cells, played in one go, or in rounds until pairs are decided with this margin, and reads
    /// those that are finished. Fails if a finished cell is not one of them, if the margin is another one, if the folder contains
    /// something else, or if a cell is damaged. With `force` the others are removed.
    pub fn begin<'a>(
        folder: Folder,
        cells: impl Iterator<Item = &'a Cell> + Clone,
        margin: Option<f64>,
        force: bool,
    ) -> Result<ArenaFolder, FolderError> {
        let rounds = margin.is_some();
        let content = FolderContent::read(&folder)?;
        let same = content.only(ResultKind::Arena).is_some();
        let mut saved: Vec<SavedCell> = match same {
            true => folder.read_sealed_lines(CELLS)?,
            false => Vec::new(),
        };
        let count = saved.len();
        saved.retain(|one| cells.clone().any(|cell| one.is_of(cell, rounds)));
        let others = count - saved.len();
        let mut difference = (others > 0).then(|| not_in_call(others, cells.clone().next()));
        if others == 0
            && same
            && let Some(there) = stored_margin(&folder)?.filter(|it| Some(*it) != margin)
        {
            difference = margin
                .map(|margin| format!("its margin is {there}, and that of this call is {margin}"));
        }
        if !same || (difference.is_some() && !force) {
            content.make_room(&folder, ResultKind::Arena, difference.as_deref(), force)?;
        }
        // An interrupted line must not continue with the next cell.
        if same && (others > 0 || !folder.read(CELLS)?.ends_with('\n')) {
            folder.write_sealed_lines(CELLS, &saved)?;
        }
        let folder = ArenaFolder { folder, saved };
        // The stored problems stay until the arena is finished: they may be the arguments of this call.
        let begun = |cell| folder.saved.iter().any(|one| one.is_of(cell, rounds));
        if !cells.clone().all(begun) {
            for name in TABLES {
                folder.folder.remove(name)?;
            }
        }
        Ok(folder)
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// The result of a cell that was finished before.
    pub fn find(&self, cell: &Cell) -> Option<ArenaCellResult> {
        let sought = Some(cell.shard).filter(|shard| *shard != Shard::WHOLE);
        let same = |saved: &&SavedCell| {
            saved.is_of(cell, true)
                && (saved.runs, saved.shard) == (cell.runs, sought)
                && saved.cell.finals.len() as u64 == cell.share()
        };
        self.saved.iter().find(same).map(|saved| saved.cell.clone())
    }

    /// Saves the result of a cell.
    pub fn append(&self, cell: &Cell, result: &ArenaCellResult) -> Result<(), FolderError> {
        let saved = SavedCell::new(cell, result.clone());
        self.folder.append_sealed(CELLS, &saved)
    }
}
