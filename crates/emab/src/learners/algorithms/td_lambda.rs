//! Sarsa(lambda): Rummery, Niranjan, *On-line Q-learning using connectionist systems* (1994); Sutton, Barto, *Reinforcement
//! Learning* (1998), Section 7.5.
//!
//! After a step from `x` by `a` to `y`, where `b` is taken next, `d = r + Q(y,b) - Q(x,a)`. The trace of `(x,a)` is raised by 1
//! (accumulating) or set to 1 (replacing), every `Q` moves by `alpha d` times its trace, and all traces shrink by
//! `lambda`. Actions are chosen epsilon-greedily. With `lambda=0` it is one-step Sarsa, with `lambda=1` every action learns from
//! all that came after it.
//!
//! Adaptations:
//! - Costs and rewards are revealed after the episode; updates are then made in the order of its steps. A state is a
//!   step-state pair, which occurs at most once in an episode, with three consequences. The delay changes nothing: no
//!   choice reads what an earlier step of its episode has changed. Accumulating and replacing traces are the same, so there
//!   is no parameter for it. And each `d` is of values from before the episode, so a value moves by `alpha` times
//!   `d_i + lambda d_{i+1} + lambda^2 d_{i+2} + …`, which is computed backwards in one pass.
//! - `stop` is the last action of every episode: its `d` is the terminal reward less its `Q`. Nothing is discounted.
//! - `alpha` falls with how often the action was taken in the pair, `epsilon` with the visits to the pair.
//! - With `reveal=true`, `Q` of `stop` moves in each pair that was passed by `alpha` times what its revealed reward is more than
//!   it. These have no traces: nothing before them earned it.

use super::prelude::*;
use crate::learners::support::action_values::ActionValues;
use crate::learners::support::decay::{ALPHA, ALPHA_DECAY, Decay, EPSILON, EPSILON_DECAY};
use crate::learners::support::tabular::REVEAL;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "td-lambda",
    title: "Sarsa(lambda)",
    about: "Sarsa(lambda): action values learned from temporal differences with eligibility traces",
    reference: "Rummery, Niranjan 1994, On-line Q-learning using connectionist systems; Sutton, Barto 1998, Section 7.5",
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        Parameter::new("lambda", "0.9").about("trace decay, from 0 (one step) to 1 (all steps)"),
        EPSILON,
        EPSILON_DECAY,
        ALPHA,
        ALPHA_DECAY,
        Parameter::new("initial", "0").about("initial action value, a finite number"),
        REVEAL,
    ],
    build: |with| {
        let parameters = SarsaParameters {
            lambda: with.within("lambda", 0.0, 1.0)?,
            epsilon: Decay::epsilon(with)?,
            alpha: Decay::alpha(with)?,
            reveal: with.flag("reveal")?,
        };
        let initial = with.finite("initial")?;
        BuiltLearner::other(TdLambda::new(with.spec.clone(), parameters, initial))
    },
    ..LearnerEntry::DEFAULT
};

/// Its parameters.
#[derive(Clone, Copy, Debug)]
struct SarsaParameters {
    lambda: f64,
    epsilon: Decay,
    alpha: Decay,
    reveal: bool,
}

#[derive(Clone, Debug)]
struct TdLambda {
    parameters: SarsaParameters,
    table: ActionValues,
}

impl TdLambda {
    fn new(spec: Arc<Spec>, parameters: SarsaParameters, initial: f64) -> TdLambda {
        TdLambda {
            parameters,
            table: ActionValues::new(spec, initial),
        }
    }

    /// Moves a value by its step size times a difference.
    fn step(&mut self, cell: usize, difference: f64) {
        let cell = &mut self.table.rows.cells[cell];
        cell.count += 1;
        cell.q += self.parameters.alpha.at(cell.count) * difference;
    }
}

impl Learner for TdLambda {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        self.table.choose(t, x, Some(self.parameters.epsilon))
    }

    fn learn(&mut self, episode: &Episode) {
        let steps = episode.states.len();
        // What follows: the value of the next action before this episode, and the differences from there on.
        let (mut ahead, mut beyond) = (None, 0.0);
        for (i, &x) in episode.states.iter().enumerate().rev() {
            let row = self.table.visit(i + 1, x);
            let stop = self.table.rows.stop(row);
            let reward = episode.known_reward(i + 1);
            let (cell, target) = if i + 1 == steps {
                (stop, reward)
            } else {
                let cost = episode.known_cost(i + 1).zip(ahead);
                let cell = episode.actions.get(i).map_or(stop, |&a| row + a);
                (cell, cost.map(|(cost, ahead): (_, f64)| ahead - cost))
            };
            if i + 1 < steps
                && self.parameters.reveal
                && let Some(reward) = reward
            {
                self.step(stop, reward - self.table.rows.cells[stop].q);
            }
            let before = self.table.rows.cells[cell].q;
            ahead = Some(before);
            // Where it is not known what a step paid, nothing from there on is.
            beyond = if let Some(target) = target {
                let sum = target - before + self.parameters.lambda * beyond;
                self.step(cell, sum);
                sum
            } else {
                0.0
            };
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.table.reset(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, patience, play};

    const SETTLED: SarsaParameters = SarsaParameters {
        lambda: 0.5,
        epsilon: Decay {
            first: 1.0,
            power: 0.5,
        },
        alpha: Decay {
            first: 0.5,
            power: 0.0,
        },
        reveal: false,
    };

    fn learner(parameters: SarsaParameters) -> TdLambda {
        TdLambda::new(patience().spec().clone(), parameters, 0.25)
    }

    fn cell(learner: &mut TdLambda, t: usize, x: usize, column: usize) -> usize {
        learner.table.rows.of(t, x) + column
    }

    /// As it was published: step by step, with a trace for every cell.
    fn step_by_step(learner: &mut TdLambda, episode: &Episode, replacing: bool) -> Vec<f64> {
        let path: Vec<usize> = (0..episode.steps())
            .map(|i| {
                let column = episode.actions.get(i).copied().unwrap_or(1);
                cell(learner, i + 1, episode.states[i], column)
            })
            .collect();
        let mut q: Vec<f64> = learner.table.rows.cells.iter().map(|cell| cell.q).collect();
        let mut trace = vec![0.0; q.len()];
        for (i, &here) in path.iter().enumerate() {
            let target = match path.get(i + 1) {
                Some(&next) => q[next] - episode.costs[i],
                None => episode.rewards[i],
            };
            let d = target - q[here];
            trace[here] = if replacing { 1.0 } else { trace[here] + 1.0 };
            for (q, trace) in q.iter_mut().zip(&mut trace) {
                *q += SETTLED.alpha.first * d * *trace;
                *trace *= SETTLED.lambda;
            }
        }
        q
    }

    #[test]
    fn updates_are_the_published_ones() {
        for replacing in [false, true] {
            let mut learner = learner(SETTLED);
            for (f, pay) in [(0, 0.3), (1, 0.9), (1, 0.7), (0, 0.2)] {
                for steps in [&[(0, f), (0, 1)][..], &[(0, f)], &[]] {
                    let costs = [0.1, 0.05];
                    let rewards = [0.5, 0.1, pay];
                    let n = steps.len();
                    let episode = after(steps, &costs[..n], &rewards[..=n]);
                    let expected = step_by_step(&mut learner, &episode, replacing);
                    learner.learn(&episode);
                    for (cell, expected) in learner.table.rows.cells.iter().zip(expected) {
                        assert!((cell.q - expected).abs() < 1e-12);
                    }
                }
            }
        }
    }

    #[test]
    fn by_hand() {
        // d: 0.25 - 0.1 - 0.25 = -0.1, then 0.75 - 0.25 = 0.5. Q(1, on) = 0.25 + 0.5 (-0.1 + 0.5 * 0.5).
        let mut learner = learner(SarsaParameters {
            reveal: true,
            ..SETTLED
        });
        learner.learn(&after(&[(0, 1)], &[0.1], &[0.65, 0.75]));
        for (t, x, column, by_hand) in [
            (1, 0, 0, 0.325),
            (2, 1, 1, 0.5),
            (1, 0, 1, 0.45),
            (2, 1, 0, 0.25),
        ] {
            let cell = cell(&mut learner, t, x, column);
            let q = learner.table.rows.cells[cell].q;
            assert!((q - by_hand).abs() < 1e-12, "{q} is not {by_hand}");
        }
        // An unknown outcome changes nothing; with known costs alone, only what they determine.
        let before: Vec<f64> = learner.table.rows.cells.iter().map(|cell| cell.q).collect();
        learner.learn(&after(&[(0, 1)], &[], &[]));
        let cells = learner.table.rows.cells.iter();
        assert!(cells.zip(before).all(|(cell, q)| cell.q == q));
        learner.learn(&after(&[(0, 1)], &[0.2], &[]));
        let on = cell(&mut learner, 1, 0, 0);
        assert!(
            (learner.table.rows.cells[on].q - (0.325 + 0.5 * (0.5 - 0.2 - 0.325))).abs() < 1e-12
        );
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for lambda in [0.0, 0.9, 1.0] {
            for reveal in [false, true] {
                let alpha = Decay {
                    first: 1.0,
                    power: 0.8,
                };
                let mut learner = learner(SarsaParameters {
                    lambda,
                    alpha,
                    reveal,
                    ..SETTLED
                });
                let played = play(&patience(), &mut learner, 20_000, |_| 0.0);
                played.assert_optimal(0.03);
            }
        }
    }
}
