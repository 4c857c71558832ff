//! FeedBAL that forgets, for drift: `window=W` and `gamma=g`.
//!
//! After Garivier, Moulines, *On Upper-Confidence Bound Policies for Switching Bandit Problems* (2011). For `K` arms and
//! rewards in [0, B], they play the arm of the largest `X_t(i) + c_t(i)`:
//!
//! - D-UCB: `N_t(i) = sum_s gamma^(t-s) 1{I_s = i}`, `X_t(i) = 1/N_t(i) sum_s gamma^(t-s) x_s 1{I_s = i}`,
//!   `c_t(i) = 2 B sqrt(xi log n_t / N_t(i))` with `n_t = sum_i N_t(i)`.
//! - SW-UCB: the same sums over the last `tau` plays alone, each with weight 1, and
//!   `c_t(i) = B sqrt(xi log min(t, tau) / N_t(i))`.
//!
//! Adaptations: an arm is an action or `stop` in a step-state pair, and an observation is a gain as in FeedBAL. Time is
//! counted in learned episodes for all pairs alike, so that rarely visited pairs forget as fast as the others. The width is
//! FeedBAL's `conf(N)` at the remaining count in place of `c_t`; without forgetting the choices are those of FeedBAL.
//! Unknown values are not observed, and time passes. At count 0 an index is infinite, and `stop` wins the tie.
//!
//! The theorems of the paper do not cover it: they require a fixed distribution.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;

use crate::episode::Episode;
use crate::learner::Learner;
use crate::learners::algorithms::feedbal::{FeedBalParameters, Ties};
use crate::learners::support::rows::Rows;
use crate::parameter::ParameterError;
use crate::rng::{Role, Stream};
use crate::spec::{Action, Spec};
use crate::width::{IndexTable, Width};

/// The memory of a learner that forgets.
///
/// ```
/// use emab::learners::Memory;
/// assert!(Memory::window(1000).is_ok());
/// assert_eq!(Memory::discount(1.0).unwrap_err().to_string(), "`gamma` must lie in (0, 1), got 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory(MemoryKind);

#[derive(Clone, Copy, Debug, PartialEq)]
enum MemoryKind {
    Window(NonZeroU64),
    Discount(f64),
}

impl Memory {
    /// Only this number of most recent episodes is used.
    pub fn window(episodes: u64) -> Result<Memory, ParameterError> {
        let window = NonZeroU64::new(episodes).map(|window| Memory(MemoryKind::Window(window)));
        let rule = "be a whole number of at least 1";
        window.ok_or_else(|| ParameterError::new("window", rule, episodes))
    }

    /// Each episode has `gamma` times the weight of the next one.
    pub fn discount(gamma: f64) -> Result<Memory, ParameterError> {
        if gamma > 0.0 && gamma < 1.0 {
            Ok(Memory(MemoryKind::Discount(gamma)))
        } else {
            Err(ParameterError::new("gamma", "lie in (0, 1)", gamma))
        }
    }
}

/// The learner.
///
/// ```
/// use std::sync::Arc;
/// use emab::learners::{FeedBalParameters, Forgetting, Memory};
/// use emab::{Action, Episode, Learner, Spec};
///
/// let spec = Spec::numbered(2, 1, 1, 1).unwrap();
/// let parameters = FeedBalParameters::new(0.2, 0.01).unwrap();
/// let mut learner = Forgetting::new(Arc::new(spec), parameters, Memory::window(1).unwrap());
/// let stopped = Episode { states: vec![0], rewards: vec![0.1], ..Episode::default() };
/// learner.learn(&stopped);
/// assert_eq!(learner.choose(1, 0), Action::Continue(0)); // continuing was never tried
/// let unknown = Episode { states: vec![0], ..Episode::default() };
/// learner.learn(&unknown);
/// assert_eq!(learner.choose(1, 0), Action::Stop); // everything is forgotten
/// ```
#[derive(Clone, Debug)]
pub struct Forgetting {
    ties: Ties,
    indices: Indices,
    rows: Rows<ArmStats>,
    stream: Stream,
    /// With a window: its observations by arm, and their number per episode.
    seen: VecDeque<(usize, f64)>,
    lengths: VecDeque<usize>,
}

/// The weighted count and sum of one action in one pair.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ArmStats {
    count: f64,
    sum: f64,
}

/// The upper confidence bounds of arms.
#[derive(Clone, Debug)]
struct Indices {
    memory: Memory,
    /// The weight of the last episode. Weights grow over time instead of shrinking all earlier ones.
    weight: f64,
    /// By count, for continuation actions and for `stop`.
    tables: [IndexTable; 2],
    /// By weight, with what is added to them.
    widths: [(Width, f64); 2],
}

impl Indices {
    fn at(&mut self, arm: ArmStats, stop: bool) -> f64 {
        match self.memory.0 {
            // Counts are integers: bit-identical to FeedBAL.
            MemoryKind::Window(_) => {
                let [reciprocal, width] = self.tables[usize::from(stop)].at(arm.count as u64);
                arm.sum * reciprocal + width
            }
            MemoryKind::Discount(_) => {
                let (width, bias) = self.widths[usize::from(stop)];
                let count = arm.count / self.weight;
                if count == 0.0 {
                    return f64::INFINITY;
                }
                arm.sum / arm.count + (width.at_weight(count) + bias)
            }
        }
    }
}

/// Weights are rescaled above this, which is rare.
const HEAVY: f64 = 1e100;

impl Forgetting {
    /// A learner without observations.
    pub fn new(spec: Arc<Spec>, parameters: FeedBalParameters, memory: Memory) -> Forgetting {
        let (action_index, stop_index) = parameters.index_tables(&spec);
        let coefficients = parameters.coefficients();
        let width = |w| Width::new(w, spec.k(), parameters.delta);
        Forgetting {
            ties: parameters.ties,
            indices: Indices {
                memory,
                weight: 1.0,
                tables: [action_index, stop_index],
                widths: [
                    (width(coefficients.action), 0.0),
                    (width(coefficients.stop), parameters.stop_bias),
                ],
            },
            rows: Rows::new(spec, ArmStats::default()),
            stream: Stream::new(0, 0, Role::Learner),
            seen: VecDeque::new(),
            lengths: VecDeque::new(),
        }
    }

    fn observe(&mut self, arm: usize, value: f64) {
        let (weight, stats) = (self.indices.weight, &mut self.rows.cells[arm]);
        stats.count += weight;
        stats.sum += weight * value;
        if let MemoryKind::Window(_) = self.indices.memory.0 {
            self.seen.push_back((arm, value));
        }
    }

    /// Discounts all earlier episodes.
    fn discount(&mut self) {
        let MemoryKind::Discount(gamma) = self.indices.memory.0 else {
            return;
        };
        let weight = &mut self.indices.weight;
        *weight /= gamma;
        if *weight > HEAVY {
            for arm in &mut self.rows.cells {
                arm.count /= *weight;
                arm.sum /= *weight;
            }
            *weight = 1.0;
        }
    }

    /// Drops the episodes that have left the window.
    fn forget(&mut self, window: NonZeroU64) {
        while self.lengths.len() as u64 > window.get() {
            let length = self.lengths.pop_front().unwrap_or(0);
            for (arm, value) in self.seen.drain(..length) {
                let arm = &mut self.rows.cells[arm];
                arm.count -= 1.0;
                arm.sum -= value;
                if arm.count == 0.0 {
                    // Removes the rounding error.
                    arm.sum = 0.0;
                }
            }
        }
    }
}

impl Learner for Forgetting {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let (indices, ties, stream) = (&mut self.indices, self.ties, &mut self.stream);
        self.rows.choose(t, x, |rows, row| {
            let stop = rows.stop(row);
            let mut index = |cell: usize| indices.at(rows.cells[cell], cell == stop);
            let best = rows.best(row, |cell, _| index(cell));
            if ties == Ties::Lowest || best == stop {
                return best;
            }
            let largest = index(best);
            let actions = rows.choices(row).filter(|&cell| cell != stop);
            let tied: Vec<usize> = actions.filter(|&cell| index(cell) == largest).collect();
            match tied.len() {
                0 | 1 => best,
                n => tied[stream.below(n)],
            }
        })
    }

    fn learn(&mut self, episode: &Episode) {
        self.discount();
        let before = self.seen.len();
        for (i, &x) in episode.states.iter().enumerate() {
            let row = self.rows.of(i + 1, x);
            if let Some(reward) = episode.known_reward(i + 1) {
                self.observe(self.rows.stop(row), reward);
            }
            if let (Some(&a), Some(gain)) = (episode.actions.get(i), episode.known_gain(i + 1)) {
                self.observe(row + a, gain);
            }
        }
        if let MemoryKind::Window(window) = self.indices.memory.0 {
            self.lengths.push_back(self.seen.len() - before);
            self.forget(window);
        }
    }

    fn reset(&mut self, stream: Stream) {
        self.rows.clear();
        self.seen.clear();
        self.lengths.clear();
        self.indices.weight = 1.0;
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELTA: f64 = 0.05;

    /// Two steps, one state, two actions: `K = 2 * 1 * 3`.
    fn learner(memory: Memory) -> Forgetting {
        let spec = Spec::numbered(2, 1, 2, 1);
        let parameters = FeedBalParameters::new(0.2, DELTA).unwrap();
        Forgetting::new(Arc::new(spec.unwrap()), parameters, memory)
    }

    /// Goes on with an action at a cost of 0.5.
    fn continued(a: usize, rewards: [f64; 2]) -> Episode {
        Episode {
            states: vec![0, 0],
            actions: vec![a],
            feedbacks: vec![0],
            costs: vec![0.5],
            rewards: rewards.to_vec(),
        }
    }

    /// The index of an action at the start; 2 is `stop`.
    fn index(learner: &mut Forgetting, column: usize) -> f64 {
        let row = learner.rows.of(1, 0);
        learner
            .indices
            .at(learner.rows.cells[row + column], column == 2)
    }

    fn conf(n: f64) -> f64 {
        ((1.0 + n) / (n * n) * 0.8 * (6.0 * (1.0 + n).sqrt() / DELTA).ln()).sqrt()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12 * b.abs(), "{a} {b}");
    }

    #[test]
    fn a_window_by_hand() {
        let mut learner = learner(Memory::window(2).unwrap());
        learner.learn(&continued(0, [1.0, 2.0]));
        learner.learn(&continued(1, [3.0, 5.0]));
        learner.learn(&continued(1, [4.0, 6.0])); // the first is out
        assert_eq!(index(&mut learner, 0), f64::INFINITY);
        close(index(&mut learner, 1), (4.5 + 5.5) / 2.0 + conf(2.0));
        close(index(&mut learner, 2), (3.0 + 4.0) / 2.0 + conf(2.0));
        learner.learn(&Episode {
            rewards: Vec::new(),
            ..continued(1, [0.0, 0.0])
        });
        close(index(&mut learner, 1), 5.5 + conf(1.0));
    }

    #[test]
    fn partly_unknown_episodes_by_hand() {
        let trained = |memory| {
            let mut learner = learner(memory);
            learner.learn(&continued(0, [f64::NAN, 2.0]));
            learner.learn(&continued(1, [3.0, f64::NAN]));
            learner
        };
        let mut window = trained(Memory::window(2).unwrap());
        close(index(&mut window, 0), 1.5 + conf(1.0));
        assert_eq!(index(&mut window, 1), f64::INFINITY);
        close(index(&mut window, 2), 3.0 + conf(1.0));
        window.learn(&continued(1, [4.0, 6.0])); // the first is out, and all that it showed
        assert_eq!(index(&mut window, 0), f64::INFINITY);
        close(index(&mut window, 1), 5.5 + conf(1.0));
        close(index(&mut window, 2), 3.5 + conf(2.0));
        let mut discount = trained(Memory::discount(0.5).unwrap());
        close(index(&mut discount, 0), 1.5 + conf(0.5));
        assert_eq!(index(&mut discount, 1), f64::INFINITY);
        close(index(&mut discount, 2), 3.0 + conf(1.0));
    }

    #[test]
    fn a_discount_by_hand() {
        let mut learner = learner(Memory::discount(0.5).unwrap());
        learner.learn(&continued(0, [1.0, 2.0]));
        learner.learn(&continued(1, [3.0, 5.0]));
        learner.learn(&continued(1, [4.0, 6.0]));
        close(index(&mut learner, 0), 1.5 + conf(0.25));
        close(index(&mut learner, 1), (0.5 * 4.5 + 5.5) / 1.5 + conf(1.5));
        let stop = (0.25 * 1.0 + 0.5 * 3.0 + 4.0) / 1.75;
        close(index(&mut learner, 2), stop + conf(1.75));
    }

    #[test]
    fn weights_do_not_overflow() {
        // 400 halvings are 2^400, more than what is brought back: nothing may show of it.
        let mut learner = learner(Memory::discount(0.5).unwrap());
        learner.learn(&continued(0, [9.0, 9.0]));
        for _ in 0..400 {
            learner.learn(&continued(1, [1.0, 2.0]));
        }
        close(index(&mut learner, 1), 1.5 + conf(2.0));
        for tiny in [1e-300, 1e-5] {
            let mut learner = self::learner(Memory::discount(tiny).unwrap());
            for _ in 0..100 {
                learner.learn(&continued(1, [1.0, 2.0]));
            }
            assert!((index(&mut learner, 1) - 1.5 - conf(1.0)).abs() < 1e-3);
        }
    }
}
