//! Value iteration and policy iteration, to compare with backward induction ([`super::Optimal`]), which is one sweep in the
//! right order.
//!
//! On a horizon of `T` the last `k` steps are settled after `k` rounds: there are at most `T + 1` sweeps of value iteration
//! and `T` rounds of policy iteration.

use crate::mdp::Mdp;

/// The optimal policy and its value, found by iteration.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Mdp, Model, Problem, Spec, oracle::{Iteration, Pairs}};
/// // 0.5 now, nothing at step 2, 1 at step 3.
/// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
/// let problem = Arc::new(Problem::new("patience", spec, model));
/// let mdp = Mdp::new(&mut Pairs::new(problem).unwrap()).unwrap();
/// let solved = Iteration::of_policies(&mdp, 1_000_000).unwrap();
/// // Stop everywhere; go on at step 2, which is the benchmark; go on at step 1 too; nothing to improve.
/// assert_eq!(solved.policy, [0, 0, mdp.stop(), mdp.stop()]);
/// assert_eq!((solved.values, solved.rounds), (vec![1.0, 1.0, 1.0, 0.0], 3));
/// assert_eq!(Iteration::of_values(&mdp, 1_000_000).unwrap().rounds, 4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// The value of the optimal policy from each state on.
    pub values: Vec<f64>,
    /// The optimal action in each state.
    pub policy: Vec<usize>,
    /// The number of rounds, the last of which changes nothing.
    pub rounds: usize,
}

impl Iteration {
    /// Value iteration: Bellman's equation applied to all states at once, from zero, until nothing changes.
    /// `V_{k+1}(s) = max_a r(s,a) + sum_s' p(s'|s,a) V_k(s')` (Bellman, *Dynamic Programming*, 1957). None when it visits more
    /// than `limit` transitions.
    pub fn of_values(mdp: &Mdp, limit: usize) -> Option<Iteration> {
        let mut values = vec![0.0; mdp.len()];
        let mut next = values.clone();
        let mut policy = vec![mdp.stop(); mdp.len()];
        for rounds in 1.. {
            if mdp.transition_count().saturating_mul(rounds) > limit {
                break;
            }
            for (state, (choice, value)) in policy.iter_mut().zip(&mut next).enumerate() {
                (*choice, *value) = mdp.best(state, &values);
            }
            let same = next == values;
            std::mem::swap(&mut values, &mut next);
            if same {
                return Some(Iteration {
                    values,
                    policy,
                    rounds,
                });
            }
        }
        None
    }

    /// Policy iteration: evaluate a policy and improve on it everywhere, until it is stable (Howard, *Dynamic Programming and
    /// Markov Processes*, 1960). It begins with the policy that always stops, so the first improvement is the paper's
    /// benchmark (Algorithm 1). None when it visits more than `limit` transitions.
    pub fn of_policies(mdp: &Mdp, limit: usize) -> Option<Iteration> {
        let mut policy = vec![mdp.stop(); mdp.len()];
        for rounds in 1.. {
            // A round visits at most all transitions to evaluate a policy, and all to improve on it.
            if mdp.transition_count().saturating_mul(2 * rounds) > limit {
                break;
            }
            let values = mdp.evaluate(&policy)?;
            let better = mdp.improve(&values)?;
            if better == policy {
                return Some(Iteration {
                    values,
                    policy,
                    rounds,
                });
            }
            policy = better;
        }
        None
    }
}
