//! What the marks of a map mean, in lines below it.

use kuva::render::render::TextAnchor;

use super::pen::Pen;
use super::words::width;

pub(super) const SIZE: u32 = 12;
pub(super) const LINE: f64 = 19.0;

/// Writes the entries beside their marks, if they have one, in as many lines as they need;
/// returns where the next line begins.
pub(super) fn flow<M: Copy>(
    pen: &mut Pen,
    entries: &[(Option<M>, &str)],
    (left, mut top): (f64, f64),
    right: f64,
    draw: impl Fn(&mut Pen, M, [f64; 4]),
) -> f64 {
    let mut x = left;
    for (mark, text) in entries {
        let swatch = if mark.is_none() { 0.0 } else { 22.0 };
        let wide = swatch + width(text, SIZE);
        if x > left && x + wide > right {
            (x, top) = (left, top + LINE);
        }
        if let Some(mark) = mark {
            draw(pen, *mark, [x, top + 1.0, 16.0, 13.0]);
        }
        pen.text((x + swatch, top + 12.0), SIZE, TextAnchor::Start, text);
        x += wide + 20.0;
    }
    if x > left { top + LINE } else { top }
}
