//! Regret by step-state pair: how often each action was chosen there, and which one was the last of a run.
//!
//! Only counts are stored; the oracle gives what each choice costs. Counts do not depend on threads or interruptions.

use crate::results::StateRegret;
use emab::environment::RegretEstimator;
use emab::oracle::{OracleError, Pair};
use emab::{Action, ConditionedEnvironment, Environment};
use serde::{Deserialize, Serialize};

use crate::engine::simd::step_loop::{FastLearner, RunState};
use crate::engine::tables::{Tables, WORDS};

/// Counts by pair and action, `stop` last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChoiceCounts {
    /// How often the action was chosen.
    chosen: Vec<u64>,
    /// In how many runs it was the last choice at the pair.
    ended_with: Vec<u64>,
}

impl ChoiceCounts {
    /// Counts of 0 for a problem; none where regret is not exact or the model changes between episodes.
    pub(crate) fn new(conditioned: &ConditionedEnvironment) -> Option<ChoiceCounts> {
        let environment = conditioned.environment();
        let exact = environment.estimator() == RegretEstimator::Exact && conditioned.phases() == 1;
        exact.then(|| {
            let pairs = environment.pairs();
            let entries = pairs.len() * (pairs.problem().spec().actions().len() + 1);
            ChoiceCounts {
                chosen: vec![0; entries],
                ended_with: vec![0; entries],
            }
        })
    }

    pub(crate) fn has_shape_of(&self, other: &ChoiceCounts) -> bool {
        self.chosen.len() == other.chosen.len() && self.ended_with.len() == other.ended_with.len()
    }

    /// Adds all counts of another; none if the shapes differ.
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
        for &(entry, count) in &counts.chosen {
            self.chosen[entry as usize] += count;
        }
        for &(entry, count) in &counts.ended_with {
            self.ended_with[entry as usize] += count;
        }
    }

    /// The regret by step and state, as means over this many runs.
    pub(crate) fn results(
        &self,
        environment: &mut Environment,
        runs: u64,
    ) -> Result<Vec<StateRegret>, OracleError> {
        let spec = environment.pairs().problem().spec().clone();
        let actions = spec.actions().len();
        let action = |column: usize| match column < actions {
            true => Action::Continue(column),
            false => Action::Stop,
        };
        let name = |action: Action| spec.action_name(action).into_owned();
        let pairs = environment.pairs();
        let mut order: Vec<(usize, usize, Pair)> = pairs
            .iter()
            .map(|pair| (pairs.step(pair), pairs.state(pair), pair))
            .collect();
        order.sort_by_key(|&(t, x, _)| (t, x));
        let mut results = Vec::new();
        for (t, x, pair) in order {
            let row = pair.index() * (actions + 1)..(pair.index() + 1) * (actions + 1);
            let (chosen, ended_with) = (&self.chosen[row.clone()], &self.ended_with[row]);
            let oracle = environment.oracle();
            let best = oracle.choice(pair)?;
            let mut regret = 0.0;
            for (column, &count) in chosen.iter().enumerate().filter(|(_, count)| **count > 0) {
                regret += count as f64 * oracle.regret(pair, action(column))?;
            }
            let visited_runs: u64 = ended_with.iter().sum();
            // The first of the most frequent actions.
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
                // No run agrees at a pair that none visited.
                agree: agreed as f64 / visited_runs.max(1) as f64,
            });
        }
        Ok(results)
    }
}

/// The non-zero counts of one block of runs, by entry.
#[derive(Default)]
pub(crate) struct RunChoiceCounts {
    pub(crate) chosen: Vec<(u32, u64)>,
    pub(crate) ended_with: Vec<(u32, u64)>,
}

impl RunChoiceCounts {
    /// Adds the choices of one run.
    pub(crate) fn add_run<P: FastLearner>(&mut self, tables: &Tables, state: &RunState<P>) {
        for &row in &*state.visited(tables) {
            let row = row as usize;
            let stop = row + WORDS * tables.actions;
            let mut stopped = state.player.count(stop);
            for at in (row..stop).step_by(WORDS) {
                let count = state.player.count(at);
                stopped -= count;
                if count > 0 {
                    self.chosen.push((tables.entry(at) as u32, count));
                }
            }
            if stopped > 0 {
                self.chosen.push((tables.entry(stop) as u32, stopped));
            }
            self.ended_with
                .push((tables.entry(state.last(row)) as u32, 1));
        }
    }
}
