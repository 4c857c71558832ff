//! FeedBAL's tables without its widths: observed gains of each action, by step and state.
//!
//! An observation of a continuation action is `R_{t+1} - C_t`, one for each time it was taken; one of `stop` is `R_t`, one
//! for each time the pair was passed. Learners on these tables target the paper's benchmark, one step ahead.

use std::sync::Arc;

use crate::episode::Episode;
use crate::learners::support::rows::Rows;
use crate::learners::support::tabular::Sums;
use crate::spec::Spec;

/// The table: by pair and action, its observations.
pub(crate) type Gains = Rows<Sums>;

impl Gains {
    /// A table without observations.
    pub(crate) fn empty(spec: Arc<Spec>) -> Gains {
        Rows::new(spec, Sums::default())
    }

    /// Learns the known values of an episode.
    pub(crate) fn learn(&mut self, episode: &Episode) {
        for (i, &x) in episode.states.iter().enumerate() {
            let row = self.of(i + 1, x);
            let stop = self.stop(row);
            if let Some(reward) = episode.known_reward(i + 1) {
                self.cells[stop].add(reward);
            }
            if let (Some(&a), Some(gain)) = (episode.actions.get(i), episode.known_gain(i + 1)) {
                self.cells[row + a].add(gain);
            }
        }
    }

    /// The action with the largest mean; `stop` without observations.
    pub(crate) fn greedy(&self, row: usize) -> usize {
        self.best(row, |_, gain| match gain.count {
            0 => f64::NEG_INFINITY,
            _ => gain.mean(),
        })
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;
    use crate::model::{Model, Noise, Problem};

    /// Three steps, two states, two actions. The benchmark continues twice, with the second action in state 0 and the first
    /// in state 1.
    pub(crate) fn crossing() -> Arc<Problem> {
        let spec = Spec::numbered(3, 2, 2, 2)
            .unwrap()
            .transition(|_t, _x, _a, f| f as f64);
        let noise = Noise::normal(0.01).unwrap();
        // The next state is 1 with probability 0.8 for the better action and 0.3 for the other.
        let probability = |x: usize, a: usize| if a != x { 0.8 } else { 0.3 };
        let distribution = move |_t: usize, x: usize, a: usize, f: usize| {
            if f == 1 {
                probability(x, a)
            } else {
                1.0 - probability(x, a)
            }
        };
        let reward = |t: usize, x: usize, _a: usize, _f: usize| 0.2 * t as f64 + 0.4 * x as f64;
        let model = Model::new(distribution, reward)
            .cost(|_t, _x, _a, _f| 0.05)
            .noise(noise, noise);
        Arc::new(Problem::new("crossing", spec, model))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::crossing;
    use super::*;
    use crate::learners::support::tabular::testing::after;

    #[test]
    fn gains_are_those_of_algorithm_2() {
        let mut gains = Gains::empty(crossing().spec().clone());
        gains.learn(&after(&[(1, 1), (0, 0)], &[0.25, 0.5], &[1.0, 2.0, 4.0]));
        gains.learn(&after(&[(1, 0)], &[0.75], &[3.0, 5.0]));
        // An unknown outcome, and one with only the first reward.
        gains.learn(&after(&[(1, 0)], &[], &[]));
        gains.learn(&after(&[(0, 0)], &[1.0], &[6.0]));
        let row = gains.of(1, 0);
        let cell = |count, sum| Sums { count, sum };
        let expected = [cell(0, 0.0), cell(2, 1.75 + 4.25), cell(3, 10.0)];
        assert_eq!(gains.cells[row..row + 3], expected);
        let row = gains.of(2, 1);
        let expected = [cell(1, 3.5), cell(0, 0.0), cell(1, 2.0)];
        assert_eq!(gains.cells[row..row + 3], expected);
        assert_eq!(gains.greedy(row), row);
        let unseen = gains.of(3, 1);
        assert_eq!(gains.greedy(unseen), gains.stop(unseen));
    }
}
