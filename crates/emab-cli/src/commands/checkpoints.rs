//! The file of checkpoints that `emab audit --checkpoint` reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use emab_server::audit::Statement;
use emab_server::store::Finding;
use emab_sim::quoted;
use serde_json::{Value, json};

use crate::error::CommandError;

/// The longest line.
const MAX_LINE: u64 = 64 << 10;
/// The largest number of findings.
const MAX_FINDINGS: usize = 100;

/// The verified statements of a file, each with its place.
#[derive(Default)]
pub struct Checkpoints {
    pub by_study: BTreeMap<String, Vec<(Statement, String)>>,
    pub findings: Vec<Finding>,
    lines: u64,
    keys: BTreeSet<String>,
    pinned: bool,
}

impl Checkpoints {
    /// Reads a file; `keys` are the public keys that may have signed it, any if empty.
    pub fn read(path: &Path, keys: &[String]) -> Result<Checkpoints, CommandError> {
        let unreadable =
            |error| CommandError::Input(format!("cannot read {}: {error}", quoted(path)));
        let mut reader = BufReader::new(File::open(path).map_err(unreadable)?);
        let mut found = Checkpoints {
            pinned: !keys.is_empty(),
            ..Checkpoints::default()
        };
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
            if read.map_err(unreadable)? == 0 {
                break;
            }
            found.lines = number;
            let place = format!("line {number} of {}", quoted(path));
            let text = String::from_utf8_lossy(&line);
            match Statement::verify(text.trim_end_matches('\n')) {
                Err(what) => found.add(place, what),
                Ok(statement) if found.pinned && !keys.contains(&statement.key) => {
                    let what = format!("it is signed with another key, {}", statement.key);
                    found.add(place, what);
                }
                Ok(statement) => {
                    found.keys.insert(statement.key.clone());
                    let study = found.by_study.entry(statement.study.clone());
                    study.or_default().push((statement, place));
                }
            }
        }
        if found.lines == 0 {
            found.add(quoted(path), "it contains no checkpoint");
        }
        Ok(found)
    }

    fn add(&mut self, place: impl Into<String>, what: impl Into<String>) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding::new(place, what));
        }
    }

    /// Takes the statements about a study.
    pub fn of(&mut self, study: &str) -> Vec<(Statement, String)> {
        self.by_study.remove(study).unwrap_or_default()
    }

    /// Takes all statements.
    pub fn all(&mut self) -> Vec<(Statement, String)> {
        let all = std::mem::take(&mut self.by_study);
        all.into_values().flatten().collect()
    }

    /// Reports the studies that were not looked for: the store does not have them.
    pub fn report_missing(&mut self) {
        for (study, mut statements) in std::mem::take(&mut self.by_study) {
            if let Some((statement, place)) = statements.pop() {
                let what = format!(
                    "the store has no study `{study}`, which had {} events when it was signed",
                    statement.seq
                );
                self.add(place, what);
            }
        }
    }

    pub fn json(&self) -> Value {
        json!({ "lines": self.lines, "keys": self.keys, "findings": self.findings })
    }

    /// The keys that signed, for people.
    pub fn text(&self) -> String {
        let mut text = format!("checkpoints in the file: {}\n", self.lines);
        for key in &self.keys {
            let known = match self.pinned {
                true => "expected",
                false => {
                    "compare it with the key that the service logs, or give it with --checkpoint-key-public"
                }
            };
            text += &format!("  key         {key} ({known})\n");
        }
        text
    }
}
