//! A set of run numbers, stored as ranges.

use serde::{Deserialize, Serialize};

/// A set of run numbers.
///
/// ```
/// let mut done = emab_sim::RunSet::default();
/// done.insert(4..8);
/// done.insert(0..4);
/// assert!(done.contains(7) && !done.contains(8));
/// assert_eq!(done.len(), 8);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Ranges")]
pub struct RunSet {
    /// Sorted, disjoint, not touching.
    ranges: Vec<std::ops::Range<u64>>,
}

impl RunSet {
    /// Adds a range.
    pub fn insert(&mut self, new: std::ops::Range<u64>) {
        if new.is_empty() {
            return;
        }
        self.ranges.push(new);
        self.ranges.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<std::ops::Range<u64>> = Vec::with_capacity(self.ranges.len());
        for range in self.ranges.drain(..) {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        self.ranges = merged;
    }

    /// Adds every run of another set.
    pub fn merge(&mut self, other: &RunSet) {
        for range in &other.ranges {
            self.insert(range.clone());
        }
    }

    /// Whether the set contains a run.
    pub fn contains(&self, run: u64) -> bool {
        let after = self.ranges.partition_point(|range| range.start <= run);
        after > 0 && self.ranges[after - 1].contains(&run)
    }

    /// Whether every run of the set lies in a range.
    pub fn is_within(&self, range: &std::ops::Range<u64>) -> bool {
        let inside = |r: &std::ops::Range<u64>| range.start <= r.start && r.end <= range.end;
        self.ranges.iter().all(inside)
    }

    /// The number of runs.
    pub fn len(&self) -> u64 {
        self.ranges
            .iter()
            .map(|range| range.end - range.start)
            .sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The largest run.
    pub fn last(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.end - 1)
    }
}

/// Ranges as read from a file: in any order, possibly empty or overlapping.
#[derive(Deserialize)]
struct Ranges {
    ranges: Vec<std::ops::Range<u64>>,
}

impl From<Ranges> for RunSet {
    fn from(from: Ranges) -> RunSet {
        let mut set = RunSet::default();
        from.ranges.into_iter().for_each(|range| set.insert(range));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_and_overlapping_ranges_are_joined() {
        let mut set = RunSet::default();
        for range in [10..12, 0..3, 5..6, 3..5, 11..20] {
            set.insert(range);
        }
        assert_eq!(set.ranges, [0..6, 10..20]);
        assert_eq!((set.len(), set.last()), (16, Some(19)));
        assert!(set.contains(19) && !set.contains(7) && !set.contains(20));
    }
}
