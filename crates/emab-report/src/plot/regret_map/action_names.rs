//! Names of actions in the cells.

use std::collections::{BTreeMap, BTreeSet};

use kuva::render::render::TextAnchor;

use super::super::grid::Canvas;
use super::super::grid::text::{shorten, width};
use super::{RegretGrid, StateRegret, differs};

/// Font sizes, preferred ones first.
const NAME_SIZES: [u32; 4] = [12, 11, 10, 9];
/// Fewest characters of a shortened name.
const MIN_CHARACTERS: usize = 4;

/// Names of actions, shortened to fit the cells.
pub(super) struct ActionNames<'a> {
    short: BTreeMap<&'a str, String>,
    size: u32,
    /// Whether the benchmark's action fits below the learned one.
    pub(super) two_lines: bool,
}

impl<'a> ActionNames<'a> {
    /// None if the cells are too small, or two shortened names would be equal.
    pub(super) fn fit(grid: &RegretGrid<'a>, (wide, high): (f64, f64)) -> Option<Self> {
        let actions: BTreeSet<&str> = grid
            .cells
            .iter()
            .filter_map(|(_, _, pair)| Some([pair.learned.as_deref()?, &pair.benchmark]))
            .flatten()
            .collect();
        let room = wide - 6.0;
        let lines = |count: f64, size: u32| count * f64::from(size + 2) + 6.0 <= high;
        let least = NAME_SIZES[NAME_SIZES.len() - 1];
        let two_lines = lines(2.0, least);
        if !lines(1.0, least) {
            return None;
        }
        let fits = |size: &u32| {
            lines(if two_lines { 2.0 } else { 1.0 }, *size)
                && actions.iter().all(|name| width(name, *size) <= room)
        };
        let size = NAME_SIZES.into_iter().find(fits).unwrap_or(least);
        let short: BTreeMap<_, _> = actions
            .iter()
            .map(|name| (*name, shorten(name, room, size)))
            .collect();
        let different: BTreeSet<&String> = short.values().collect();
        let readable = short
            .iter()
            .all(|(name, short)| short.chars().count() >= MIN_CHARACTERS.min(name.chars().count()));
        (readable && different.len() == short.len()).then_some(Self {
            short,
            size,
            two_lines,
        })
    }

    /// Writes the learned action of a pair and, if it differs, the benchmark's.
    pub(super) fn write(
        &self,
        canvas: &mut Canvas,
        pair: &StateRegret,
        [x, y, wide, high]: [f64; 4],
    ) {
        let short = |name: &str| self.short.get(name).cloned().unwrap_or_default();
        let size = f64::from(self.size);
        let (x, middle) = (x + wide / 2.0, y + high / 2.0 + 0.36 * size);
        let both = self.two_lines && differs(pair);
        let shift = if both { 0.6 * size } else { 0.0 };
        let mut put = |y, name: &str| {
            canvas.text((x, y), self.size, TextAnchor::Middle, &short(name));
        };
        if let Some(learned) = &pair.learned {
            put(middle - shift, learned);
        }
        if both {
            put(middle + shift, &pair.benchmark);
        }
    }
}
