//! The whole figure: title, panels and the names of the states, legend and notes.

use kuva::render::render::{Scene, TextAnchor};

use super::super::grid::text::{distinct, width, wrap};
use super::super::grid::{Canvas, LEGEND_LINE, LEGEND_SIZE, MARGIN, Mark, draw_legend};
use super::super::options::PlotOptions;
use super::panel::{ABOVE, BELOW, Kind, Panel};
use super::{RegretGrid, StateRegret, differs};

/// Space between panels, wide enough for the ticks of neighbouring colour bars.
const GAP: f64 = 36.0;

const LABEL: u32 = 13;
const NAMES: u32 = 11;
const NAMES_LINE: f64 = 14.0;
/// Most width of the names of states.
const NAMES_ROOM: f64 = 160.0;

/// Width of a panel, side by side and stacked.
const NARROW: f64 = 300.0;
const WIDE: f64 = 840.0;
/// Width of a panel and of the names of states on a narrow screen.
const PHONE: f64 = 250.0;
const PHONE_NAMES: f64 = 60.0;

/// Up to this many steps, panels are side by side and cells have room for the names of actions. With more steps, panels
/// are stacked, unless there are more states than this: the stack would not fit a page.
const FEW: usize = 12;

/// Sizes shared by the parts of the figure.
struct Layout {
    stacked: bool,
    /// Width and height of a cell; integers, so that there are no seams between cells.
    cell: (f64, f64),
    /// The names of the states, in lines.
    names: Vec<Vec<String>>,
    /// Left edge of the first panel.
    left: f64,
    /// Height of all cells of a panel.
    high: f64,
    /// Distance from one panel to the next.
    step: (f64, f64),
    /// The width of the picture.
    full: f64,
}

impl Layout {
    fn new(grid: &RegretGrid, narrow: bool) -> Self {
        let (columns, rows) = (grid.steps.len(), grid.states.len());
        let stacked = narrow || columns > FEW && rows <= FEW;
        let share = |room: f64, count: usize| (room / count as f64).floor();
        let panel = if narrow { PHONE } else { NARROW };
        let cell = if stacked && !narrow {
            (share(WIDE, columns), share(200.0, rows).clamp(14.0, 40.0))
        } else {
            let high = share(panel, rows).clamp(12.0, 60.0);
            (share(panel, columns).max(5.0), high)
        };
        let room = if narrow { PHONE_NAMES } else { NAMES_ROOM };
        let names = names(grid, cell.1, room);
        let widths = names.iter().flatten().map(|line| width(line, NAMES));
        let left = MARGIN + 30.0 + widths.fold(0.0, f64::max).ceil();
        let slot = panel.max(cell.0 * columns as f64);
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
fn names(grid: &RegretGrid, high: f64, room: f64) -> Vec<Vec<String>> {
    let lines = ((high / NAMES_LINE) as usize).max(1);
    distinct(&grid.states, |name| wrap(name, room, NAMES, lines))
}

/// Draws the figure.
pub(super) fn scene(grid: &RegretGrid, options: &PlotOptions) -> Scene {
    let layout = Layout::new(grid, options.narrow);
    let kinds = [Kind::Visits, Kind::Regret, Kind::Choice];
    let panels = kinds.map(|kind| Panel::new(kind, grid, layout.cell));
    let mut canvas = Canvas::new(layout.full);

    let mut top = canvas.title(&options.title, 3, 10.0);

    for (turn, panel) in panels.iter().enumerate() {
        let turn = turn as f64;
        let corner = (
            layout.left + layout.step.0 * turn,
            top + layout.step.1 * turn,
        );
        let text = if options.narrow { MARGIN } else { corner.0 };
        panel.draw(&mut canvas, corner, text);
        if layout.stacked || turn == 0.0 {
            draw_states(&mut canvas, &layout, corner.1 + ABOVE);
        }
    }

    top += 2.0 * layout.step.1 + ABOVE + layout.high + BELOW + 18.0;
    let right = layout.full - MARGIN;
    let left = if options.narrow { MARGIN } else { layout.left };
    top = draw_notes(&mut canvas, grid, &panels[2], (left, top), right);
    let end = canvas.caption(&options.caption, top, MARGIN);
    canvas.finish(end)
}

/// Writes the states on the left of a panel whose cells begin at `top`.
fn draw_states(canvas: &mut Canvas, layout: &Layout, top: f64) {
    let at = (MARGIN + 10.0, top + layout.high / 2.0);
    canvas.upward_text(at, LABEL, TextAnchor::Middle, "state");
    for (row, lines) in layout.names.iter().enumerate() {
        let middle = top + layout.high - layout.cell.1 * (row as f64 + 0.5);
        let mut y = middle + 4.0 - NAMES_LINE * (lines.len() as f64 - 1.0) / 2.0;
        for line in lines {
            canvas.text((layout.left - 7.0, y), NAMES, TextAnchor::End, line);
            y += NAMES_LINE;
        }
    }
}

/// Draws the legend of the marks in use and the notes; returns where the picture ends.
fn draw_notes(
    canvas: &mut Canvas,
    grid: &RegretGrid,
    choices: &Panel,
    (left, top): (f64, f64),
    right: f64,
) -> f64 {
    let any = |what: fn(&StateRegret) -> bool| grid.cells.iter().any(|(_, _, pair)| what(pair));
    let unvisited: Mark = &|canvas, rect| canvas.hatched(&[rect]);
    let differing: Mark = &|canvas, rect| choices.draw_differing(canvas, rect);
    let mut entries = Vec::new();
    if any(|pair| pair.visits == 0.0 || pair.learned.is_none()) {
        entries.push((Some(unvisited), "can be reached, never visited"));
    }
    if any(differs) {
        let text = if choices.names_two_lines() {
            "most runs ended with the upper action, the benchmark takes the lower"
        } else {
            "most runs ended with another action than the benchmark's"
        };
        entries.push((Some(differing), text));
    }
    if grid.cells.len() < grid.steps.len() * grid.states.len() {
        entries.push((None, "blank: cannot be reached"));
    }
    let mut top = draw_legend(canvas, &entries, (left, top), right);
    let notes = notes(grid);
    let lines = notes
        .iter()
        .flat_map(|note| wrap(note, right - left, LEGEND_SIZE, usize::MAX));
    for line in lines {
        canvas.text((left, top + 12.0), LEGEND_SIZE, TextAnchor::Start, &line);
        top += LEGEND_LINE;
    }
    top
}

/// What is not drawn.
fn notes(grid: &RegretGrid) -> Vec<String> {
    let (all_steps, all_states) = grid.all;
    let (steps, states) = (grid.steps.len(), grid.states.len());
    let mut notes = Vec::new();
    if states < all_states {
        let rest = "states shown, those with the most regret";
        notes.push(format!("{states} of {all_states} {rest}"));
    }
    if steps < all_steps {
        notes.push(format!(
            "{steps} of {all_steps} steps shown, the first ones"
        ));
    }
    notes
}
