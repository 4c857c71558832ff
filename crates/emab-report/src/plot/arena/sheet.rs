//! The whole figure: title, panels in rows with the learners' names to the left, and the key below.

use emab_sim::results::ArenaResult;
use kuva::render::render::{Scene, TextAnchor};

use super::super::legend::flow;
use super::super::pen::Pen;
use super::super::words::{cut, width, wrap};
use super::panel::{ABOVE, APART, BELOW, HIGH, Mark, WIDE, draw};
use super::{MOST_PANELS, MOST_ROWS};
use crate::table::number;

const MARGIN: f64 = 18.0;
const GAP: f64 = 18.0;
/// Panels side by side, at most.
const ACROSS: usize = 4;

const TITLE: u32 = 17;
const TEXT: u32 = 12;
const NAMES: u32 = 11;
/// The most room that the names of the learners get.
const NAMES_ROOM: f64 = 230.0;

/// One learner's row.
pub(super) struct Row {
    pub(super) label: String,
    /// Where it begins, below the first.
    pub(super) top: f64,
}

/// The rows, in the order of mean places, those that know more than episodes last.
pub(super) fn rows(result: &ArenaResult) -> Vec<Row> {
    let tallied = result.tallied();
    let parted = tallied.iter().position(|one| one.informed);
    let parted = parted.unwrap_or(tallied.len());
    let mut labels: Vec<String> = tallied.into_iter().map(|one| one.label).collect();
    // Who applies to no problem has a place, too: before those that know more.
    let mut at = parted;
    for left in result.problems.iter().flat_map(|problem| &problem.left_out) {
        if !labels.contains(&left.label) {
            labels.insert(at, left.label.clone());
            at += 1;
        }
    }
    let informed_from = if at > 0 { at } else { usize::MAX };
    labels.truncate(MOST_ROWS);
    let row = |(i, label): (usize, String)| Row {
        label,
        top: HIGH * i as f64 + if i >= informed_from { APART } else { 0.0 },
    };
    labels.into_iter().enumerate().map(row).collect()
}

/// Draws the figure; there is a problem and a row at least.
pub(super) fn scene(result: &ArenaResult, rows: &[Row]) -> Scene {
    let problems = &result.problems[..result.problems.len().min(MOST_PANELS)];
    let names: Vec<String> = rows
        .iter()
        .map(|row| cut(&row.label, NAMES_ROOM, NAMES))
        .collect();
    let room = names
        .iter()
        .map(|name| width(name, NAMES))
        .fold(0.0, f64::max);
    let left = MARGIN + room.ceil() + 8.0;
    let lines = problems.len().div_ceil(ACROSS).max(1);
    let across = problems.len().div_ceil(lines).max(1);
    let full = left + (WIDE + GAP) * across as f64 - GAP + MARGIN;
    // Texts need some width, however few panels there are.
    let full = full.max(640.0);
    let mut pen = Pen::new(full.ceil());

    let mut top = MARGIN;
    let title = "What each learner lost, as a multiple of what FeedBAL lost";
    for line in wrap(title, full - 2.0 * MARGIN, TITLE, 2) {
        pen.text((full / 2.0, top + 14.0), TITLE, TextAnchor::Middle, &line);
        top += 24.0;
    }
    for line in wrap(
        &caption(result, problems.len()),
        full - 2.0 * MARGIN,
        TEXT,
        4,
    ) {
        pen.text((full / 2.0, top + 10.0), TEXT, TextAnchor::Middle, &line);
        top += 17.0;
    }
    top += 12.0;

    let high = rows.last().map_or(0.0, |row| row.top + HIGH);
    for (i, problem) in problems.iter().enumerate() {
        let (line, column) = (i / across, i % across);
        let corner = (
            left + (WIDE + GAP) * column as f64,
            top + (ABOVE + high + BELOW) * line as f64,
        );
        draw(&mut pen, problem, rows, corner);
        if column == 0 {
            for (row, name) in rows.iter().zip(&names) {
                let y = corner.1 + ABOVE + row.top + HIGH / 2.0 + 4.0;
                pen.text((left - 6.0, y), NAMES, TextAnchor::End, name);
            }
        }
    }
    top += (ABOVE + high + BELOW) * lines as f64 + 4.0;
    top = draw_key(&mut pen, (MARGIN, top), full - MARGIN);
    pen.scene.height = (top + MARGIN - 6.0).ceil();
    pen.scene
}

fn caption(result: &ArenaResult, drawn: usize) -> String {
    let known = |problem: &&emab_sim::results::ArenaProblem| problem.ground.optimal_value.is_some();
    let problems = &result.problems[..drawn];
    let against = match problems.iter().filter(known).count() {
        n if n == drawn => "the optimal policy",
        0 => "the benchmark",
        _ => "the optimal policy (the benchmark where that is not known)",
    };
    let mut text = format!(
        "Regret against {against}, over FeedBAL's; left is better, and bars are 95 % intervals. \
         {} runs of {} episodes, seed {}.",
        number(result.runs as f64),
        number(result.episodes as f64),
        result.seed
    );
    if drawn < result.problems.len() {
        text += &format!(" The first {drawn} of {} problems.", result.problems.len());
    }
    text
}

fn draw_key(pen: &mut Pen, at: (f64, f64), right: f64) -> f64 {
    let entries = [
        (Some(Mark::Better), "better than FeedBAL"),
        (Some(Mark::Same), "no difference that these runs can tell"),
        (Some(Mark::Worse), "worse than FeedBAL"),
        (
            Some(Mark::Best),
            "least regret of those that see episodes alone",
        ),
        (Some(Mark::Informed), "knows more than episodes"),
        (Some(Mark::Arrow), "off the axis, or lost nothing"),
    ];
    flow(pen, &entries, at, right, |pen, mark, [x, y, wide, high]| {
        mark.draw(pen, (x + wide / 2.0, y + high / 2.0));
    })
}
