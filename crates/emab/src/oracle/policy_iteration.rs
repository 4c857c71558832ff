//! Policy iteration: evaluate a policy, improve on it everywhere, until it is stable.
//!
//! Howard, *Dynamic Programming and Markov Processes*, 1960. It begins with the policy that always stops, which earns the
//! terminal rewards; the first improvement on that is therefore the paper's benchmark (Algorithm 1), and the rounds after
//! it are what the benchmark lacks to be optimal. After `k` rounds the policy of the last `k` steps is settled, so
//! that there are at most as many rounds as steps.

use crate::mdp::Mdp;

/// The optimal policy and its value by policy iteration.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Mdp, Model, Problem, Spec, oracle::{Pairs, PolicyIteration}};
/// // 0.5 now, nothing at step 2, 1 at step 3.
/// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
/// let problem = Arc::new(Problem::new("patience", spec, model));
/// let mdp = Mdp::new(&mut Pairs::new(problem).unwrap()).unwrap();
/// let solved = PolicyIteration::new(&mdp, 1_000_000).unwrap();
/// // Stop everywhere; go on at step 2, which is the benchmark; go on at step 1 too; nothing to improve.
/// assert_eq!(solved.policy(), [0, 0, mdp.stop(), mdp.stop()]);
/// assert_eq!(solved.values(), [1.0, 1.0, 1.0, 0.0]);
/// assert_eq!(solved.rounds(), 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyIteration {
    values: Vec<f64>,
    policy: Vec<usize>,
    rounds: usize,
}

impl PolicyIteration {
    /// Evaluates and improves until nothing changes; none when that takes more than `limit` transitions to be looked at.
    pub fn new(mdp: &Mdp, limit: usize) -> Option<PolicyIteration> {
        let mut policy = vec![mdp.stop(); mdp.len()];
        let (mut rounds, mut work) = (0, 0_usize);
        loop {
            // A policy has at most one transition of each that is there to be evaluated, and all to be improved on.
            work = work.saturating_add(mdp.transition_count().saturating_mul(2));
            if work > limit {
                return None;
            }
            let values = mdp.evaluate(&policy)?;
            let better = mdp.improve(&values)?;
            rounds += 1;
            if better == policy {
                return Some(PolicyIteration {
                    values,
                    policy,
                    rounds,
                });
            }
            policy = better;
        }
    }

    /// What the optimal policy earns from each state on.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The optimal action in each state.
    pub fn policy(&self) -> &[usize] {
        &self.policy
    }

    /// How many policies were evaluated, the last of which could not be improved.
    pub fn rounds(&self) -> usize {
        self.rounds
    }
}
