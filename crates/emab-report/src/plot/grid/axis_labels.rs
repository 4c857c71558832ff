//! Values and names of the axes, beside and below the cells.

use kuva::render::render::TextAnchor;

use super::canvas::Canvas;
use super::text::{distinct, shorten, width, wrap};

pub(crate) const NAME: u32 = 13;
const VALUES: u32 = 11;
/// Least vertical distance of values.
const LINE: f64 = 13.0;
/// Most width of a value.
const ROOM: f64 = 150.0;
/// Space between cells and values.
const GAP: f64 = 7.0;
/// Space for the name of the axis, and for each further line of it.
const NAME_ROOM: f64 = 24.0;
const NAME_LINE: f64 = 16.0;
/// Least room for the name of an axis.
pub(crate) const MIN_NAME_ROOM: f64 = 150.0;

/// Labels of one axis.
pub(crate) struct AxisLabels {
    texts: Vec<String>,
    /// Every n-th value is written, beginning with the first or with this one.
    every: usize,
    first: usize,
    upward: bool,
    /// The name, in lines.
    name: Vec<String>,
}

impl AxisLabels {
    /// Labels of cells that are this long along the axis.
    fn level(name: &str, texts: Vec<String>, every: usize, cell: f64) -> Self {
        let all = cell * texts.len() as f64;
        Self {
            name: wrap(name, all.max(MIN_NAME_ROOM), NAME, usize::MAX),
            texts,
            every,
            first: 0,
            upward: false,
        }
    }

    /// For rows of this height.
    pub(crate) fn beside(name: &str, values: &[String], high: f64) -> Self {
        let every = interval(high, LINE, values.len());
        Self::level(name, texts(values), every, high)
    }

    /// For columns of this width that are numbered from 1: 5, 10, 15, …
    pub(crate) fn counting(name: &str, values: &[usize], wide: f64) -> Self {
        let texts: Vec<String> = values.iter().map(usize::to_string).collect();
        let every = interval(wide, widest(&texts) + 6.0, texts.len());
        Self {
            first: every - 1,
            ..Self::level(name, texts, every, wide)
        }
    }

    /// For columns of this width.
    pub(crate) fn below(name: &str, values: &[String], wide: f64) -> Self {
        let texts = texts(values);
        let widest = widest(&texts);
        // Omitted numbers can be inferred, omitted names cannot.
        let numbers = values.iter().all(|value| is_number(value));
        let upward = !numbers && widest + 6.0 > wide && wide >= LINE;
        let needed = if upward { LINE } else { widest + 6.0 };
        let every = interval(wide, needed, texts.len());
        Self {
            upward,
            ..Self::level(name, texts, every, wide)
        }
    }

    /// Width of values and name beside the cells.
    pub(crate) fn width(&self) -> f64 {
        (widest(&self.texts) + GAP + NAME_ROOM + self.further_lines()).ceil()
    }

    /// Height of values and name below the cells.
    pub(crate) fn height(&self) -> f64 {
        self.name_below() + 7.0 + self.further_lines()
    }

    /// Distance from the cells to the first line of the name below them.
    fn name_below(&self) -> f64 {
        let values = if self.upward {
            widest(&self.texts).ceil()
        } else {
            LINE
        };
        GAP + values + NAME_ROOM - 7.0
    }

    fn further_lines(&self) -> f64 {
        NAME_LINE * self.name.len().saturating_sub(1) as f64
    }

    fn written(&self) -> impl Iterator<Item = (f64, &String)> {
        let numbered = self.texts.iter().enumerate();
        let shown = numbered.skip(self.first).step_by(self.every.max(1));
        shown.map(|(i, text)| (i as f64 + 0.5, text))
    }

    /// Writes the axis to the left of cells of this height.
    pub(crate) fn draw_beside(&self, canvas: &mut Canvas, (left, bottom): (f64, f64), high: f64) {
        for (place, text) in self.written() {
            let y = bottom - high * place;
            canvas.line((left - 4.0, y), (left - 1.0, y));
            canvas.text((left - GAP, y + 4.0), VALUES, TextAnchor::End, text);
        }
        let all = high * self.texts.len() as f64;
        let mut x = left - self.width() + 12.0;
        for line in &self.name {
            canvas.upward_text((x, bottom - all / 2.0), NAME, TextAnchor::Middle, line);
            x += NAME_LINE;
        }
    }

    /// Writes the axis below cells of this width.
    pub(crate) fn draw_below(&self, canvas: &mut Canvas, (left, top): (f64, f64), wide: f64) {
        for (place, text) in self.written() {
            let x = left + wide * place;
            canvas.line((x, top + 1.0), (x, top + 4.0));
            if self.upward {
                canvas.upward_text((x + 4.0, top + GAP), VALUES, TextAnchor::End, text);
            } else {
                canvas.text((x, top + 16.0), VALUES, TextAnchor::Middle, text);
            }
        }
        let all = wide * self.texts.len() as f64;
        let mut y = top + self.name_below();
        for line in &self.name {
            canvas.text((left + all / 2.0, y), NAME, TextAnchor::Middle, line);
            y += NAME_LINE;
        }
    }
}

fn texts(values: &[String]) -> Vec<String> {
    let named = values.iter().map(String::as_str).enumerate();
    let named: Vec<(usize, &str)> = named.collect();
    distinct(&named, |name| shorten(name, ROOM, VALUES))
}

fn widest(texts: &[String]) -> f64 {
    let widths = texts.iter().map(|text| width(text, VALUES));
    widths.fold(0.0, f64::max)
}

/// The least n such that every n-th cell of this size has room for its value.
fn interval(cell: f64, needed: f64, count: usize) -> usize {
    [1, 2, 5, 10, 20, 50, 100]
        .into_iter()
        .find(|every| *every as f64 * cell >= needed)
        .unwrap_or(count)
}

fn is_number(text: &str) -> bool {
    text.replace([',', '_'], "").trim().parse::<f64>().is_ok()
}
