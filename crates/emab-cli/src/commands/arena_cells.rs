//! The finished cells of an arena in a folder of results, one a line.

use emab_report::Folder;
use emab_sim::compare::Matchup;
use emab_sim::results::ArenaCell;
use serde::{Deserialize, Serialize};

use super::run::{holds_a_run, quoted, version};
use super::{sealed, sweep};
use crate::error::CommandError;

/// The file.
pub const FILE: &str = "arena.jsonl";

/// A cell, and all that it depends on beside its learner.
#[derive(Serialize, Deserialize)]
struct Saved {
    version: String,
    problem_hash: String,
    episodes: u64,
    runs: u64,
    seed: u64,
    cell: ArenaCell,
}

/// What a folder keeps; without a folder, nothing.
pub struct Cells<'a> {
    folder: Option<&'a Folder>,
    saved: Vec<Saved>,
}

impl<'a> Cells<'a> {
    /// Takes the folder, and what it has already.
    pub fn open(folder: Option<&'a Folder>) -> Result<Cells<'a>, CommandError> {
        let mut saved = Vec::new();
        if let Some(folder) = folder {
            if holds_a_run(folder) || folder.has(sweep::MANIFEST) {
                return Err(CommandError::input(format!(
                    "{} holds what `emab run` or `emab sweep` left; choose another folder",
                    quoted(folder.path())
                )));
            }
            let text = match folder.has(FILE) {
                true => folder.read(FILE)?,
                false => String::new(),
            };
            let whole: String = text
                .split_inclusive('\n')
                // A line without its end was being written when the machine stopped: that cell is done anew.
                .filter(|line| line.ends_with('\n'))
                .collect();
            for (i, line) in whole.lines().enumerate() {
                let place = format!("line {} of {}", i + 1, folder.file(FILE).display());
                saved.push(sealed::open(&place, line)?);
            }
            if whole != text {
                folder.write(FILE, whole.as_bytes())?;
            }
        }
        Ok(Cells { folder, saved })
    }

    /// Whether finished cells outlive this call.
    pub fn are_kept(&self) -> bool {
        self.folder.is_some()
    }

    /// A cell that was finished before.
    pub fn find(&self, hash: &str, contest: &Matchup) -> Option<ArenaCell> {
        let parameters = contest.learner.parameters();
        let same = |saved: &&Saved| {
            let cell = &saved.cell;
            let set = |(name, value): &(&str, _)| cell.parameters.get(*name) == Some(value);
            saved.version == version()
                && saved.problem_hash == hash
                && (saved.episodes, saved.runs, saved.seed)
                    == (contest.episodes, contest.runs, contest.seed)
                && cell.label == contest.learner.label()
                && cell.parameters.len() == parameters.len()
                && parameters.iter().all(set)
                && cell.finals.len() as u64 == contest.runs
        };
        self.saved.iter().find(same).map(|saved| saved.cell.clone())
    }

    /// Keeps a cell that is finished now.
    pub fn keep(
        &self,
        hash: &str,
        contest: &Matchup,
        cell: &ArenaCell,
    ) -> Result<(), CommandError> {
        let Some(folder) = self.folder else {
            return Ok(());
        };
        let saved = Saved {
            version: version(),
            problem_hash: hash.into(),
            episodes: contest.episodes,
            runs: contest.runs,
            seed: contest.seed,
            cell: cell.clone(),
        };
        Ok(folder.append(FILE, sealed::seal(&saved)?.as_bytes())?)
    }
}
