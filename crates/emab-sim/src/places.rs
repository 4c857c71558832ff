//! Where the regret comes from: how often each action was chosen in each pair, and which one a run ended with there.
//!
//! Counts only. What a choice costs is known from the oracle, so that threads and interruptions leave no trace here
//! either.

use emab::oracle::{OracleError, Pair};
use emab::{Action, Environment, Estimator, Place};
use serde::{Deserialize, Serialize};

/// Problems with more triplets than this are not recorded by place.
const LIMIT: usize = 200_000;

/// Counts by pair and action, `stop` last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// How often it was chosen.
    chosen: Vec<u64>,
    /// In how many runs it was the last that was chosen there.
    ended_with: Vec<u64>,
}

impl Places {
    /// Counts of 0 for a problem; none where regret is not known by place, or for too many places.
    pub(crate) fn new(environment: &Environment) -> Option<Places> {
        if environment.estimator() != Estimator::Exact {
            return None;
        }
        let pairs = environment.pairs();
        let columns = pairs.problem().spec().actions().len() + 1;
        let cells = pairs.len().checked_mul(columns)?;
        (cells <= LIMIT).then(|| Places {
            chosen: vec![0; cells],
            ended_with: vec![0; cells],
        })
    }

    pub(crate) fn emptied(&self) -> Places {
        Places {
            chosen: vec![0; self.chosen.len()],
            ended_with: vec![0; self.ended_with.len()],
        }
    }

    pub(crate) fn has_shape_of(&self, other: &Places) -> bool {
        self.chosen.len() == other.chosen.len() && self.ended_with.len() == other.ended_with.len()
    }

    pub(crate) fn merge(&mut self, other: &Places) {
        for (mine, theirs) in self.chosen.iter_mut().zip(&other.chosen) {
            *mine += theirs;
        }
        for (mine, theirs) in self.ended_with.iter_mut().zip(&other.ended_with) {
            *mine += theirs;
        }
    }

    /// What they amount to, by step and then state, as means over so many runs.
    pub(crate) fn results(
        &self,
        environment: &mut Environment,
        runs: u64,
    ) -> Result<Vec<Place>, OracleError> {
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
            results.push(Place {
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

/// The choices of one run as it goes on.
pub(crate) struct PlaceWatch {
    columns: usize,
    /// By pair: the column of the last choice, if there was one in this run.
    last: Vec<Option<u32>>,
    touched: Vec<Pair>,
}

impl PlaceWatch {
    pub(crate) fn new(environment: &Environment) -> PlaceWatch {
        PlaceWatch {
            columns: environment.pairs().problem().spec().actions().len() + 1,
            last: vec![None; environment.pairs().len()],
            touched: Vec::new(),
        }
    }

    /// Takes in the episode that was played last.
    pub(crate) fn episode(&mut self, environment: &Environment, places: &mut Places) {
        let actions = &environment.episode().actions;
        for (i, &pair) in environment.path().iter().enumerate() {
            let column = actions.get(i).copied().unwrap_or(self.columns - 1);
            places.chosen[pair.index() * self.columns + column] += 1;
            if self.last[pair.index()].replace(column as u32).is_none() {
                self.touched.push(pair);
            }
        }
    }

    /// The run is over: what each pair ended with is counted, and forgotten.
    pub(crate) fn end(&mut self, places: &mut Places) {
        for pair in self.touched.drain(..) {
            if let Some(column) = self.last[pair.index()].take() {
                places.ended_with[pair.index() * self.columns + column as usize] += 1;
            }
        }
    }
}
