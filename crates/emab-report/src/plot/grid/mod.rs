//! Parts that the maps share: canvas, colour scale and colour bar, cells, axis labels, legend, and fitting of texts.

pub(crate) mod axis_labels;
pub(crate) mod canvas;
pub(crate) mod colour;
mod colour_bar;
mod legend;
pub(crate) mod text;

pub(crate) use axis_labels::AxisLabels;
pub(crate) use canvas::{Canvas, MARGIN};
pub(crate) use colour_bar::draw_colour_bar;
pub(crate) use legend::{LEGEND_LINE, LEGEND_SIZE, Mark, draw_legend};

/// Cells at least this large are separated by a thin gap.
const GAP_FROM: f64 = 12.0;

/// Cells of one panel: equal rectangles in columns and rows, row 0 at the bottom.
#[derive(Clone, Copy)]
pub(crate) struct CellGrid {
    /// Lower left corner.
    pub(crate) corner: (f64, f64),
    /// Width and height of a cell.
    pub(crate) cell: (f64, f64),
}

impl CellGrid {
    /// The rectangle of a cell: x, y, width and height.
    pub(crate) fn rect(&self, column: usize, row: usize) -> [f64; 4] {
        let ((left, bottom), (wide, high)) = (self.corner, self.cell);
        let gap = if wide.min(high) >= GAP_FROM { 0.5 } else { 0.0 };
        let x = left + wide * column as f64;
        let y = bottom - high * (row as f64 + 1.0);
        [x + gap, y + gap, wide - 2.0 * gap, high - 2.0 * gap]
    }
}

/// Columns for `count` panels, at most `most`, in rows as even as possible: four panels are two and two, not three and
/// one.
pub(crate) fn even_columns(count: usize, most: usize) -> usize {
    let rows = count.div_ceil(most).max(1);
    count.div_ceil(rows).max(1)
}
