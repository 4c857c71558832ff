//! A problem as a Markov decision process, solved by backward induction and, to compare, by value and policy iteration.

use std::sync::Arc;

use super::{Benchmark, Iteration, Optimal, OracleError};
use crate::{Action, Mdp, Problem};

/// Most transitions that value iteration and policy iteration visit: a second or two.
const MAX_TRANSITIONS: usize = 100_000_000;

/// A Markov decision process with its solution.
#[derive(Debug)]
pub struct SolvedMdp {
    /// The process.
    pub mdp: Mdp,
    /// Expected gain of the benchmark.
    pub benchmark: f64,
    /// Optimal value by state.
    pub values: Vec<f64>,
    /// Optimal action by state.
    pub policy: Vec<usize>,
    /// Value iteration; none if there are too many transitions.
    pub value_iteration: Option<Iteration>,
    /// Policy iteration; none if there are too many transitions.
    pub policy_iteration: Option<Iteration>,
}

impl SolvedMdp {
    /// Converts a problem and solves it.
    pub fn new(problem: Arc<Problem>) -> Result<SolvedMdp, OracleError> {
        let mut benchmark = Benchmark::new(problem)?;
        let optimal = Optimal::new(benchmark.pairs_mut())?;
        let mdp = Mdp::new(benchmark.pairs_mut())?;
        let pairs = benchmark.pairs();
        // The terminal state has value 0 and the action stop.
        let mut values = vec![0.0; mdp.len()];
        let mut policy = vec![mdp.stop(); mdp.len()];
        for pair in pairs.iter() {
            if let Some(state) = mdp.find(pairs.step(pair), pairs.state(pair)) {
                values[state] = optimal.value(pair);
                if let Action::Continue(a) = optimal.choice(pair) {
                    policy[state] = a;
                }
            }
        }
        Ok(SolvedMdp {
            benchmark: benchmark.start_value()?,
            value_iteration: Iteration::of_values(&mdp, MAX_TRANSITIONS),
            policy_iteration: Iteration::of_policies(&mdp, MAX_TRANSITIONS),
            mdp,
            values,
            policy,
        })
    }
}
