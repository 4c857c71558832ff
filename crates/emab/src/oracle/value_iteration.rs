//! Value iteration: Bellman's equation applied to all states at once, from zero, until nothing changes.
//!
//! `V_{k+1}(s) = max_a r(s,a) + sum_s' p(s'|s,a) V_k(s')` (Bellman, *Dynamic Programming*, 1957). On a horizon of `T`
//! the states of the last `k` steps have their value after `k` sweeps, so that there are at most `T + 1`, the last of
//! which changes nothing. Backward induction ([`super::Optimal`]) is one sweep in the right order; this one knows of
//! no order, and is here to be compared with it.

use crate::mdp::Mdp;

/// The optimal policy and its value by value iteration.
///
/// ```
/// use std::sync::Arc;
/// use emab::{Mdp, Model, Problem, Spec, oracle::{Pairs, ValueIteration}};
/// // 0.5 now, nothing at step 2, 1 at step 3.
/// let spec = Spec::numbered(3, 1, 1, 1).unwrap();
/// let model = Model::new(|_t, _x, _a, _f| 1.0, |t, _x, _a, _f| [0.5, 0.0, 1.0][t - 1]);
/// let problem = Arc::new(Problem::new("patience", spec, model));
/// let mdp = Mdp::new(&mut Pairs::new(problem).unwrap()).unwrap();
/// let solved = ValueIteration::new(&mdp, 1_000_000).unwrap();
/// assert_eq!(solved.values(), [1.0, 1.0, 1.0, 0.0]);
/// assert_eq!(solved.sweeps(), 4);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ValueIteration {
    values: Vec<f64>,
    policy: Vec<usize>,
    sweeps: usize,
}

impl ValueIteration {
    /// Sweeps until nothing changes; none when that takes more than `limit` transitions to be looked at.
    pub fn new(mdp: &Mdp, limit: usize) -> Option<ValueIteration> {
        let mut values = vec![0.0; mdp.len()];
        let mut next = values.clone();
        let mut policy = vec![mdp.stop(); mdp.len()];
        let (mut sweeps, mut work) = (0, 0_usize);
        loop {
            work = work.saturating_add(mdp.transition_count());
            if work > limit {
                return None;
            }
            for (state, (choice, value)) in policy.iter_mut().zip(&mut next).enumerate() {
                (*choice, *value) = mdp.best(state, &values);
            }
            sweeps += 1;
            let same = next == values;
            std::mem::swap(&mut values, &mut next);
            if same {
                return Some(ValueIteration {
                    values,
                    policy,
                    sweeps,
                });
            }
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

    /// How many sweeps it took, the last of which changed nothing.
    pub fn sweeps(&self) -> usize {
        self.sweeps
    }
}
