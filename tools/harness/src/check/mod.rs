//! The checks of the service's promises, and what they found.

pub mod audit;
pub mod log;

use std::collections::BTreeMap;
use std::fmt;

/// Findings that are told in full, of each kind.
const TOLD: usize = 5;

/// What a promise is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Check {
    /// An event that was acknowledged is in the log.
    Acknowledged,
    /// What was asked for once, or again, is in the log once.
    Once,
    /// What is in the log was asked for.
    Asked,
    /// What is asked for again is answered with the very same bytes.
    SameBytes,
    /// Sequence numbers have no gaps, and the chain of hashes holds.
    Chain,
    /// The log leads to what is stored beside it, bit for bit.
    Replay,
    /// A request that can be carried out is, and one that cannot be now is refused with a time to try again.
    Answer,
    /// The service comes up, and ends when it is told.
    Service,
    /// Reading goes on where writing cannot.
    Reading,
}

impl Check {
    /// What must hold.
    pub fn words(self) -> &'static str {
        match self {
            Check::Acknowledged => "acknowledged events are in the log",
            Check::Once => "each of them once",
            Check::Asked => "no event that nobody asked for",
            Check::SameBytes => "the same request, the same bytes",
            Check::Chain => "no gaps, the chain holds",
            Check::Replay => "the log replays to what is stored",
            Check::Answer => "every answer as expected",
            Check::Service => "the service starts and stops",
            Check::Reading => "reading goes on",
        }
    }
}

/// How often something was checked, and what was found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    checked: BTreeMap<Check, u64>,
    found: BTreeMap<Check, (u64, Vec<String>)>,
}

impl Findings {
    /// So many were checked.
    pub fn checked(&mut self, check: Check, count: u64) {
        *self.checked.entry(check).or_default() += count;
    }

    /// A promise was broken.
    pub fn broken(&mut self, check: Check, what: impl Into<String>) {
        let (count, told) = self.found.entry(check).or_default();
        *count += 1;
        if told.len() < TOLD {
            told.push(what.into());
        }
    }

    /// Checks one thing.
    pub fn check(&mut self, check: Check, holds: bool, what: impl FnOnce() -> String) {
        self.checked(check, 1);
        if !holds {
            self.broken(check, what());
        }
    }

    /// A service was told to stop.
    pub fn stopped(&mut self, stopped: Result<(), String>) {
        self.checked(Check::Service, 1);
        if let Err(what) = stopped {
            self.broken(Check::Service, what);
        }
    }

    /// Takes in what others found.
    pub fn extend(&mut self, other: &mut Findings) {
        for (check, count) in std::mem::take(&mut other.checked) {
            self.checked(check, count);
        }
        for (check, (count, told)) in std::mem::take(&mut other.found) {
            let (all, here) = self.found.entry(check).or_default();
            *all += count;
            here.extend(told);
            here.truncate(TOLD);
        }
    }

    /// How often a promise was broken.
    pub fn count(&self, check: Check) -> u64 {
        self.found.get(&check).map_or(0, |(count, _)| *count)
    }

    /// How many were broken in all.
    pub fn total(&self) -> u64 {
        self.found.values().map(|(count, _)| *count).sum()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut checks: Vec<Check> = self.checked.keys().copied().collect();
        checks.extend(self.found.keys());
        checks.sort_unstable();
        checks.dedup();
        for check in checks {
            let times = self.checked.get(&check).copied().unwrap_or(0);
            let wrong = self.count(check);
            let verdict = match wrong {
                0 => "ok".to_owned(),
                _ => format!("BROKEN {wrong} times"),
            };
            writeln!(f, "  {:<40} {times:>9} checked  {verdict}", check.words())?;
            for what in self.found.get(&check).iter().flat_map(|(_, told)| told) {
                writeln!(f, "    {what}")?;
            }
        }
        Ok(())
    }
}
