//! The whole figure: title, panels in rows with the learners' names on the left, and the legend below.

use emab_sim::results::ArenaResult;
use kuva::render::render::{Scene, TextAnchor};

use super::super::grid::text::{shorten, width};
use super::super::grid::{Canvas, MARGIN, Mark as LegendMark, draw_legend, even_columns};
use super::super::options::PlotOptions;
use super::panel::{ABOVE, APART, BELOW, HIGH, Mark, WIDE, draw, marks};
use super::{MAX_PANELS, MAX_ROWS};
use crate::text_table::number;

const GAP: f64 = 18.0;
/// Most panels per row.
const MAX_COLUMNS: usize = 4;

const NAMES: u32 = 11;
/// Most width of the names of learners.
const NAMES_ROOM: f64 = 230.0;
/// Least width of the figure, for its texts.
const LEAST: f64 = 640.0;
/// The same on a narrow screen: width of names, panels per row, width of the figure.
const NARROW: (f64, usize, f64) = (120.0, 1, 0.0);

/// The row of a learner.
pub(super) struct Row {
    pub(super) label: String,
    /// Distance from the first row.
    pub(super) top: f64,
}

/// Rows in the order of mean ranks, informed learners last.
pub(super) fn rows(result: &ArenaResult) -> Vec<Row> {
    let tallied = result.tallied();
    let parted = tallied.iter().position(|one| one.informed);
    let parted = parted.unwrap_or(tallied.len());
    let mut labels: Vec<String> = tallied.into_iter().map(|one| one.label).collect();
    // Learners that apply to no problem come before the informed ones.
    let mut at = parted;
    for left in result.problems.iter().flat_map(|problem| &problem.left_out) {
        if !labels.contains(&left.label) {
            labels.insert(at, left.label.clone());
            at += 1;
        }
    }
    let informed_from = if at > 0 { at } else { usize::MAX };
    labels.truncate(MAX_ROWS);
    let row = |(i, label): (usize, String)| Row {
        label,
        top: HIGH * i as f64 + if i >= informed_from { APART } else { 0.0 },
    };
    labels.into_iter().enumerate().map(row).collect()
}

/// Draws the figure of at least one problem and one row.
pub(super) fn scene(result: &ArenaResult, rows: &[Row], options: &PlotOptions) -> Scene {
    let problems = &result.problems[..result.problems.len().min(MAX_PANELS)];
    let (names_room, most_across, least) = match options.narrow {
        true => NARROW,
        false => (NAMES_ROOM, MAX_COLUMNS, LEAST),
    };
    let names: Vec<String> = rows
        .iter()
        .map(|row| shorten(&row.label, names_room, NAMES))
        .collect();
    let widths = names.iter().map(|name| width(name, NAMES));
    let room = widths.fold(0.0, f64::max);
    let left = MARGIN + room.ceil() + 8.0;
    let across = even_columns(problems.len(), most_across);
    let lines = problems.len().div_ceil(across);
    let full = left + (WIDE + GAP) * across as f64 - GAP + MARGIN;
    let full = full.max(least);
    let mut canvas = Canvas::new(full.ceil());

    let mut top = canvas.title(&options.title, 3, 4.0);

    let high = rows.last().map_or(0.0, |row| row.top + HIGH);
    for (i, problem) in problems.iter().enumerate() {
        let (line, column) = (i / across, i % across);
        let corner = (
            left + (WIDE + GAP) * column as f64,
            top + (ABOVE + high + BELOW) * line as f64,
        );
        draw(&mut canvas, (problem, result.runs), rows, corner);
        if column == 0 {
            for (row, name) in rows.iter().zip(&names) {
                let y = corner.1 + ABOVE + row.top + HIGH / 2.0 + 4.0;
                canvas.text((left - 6.0, y), NAMES, TextAnchor::End, name);
            }
        }
    }
    top += (ABOVE + high + BELOW) * lines as f64 + 4.0;
    let marks = problems.iter().flat_map(|at| marks(at, result.runs));
    let marks: Vec<Mark> = marks.collect();
    top = draw_marks(&mut canvas, &marks, (MARGIN, top), full - MARGIN);
    let end = canvas.caption(&options.caption, top, MARGIN);
    canvas.finish(end)
}

/// The default title and caption of an arena.
pub fn arena_options(result: &ArenaResult) -> PlotOptions {
    PlotOptions {
        title: "Regret of each learner relative to FeedBAL's".into(),
        caption: caption(result),
        ..PlotOptions::default()
    }
}

fn caption(result: &ArenaResult) -> String {
    let drawn = result.problems.len().min(MAX_PANELS);
    let values = result.problems[..drawn].iter().map(|at| &at.ground.values);
    let known = values.filter(|values| values.optimal_value.is_some());
    let against = match known.count() {
        n if n == drawn => "the optimal policy",
        0 => "the benchmark",
        _ => "the optimal policy (the benchmark where that is not known)",
    };
    let mut text = format!(
        "Regret against {against}, over FeedBAL's; left is better, and bars are 95 % intervals. \
         {} runs of {} episodes, seed {}.",
        result.runs_text(),
        number(result.episodes as f64),
        result.seed
    );
    if drawn < result.problems.len() {
        text += &format!(" The first {drawn} of {} problems.", result.problems.len());
    }
    text
}

/// Explains the marks that occur in the figure.
fn draw_marks(canvas: &mut Canvas, used: &[Mark], at: (f64, f64), right: f64) -> f64 {
    let entries = [
        (Mark::Better, "better than FeedBAL"),
        (Mark::Same, "not distinguishable with these runs"),
        (Mark::Worse, "worse than FeedBAL"),
        (
            Mark::Best,
            "lowest regret among learners that see episodes only",
        ),
        (Mark::Informed, "has access to more than episodes"),
        (Mark::Arrow, "off the axis, or zero regret"),
    ];
    let drawn = entries.map(|(mark, text)| {
        let draw = move |canvas: &mut Canvas, [x, y, wide, high]: [f64; 4]| {
            mark.draw(canvas, (x + wide / 2.0, y + high / 2.0));
        };
        (mark, draw, text)
    });
    let entries: Vec<_> = drawn
        .iter()
        .filter(|(mark, ..)| used.contains(mark))
        .map(|(_, draw, text)| (Some(draw as LegendMark), *text))
        .collect();
    draw_legend(canvas, &entries, at, right)
}
