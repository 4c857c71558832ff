//! The head of a study: the end of its log, and its counters.

use serde::Serialize;

use crate::domain::GENESIS;

/// The head of a study. Stores keep it in one row, which writers lock.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Head {
    /// The key of the study in its store; 0 before it is created.
    #[serde(skip)]
    pub key: i64,
    pub name: String,
    /// SHA-256 of the specification, in hexadecimal.
    pub spec_hash: String,
    /// The sequence number of the last event.
    pub seq: u64,
    /// The hash of the last event, in hexadecimal.
    pub hash: String,
    /// Whether the study accepts no new episodes.
    pub closed: bool,
    /// The number of episodes, opened or imported.
    pub episodes: u64,
    /// The number of open episodes.
    pub open: u64,
    /// The number of learned episodes, which is the position of the next one.
    pub learned: u64,
    /// The number of episodes whose outcome is missing for good, in whole or in part.
    pub missing: u64,
    /// The sequence number of the last event that changed a learned episode; 0 if there is none.
    pub relearned: u64,
    /// The version of the rules that the study keeps for ever, as its first event says.
    pub rules: u32,
    /// Whether an event has a salt; every later one has one too.
    pub salted: bool,
    /// Whether its restore has not ended. It is read from the restores, not from the log.
    #[serde(skip)]
    pub restoring: bool,
}

impl Head {
    /// The head of a study before its first event.
    pub fn new(name: &str, spec_hash: &str, rules: u32) -> Head {
        Head {
            name: name.into(),
            spec_hash: spec_hash.into(),
            hash: GENESIS.into(),
            rules,
            ..Head::default()
        }
    }
}
