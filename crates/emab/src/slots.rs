//! Numbers step-state pairs in the order of first visits, so that memory grows with visited pairs only.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Slot numbers of step-state pairs.
#[derive(Clone, Debug)]
pub(crate) struct Slots {
    states: usize,
    index: SlotIndex,
    keys: Vec<u64>,
}

#[derive(Clone, Debug)]
enum SlotIndex {
    /// One entry for every pair of the specification: a look-up is one load.
    Table(Vec<u32>),
    /// One entry for every visited pair.
    Map(SlotMap),
}

type SlotMap = HashMap<u64, u32, BuildHasherDefault<FoldHasher>>;

/// Up to this many pairs a table is cheaper than a map (4 MiB).
const TABLE: usize = 1 << 20;
const EMPTY: u32 = u32::MAX;

impl Slots {
    pub(crate) fn new(horizon: usize, states: usize) -> Slots {
        let all = horizon.saturating_mul(states);
        Slots {
            states,
            index: if all <= TABLE {
                SlotIndex::Table(vec![EMPTY; all])
            } else {
                SlotIndex::Map(HashMap::default())
            },
            keys: Vec::new(),
        }
    }

    /// The slot of a pair and whether it is new.
    #[inline]
    pub(crate) fn of(&mut self, t: usize, x: usize) -> (usize, bool) {
        let key = (t - 1) as u64 * self.states as u64 + x as u64;
        if let SlotIndex::Table(table) = &self.index
            && table[key as usize] != EMPTY
        {
            return (table[key as usize] as usize, false);
        }
        self.find_or_add(key)
    }

    /// The slot of a pair, if it has one.
    #[inline]
    pub(crate) fn find(&self, t: usize, x: usize) -> Option<usize> {
        let key = (t - 1) as u64 * self.states as u64 + x as u64;
        let slot = match &self.index {
            SlotIndex::Table(table) => *table.get(key as usize)?,
            SlotIndex::Map(map) => find_in_map(map, key)?,
        };
        (slot != EMPTY).then_some(slot as usize)
    }

    fn find_or_add(&mut self, key: u64) -> (usize, bool) {
        let index = match &mut self.index {
            SlotIndex::Table(table) => &mut table[key as usize],
            SlotIndex::Map(map) => map.entry(key).or_insert(EMPTY),
        };
        if *index != EMPTY {
            return (*index as usize, false);
        }
        *index = self.keys.len() as u32;
        self.keys.push(key);
        (self.keys.len() - 1, true)
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.index {
            SlotIndex::Table(table) => self
                .keys
                .iter()
                .for_each(|&key| table[key as usize] = EMPTY),
            SlotIndex::Map(map) => map.clear(),
        }
        self.keys.clear();
    }
}

/// Out of line, so that [`Slots::find`] is small enough to be inlined.
#[inline(never)]
fn find_in_map(map: &SlotMap, key: u64) -> Option<u32> {
    map.get(&key).copied()
}

/// A fast hash for small integer keys that are not adversarial.
#[derive(Clone, Default)]
pub(crate) struct FoldHasher(u64);

impl Hasher for FoldHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }
    #[inline]
    fn write_u64(&mut self, key: u64) {
        // Multiply by the golden ratio and fold: the map takes both its high and its low bits.
        let product = (self.0 ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_map_number_pairs_alike() {
        let mut table = Slots::new(5, 7);
        let mut map = Slots::new(5, 1 << 30);
        assert!(matches!(map.index, SlotIndex::Map(_)));
        for (t, x) in [(1, 0), (5, 6), (1, 0), (2, 3), (5, 6)] {
            assert_eq!(table.of(t, x), map.of(t, x));
        }
        table.clear();
        map.clear();
        assert_eq!(table.of(5, 6), (0, true));
        assert_eq!(map.of(5, 6), (0, true));
    }
}
