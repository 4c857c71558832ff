//! Where the regret comes from: how often each action was chosen in each pair, and which one a run ended with there.
//!
//! Counts only. What a choice costs is known from the oracle, so that threads and interruptions leave no trace here
//! either.

use crate::results::StateRegret;
use emab::environment::RegretEstimator;
use emab::oracle::{OracleError, Pair};
use emab::{Action, ConditionedEnvironment, Environment};
use serde::{Deserialize, Serialize};

use crate::engine::tables::{Tables, WORDS};
use crate::engine::vector::walk::{FastLearner, RunState};

/// Counts by pair and action, `stop` last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceCounts {
    /// How often it was chosen.
    chosen: Vec<u64>,
    /// In how many runs it was the last that was chosen there.
    ended_with: Vec<u64>,
}

impl ChoiceCounts {
    /// Counts of 0 for a problem; none where regret is not known by place, or where a place has one law after another.
    pub(crate) fn new(world: &ConditionedEnvironment) -> Option<ChoiceCounts> {
        let environment = world.environment();
        let known = environment.estimator() == RegretEstimator::Exact && world.phases() == 1;
        known.then(|| {
            let pairs = environment.pairs();
            let cells = pairs.len() * (pairs.problem().spec().actions().len() + 1);
            ChoiceCounts {
                chosen: vec![0; cells],
                ended_with: vec![0; cells],
            }
        })
    }

    pub(crate) fn has_shape_of(&self, other: &ChoiceCounts) -> bool {
        self.chosen.len() == other.chosen.len() && self.ended_with.len() == other.ended_with.len()
    }

    /// Adds all counts of another; none if that is of another problem.
    pub(crate) fn merge(&mut self, other: &ChoiceCounts) -> Option<()> {
        if !self.has_shape_of(other) {
            return None;
        }
        let pairs = self.chosen.iter_mut().zip(&other.chosen);
        for (mine, theirs) in pairs.chain(self.ended_with.iter_mut().zip(&other.ended_with)) {
            *mine += theirs;
        }
        Some(())
    }

    pub(crate) fn add(&mut self, counts: &RunChoiceCounts) {
        for &(cell, count) in &counts.chosen {
            self.chosen[cell as usize] += count;
        }
        for &(cell, count) in &counts.ended_with {
            self.ended_with[cell as usize] += count;
        }
    }

    /// What they amount to, by step and then state, as means over so many runs.
    pub(crate) fn results(
        &self,
        environment: &mut Environment,
        runs: u64,
    ) -> Result<Vec<StateRegret>, OracleError> {
        let spec = environment.pairs().problem().spec().clone();
        let actions = spec.actions().len();
        let action = |column: usize| {
            if column < actions {
                Action::Continue(column)
            } else {
                Action::Stop
            }
        };
        let name = |action: Action| spec.action_name(action).into_owned();
        let mut order: Vec<Pair> = environment.pairs().iter().collect();
        let place = |environment: &Environment, pair| {
            (
                environment.pairs().step(pair),
                environment.pairs().state(pair),
            )
        };
        order.sort_by_key(|&pair| place(environment, pair));
        let mut results = Vec::new();
        for pair in order {
            let (t, x) = place(environment, pair);
            let row = pair.index() * (actions + 1)..(pair.index() + 1) * (actions + 1);
            let (chosen, ended_with) = (&self.chosen[row.clone()], &self.ended_with[row]);
            let oracle = environment.oracle();
            let best = oracle.choice(pair)?;
            let mut regret = 0.0;
            for (column, &count) in chosen.iter().enumerate().filter(|(_, count)| **count > 0) {
                regret += count as f64 * oracle.regret(pair, action(column))?;
            }
            let came: u64 = ended_with.iter().sum();
            // The first of the most frequent.
            let most = ended_with.iter().max().copied().filter(|most| *most > 0);
            let learned = most.and_then(|most| ended_with.iter().position(|n| *n == most));
            let agreed = (0..=actions).find(|&column| action(column) == best);
            let agreed = agreed.map_or(0, |column| ended_with[column]);
            results.push(StateRegret {
                t,
                x,
                state: spec.states().name(x).into_owned(),
                visits: chosen.iter().sum::<u64>() as f64 / runs as f64,
                regret: regret / runs as f64,
                benchmark: name(best),
                learned: learned.map(|column| name(action(column))),
                agree: if came == 0 {
                    0.0
                } else {
                    agreed as f64 / came as f64
                },
            });
        }
        Ok(results)
    }
}

/// The counts of one block of runs that are not 0, by cell: what a thread hands over.
#[derive(Default)]
pub(crate) struct RunChoiceCounts {
    pub(crate) chosen: Vec<(u32, u64)>,
    pub(crate) ended_with: Vec<(u32, u64)>,
}

impl RunChoiceCounts {
    /// Adds what one run did.
    pub(crate) fn add_run<P: FastLearner>(&mut self, tables: &Tables, seat: &RunState<P>) {
        for &row in &*seat.visited(tables) {
            let row = row as usize;
            let stop = row + WORDS * tables.actions;
            let mut stopped = seat.player.count(stop);
            for at in (row..stop).step_by(WORDS) {
                let count = seat.player.count(at);
                stopped -= count;
                if count > 0 {
                    self.chosen.push((tables.cell(at) as u32, count));
                }
            }
            if stopped > 0 {
                self.chosen.push((tables.cell(stop) as u32, stopped));
            }
            self.ended_with
                .push((tables.cell(seat.last(row)) as u32, 1));
        }
    }
}
