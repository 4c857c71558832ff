//! The whole figure: where the panels stand, and the title above them.

use kuva::render::render::{Scene, TextAnchor};

use super::super::pen::Pen;
use super::super::words::{distinct, width, wrap};
use super::Grid;
use super::key::key;
use super::panel::{ABOVE, BELOW, Kind, Panel};

const MARGIN: f64 = 18.0;
/// Between panels, so that the ticks of neighbouring colour bars stay apart.
const GAP: f64 = 36.0;

const TITLE: u32 = 17;
const TITLE_LINE: f64 = 24.0;
const LABEL: u32 = 13;
const NAMES: u32 = 11;
const NAMES_LINE: f64 = 14.0;
/// The most room that the names of the states get.
const NAMES_ROOM: f64 = 160.0;

/// How wide a panel is, side by side and stacked.
const NARROW: f64 = 300.0;
const WIDE: f64 = 840.0;

/// Up to so many steps, side by side, the cells have room for the names of actions. With
/// more, panels are stacked, unless there are more states than this: then the stack would
/// not fit on a page.
const FEW: usize = 12;

/// Sizes that the parts of the figure share.
struct Frame {
    stacked: bool,
    /// Width and height of a cell; whole numbers, so that no seams show between cells.
    cell: (f64, f64),
    /// The names of the states, in lines.
    names: Vec<Vec<String>>,
    /// Where the first panel begins.
    left: f64,
    /// The height of the cells of a panel together.
    high: f64,
    /// From one panel to the next.
    step: (f64, f64),
    /// The width of the picture.
    full: f64,
}

impl Frame {
    fn of(grid: &Grid) -> Self {
        let (columns, rows) = (grid.steps.len(), grid.states.len());
        let stacked = columns > FEW && rows <= FEW;
        let share = |room: f64, count: usize| (room / count as f64).floor();
        let cell = if stacked {
            (share(WIDE, columns), share(200.0, rows).clamp(14.0, 40.0))
        } else {
            let high = share(NARROW, rows).clamp(12.0, 60.0);
            (share(NARROW, columns).max(5.0), high)
        };
        let names = names(grid, cell.1);
        let widths = names.iter().flatten().map(|line| width(line, NAMES));
        let left = MARGIN + 30.0 + widths.fold(0.0, f64::max).ceil();
        let slot = NARROW.max(cell.0 * columns as f64);
        let high = cell.1 * rows as f64;
        let step = if stacked {
            (0.0, ABOVE + high + BELOW + 16.0)
        } else {
            (slot + GAP, 0.0)
        };
        Self {
            stacked,
            cell,
            names,
            left,
            high,
            step,
            full: left + 2.0 * step.0 + slot + MARGIN + 6.0,
        }
    }
}

/// The names of the states, in lines that fit rows of this height.
fn names(grid: &Grid, high: f64) -> Vec<Vec<String>> {
    let lines = ((high / NAMES_LINE) as usize).max(1);
    distinct(&grid.states, |name| wrap(name, NAMES_ROOM, NAMES, lines))
}

/// Draws the figure.
pub(super) fn scene(grid: &Grid, title: &str) -> Scene {
    let frame = Frame::of(grid);
    let kinds = [Kind::Visits, Kind::Regret, Kind::Choice];
    let panels = kinds.map(|kind| Panel::new(kind, grid, frame.cell));
    let mut pen = Pen::new(frame.full);

    let mut top = MARGIN;
    for line in wrap(title, frame.full - 2.0 * MARGIN, TITLE, 2) {
        let at = (frame.full / 2.0, top + 14.0);
        pen.text(at, TITLE, TextAnchor::Middle, &line);
        top += TITLE_LINE;
    }
    if top > MARGIN {
        top += 10.0;
    }

    for (turn, panel) in panels.iter().enumerate() {
        let turn = turn as f64;
        let corner = (frame.left + frame.step.0 * turn, top + frame.step.1 * turn);
        panel.draw(&mut pen, corner);
        if frame.stacked || turn == 0.0 {
            draw_states(&mut pen, &frame, corner.1 + ABOVE);
        }
    }

    top += 2.0 * frame.step.1 + ABOVE + frame.high + BELOW + 18.0;
    let right = frame.full - MARGIN;
    top = key(&mut pen, grid, &panels[2], (frame.left, top), right);
    pen.scene.height = (top + MARGIN - 6.0).ceil();
    pen.scene
}

/// Names the states to the left of a panel whose cells begin at `top`.
fn draw_states(pen: &mut Pen, frame: &Frame, top: f64) {
    let at = (MARGIN + 10.0, top + frame.high / 2.0);
    pen.upward_text(at, LABEL, TextAnchor::Middle, "state");
    for (row, lines) in frame.names.iter().enumerate() {
        let middle = top + frame.high - frame.cell.1 * (row as f64 + 0.5);
        let mut y = middle + 4.0 - NAMES_LINE * (lines.len() as f64 - 1.0) / 2.0;
        for line in lines {
            pen.text((frame.left - 7.0, y), NAMES, TextAnchor::End, line);
            y += NAMES_LINE;
        }
    }
}
