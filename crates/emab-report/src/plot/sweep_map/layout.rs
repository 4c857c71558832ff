//! The whole figure: title and colour bar, the maps in rows, and the legend below.

use kuva::render::render::{Scene, TextAnchor};

use super::super::grid::axis_labels::{MIN_NAME_ROOM, NAME};
use super::super::grid::colour::{ColourScale, text_colour_on};
use super::super::grid::text::wrap;
use super::super::grid::{
    AxisLabels, Canvas, CellGrid, MARGIN, Mark, draw_colour_bar, draw_legend, even_columns,
};
use super::super::options::PlotOptions;
use super::HeatMap;
use super::cell_numbers::CellNumbers;
use crate::runs_table::{UNRELIABLE, UNRELIABLE_NOTE};

/// Space between maps.
const GAP: f64 = 30.0;
const NAME_LINE: f64 = 18.0;

/// Space for the cells of a single map, and of one of several.
const ALONE: (f64, f64) = (600.0, 420.0);
const BESIDE: (f64, f64) = (300.0, 260.0);
/// The same on a narrow screen.
const NARROW: (f64, f64) = (240.0, 260.0);
/// Largest and smallest size of a cell.
const LARGEST: (f64, f64) = (76.0, 44.0);
const SMALLEST: f64 = 3.0;

/// Largest width of a row of maps.
const WIDEST: f64 = 1080.0;

/// Width of the colour bar, and the least width of the figure.
const BAR_WIDTH: f64 = 300.0;
const BAR_ROOM: f64 = 46.0;

/// Size of the mark of an unreliable interval in a cell without numbers.
const MARK: u32 = 9;

/// Sizes shared by the parts of the figure.
struct Layout {
    /// Width and height of a cell; integers, so that there are no seams between cells.
    cell: (f64, f64),
    /// Labels of each map, on its left and below.
    labels: Vec<(AxisLabels, AxisLabels)>,
    /// Whether only the first map of a row has labels on its left.
    shared: bool,
    /// Space for the labels on the left.
    left: f64,
    /// The titles of the maps, in lines.
    titles: Vec<Vec<String>>,
    title_lines: usize,
    /// Maps per row.
    columns: usize,
    /// Horizontal distance of maps.
    step: f64,
    /// Height of each row of maps.
    rows: Vec<f64>,
    /// Height of all cells of a map.
    high: f64,
    /// Width of the colour bar.
    bar: f64,
    /// The width of the figure.
    full: f64,
}

impl Layout {
    fn new(maps: &[HeatMap], narrow: bool) -> Self {
        let most = |count: fn(&HeatMap) -> usize| maps.iter().map(count).max().unwrap_or(1);
        let (columns, rows) = (
            most(|map| map.x.values.len()),
            most(|map| map.y.values.len()),
        );
        let room = match maps.len() {
            _ if narrow => NARROW,
            1 => ALONE,
            _ => BESIDE,
        };
        let share = |room: f64, count: usize| (room / count as f64).floor().max(SMALLEST);
        let wide = share(room.0, columns).min(LARGEST.0);
        // Not much higher than wide: tall strips are hard to read.
        let high = share(room.1, rows).min(LARGEST.1).min(wide.max(16.0));
        let (all_wide, all_high) = (wide * columns as f64, high * rows as f64);

        let label = |map: &HeatMap| {
            let beside = AxisLabels::beside(&map.y.name, &map.y.values, high);
            (beside, AxisLabels::below(&map.x.name, &map.x.values, wide))
        };
        let labels: Vec<_> = maps.iter().map(label).collect();
        let left = labels.iter().map(|(y, _)| y.width()).fold(0.0, f64::max);
        let shared = maps.iter().all(|map| map.y == maps[0].y);

        let slot = all_wide.max(MIN_NAME_ROOM);
        let titles: Vec<_> = maps
            .iter()
            .map(|map| wrap(&map.title, slot, NAME, 2))
            .collect();
        let title_lines = titles.iter().map(Vec::len).max().unwrap_or(0);

        let across = if shared {
            slot + GAP
        } else {
            left + slot + GAP
        };
        let first = MARGIN + left + slot + MARGIN;
        let fit = match narrow {
            true => 1,
            false => 1 + ((WIDEST - first).max(0.0) / across) as usize,
        };
        let columns = even_columns(maps.len(), fit);
        let bar = if narrow { NARROW.0 } else { BAR_WIDTH };
        let narrowest = MARGIN + left + bar + MARGIN;
        let full = (first + across * (columns - 1) as f64).max(narrowest);
        let above = title_lines as f64 * NAME_LINE + all_high + 12.0;
        let below = |row: &[(AxisLabels, AxisLabels)]| {
            row.iter().map(|(_, x)| x.height()).fold(0.0, f64::max)
        };
        let rows = labels
            .chunks(columns)
            .map(|row| above + below(row))
            .collect();
        Self {
            cell: (wide, high),
            labels,
            shared,
            left,
            titles,
            title_lines,
            columns,
            step: across,
            rows,
            high: all_high,
            bar,
            full: full.ceil(),
        }
    }
}

/// Draws the figure of at least one valid map.
pub(super) fn scene(maps: &[HeatMap], options: &PlotOptions) -> Scene {
    let layout = Layout::new(maps, options.narrow);
    let numbers = CellNumbers::fit(maps, layout.cell);
    let values: Vec<f64> = maps
        .iter()
        .flat_map(HeatMap::results)
        .map(|cell| cell.centre)
        .collect();
    let scale = ColourScale::results(&values);
    let mut canvas = Canvas::new(layout.full);
    let left = MARGIN + layout.left;

    let mut top = canvas.title(&options.title, 3, 8.0);
    if !values.is_empty() {
        let label = maps.first().map_or("", |map| map.label.as_str());
        top = draw_scale(&mut canvas, label, &scale, (left, top), &layout);
    }
    for (i, map) in maps.iter().enumerate() {
        let (row, column) = (i / layout.columns, i % layout.columns);
        let x = left + layout.step * column as f64;
        let mut y = top + layout.rows[..row].iter().sum::<f64>();
        for line in &layout.titles[i] {
            canvas.text((x, y + 12.0), NAME, TextAnchor::Start, line);
            y += NAME_LINE;
        }
        let missing = layout.title_lines - layout.titles[i].len();
        let lower = y + NAME_LINE * missing as f64 + layout.high;
        let grid = CellGrid {
            corner: (x, lower),
            cell: layout.cell,
        };
        draw_cells(&mut canvas, map, &scale, numbers.as_ref(), grid);
        let (beside, below) = &layout.labels[i];
        if !layout.shared || column == 0 {
            beside.draw_beside(&mut canvas, grid.corner, layout.cell.1);
        }
        below.draw_below(&mut canvas, grid.corner, layout.cell.0);
    }
    top += layout.rows.iter().sum::<f64>();
    // The frame of the lowest cell is outside its rectangle.
    let lowest: Mark = &|canvas, [x, y, wide, high]| {
        let rect = [x + 3.0, y + 2.0, wide - 5.0, high - 4.0];
        canvas.rect(rect, scale.colour_at(0.0));
        canvas.mark_best(rect);
    };
    let missing: Mark = &|canvas, rect| canvas.hatched(&[rect]);
    let mut entries = Vec::new();
    if maps.iter().any(|map| map.lowest().is_some()) {
        let text = match maps.len() {
            1 => "lowest",
            _ => "lowest of its map",
        };
        entries.push((Some(lowest), text));
    }
    let mut cells = maps.iter().flat_map(|map| map.cells.iter().flatten());
    if cells.any(Option::is_none) {
        entries.push((Some(missing), "no result"));
    }
    if numbers.as_ref().is_some_and(|numbers| numbers.intervals) {
        entries.push((None, "mean ± 95 % confidence"));
    }
    let mut cells = maps.iter().flat_map(HeatMap::results);
    if cells.any(|cell| cell.unreliable) && shows_marks(layout.cell) {
        entries.push((None, UNRELIABLE_NOTE));
    }
    let end = draw_legend(&mut canvas, &entries, (left, top), layout.full - MARGIN);
    let end = canvas.caption(&options.caption, end, MARGIN);
    canvas.finish(end)
}

/// Whether cells of this size have room for the mark of an unreliable interval.
fn shows_marks((wide, high): (f64, f64)) -> bool {
    wide >= f64::from(MARK) && high >= f64::from(MARK)
}

/// Draws the colour bar and its label; returns where the maps begin.
fn draw_scale(
    canvas: &mut Canvas,
    label: &str,
    scale: &ColourScale,
    (left, mut top): (f64, f64),
    layout: &Layout,
) -> f64 {
    let room = layout.full - left - MARGIN;
    let log = if scale.is_log() { " (log scale)" } else { "" };
    for line in wrap(&format!("{label}{log}"), room, NAME, 3) {
        canvas.text((left, top + 12.0), NAME, TextAnchor::Start, &line);
        top += NAME_LINE;
    }
    draw_colour_bar(canvas, scale, (left, top + 2.0), layout.bar);
    top + BAR_ROOM
}

/// Draws the cells of a map.
fn draw_cells(
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
                Some(cell) => drawn.push((rect, cell, scale.colour(cell.centre))),
                None => missing.push(rect),
            }
        }
    }
    for (rect, _, colour) in &drawn {
        canvas.rect(*rect, *colour);
    }
    canvas.hatched(&missing);
    // Frames overlap the neighbours, and numbers are on top.
    let lowest = map.lowest();
    for (rect, cell, _) in &drawn {
        if lowest == Some(cell.centre) {
            canvas.mark_best(*rect);
        }
    }
    for (rect, cell, colour) in &drawn {
        match numbers {
            Some(numbers) => numbers.write(canvas, cell, *rect, *colour),
            None if cell.unreliable && shows_marks(grid.cell) => {
                let [x, y, wide, high] = *rect;
                let at = (x + wide / 2.0, y + high / 2.0 + 3.5);
                canvas.inked_text(at, MARK, text_colour_on(*colour), UNRELIABLE);
            }
            None => {}
        }
    }
}
