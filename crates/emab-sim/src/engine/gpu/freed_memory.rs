//! Memory of a card that is used again.

use std::collections::{BTreeMap, HashMap};

use super::job::Address;

/// Memory that was freed and is kept: the driver's own call waits for all launches, also those of other threads.
#[derive(Debug, Default)]
pub(super) struct FreedMemory {
    /// By size.
    pub(super) kept: BTreeMap<usize, Vec<Address>>,
    /// The size of what is in use.
    pub(super) used: HashMap<Address, usize>,
}

impl FreedMemory {
    /// A size that several requests share, at most an eighth larger.
    pub(super) fn size(bytes: usize) -> usize {
        let step = (bytes.next_power_of_two() / 16).max(256);
        bytes.next_multiple_of(step)
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.kept.iter().map(|(size, all)| size * all.len()).sum()
    }
}
