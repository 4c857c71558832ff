//! The unfinished run in a folder of results, or a finished shard: what was asked for and how far it came.

use emab_report::Folder;
use emab_sim::{Shard, State};
use serde::{Deserialize, Serialize};

use super::sealed;
use crate::error::CommandError;

const FILE: &str = "checkpoint.json";
/// A finished part of a run, to be merged with the others.
pub const SHARD: &str = "shard.json";

/// What was asked for.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub learners: Vec<String>,
    pub episodes: u64,
    pub runs: u64,
    pub seed: u64,
    pub checkpoints: Vec<u64>,
    pub shard: Shard,
}

/// What was asked for, of which problem, and how far it came.
#[derive(Serialize, Deserialize)]
pub struct Checkpoint {
    pub version: String,
    /// The problem file, as JSON.
    pub problem: String,
    pub plan: Plan,
    pub state: State,
}

impl Checkpoint {
    /// Whether a folder holds an unfinished run.
    pub fn is_in(folder: &Folder) -> bool {
        folder.has(FILE)
    }

    pub fn save(&self, folder: &Folder) -> Result<(), CommandError> {
        Ok(folder.write(FILE, sealed::seal(self)?.as_bytes())?)
    }

    pub fn load(folder: &Folder) -> Result<Checkpoint, CommandError> {
        Checkpoint::read(folder, FILE)
    }

    pub fn remove(folder: &Folder) -> Result<(), CommandError> {
        Ok(folder.remove(FILE)?)
    }

    /// Whether a folder holds a finished shard.
    pub fn is_shard(folder: &Folder) -> bool {
        folder.has(SHARD)
    }

    /// Leaves a finished shard.
    pub fn save_shard(&self, folder: &Folder) -> Result<(), CommandError> {
        Ok(folder.write(SHARD, sealed::seal(self)?.as_bytes())?)
    }

    pub fn load_shard(folder: &Folder) -> Result<Checkpoint, CommandError> {
        Checkpoint::read(folder, SHARD)
    }

    fn read(folder: &Folder, name: &str) -> Result<Checkpoint, CommandError> {
        sealed::open(
            &folder.file(name).display().to_string(),
            &folder.read(name)?,
        )
    }
}
