//! The cells of one map.

use super::super::grid::colour::{ColourScale, paint};
use super::super::grid::{Canvas, CellGrid};
use super::HeatMap;
use super::cell_numbers::CellNumbers;

/// Draws the cells of a map.
pub(super) fn draw_cells(
    canvas: &mut Canvas,
    map: &HeatMap,
    scale: &ColourScale,
    numbers: Option<&CellNumbers>,
    grid: CellGrid,
) {
    let mut missing = Vec::new();
    let mut drawn = Vec::new();
    for (row, cells) in map.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            let rect = grid.rect(column, row);
            match cell {
                Some(cell) => drawn.push((rect, cell, scale.colour(cell.mean))),
                None => missing.push(rect),
            }
        }
    }
    for (rect, _, colour) in &drawn {
        canvas.rect(*rect, paint(*colour));
    }
    canvas.hatched(&missing);
    // Frames overlap the neighbours, and numbers are on top.
    let lowest = map.lowest();
    for (rect, cell, _) in &drawn {
        if lowest == Some(cell.mean) {
            canvas.mark_best(*rect);
        }
    }
    if let Some(numbers) = numbers {
        for (rect, cell, colour) in &drawn {
            numbers.write(canvas, cell, *rect, *colour);
        }
    }
}
