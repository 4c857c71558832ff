//! The values and the names beside and below the cells.

use kuva::render::render::TextAnchor;

use super::super::pen::Pen;
use super::super::words::{cut, distinct, width, wrap};
use super::HeatAxis;

pub(super) const NAME: u32 = 13;
const VALUES: u32 = 11;
/// The least distance from one value to the next, upwards.
const LINE: f64 = 13.0;
/// The most room that a value gets.
const ROOM: f64 = 150.0;
/// Between the cells and the values.
const GAP: f64 = 7.0;
/// From the values to the name of the axis, the name included.
const NAME_ROOM: f64 = 24.0;
/// Names of axes have at least so much room, however few the cells.
pub(super) const LEAST: f64 = 150.0;

/// The values of an axis as they are written.
pub(super) struct Labels {
    texts: Vec<String>,
    /// The value of every so many cells is written.
    every: usize,
    upward: bool,
}

impl Labels {
    /// For rows of this height.
    pub(super) fn beside(axis: &HeatAxis, high: f64) -> Self {
        Self {
            texts: texts(axis),
            every: step(high, LINE, axis.values.len()),
            upward: false,
        }
    }

    /// For columns of this width.
    pub(super) fn below(axis: &HeatAxis, wide: f64) -> Self {
        let texts = texts(axis);
        let widest = widest(&texts);
        // The reader can tell the numbers left out, but not the names.
        let numbers = axis.values.iter().all(|value| is_number(value));
        let upward = !numbers && widest + 6.0 > wide && wide >= LINE;
        let needed = if upward { LINE } else { widest + 6.0 };
        let every = step(wide, needed, texts.len());
        Self {
            texts,
            every,
            upward,
        }
    }

    /// How much room beside the cells the values and the name take.
    pub(super) fn width(&self) -> f64 {
        (widest(&self.texts) + GAP + NAME_ROOM).ceil()
    }

    /// How much room below the cells the values and the name take.
    pub(super) fn height(&self) -> f64 {
        let values = if self.upward {
            widest(&self.texts).ceil()
        } else {
            LINE
        };
        GAP + values + NAME_ROOM
    }

    fn written(&self) -> impl Iterator<Item = (f64, &String)> {
        let numbered = self.texts.iter().enumerate().step_by(self.every.max(1));
        numbered.map(|(i, text)| (i as f64 + 0.5, text))
    }

    /// Writes the axis to the left of cells of this height.
    pub(super) fn draw_beside(
        &self,
        pen: &mut Pen,
        name: &str,
        (left, bottom): (f64, f64),
        high: f64,
    ) {
        for (place, text) in self.written() {
            let y = bottom - high * place;
            pen.line((left - 4.0, y), (left - 1.0, y));
            pen.text((left - GAP, y + 4.0), VALUES, TextAnchor::End, text);
        }
        let all = high * self.texts.len() as f64;
        let at = (left - self.width() + 12.0, bottom - all / 2.0);
        let name = cut(name, all.max(LEAST), NAME);
        pen.upward_text(at, NAME, TextAnchor::Middle, &name);
    }

    /// Writes the axis below cells of this width.
    pub(super) fn draw_below(&self, pen: &mut Pen, name: &str, (left, top): (f64, f64), wide: f64) {
        for (place, text) in self.written() {
            let x = left + wide * place;
            pen.line((x, top + 1.0), (x, top + 4.0));
            if self.upward {
                pen.upward_text((x + 4.0, top + GAP), VALUES, TextAnchor::End, text);
            } else {
                pen.text((x, top + 16.0), VALUES, TextAnchor::Middle, text);
            }
        }
        let all = wide * self.texts.len() as f64;
        let at = (left + all / 2.0, top + self.height() - 7.0);
        for line in wrap(name, all.max(LEAST), NAME, 1) {
            pen.text(at, NAME, TextAnchor::Middle, &line);
        }
    }
}

fn texts(axis: &HeatAxis) -> Vec<String> {
    let named = axis.values.iter().map(String::as_str).enumerate();
    let named: Vec<(usize, &str)> = named.collect();
    distinct(&named, |name| cut(name, ROOM, VALUES))
}

fn widest(texts: &[String]) -> f64 {
    let widths = texts.iter().map(|text| width(text, VALUES));
    widths.fold(0.0, f64::max)
}

/// Of every how many cells of this size one has room for its value.
fn step(cell: f64, needed: f64, count: usize) -> usize {
    [1, 2, 5, 10, 20, 50, 100]
        .into_iter()
        .find(|every| *every as f64 * cell >= needed)
        .unwrap_or(count)
}

fn is_number(text: &str) -> bool {
    text.replace([',', '_'], "").trim().parse::<f64>().is_ok()
}
