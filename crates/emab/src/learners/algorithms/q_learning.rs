//! Q-learning with two kinds of exploration.
//!
//! `explore=epsilon`: Watkins, *Learning from Delayed Rewards* (1989); Watkins, Dayan (1992). After a step from `x` by `a` to
//! `y` that paid `r`: `Q(x,a) ← (1 - alpha) Q(x,a) + alpha (r + max_b Q(y,b))`. It converges if every action is taken
//! infinitely often and the step sizes sum to infinity, their squares not. Exploration is not specified; here a random choice
//! with probability `epsilon_n` at the `n`-th visit to a pair, otherwise the largest `Q`.
//!
//! `explore=ucb`: Jin, Allen-Zhu, Bubeck, Jordan, *Is Q-learning Provably Efficient?* (NIPS 2018), Algorithm 1
//! (Hoeffding). `Q_h` begins at `H`, the largest `Q` is taken, and when `(x, a)` was taken for the `t`-th time in step `h`,
//! `Q_h(x,a) ← (1 - alpha_t) Q_h(x,a) + alpha_t (r + V_{h+1}(y) + b_t)` with `alpha_t = (H + 1) / (H + t)`,
//! `b_t = c sqrt(H^3 iota / t)`, `iota = ln(S A T / p)` and `V_h(x) = min(H, max_a Q_h(x,a))`. `c` is "some absolute constant";
//! the regret is `O(sqrt(H^4 S A T iota))`.
//!
//! Adaptations:
//! - Costs and rewards are revealed after the episode; updates are then made in the order of its steps. The result is the
//!   same: an update at one step reads the table of the next step, which no earlier update has changed.
//! - `stop` is an action whose next value is 0. With `reveal=true` the `Q` of `stop` is updated in every pair that was passed
//!   and not only where it was chosen. Nothing is discounted.
//! - `ucb`: `H` is the number of steps in `alpha_t`, but values lie in `[reward_least, reward_most]` and not in `[0, H]`: `Q`
//!   begins and `V` is clipped at its upper end, and in `b_t` its length takes the place of one `H`:
//!   `b_t = c (length + sigma) sqrt(H iota / t)`. `sigma` is for the noise on costs, which the paper does not have. `stop`
//!   leads to the end for certain, so its bonus is `c sigma sqrt(H iota / t)`. `S A T` is the number of pairs and choices
//!   times the episodes so far, because their number is unknown; `p` is `delta`.
//!   The default of `c` is a choice of this project: with 1, values stay at the upper end of their range for many episodes.
//! - `epsilon`: `Q` begins at `initial`.

use super::prelude::*;
use crate::learners::support::action_values::ActionValues;
use crate::learners::support::decay::{ALPHA, ALPHA_DECAY, Decay, EPSILON, EPSILON_DECAY};
use crate::learners::support::tabular::{DELTA, LEAST, MOST, REVEAL, SIGMA2, TabularParameters};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "q-learning",
    title: "Q-learning",
    about: "action values learned from steps, without a model",
    reference: "Watkins 1989, Learning from Delayed Rewards; Jin, Allen-Zhu, Bubeck, Jordan 2018, Is Q-learning Provably \
                Efficient?",
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        Parameter::new("explore", "ucb")
            .about("`ucb` (bonus, Jin et al.) or `epsilon` (random choice with small probability, Watkins)")
            .draws_with("epsilon"),
        Parameter::new("c", "0.1")
            .about("for explore=ucb: factor of the bonus, at least 0; published: an unspecified constant"),
        EPSILON,
        EPSILON_DECAY,
        ALPHA,
        ALPHA_DECAY,
        Parameter::new("initial", "0")
            .about("for explore=epsilon: initial action value, a finite number"),
        SIGMA2,
        DELTA,
        LEAST,
        MOST,
        REVEAL,
    ],
    build: |with| {
        let parameters = TabularParameters::new(with)?;
        let c = with.within("c", 0.0, 1e9)?;
        let (epsilon, alpha) = (Decay::epsilon(with)?, Decay::alpha(with)?);
        let initial = with.finite("initial")?;
        let explore = if with.word("explore", &[("ucb", true), ("epsilon", false)])? {
            let unused = [
                "epsilon",
                "epsilon_decay",
                "alpha",
                "alpha_decay",
                "initial",
            ];
            with.reject_unused(&ENTRY, &unused, "with explore=ucb")?;
            Explore::Ucb { c }
        } else {
            with.reject_unused(&ENTRY, &["c"], "with explore=epsilon")?;
            Explore::Epsilon {
                epsilon,
                alpha,
                initial,
            }
        };
        BuiltLearner::other(QLearning::new(with.spec.clone(), parameters, explore))
    },
    ..LearnerEntry::DEFAULT
};

/// How it explores.
#[derive(Clone, Copy, Debug)]
enum Explore {
    Epsilon {
        epsilon: Decay,
        alpha: Decay,
        initial: f64,
    },
    Ucb {
        c: f64,
    },
}

#[derive(Clone, Debug)]
struct QLearning {
    parameters: TabularParameters,
    explore: Explore,
    table: ActionValues,
    episodes: u64,
}

impl QLearning {
    fn new(spec: Arc<Spec>, parameters: TabularParameters, explore: Explore) -> QLearning {
        let q = match explore {
            Explore::Epsilon { initial, .. } => initial,
            Explore::Ucb { .. } => parameters.most,
        };
        QLearning {
            table: ActionValues::new(spec, q),
            parameters,
            explore,
            episodes: 0,
        }
    }

    /// `iota`.
    fn iota(&self) -> f64 {
        libm::log(self.table.rows.spec().k() * self.episodes.max(1) as f64 / self.parameters.delta)
    }

    /// `max_a Q(x,a)`, clipped where the algorithm says so.
    fn value(&mut self, t: usize, x: usize) -> f64 {
        let rows = &mut self.table.rows;
        let row = rows.of(t, x);
        let q = rows.cells[rows.best(row, |_, cell| cell.q)].q;
        match self.explore {
            Explore::Epsilon { .. } => q,
            Explore::Ucb { .. } => q.min(self.parameters.most),
        }
    }

    /// One update of a cell. `length` is how far the values that may come next are apart: 0 for `stop`.
    fn update(&mut self, cell: usize, target: f64, length: f64, iota: f64) {
        let h = self.table.rows.spec().horizon() as f64;
        let cell = &mut self.table.rows.cells[cell];
        cell.count += 1;
        let (alpha, bonus) = match self.explore {
            Explore::Epsilon { alpha, .. } => (alpha.at(cell.count), 0.0),
            Explore::Ucb { c } => {
                let t = cell.count as f64;
                let wide = c * (length + self.parameters.sigma2.sqrt());
                ((h + 1.0) / (h + t), wide * (h * iota / t).sqrt())
            }
        };
        cell.q = (1.0 - alpha) * cell.q + alpha * (target + bonus);
    }
}

impl Learner for QLearning {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let epsilon = match self.explore {
            Explore::Epsilon { epsilon, .. } => Some(epsilon),
            Explore::Ucb { .. } => None,
        };
        self.table.choose(t, x, epsilon)
    }

    fn learn(&mut self, episode: &Episode) {
        self.episodes += 1;
        let (iota, steps) = (self.iota(), episode.states.len());
        for (i, &x) in episode.states.iter().enumerate() {
            let t = i + 1;
            let row = self.table.visit(t, x);
            if let Some(reward) = episode.known_reward(t)
                && (self.parameters.reveal || t == steps)
            {
                self.update(self.table.rows.stop(row), reward, 0.0, iota);
            }
            if let (Some(&a), Some(cost), Some(&next)) = (
                episode.actions.get(i),
                episode.known_cost(t),
                episode.states.get(t),
            ) {
                let target = self.value(t + 1, next) - cost;
                self.update(row + a, target, self.parameters.span(), iota);
            }
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.table.reset(stream);
        self.episodes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{
        after, assert_close, parameters, patience, play,
    };

    const EPSILON_GREEDY: Explore = Explore::Epsilon {
        epsilon: Decay {
            first: 1.0,
            power: 0.5,
        },
        alpha: Decay {
            first: 1.0,
            power: 0.8,
        },
        initial: 0.0,
    };

    fn learner(explore: Explore, reveal: bool) -> QLearning {
        QLearning::new(
            patience().spec().clone(),
            TabularParameters {
                reveal,
                ..parameters()
            },
            explore,
        )
    }

    fn q(learner: &mut QLearning, t: usize, x: usize, column: usize) -> f64 {
        let row = learner.table.rows.of(t, x);
        learner.table.rows.cells[row + column].q
    }

    #[test]
    fn ucb_by_hand() {
        // H = 3, values in [0, 1], sigma = 0.1, K = 3 * 2 * 2.
        let mut learner = learner(Explore::Ucb { c: 0.5 }, false);
        let bonus = |wide: f64, episodes: f64, t: f64| {
            0.5 * wide * (3.0 * (12.0 * episodes / 0.1_f64).ln() / t).sqrt()
        };
        learner.learn(&after(&[(0, 1)], &[0.2], &[0.5, 0.3]));
        // The first step size is 1. What follows is worth 1, since going on from there was never tried.
        let first = 1.0 - 0.2 + bonus(1.1, 1.0, 1.0);
        assert_close(q(&mut learner, 1, 0, 0), first);
        assert_close(q(&mut learner, 2, 1, 1), 0.3 + bonus(0.1, 1.0, 1.0));
        assert_close(q(&mut learner, 1, 0, 1), 1.0);
        // On to the end, which pays -0.4: the value of step 2 is still clipped at 1 when step 1 reads it.
        learner.learn(&after(&[(0, 1), (0, 0)], &[0.1, 0.6], &[0.5, 0.3, -0.4]));
        let second = 0.2 * first + 0.8 * (1.0 - 0.1 + bonus(1.1, 2.0, 2.0));
        assert_close(q(&mut learner, 1, 0, 0), second);
        assert_close(q(&mut learner, 2, 1, 0), 1.0 - 0.6 + bonus(1.1, 2.0, 1.0));
        assert_close(q(&mut learner, 3, 0, 1), -0.4 + bonus(0.1, 2.0, 1.0));
        // The outcome is unknown.
        learner.learn(&after(&[(0, 1), (0, 0)], &[], &[]));
        assert_close(q(&mut learner, 1, 0, 0), second);
    }

    #[test]
    fn watkins_by_hand() {
        let mut learner = learner(EPSILON_GREEDY, true);
        learner.learn(&after(&[(0, 1)], &[0.2], &[0.5, 0.3]));
        assert_eq!(q(&mut learner, 1, 0, 0), -0.2);
        assert_eq!(q(&mut learner, 1, 0, 1), 0.5, "revealed");
        learner.learn(&after(&[(0, 1)], &[0.4], &[0.7, 0.3]));
        let alpha = 2.0_f64.powf(-0.8);
        let by_hand = (1.0 - alpha) * -0.2 + alpha * (0.3 - 0.4);
        assert_close(q(&mut learner, 1, 0, 0), by_hand);
        assert_close(q(&mut learner, 1, 0, 1), 0.5 + alpha * 0.2);
        // At the third visit the chance to explore is 1/sqrt(3); half of that, or none, goes to the lesser choice.
        let n = 20_000;
        let greedy = (0..n)
            .filter(|_| learner.choose(1, 0) == Action::Stop)
            .count();
        let share = 1.0 - 0.5 / 3.0_f64.sqrt();
        let sd = (share * (1.0 - share) / f64::from(n)).sqrt();
        assert!((greedy as f64 / f64::from(n) - share).abs() < 4.5 * sd);
    }

    #[test]
    fn the_bonus_makes_it_optimistic_at_every_episode() {
        for reveal in [false, true] {
            let mut learner = learner(Explore::Ucb { c: 1.0 }, reveal);
            let played = play(&patience(), &mut learner, 2000, |learner| {
                learner.value(1, 0)
            });
            assert!(played.values.iter().all(|value| *value >= played.optimal));
        }
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for (explore, reveal) in [
            (Explore::Ucb { c: 0.05 }, false),
            (Explore::Ucb { c: 0.05 }, true),
            (EPSILON_GREEDY, false),
            (EPSILON_GREEDY, true),
        ] {
            let played = play(&patience(), &mut learner(explore, reveal), 20_000, |_| 0.0);
            played.assert_optimal(0.03);
        }
    }
}
