//! What choices cost, in the memory of a card.

use emab::Action;

use crate::engine::tables::{Tables, WORDS};

/// What a choice costs, see `kernel/job.h`.
#[derive(Clone, Copy)]
struct Loss {
    loss: f64,
    entry: u32,
    action: u16,
    cause: u16,
}

/// Losses in the order in which a card reads them.
#[derive(Default)]
pub(super) struct Losses {
    pub(super) bytes: Vec<u8>,
    /// The number of losses of a row, if they are in the order of the rows.
    pub(super) of_row: u32,
    /// By cause: the end of its losses, if they are in the order of the causes.
    pub(super) cause_ends: [u32; 3],
}

impl Losses {
    /// By row, the same number for each.
    pub(super) fn by_row(tables: &Tables, entries: impl Iterator<Item = (usize, u32)>) -> Losses {
        let rows: Vec<_> = entries
            .map(|(row, entry)| of_row(tables, row, entry))
            .collect();
        let most = rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut losses = Losses {
            of_row: most as u32,
            ..Losses::default()
        };
        for row in rows {
            row.iter().for_each(|loss| losses.add(loss));
            let nothing = Loss {
                loss: 0.0,
                entry: 0,
                action: 0,
                cause: 0,
            };
            (row.len()..most).for_each(|_| losses.add(&nothing));
        }
        losses
    }

    /// By cause, those of a cause by row.
    pub(super) fn by_cause(tables: &Tables, entries: impl Iterator<Item = (usize, u32)>) -> Losses {
        let mut all: Vec<Loss> = entries
            .flat_map(|(row, entry)| of_row(tables, row, entry))
            .collect();
        all.sort_by_key(|loss| loss.cause);
        let mut losses = Losses {
            cause_ends: [0, 1, 2]
                .map(|cause| all.partition_point(|loss| loss.cause <= cause) as u32),
            ..Losses::default()
        };
        all.iter().for_each(|loss| losses.add(loss));
        losses
    }

    fn add(&mut self, loss: &Loss) {
        self.bytes.extend(loss.loss.to_ne_bytes());
        self.bytes.extend(loss.entry.to_ne_bytes());
        self.bytes.extend(loss.action.to_ne_bytes());
        self.bytes.extend(loss.cause.to_ne_bytes());
    }
}

/// The losses of a row that are not 0.
fn of_row(tables: &Tables, row: usize, entry: u32) -> Vec<Loss> {
    let best = tables.action(row, tables.best(row));
    let loss = |a: usize| Loss {
        loss: tables.loss(row + WORDS * a),
        entry,
        action: a as u16,
        cause: match (best, a < tables.actions) {
            (_, false) => 0,
            (Action::Stop, true) => 1,
            (Action::Continue(_), true) => 2,
        },
    };
    let losses = (0..=tables.actions).map(loss);
    losses.filter(|loss| loss.loss != 0.0).collect()
}
