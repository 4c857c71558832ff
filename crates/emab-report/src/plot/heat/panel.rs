//! The cells of one map.

use super::super::colour::{Scale, paint};
use super::super::pen::Pen;
use super::HeatMap;
use super::numbers::Numbers;

/// Cells at least so large stand apart by a thin gap.
const GAP_FROM: f64 = 12.0;

/// Draws the cells of a map, each of this size, up from the lower left corner.
pub(super) fn draw_cells(
    pen: &mut Pen,
    map: &HeatMap,
    scale: &Scale,
    numbers: Option<&Numbers>,
    (left, bottom): (f64, f64),
    (wide, high): (f64, f64),
) {
    let gap = if wide.min(high) >= GAP_FROM { 0.5 } else { 0.0 };
    let rect = |row: usize, column: usize| {
        let (x, y) = (
            left + wide * column as f64,
            bottom - high * (row as f64 + 1.0),
        );
        [x + gap, y + gap, wide - 2.0 * gap, high - 2.0 * gap]
    };
    let mut missing = Vec::new();
    let mut drawn = Vec::new();
    for (row, cells) in map.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let rect = rect(row, column);
            match cell {
                Some(cell) => drawn.push((rect, cell, scale.colour(cell.mean))),
                None => missing.push(rect),
            }
        }
    }
    for (rect, _, colour) in &drawn {
        pen.rect(*rect, paint(*colour));
    }
    pen.hatched(&missing);
    // Frames reach into the neighbours, and numbers stand above all.
    let lowest = map.lowest();
    for (rect, cell, _) in &drawn {
        if lowest == Some(cell.mean) {
            pen.best(*rect);
        }
    }
    if let Some(numbers) = numbers {
        for (rect, cell, colour) in &drawn {
            numbers.write(pen, cell, *rect, *colour);
        }
    }
}
