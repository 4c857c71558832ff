//! Legend below a map.

use kuva::render::render::TextAnchor;

use super::canvas::Canvas;
use super::text::width;

pub(crate) const LEGEND_SIZE: u32 = 12;
pub(crate) const LEGEND_LINE: f64 = 19.0;

/// Writes the entries beside their marks, in as many lines as needed; returns where the next line begins.
pub(crate) fn draw_legend<M: Copy>(
    canvas: &mut Canvas,
    entries: &[(Option<M>, &str)],
    (left, mut top): (f64, f64),
    right: f64,
    draw: impl Fn(&mut Canvas, M, [f64; 4]),
) -> f64 {
    let mut x = left;
    for (mark, text) in entries {
        let swatch = if mark.is_none() { 0.0 } else { 22.0 };
        let wide = swatch + width(text, LEGEND_SIZE);
        if x > left && x + wide > right {
            (x, top) = (left, top + LEGEND_LINE);
        }
        if let Some(mark) = mark {
            draw(canvas, *mark, [x, top + 1.0, 16.0, 13.0]);
        }
        canvas.text(
            (x + swatch, top + 12.0),
            LEGEND_SIZE,
            TextAnchor::Start,
            text,
        );
        x += wide + 20.0;
    }
    if x > left { top + LEGEND_LINE } else { top }
}
