//! One map: a title, a colour bar, the cells and the steps below them.

use kuva::render::render::TextAnchor;

use super::super::bar::draw_bar;
use super::super::colour::{Scale, paint};
use super::super::pen::Pen;
use super::super::words::width;
use super::names::Names;
use super::{Grid, StateRegret, differs};

/// How much room a panel takes above and below its cells.
pub(super) const ABOVE: f64 = 78.0;
pub(super) const BELOW: f64 = 38.0;

const TITLE: u32 = 13;
const TICKS: u32 = 11;
const BAR_WIDTH: f64 = 300.0;

/// Cells at least so large stand apart by a thin gap.
const GAP_FROM: f64 = 12.0;

/// What a panel shows.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Visits,
    Regret,
    Choice,
}

impl Kind {
    fn title(self) -> &'static str {
        match self {
            Kind::Visits => "visits per run",
            Kind::Regret => "regret paid per run",
            Kind::Choice => "learned choice against the benchmark's",
        }
    }

    fn caption(self) -> &'static str {
        match self {
            Kind::Visits => "mean over the runs, log scale",
            Kind::Regret => "mean over the runs",
            Kind::Choice => "share of runs that end with the benchmark's choice",
        }
    }

    /// What a place gets its colour by; none where no run came.
    fn value(self, place: &StateRegret) -> Option<f64> {
        let visited = place.visits > 0.0;
        match self {
            Kind::Visits => visited.then_some(place.visits),
            Kind::Regret => (visited || place.regret != 0.0).then_some(place.regret),
            Kind::Choice => place.learned.is_some().then_some(place.agree),
        }
    }
}

/// A panel, ready to be drawn.
pub(super) struct Panel<'a> {
    kind: Kind,
    grid: &'a Grid<'a>,
    cell: (f64, f64),
    scale: Scale,
    names: Option<Names<'a>>,
}

impl<'a> Panel<'a> {
    pub(super) fn new(kind: Kind, grid: &'a Grid<'a>, cell: (f64, f64)) -> Self {
        let values = || {
            grid.cells
                .iter()
                .filter_map(|(_, _, place)| kind.value(place))
        };
        let (scale, names) = match kind {
            Kind::Visits => (Scale::visits(values()), None),
            Kind::Regret => (Scale::regret(values()), None),
            Kind::Choice => (Scale::share(), Names::fit(grid, cell)),
        };
        Self {
            kind,
            grid,
            cell,
            scale,
            names,
        }
    }

    /// Whether the cells name the benchmark's actions below the learned ones.
    pub(super) fn names_below(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names.below())
    }

    /// A cell as those whose learned action is not the benchmark's are marked, for the key.
    pub(super) fn draw_differing(&self, pen: &mut Pen, rect: [f64; 4]) {
        pen.rect(rect, paint(self.scale.colour(0.5)));
        pen.differs(rect, self.cell);
    }

    /// Draws the panel, from its upper left corner.
    pub(super) fn draw(&self, pen: &mut Pen, (left, top): (f64, f64)) {
        pen.text(
            (left, top + 12.0),
            TITLE,
            TextAnchor::Start,
            self.kind.title(),
        );
        pen.text(
            (left, top + 28.0),
            TICKS,
            TextAnchor::Start,
            self.kind.caption(),
        );
        let wide = self.size().0.min(BAR_WIDTH);
        draw_bar(pen, &self.scale, (left, top + 36.0), wide);
        self.draw_cells(pen, (left, top + ABOVE));
        self.draw_steps(pen, (left, top + ABOVE + self.size().1));
    }

    fn size(&self) -> (f64, f64) {
        let (columns, rows) = (self.grid.steps.len(), self.grid.states.len());
        (self.cell.0 * columns as f64, self.cell.1 * rows as f64)
    }

    fn draw_cells(&self, pen: &mut Pen, (left, top): (f64, f64)) {
        let (wide, high) = self.cell;
        let gap = if wide.min(high) >= GAP_FROM { 0.5 } else { 0.0 };
        let bottom = top + self.size().1;
        let mut unvisited = Vec::new();
        for (column, row, place) in &self.grid.cells {
            let (x, y) = (
                left + wide * *column as f64,
                bottom - high * (*row as f64 + 1.0),
            );
            let rect = [x + gap, y + gap, wide - 2.0 * gap, high - 2.0 * gap];
            let Some(value) = self.kind.value(place) else {
                unvisited.push(rect);
                continue;
            };
            pen.rect(rect, paint(self.scale.colour(value)));
            if self.kind == Kind::Choice {
                if differs(place) {
                    pen.differs(rect, self.cell);
                }
                if let Some(names) = &self.names {
                    names.write(pen, place, rect);
                }
            }
        }
        pen.hatched(&unvisited);
    }

    fn draw_steps(&self, pen: &mut Pen, (left, top): (f64, f64)) {
        let (wide, _) = self.cell;
        let labels: Vec<String> = self.grid.steps.iter().map(usize::to_string).collect();
        let widest = labels
            .iter()
            .map(|label| width(label, TICKS))
            .fold(0.0, f64::max);
        let fits = |every: &usize| *every as f64 * wide >= widest + 6.0;
        let every = [1, 2, 5, 10, 20]
            .into_iter()
            .find(fits)
            .unwrap_or(labels.len());
        for (column, label) in labels.iter().enumerate() {
            if (column + 1) % every == 0 {
                let x = left + wide * (column as f64 + 0.5);
                pen.line((x, top + 1.0), (x, top + 4.0));
                pen.text((x, top + 16.0), TICKS, TextAnchor::Middle, label);
            }
        }
        let at = (left + self.size().0 / 2.0, top + 33.0);
        pen.text(at, TITLE, TextAnchor::Middle, "step");
    }
}
