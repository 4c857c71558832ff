//! One map: title, colour bar, cells, and the steps below.

use kuva::render::render::TextAnchor;

use super::super::grid::colour::ColourScale;
use super::super::grid::{AxisLabels, Canvas, CellGrid, draw_colour_bar};
use super::action_names::ActionNames;
use super::{RegretGrid, StateRegret, differs};

/// Space above and below the cells.
pub(super) const ABOVE: f64 = 78.0;
pub(super) const BELOW: f64 = 38.0;

const TITLE: u32 = 13;
const TICKS: u32 = 11;
const BAR_WIDTH: f64 = 300.0;

/// Content of a panel.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Visits,
    Regret,
    Choice,
}

impl Kind {
    fn title_and_caption(self) -> [&'static str; 2] {
        match self {
            Kind::Visits => ["visits per run", "mean over the runs, log scale"],
            Kind::Regret => ["regret paid per run", "mean over the runs"],
            Kind::Choice => [
                "learned choice against the benchmark's",
                "share of runs that end with the benchmark's choice",
            ],
        }
    }

    /// The value that determines the colour of a pair; none without a visit.
    fn value(self, pair: &StateRegret) -> Option<f64> {
        let visited = pair.visits > 0.0;
        match self {
            Kind::Visits => visited.then_some(pair.visits),
            Kind::Regret => (visited || pair.regret != 0.0).then_some(pair.regret),
            Kind::Choice => pair.learned.is_some().then_some(pair.agree),
        }
    }
}

/// A panel with its scale.
pub(super) struct Panel<'a> {
    kind: Kind,
    grid: &'a RegretGrid<'a>,
    cell: (f64, f64),
    scale: ColourScale,
    names: Option<ActionNames<'a>>,
}

impl<'a> Panel<'a> {
    pub(super) fn new(kind: Kind, grid: &'a RegretGrid<'a>, cell: (f64, f64)) -> Self {
        let values = || {
            grid.cells
                .iter()
                .filter_map(|(_, _, pair)| kind.value(pair))
        };
        let (scale, names) = match kind {
            Kind::Visits => (ColourScale::visits(values()), None),
            Kind::Regret => (ColourScale::regret(values()), None),
            Kind::Choice => (ColourScale::share(), ActionNames::fit(grid, cell)),
        };
        Self {
            kind,
            grid,
            cell,
            scale,
            names,
        }
    }

    /// Whether cells name the benchmark's action below the learned one.
    pub(super) fn names_two_lines(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.two_lines)
    }

    /// A cell marked as differing from the benchmark, for the legend.
    pub(super) fn draw_differing(&self, canvas: &mut Canvas, rect: [f64; 4]) {
        canvas.rect(rect, self.scale.colour(0.5));
        canvas.mark_difference(rect, self.cell);
    }

    /// Draws the panel, from its upper left corner; its title begins at `text`.
    pub(super) fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64), text: f64) {
        let [title, caption] = self.kind.title_and_caption();
        canvas.text((text, top + 12.0), TITLE, TextAnchor::Start, title);
        canvas.text((text, top + 28.0), TICKS, TextAnchor::Start, caption);
        let wide = self.size().0.min(BAR_WIDTH);
        draw_colour_bar(canvas, &self.scale, (left, top + 36.0), wide);
        self.draw_cells(canvas, (left, top + ABOVE));
        let steps = AxisLabels::counting("step", &self.grid.steps, self.cell.0);
        let bottom = top + ABOVE + self.size().1;
        steps.draw_below(canvas, (left, bottom), self.cell.0);
    }

    fn size(&self) -> (f64, f64) {
        let (columns, rows) = (self.grid.steps.len(), self.grid.states.len());
        (self.cell.0 * columns as f64, self.cell.1 * rows as f64)
    }

    fn draw_cells(&self, canvas: &mut Canvas, (left, top): (f64, f64)) {
        let grid = CellGrid {
            corner: (left, top + self.size().1),
            cell: self.cell,
        };
        let mut unvisited = Vec::new();
        for (column, row, pair) in &self.grid.cells {
            let rect = grid.rect(*column, *row);
            let Some(value) = self.kind.value(pair) else {
                unvisited.push(rect);
                continue;
            };
            canvas.rect(rect, self.scale.colour(value));
            if self.kind == Kind::Choice {
                if differs(pair) {
                    canvas.mark_difference(rect, self.cell);
                }
                if let Some(names) = &self.names {
                    names.write(canvas, pair, rect);
                }
            }
        }
        canvas.hatched(&unvisited);
    }
}
