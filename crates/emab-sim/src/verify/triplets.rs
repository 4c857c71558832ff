//! What is true of every triplet, laid out for looking up.

use emab::oracle::{Gaps, Pair};
use emab::theory::{Bound, Premises, theorem1};
use emab::{Action, Environment, Spec};

/// What is true of each triplet, by pair and action, `stop` last.
pub(super) struct Truth {
    pub(super) columns: usize,
    pub(super) cells: Vec<Cell>,
    pub(super) theorem1: Option<Bound>,
    /// By pair: the cells that may lead to it. An estimate that pools what was seen there moves with it. FeedBAL's own
    /// do not: empty for it.
    pub(super) led_by: Vec<Vec<(Pair, usize)>>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct Cell {
    pub(super) gain: f64,
    pub(super) delta: f64,
    /// None for the best actions, which may be chosen for ever.
    pub(super) counts: Option<Bound>,
}

impl Truth {
    pub(super) fn new(
        environment: &Environment,
        gaps: &Gaps,
        premises: Option<&Premises<'_>>,
        delta: f64,
    ) -> Truth {
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let mut cells = vec![Cell::default(); pairs.len() * columns];
        for triplet in gaps.triplets() {
            let Some(pair) = pairs.find(triplet.t, triplet.x) else {
                continue;
            };
            let column = column(triplet.action, columns);
            cells[pair.index() * columns + column] = Cell {
                gain: triplet.gain,
                delta: triplet.delta,
                counts: premises
                    .filter(|_| triplet.delta > 0.0)
                    .map(|premises| premises.counts(triplet, delta)),
            };
        }
        let mut led_by = vec![Vec::new(); pairs.len()];
        for pair in pairs.iter().filter(|_| premises.is_none()) {
            for a in pairs.allowed(pair) {
                for (next, _) in pairs.follow(pair, a) {
                    let from = &mut led_by[next.index()];
                    // Pairs and actions come in order: whoever is there already is there last.
                    if from.last() != Some(&(pair, a)) {
                        from.push((pair, a));
                    }
                }
            }
        }
        Truth {
            columns,
            cells,
            theorem1: premises.map(|premises| theorem1(premises, delta)),
            led_by,
        }
    }

    pub(super) fn place(
        &self,
        environment: &Environment,
        spec: &Spec,
        cell: usize,
    ) -> (usize, usize, Action) {
        let (row, column) = (cell / self.columns, cell % self.columns);
        let action = if column < spec.actions().len() {
            Action::Continue(column)
        } else {
            Action::Stop
        };
        let pairs = environment.pairs();
        let pair = pairs.iter().nth(row).unwrap_or(pairs.start());
        (pairs.step(pair), pairs.state(pair), action)
    }
}

pub(super) fn column(action: Action, columns: usize) -> usize {
    match action {
        Action::Continue(a) => a,
        Action::Stop => columns - 1,
    }
}
