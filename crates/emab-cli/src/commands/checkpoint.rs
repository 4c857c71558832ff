//! The unfinished run in a folder of results: what was asked for and how far it came, under a checksum.

use emab_report::Folder;
use emab_sim::State;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::terminal;

const FILE: &str = "checkpoint.json";

/// What was asked for.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    pub learners: Vec<String>,
    pub episodes: u64,
    pub runs: u64,
    pub seed: u64,
    pub checkpoints: Vec<u64>,
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

/// A checkpoint as it lies on the disk: a state that was changed by hand would give results that no seed gives.
#[derive(Serialize, Deserialize)]
struct Sealed {
    sha256: String,
    body: Box<RawValue>,
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Checkpoint {
    /// Whether a folder holds an unfinished run.
    pub fn is_in(folder: &Folder) -> bool {
        folder.has(FILE)
    }

    pub fn save(&self, folder: &Folder) -> Result<(), Failure> {
        let failed = |error| Failure::Work(format!("cannot write a checkpoint: {error}"));
        let body = serde_json::value::to_raw_value(self).map_err(failed)?;
        let sealed = Sealed {
            sha256: hash(body.get()),
            body,
        };
        Ok(folder.write(FILE, terminal::to_json(&sealed)?.as_bytes())?)
    }

    pub fn load(folder: &Folder) -> Result<Checkpoint, Failure> {
        let damaged = |why: &dyn std::fmt::Display| {
            Failure::Work(format!("{} is damaged: {why}", folder.file(FILE).display()))
        };
        let sealed: Sealed =
            serde_json::from_str(&folder.read(FILE)?).map_err(|error| damaged(&error))?;
        if hash(sealed.body.get()) != sealed.sha256 {
            return Err(damaged(&"its checksum is not that of its content"));
        }
        serde_json::from_str(sealed.body.get()).map_err(|error| damaged(&error))
    }

    pub fn remove(folder: &Folder) -> Result<(), Failure> {
        Ok(folder.remove(FILE)?)
    }
}
