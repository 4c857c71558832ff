//! The guarantees of the service, and how often each was checked and violated.

pub(crate) mod log;

use std::collections::BTreeMap;
use std::fmt;

/// Violations of each guarantee that are reported in full.
const MAX_REPORTED: usize = 5;

/// A guarantee of the service; `description` states each.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    Acknowledged,
    Once,
    Requested,
    SameBytes,
    Chain,
    Replay,
    Response,
    Service,
    Reads,
    Model,
    Audit,
    Blinding,
    Isolation,
    Forgery,
    Closed,
}

impl Check {
    fn description(self) -> &'static str {
        match self {
            Check::Acknowledged => "acknowledged events are in the log",
            Check::Once => "each event is in the log once",
            Check::Requested => "every event was requested",
            Check::SameBytes => "the same request gets the same bytes",
            Check::Chain => "no gaps, the hash chain holds",
            Check::Replay => "the log replays to what is stored",
            Check::Response => "every response as expected",
            Check::Service => "the service starts and stops",
            Check::Reads => "reads succeed",
            Check::Model => "responses and values as the model says",
            Check::Audit => "the audit reports effective changes",
            Check::Blinding => "a blinded token sees the same bytes",
            Check::Isolation => "others are served meanwhile",
            Check::Forgery => "forged records are rejected",
            Check::Closed => "access fails closed",
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Tally {
    checked: u64,
    violated: u64,
    reported: Vec<String>,
}

/// Counts of checks and violations.
#[derive(Clone, Debug, Default)]
pub struct Findings(BTreeMap<Check, Tally>);

impl Findings {
    pub(crate) fn checked(&mut self, check: Check, count: u64) {
        self.0.entry(check).or_default().checked += count;
    }

    pub(crate) fn violated(&mut self, check: Check, finding: impl Into<String>) {
        let tally = self.0.entry(check).or_default();
        tally.violated += 1;
        if tally.reported.len() < MAX_REPORTED {
            tally.reported.push(finding.into());
        }
    }

    pub(crate) fn check(&mut self, check: Check, holds: bool, finding: impl FnOnce() -> String) {
        self.checked(check, 1);
        if !holds {
            self.violated(check, finding());
        }
    }

    pub(crate) fn check_result(&mut self, check: Check, result: crate::Result<()>) {
        self.checked(check, 1);
        if let Err(finding) = result {
            self.violated(check, finding.to_string());
        }
    }

    /// Moves the findings of another instance into this one.
    pub(crate) fn append(&mut self, other: &mut Findings) {
        for (check, other) in std::mem::take(&mut other.0) {
            let tally = self.0.entry(check).or_default();
            tally.checked += other.checked;
            tally.violated += other.violated;
            tally.reported.extend(other.reported);
            tally.reported.truncate(MAX_REPORTED);
        }
    }

    /// How often a guarantee was violated.
    pub fn count(&self, check: Check) -> u64 {
        self.0.get(&check).map_or(0, |tally| tally.violated)
    }

    /// How often any guarantee was violated.
    pub fn total(&self) -> u64 {
        self.0.values().map(|tally| tally.violated).sum()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (check, tally) in &self.0 {
            let verdict = match tally.violated {
                0 => "ok".to_owned(),
                count => format!("VIOLATED {count} times"),
            };
            let (guarantee, checked) = (check.description(), tally.checked);
            writeln!(f, "  {guarantee:<40} {checked:>9} checked  {verdict}")?;
            for finding in &tally.reported {
                writeln!(f, "    {finding}")?;
            }
        }
        Ok(())
    }
}
