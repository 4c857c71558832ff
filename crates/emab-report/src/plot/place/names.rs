//! The names of actions in the cells of a map.

use std::collections::{BTreeMap, BTreeSet};

use kuva::render::render::TextAnchor;

use super::super::pen::Pen;
use super::super::words::{cut, width};
use super::{Grid, StateRegret, differs};

/// The sizes that the names in the cells may have.
const NAME_SIZES: [u32; 4] = [12, 11, 10, 9];
/// A name cut to fewer characters than this says nothing.
const SHORTEST: usize = 4;

/// The names of actions, cut to fit the cells.
pub(super) struct Names<'a> {
    short: BTreeMap<&'a str, String>,
    size: u32,
    below: bool,
}

impl<'a> Names<'a> {
    /// None where the cells are too small, or two names would look the same in them.
    pub(super) fn fit(grid: &Grid<'a>, (wide, high): (f64, f64)) -> Option<Self> {
        let actions: BTreeSet<&str> = grid
            .cells
            .iter()
            .filter_map(|(_, _, place)| Some([place.learned.as_deref()?, &place.benchmark]))
            .flatten()
            .collect();
        let room = wide - 6.0;
        let lines = |count: f64, size: u32| count * f64::from(size + 2) + 6.0 <= high;
        let least = NAME_SIZES[NAME_SIZES.len() - 1];
        let below = lines(2.0, least);
        if !lines(1.0, least) {
            return None;
        }
        let fits = |size: &u32| {
            lines(if below { 2.0 } else { 1.0 }, *size)
                && actions.iter().all(|name| width(name, *size) <= room)
        };
        let size = NAME_SIZES.into_iter().find(fits).unwrap_or(least);
        let short: BTreeMap<_, _> = actions
            .iter()
            .map(|name| (*name, cut(name, room, size)))
            .collect();
        let different: BTreeSet<&String> = short.values().collect();
        let telling = short
            .iter()
            .all(|(name, short)| short.chars().count() >= SHORTEST.min(name.chars().count()));
        (telling && different.len() == short.len()).then_some(Self { short, size, below })
    }

    /// Whether there is room for the benchmark's action below the learned one.
    pub(super) fn below(&self) -> bool {
        self.below
    }

    /// Names the learned action of a place and, where it is another, the benchmark's.
    pub(super) fn write(&self, pen: &mut Pen, place: &StateRegret, [x, y, wide, high]: [f64; 4]) {
        let short = |name: &str| self.short.get(name).cloned().unwrap_or_default();
        let size = f64::from(self.size);
        let (x, middle) = (x + wide / 2.0, y + high / 2.0 + 0.36 * size);
        let both = self.below && differs(place);
        let shift = if both { 0.6 * size } else { 0.0 };
        let mut put = |y, name: &str| {
            pen.text((x, y), self.size, TextAnchor::Middle, &short(name));
        };
        if let Some(learned) = &place.learned {
            put(middle - shift, learned);
        }
        if both {
            put(middle + shift, &place.benchmark);
        }
    }
}
