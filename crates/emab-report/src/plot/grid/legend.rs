//! Legend below a map.

use kuva::render::render::TextAnchor;

use super::canvas::Canvas;
use super::text::{width, wrap};

pub(crate) const LEGEND_SIZE: u32 = 12;
pub(crate) const LEGEND_LINE: f64 = 19.0;

/// Draws the mark of a legend entry into a rectangle.
pub(crate) type Mark<'a> = &'a dyn Fn(&mut Canvas, [f64; 4]);

/// Writes the entries beside their marks, in as many lines as needed; returns where the next line begins.
pub(crate) fn draw_legend(
    canvas: &mut Canvas,
    entries: &[(Option<Mark<'_>>, &str)],
    (left, mut top): (f64, f64),
    right: f64,
) -> f64 {
    let mut x = left;
    for (mark, text) in entries {
        let swatch = if mark.is_none() { 0.0 } else { 22.0 };
        let lines = wrap(text, right - left - swatch, LEGEND_SIZE, usize::MAX);
        let widths = lines.iter().map(|line| width(line, LEGEND_SIZE));
        let wide = swatch + widths.fold(0.0, f64::max);
        if x > left && x + wide > right {
            (x, top) = (left, top + LEGEND_LINE);
        }
        if let Some(mark) = mark {
            mark(canvas, [x, top + 1.0, 16.0, 13.0]);
        }
        for (i, line) in lines.iter().enumerate() {
            top += if i > 0 { LEGEND_LINE } else { 0.0 };
            canvas.text(
                (x + swatch, top + 12.0),
                LEGEND_SIZE,
                TextAnchor::Start,
                line,
            );
        }
        // A text of several lines has them to itself.
        x += if lines.len() > 1 { right } else { wide + 20.0 };
    }
    if x > left { top + LEGEND_LINE } else { top }
}
