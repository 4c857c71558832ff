//! The whole figure: title and colour bar, the maps in rows, and the key below.

use kuva::render::render::{Scene, TextAnchor};

use super::super::bar::draw_bar;
use super::super::colour::{Scale, paint};
use super::super::legend::flow;
use super::super::pen::Pen;
use super::super::words::wrap;
use super::HeatMap;
use super::axes::{LEAST, Labels, NAME};
use super::numbers::Numbers;
use super::panel::draw_cells;

const MARGIN: f64 = 18.0;
/// Between maps.
const GAP: f64 = 30.0;

const TITLE: u32 = 17;
const TITLE_LINE: f64 = 24.0;
const NAME_LINE: f64 = 18.0;

/// The room for the cells of a map, alone and beside others.
const ALONE: (f64, f64) = (600.0, 420.0);
const BESIDE: (f64, f64) = (300.0, 260.0);
/// A cell is at most so large and at least so wide and high.
const LARGEST: (f64, f64) = (76.0, 44.0);
const SMALLEST: f64 = 3.0;

/// A row of maps is at most so wide.
const WIDEST: f64 = 1080.0;

/// The width of the colour bar; the figure is never too narrow for it.
const BAR_WIDTH: f64 = 300.0;
const BAR_ROOM: f64 = 46.0;

/// Sizes that the parts of the figure share.
struct Frame {
    /// Width and height of a cell; whole numbers, so that no seams show between cells.
    cell: (f64, f64),
    /// The values of each map, to the left of it and below.
    labels: Vec<(Labels, Labels)>,
    /// Whether only the first map of a row has values to its left.
    shared: bool,
    /// The room for these values.
    left: f64,
    /// The titles of the maps, in lines.
    titles: Vec<Vec<String>>,
    title_lines: usize,
    /// How many maps stand side by side.
    columns: usize,
    /// From one map to the next beside it.
    step: f64,
    /// How high each row of maps is.
    rows: Vec<f64>,
    /// The height of the cells of a map together.
    high: f64,
    /// The width of the figure.
    full: f64,
}

impl Frame {
    fn of(maps: &[HeatMap]) -> Self {
        let most = |count: fn(&HeatMap) -> usize| maps.iter().map(count).max().unwrap_or(1);
        let (columns, rows) = (
            most(|map| map.x.values.len()),
            most(|map| map.y.values.len()),
        );
        let room = if maps.len() == 1 { ALONE } else { BESIDE };
        let share = |room: f64, count: usize| (room / count as f64).floor().max(SMALLEST);
        let wide = share(room.0, columns).min(LARGEST.0);
        // Not much higher than wide: rows of upright strips are hard to read.
        let high = share(room.1, rows).min(LARGEST.1).min(wide.max(16.0));
        let (all_wide, all_high) = (wide * columns as f64, high * rows as f64);

        let label = |map: &HeatMap| {
            let beside = Labels::beside(&map.y, high);
            (beside, Labels::below(&map.x, wide))
        };
        let labels: Vec<_> = maps.iter().map(label).collect();
        let left = labels.iter().map(|(y, _)| y.width()).fold(0.0, f64::max);
        let shared = maps.iter().all(|map| map.y == maps[0].y);

        let slot = all_wide.max(LEAST);
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
        let fit = 1 + ((WIDEST - first).max(0.0) / across) as usize;
        // As even as can be: four maps are two and two, not three and one.
        let columns = maps.len().div_ceil(maps.len().div_ceil(fit));
        let narrowest = MARGIN + left + BAR_WIDTH + MARGIN;
        let full = (first + across * (columns - 1) as f64).max(narrowest);
        let above = title_lines as f64 * NAME_LINE + all_high + 12.0;
        let below =
            |row: &[(Labels, Labels)]| row.iter().map(|(_, x)| x.height()).fold(0.0, f64::max);
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
            full: full.ceil(),
        }
    }
}

/// Draws the figure; the maps are right, and there is one at least.
pub(super) fn scene(title: &str, maps: &[HeatMap]) -> Scene {
    let frame = Frame::of(maps);
    let numbers = Numbers::fit(maps, frame.cell);
    let means: Vec<f64> = maps
        .iter()
        .flat_map(HeatMap::results)
        .map(|cell| cell.mean)
        .collect();
    let scale = Scale::results(means.iter().copied());
    let mut pen = Pen::new(frame.full);
    let left = MARGIN + frame.left;

    let mut top = draw_title(&mut pen, title, frame.full);
    if !means.is_empty() {
        let label = maps.first().map_or("", |map| map.label.as_str());
        top = draw_scale(&mut pen, label, &scale, (left, top), frame.full);
    }
    for (i, map) in maps.iter().enumerate() {
        let (row, column) = (i / frame.columns, i % frame.columns);
        let x = left + frame.step * column as f64;
        let mut y = top + frame.rows[..row].iter().sum::<f64>();
        for line in &frame.titles[i] {
            pen.text((x, y + 12.0), NAME, TextAnchor::Start, line);
            y += NAME_LINE;
        }
        let missing = frame.title_lines - frame.titles[i].len();
        let lower = y + NAME_LINE * missing as f64 + frame.high;
        draw_map(
            &mut pen,
            &frame,
            i,
            map,
            (x, lower),
            &scale,
            numbers.as_ref(),
        );
    }
    top += frame.rows.iter().sum::<f64>();
    top = draw_key(&mut pen, maps, &scale, numbers.as_ref(), (left, top));
    pen.scene.height = (top + MARGIN - 6.0).ceil();
    pen.scene
}

fn draw_title(pen: &mut Pen, title: &str, full: f64) -> f64 {
    let mut top = MARGIN;
    for line in wrap(title, full - 2.0 * MARGIN, TITLE, 3) {
        pen.text((full / 2.0, top + 14.0), TITLE, TextAnchor::Middle, &line);
        top += TITLE_LINE;
    }
    if top > MARGIN { top + 8.0 } else { top }
}

/// Draws what the colours say, and the colour bar; returns where the maps begin.
fn draw_scale(
    pen: &mut Pen,
    label: &str,
    scale: &Scale,
    (left, mut top): (f64, f64),
    full: f64,
) -> f64 {
    let room = full - left - MARGIN;
    let log = if scale.is_log() { " (log scale)" } else { "" };
    for line in wrap(&format!("{label}{log}"), room, NAME, 3) {
        pen.text((left, top + 12.0), NAME, TextAnchor::Start, &line);
        top += NAME_LINE;
    }
    draw_bar(pen, scale, (left, top + 2.0), BAR_WIDTH);
    top + BAR_ROOM
}

fn draw_map(
    pen: &mut Pen,
    frame: &Frame,
    i: usize,
    map: &HeatMap,
    corner: (f64, f64),
    scale: &Scale,
    numbers: Option<&Numbers>,
) {
    draw_cells(pen, map, scale, numbers, corner, frame.cell);
    let (beside, below) = &frame.labels[i];
    if !frame.shared || i.is_multiple_of(frame.columns) {
        beside.draw_beside(pen, &map.y.name, corner, frame.cell.1);
    }
    below.draw_below(pen, &map.x.name, corner, frame.cell.0);
}

/// What the key explains.
#[derive(Clone, Copy)]
enum Mark {
    Lowest,
    Missing,
}

/// Draws the key, as far as it is needed; returns where the figure ends.
fn draw_key(
    pen: &mut Pen,
    maps: &[HeatMap],
    scale: &Scale,
    numbers: Option<&Numbers>,
    at: (f64, f64),
) -> f64 {
    let mut entries = Vec::new();
    if maps.iter().any(|map| map.lowest().is_some()) {
        let text = if maps.len() == 1 {
            "lowest"
        } else {
            "lowest of its map"
        };
        entries.push((Some(Mark::Lowest), text));
    }
    if maps
        .iter()
        .any(|map| map.cells.iter().flatten().any(Option::is_none))
    {
        entries.push((Some(Mark::Missing), "no result"));
    }
    if numbers.is_some_and(Numbers::arms) {
        entries.push((None, "mean ± 95 % confidence"));
    }
    let right = pen.scene.width - MARGIN;
    flow(pen, &entries, at, right, |pen, mark, rect| match mark {
        Mark::Lowest => {
            // The frame stands around it.
            let [x, y, wide, high] = rect;
            let rect = [x + 3.0, y + 2.0, wide - 5.0, high - 4.0];
            pen.rect(rect, paint(scale.colour_at(0.0)));
            pen.best(rect);
        }
        Mark::Missing => pen.hatched(&[rect]),
    })
}
