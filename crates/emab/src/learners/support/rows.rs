//! A table with a row for each visited step-state pair and a column for each action, `stop` last.
//!
//! It grows with visited pairs, so learners that use it work on problems of any size.

use std::sync::Arc;

use crate::rng::Stream;
use crate::slots::Slots;
use crate::spec::{Action, Spec};

/// The table. A row is identified by the index of its first cell.
#[derive(Clone, Debug)]
pub(crate) struct Rows<C> {
    spec: Arc<Spec>,
    /// The number of actions, and one for `stop`.
    columns: usize,
    slots: Slots,
    fresh: C,
    pub(crate) cells: Vec<C>,
    /// By cell: whether the action is allowed.
    allowed: Vec<bool>,
}

impl<C: Copy> Rows<C> {
    /// A table without rows; `fresh` fills new rows.
    pub(crate) fn new(spec: Arc<Spec>, fresh: C) -> Rows<C> {
        Rows {
            slots: Slots::new(spec.horizon(), spec.states().len()),
            columns: spec.actions().len() + 1,
            spec,
            fresh,
            cells: Vec::new(),
            allowed: Vec::new(),
        }
    }

    pub(crate) fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The action of the cell that `choose` returns for the row of a pair; `stop` at the horizon.
    #[inline]
    pub(crate) fn choose(
        &mut self,
        t: usize,
        x: usize,
        choose: impl FnOnce(&Rows<C>, usize) -> usize,
    ) -> Action {
        if t >= self.spec.horizon() {
            return Action::Stop;
        }
        let row = self.of(t, x);
        self.action(row, choose(self, row))
    }

    /// The row of a pair.
    #[inline]
    pub(crate) fn of(&mut self, t: usize, x: usize) -> usize {
        let (slot, new) = self.slots.of(t, x);
        if new {
            self.add(t, x);
        }
        slot * self.columns
    }

    #[cold]
    fn add(&mut self, t: usize, x: usize) {
        let actions = 0..self.spec.actions().len();
        self.allowed
            .extend(actions.map(|a| self.spec.is_allowed(t, x, a)));
        self.allowed.push(true);
        self.cells.resize(self.allowed.len(), self.fresh);
    }

    /// The number of a row, from 0 in the order of first visits.
    pub(crate) fn number(&self, row: usize) -> usize {
        row / self.columns
    }

    /// The cell of `stop` in a row.
    pub(crate) fn stop(&self, row: usize) -> usize {
        row + self.columns - 1
    }

    /// The cells of the allowed actions of a row: `stop`, then the others by index.
    pub(crate) fn choices(&self, row: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        let stop = self.stop(row);
        std::iter::once(stop).chain((row..stop).filter(|&cell| self.allowed[cell]))
    }

    /// The action of a cell of a row.
    pub(crate) fn action(&self, row: usize, cell: usize) -> Action {
        if cell < self.stop(row) {
            Action::Continue(cell - row)
        } else {
            Action::Stop
        }
    }

    /// The cell with the largest value. `stop` wins ties, then the lowest action, as in the paper.
    pub(crate) fn best(&self, row: usize, mut value: impl FnMut(usize, &C) -> f64) -> usize {
        let mut best = (self.stop(row), f64::NEG_INFINITY);
        for cell in self.choices(row) {
            let value = value(cell, &self.cells[cell]);
            if value > best.1 {
                best = (cell, value);
            }
        }
        best.0
    }

    /// A cell of an allowed action, uniformly at random.
    pub(crate) fn any(&self, row: usize, stream: &mut Stream) -> usize {
        let mut choices = self.choices(row);
        let chosen = stream.below(choices.clone().count());
        choices.nth(chosen).unwrap_or(self.stop(row))
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
        self.cells.clear();
        self.allowed.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Role;

    #[test]
    fn rows_offer_allowed_actions_only() {
        let spec = Spec::numbered(2, 1, 3, 1)
            .unwrap()
            .allowed(|_t, _x, a, _f| f64::from(u8::from(a != 1)));
        let mut rows = Rows::new(Arc::new(spec), 0.5);
        let (last, first) = (rows.of(2, 0), rows.of(1, 0));
        assert_eq!((last, first, rows.of(2, 0)), (0, 4, 0));
        assert_eq!(rows.number(first), 1);
        assert_eq!(rows.choices(last).collect::<Vec<_>>(), [3]);
        assert_eq!(rows.choices(first).collect::<Vec<_>>(), [7, 4, 6]);
        assert_eq!(rows.action(first, 6), Action::Continue(2));
        // `stop` wins ties, then the lowest.
        assert_eq!(rows.best(first, |_, &value| value), 7);
        rows.cells[7] = 0.0;
        assert_eq!(rows.best(first, |_, &value| value), 4);
        rows.cells[5] = 9.0;
        assert_eq!(rows.best(first, |_, &value| value), 4);
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut seen = [0; 8];
        for _ in 0..3000 {
            seen[rows.any(first, &mut stream)] += 1;
        }
        let even = |cell: &usize| (850..1150).contains(&seen[*cell]);
        assert!([4, 6, 7].iter().all(even));
        assert_eq!(seen[5], 0);
    }
}
