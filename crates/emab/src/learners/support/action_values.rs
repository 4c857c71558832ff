//! Action values by pair, with their counts, for learners without a model.

use std::sync::Arc;

use crate::learners::support::decay::Decay;
use crate::learners::support::rows::Rows;
use crate::rng::{Role, Stream};
use crate::spec::{Action, Spec};

/// The value of one action in one pair, and the number of its updates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ActionValue {
    pub(crate) count: u64,
    pub(crate) q: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct ActionValues {
    pub(crate) rows: Rows<ActionValue>,
    /// By row: how often the pair was passed.
    visits: Vec<u64>,
    stream: Stream,
}

impl ActionValues {
    /// A table in which every value is `q`.
    pub(crate) fn new(spec: Arc<Spec>, q: f64) -> ActionValues {
        ActionValues {
            rows: Rows::new(spec, ActionValue { count: 0, q }),
            visits: Vec::new(),
            stream: Stream::new(0, 0, Role::Learner),
        }
    }

    /// The row of a pair that was passed.
    #[inline]
    pub(crate) fn visit(&mut self, t: usize, x: usize) -> usize {
        let row = self.rows.of(t, x);
        let number = self.rows.number(row);
        if self.visits.len() <= number {
            self.visits.resize(number + 1, 0);
        }
        self.visits[number] += 1;
        row
    }

    /// The greedy choice, or any choice with probability `epsilon` at this visit.
    #[inline]
    pub(crate) fn choose(&mut self, t: usize, x: usize, epsilon: Option<Decay>) -> Action {
        let (visits, stream) = (&self.visits, &mut self.stream);
        self.rows.choose(t, x, |rows, row| {
            let passed = || visits.get(rows.number(row)).copied().unwrap_or(0);
            match epsilon {
                Some(epsilon) if stream.uniform() < epsilon.at(passed() + 1) => {
                    rows.any(row, stream)
                }
                _ => rows.best(row, |_, cell| cell.q),
            }
        })
    }

    /// Back to the initial values.
    pub(crate) fn reset(&mut self, stream: Stream) {
        self.rows.clear();
        self.visits.clear();
        self.stream = stream;
    }
}
