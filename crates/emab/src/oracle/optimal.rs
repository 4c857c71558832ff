//! The optimal policy, by backward induction over every reachable pair.

use super::best_action;
use super::pairs::{OracleError, Pair, Pairs};
use crate::spec::Action;

/// The optimal policy and its value, for every pair that was reachable when it was computed.
#[derive(Clone, Debug)]
pub struct Optimal {
    choice: Vec<Action>,
    value: Vec<f64>,
}

impl Optimal {
    /// The maximum number of pairs.
    pub const LIMIT: usize = 2_000_000;

    /// Expands and solves all reachable pairs.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use emab::{Model, Problem, Spec, oracle::{Optimal, Pairs}};
    /// // Rewards 0.5, 0 and 1: the benchmark stops at once, the optimal policy does not.
    /// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
    /// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
    /// let mut pairs = Pairs::new(Arc::new(Problem::new("patience", spec, model))).unwrap();
    /// let optimal = Optimal::new(&mut pairs).unwrap();
    /// assert_eq!(optimal.start_value(&pairs), 1.0);
    /// ```
    pub fn new(pairs: &mut Pairs) -> Result<Optimal, OracleError> {
        pairs.expand_all(Self::LIMIT, "the optimal policy")?;
        let mut value = vec![0.0; pairs.len()];
        let mut choice = vec![Action::Stop; pairs.len()];
        for pair in pairs.backwards() {
            let expected_value = pairs.allowed(pair).map(|a| {
                let after = |next: Pair| value[next.index()];
                let (expected_value, size) = pairs.action_value_with_size(pair, a, after);
                (a, expected_value, size)
            });
            let (action, best) = best_action(pairs.reward(pair), expected_value);
            choice[pair.index()] = action;
            value[pair.index()] = best;
        }
        Ok(Optimal { choice, value })
    }

    /// The choice of the optimal policy in a pair.
    pub fn choice(&self, pair: Pair) -> Action {
        self.choice[pair.index()]
    }

    /// Its value from a pair on.
    pub fn value(&self, pair: Pair) -> f64 {
        self.value[pair.index()]
    }

    /// Its expected gain per episode; the pairs must be those it was computed on.
    pub fn start_value(&self, pairs: &Pairs) -> f64 {
        pairs.start_value(|start| self.value(start))
    }
}
