//! FeedBAL with pooled estimates and an index by their variance: a variant of this project, after Section 3 of the paper.
//!
//! The terminal reward of a pair is revealed whatever led there and whatever is played there, and the specification says where
//! each feedback leads. So an action taken `n` times in a pair `(t, x)`, `c_j` times of them to the next pair `j` of `F`, has the
//! estimate
//!
//! `y = sum_j (c_j / n) v_j - ĉ`,
//!
//! `v_j` being the estimated value of `j`: with `target=optimal` the larger of its mean reward and the best `y` in it, with
//! `target=benchmark` its mean reward, as in the paper. Its variance is estimated by
//!
//! `V = (var_w(v) + sigma_c^2) / n + sum_j (c_j / n)^2 sigma_r^2 / N_j`, `w_j = (c_j + 1/F) / (n + 1)`:
//!
//! `N_j` rewards were seen at `j`, and one pseudo-observation keeps a first feedback from looking certain. The index of an action
//! is `y + sqrt(2 explore V log(1 + N/n))` in a pair visited `N` times, that of `stop` the mean reward without a bonus: it is
//! revealed whatever is played.
//!
//! - An untried action whose successors all have known rewards has the index of `n = 1` with uniform `w`, and of costs as they are
//!   on average. Other untried actions come first, also in a pair never visited before: going on reveals the reward of
//!   the pair as well as stopping does. Ties go to `stop`, then to the lowest index.
//! - A successor without a known reward has the mean of all rewards, and in `var_w` `feedback_spread` above it.
//! - Unknown values are not observed: a reward needs `R_t`, cost and feedback need `C_t`.
//! - Choices in flight count in `n` of the first term of `V`, in `n` and `N` of the logarithm, and not in the means
//!   (`pending=true`). Of several untried actions in flight the one with the fewest is chosen.
//! - Values are updated along each learned episode, from its last step to its first.
//!
//! The index is not a confidence bound. [`Learner::estimate`] has bounds that are: with `target=benchmark` those of
//! `feedbal_model.rs`, with `target=optimal` those of `feedbal_lookahead.rs`, both with the paper's `K`. docs/theory.md has the
//! proofs.

use super::feedbal_model::{RHO, SIGMA2_COST, SIGMA2_REWARD};
use super::prelude::*;
use crate::learners::support::pending::PendingChoices;
use crate::learners::support::tabular::{DELTA, LEAST, MOST, SIGMA2, TabularParameters};
use crate::learners::support::visited::{Edge, VisitedPairs};
use crate::mixture::Mixture;
use crate::width::log_ratio;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal-pooled",
    title: "FeedBAL-pooled",
    about: "FeedBAL with values estimated through the feedback distribution and an index by their variance; allows for choices in flight",
    reference: "emab, docs/theory.md; after Tekin, van der Schaar",
    has_guarantee: true,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        Parameter::new("target", "optimal")
            .about("what is learned: the `optimal` policy, or the `benchmark` of the paper, which looks one step ahead"),
        SIGMA2,
        DELTA,
        SIGMA2_COST,
        SIGMA2_REWARD,
        Parameter::new("feedback_spread", "1")
            .about("how far one feedback can move the next expected reward: the prior of a pair never seen, and a limit in the confidence bounds")
            .stated(|learning| learning.spread().map(FeedbackSpread::get)),
        LEAST,
        MOST,
        Parameter::new("explore", "0.7")
            .about("factor of the variance in the index, at least 0; below 0.5 some runs stop exploring"),
        Parameter::new("pending", "true")
            .about("`true`: choices in flight count in the index, so that open episodes do not all repeat the same choice; `false`: they do not"),
        IN_FLIGHT,
        RHO,
    ],
    build: |with| BuiltLearner::other(FeedBalPooled::new(with)?),
    ..LearnerEntry::DEFAULT
};

pub(crate) const IN_FLIGHT: Parameter = Parameter::new("in_flight", "1000")
    .about("for choices in flight: the number of episodes that count at most, at least 1; of more the oldest are taken as lost");

#[derive(Clone, Debug)]
struct FeedBalPooled {
    tables: VisitedPairs,
    horizon: usize,
    looks_ahead: bool,
    sigma2_cost: f64,
    sigma2_reward: f64,
    spread: f64,
    /// The range of terminal rewards and values.
    least: f64,
    most: f64,
    /// `2 explore`.
    factor: f64,
    mixture: Mixture,
    /// Logarithms of whole numbers, for the index.
    logs: Vec<f64>,
    learned: usize,
    pending: Option<PendingChoices>,
}

/// The estimate of an action.
#[derive(Clone, Copy, Debug)]
struct Assessment {
    mean: f64,
    /// The variance of one observation of feedback and cost.
    variance: f64,
    /// The variance of the estimate that is due to the rewards of the next pairs.
    of_rewards: f64,
}

/// The maximum size of the table of logarithms (1 MiB).
const MOST_LOGS: usize = 1 << 17;

impl FeedBalPooled {
    fn new(with: &Build<'_>) -> Result<FeedBalPooled, LearnerError> {
        let (sigma2_cost, sigma2_reward) = with.sigma2_parts()?;
        let range = TabularParameters::new(with)?;
        let log = log_ratio(with.spec.k(), with.delta()?.get());
        let counted = with.count("in_flight", 1)?;
        let pending = with.word("pending", &[("true", true), ("false", false)])?;
        Ok(FeedBalPooled {
            tables: VisitedPairs::new(with.spec.clone()),
            horizon: with.spec.horizon(),
            looks_ahead: with.word("target", &[("optimal", true), ("benchmark", false)])?,
            sigma2_cost: sigma2_cost.get(),
            sigma2_reward: sigma2_reward.get(),
            spread: with.spread()?.get(),
            least: range.least,
            most: range.most,
            factor: 2.0 * with.within("explore", 0.0, 1e6)?,
            mixture: Mixture::new(with.within("rho", 1e-3, 1e6)?, log),
            logs: Vec::new(),
            learned: 0,
            pending: pending.then(|| PendingChoices::new(counted as usize)),
        })
    }

    /// The logarithm of a whole number.
    #[inline]
    fn log(&self, n: f64) -> f64 {
        match self.logs.get(n as usize) {
            Some(log) => *log,
            None => libm::log(n),
        }
    }

    #[cold]
    fn extend_logs(&mut self) {
        let old = self.logs.len();
        let new = (4 * self.learned).clamp(256, MOST_LOGS);
        self.logs
            .extend((old..new.max(old)).map(|n| libm::log(n as f64)));
    }

    /// The estimate of an action that was taken.
    #[inline]
    fn assess(&self, edge: &Edge) -> Assessment {
        let count = edge.cost.count;
        let per_observation = 1.0 / count;
        let uniform = 1.0 / f64::from(edge.successors);
        let total = 1.0 / (count + 1.0);
        let transitions = self.tables.transitions(edge);
        let (mut value, mut smooth, mut of_rewards) = (0.0, 0.0, 0.0);
        for transition in transitions {
            let row = &self.tables.rows[transition.next as usize];
            let share = transition.count * per_observation;
            let (mean, assumed, rewards) = if row.reward.count > 0.0 {
                (row.value, row.value, row.reward.count)
            } else {
                let overall = self.tables.rewards.mean();
                (overall, overall + self.spread, 1.0)
            };
            value += share * mean;
            smooth += (transition.count + uniform) * total * assumed;
            of_rewards += share * share * self.sigma2_reward / rewards;
        }
        let mut variance = self.sigma2_cost;
        for transition in transitions {
            let row = &self.tables.rows[transition.next as usize];
            let assumed = if row.reward.count > 0.0 {
                row.value
            } else {
                self.tables.rewards.mean() + self.spread
            };
            let away = assumed - smooth;
            variance += (transition.count + uniform) * total * away * away;
        }
        Assessment {
            mean: value - edge.cost.sum * per_observation,
            variance,
            of_rewards,
        }
    }

    /// What is assumed of an action that was never taken; none if a pair that may follow has no known reward.
    fn assume(&self, edge: &Edge) -> Option<Assessment> {
        let tables = &self.tables;
        if tables.costs.count < 2.0 {
            return None;
        }
        let transitions = tables.transitions(edge);
        let uniform = 1.0 / f64::from(edge.successors);
        let (mut value, mut of_rewards) = (0.0, 0.0);
        for transition in transitions {
            let row = &tables.rows[transition.next as usize];
            if row.reward.count == 0.0 {
                return None;
            }
            value += uniform * row.value;
            of_rewards += uniform * uniform * self.sigma2_reward / row.reward.count;
        }
        let cost = tables.costs.mean();
        let costs = (tables.cost_squares / tables.costs.count - cost * cost).max(0.0);
        let mut variance = self.sigma2_cost + costs;
        for transition in transitions {
            let away = tables.rows[transition.next as usize].value - value;
            variance += uniform * away * away;
        }
        Some(Assessment {
            mean: value - cost,
            variance,
            of_rewards,
        })
    }

    /// The index of an action in a pair with this many visits, those in flight included; none where it comes first.
    #[inline]
    fn index(&self, edge: &Edge, visits: f64, seen: bool) -> Option<f64> {
        let (assessment, count) = if edge.cost.count > 0.0 {
            (self.assess(edge), edge.cost.count)
        } else {
            (self.assume(edge).filter(|_| seen)?, 1.0)
        };
        let count = count + edge.pending;
        let variance = assessment.variance / count + assessment.of_rewards;
        let log = self.log(visits + count) - self.log(count);
        Some(assessment.mean + (self.factor * variance * log).sqrt())
    }

    /// Updates the value of a pair at step `t`, and its bounds.
    fn back_up(&mut self, slot: usize, t: usize) {
        let row = self.tables.rows[slot];
        let (mut value, mut lower, mut upper) = (f64::NEG_INFINITY, self.least, self.most);
        if row.reward.count > 0.0 {
            value = row.reward.mean();
            let width = self
                .mixture
                .width(self.sigma2_reward, row.reward.count as u64);
            (lower, upper) = (value - width, (value + width).min(self.most));
        }
        for action in 0..self.tables.edges(slot, t).len() {
            let edge = self.tables.edges(slot, t)[action];
            if edge.cost.count > 0.0 {
                value = value.max(self.assess(&edge).mean);
                let bounds = self.value_bounds(&edge);
                lower = lower.max(bounds.0);
                upper = upper.max(bounds.1.min(self.most));
            } else if edge.successors > 0 {
                upper = self.most;
            }
        }
        let row = &mut self.tables.rows[slot];
        (row.lower, row.upper) = (lower, upper);
        if value.is_finite() {
            row.value = value;
        }
    }

    /// Bounds on the value of an action that was taken.
    fn value_bounds(&mut self, edge: &Edge) -> (f64, f64) {
        let n = edge.cost.count;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut lower, mut upper) = (0.0, 0.0);
        for transition in self.tables.transitions(edge) {
            let row = &self.tables.rows[transition.next as usize];
            let (from, to) = (row.lower.max(self.least), row.upper.min(self.most));
            let share = transition.count / n;
            lower += share * from;
            upper += share * to;
            (low, high) = (low.min(from), high.max(to));
        }
        let spread = if edge.successors > 1 { high - low } else { 0.0 };
        let proxy = self.sigma2_cost + spread * spread / 4.0;
        let width = self.mixture.width(proxy, n as u64);
        let cost = edge.cost.sum / n;
        (lower - cost - width, upper - cost + width)
    }

    /// The width of the one-step gain of an action that was taken; infinite if it led to a pair without a known reward.
    fn gain_width(&mut self, edge: &Edge) -> f64 {
        let n = edge.cost.count;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut spreads, mut logs) = (0.0, self.mixture.log_of(n as u64));
        for transition in self.tables.transitions(edge) {
            let reward = self.tables.rows[transition.next as usize].reward;
            if reward.count == 0.0 {
                if transition.count > 0.0 {
                    return f64::INFINITY;
                }
                (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
                continue;
            }
            let count = reward.count as u64;
            let width = self.mixture.width(self.sigma2_reward, count);
            low = low.min(reward.mean() - width);
            high = high.max(reward.mean() + width);
            let share = transition.count / n;
            spreads += share * share * self.mixture.spread(self.sigma2_reward, count);
            logs += self.mixture.log_of(count);
        }
        let spread = if edge.successors > 1 {
            (high - low).min(self.spread)
        } else {
            0.0
        };
        let proxy = self.sigma2_cost + spread * spread / 4.0;
        spreads += self.mixture.spread(proxy, n as u64);
        self.mixture.bound(spreads, logs)
    }
}

impl Learner for FeedBalPooled {
    #[inline]
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t >= self.horizon {
            return Action::Stop;
        }
        let slot = self.tables.expanded(t, x);
        let row = self.tables.rows[slot];
        let visits = row.visits + row.pending;
        let (mut best, mut index) = (Action::Stop, f64::NEG_INFINITY);
        let (mut waiting, mut in_flight) = (Action::Stop, f64::INFINITY);
        for (a, edge) in self.tables.edges(slot, t).iter().enumerate() {
            if edge.successors == 0 {
                continue;
            }
            match self.index(edge, visits, row.visits > 0.0) {
                Some(larger) if larger > index => (best, index) = (Action::Continue(a), larger),
                Some(_) => {}
                None if edge.pending == 0.0 => return Action::Continue(a),
                None if edge.pending < in_flight => {
                    (waiting, in_flight) = (Action::Continue(a), edge.pending);
                }
                None => {}
            }
        }
        if best == Action::Stop {
            return waiting;
        }
        let stop = match row.reward.count > 0.0 {
            true => row.reward.mean(),
            false => self.tables.rewards.mean(),
        };
        if index > stop { best } else { Action::Stop }
    }

    #[inline]
    fn learn(&mut self, episode: &Episode) {
        self.learned += 1;
        if self.logs.len() < (2 * self.learned + 2).min(MOST_LOGS) {
            self.extend_logs();
        }
        self.tables.learn(episode);
        if self.looks_ahead {
            for i in (0..self.tables.path.len()).rev() {
                self.back_up(self.tables.path[i] as usize, i + 1);
            }
        }
    }

    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let slot = self.tables.expanded(t, x);
        let row = self.tables.rows[slot];
        let a = match action {
            Action::Continue(a) => a,
            Action::Stop => {
                let (mean, count) = (row.reward.mean(), row.reward.count as u64);
                let width = self.mixture.width(self.sigma2_reward, count);
                return Some(Estimate {
                    count,
                    mean,
                    width,
                    upper: mean + width,
                    index: mean,
                });
            }
        };
        let edges = self.tables.edges(slot, t);
        let edge = *edges.get(a).filter(|edge| edge.successors > 0)?;
        let index = self.index(&edge, row.visits + row.pending, row.visits > 0.0);
        let index = index.unwrap_or(f64::INFINITY);
        if edge.cost.count == 0.0 {
            return Some(Estimate {
                count: 0,
                mean: 0.0,
                width: f64::INFINITY,
                upper: f64::INFINITY,
                index,
            });
        }
        let mean = self.assess(&edge).mean;
        let (width, upper) = if self.looks_ahead {
            let (lower, upper) = self.value_bounds(&edge);
            ((upper - mean).max(mean - lower), upper)
        } else {
            let width = self.gain_width(&edge);
            (width, mean + width)
        };
        Some(Estimate {
            count: edge.cost.count as u64,
            mean,
            width,
            upper,
            index,
        })
    }

    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        let FeedBalPooled {
            pending, tables, ..
        } = self;
        if let Some(pending) = pending {
            pending.announce(episode, (t, x, action), |change| tables.count_pending(&change));
        }
    }

    fn settle(&mut self, episode: u64) {
        let FeedBalPooled {
            pending, tables, ..
        } = self;
        if let Some(pending) = pending {
            pending.settle(episode, |change| tables.count_pending(&change));
        }
    }

    fn counts_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn reset(&mut self, _stream: Stream) {
        self.tables.clear();
        self.learned = 0;
        if let Some(pending) = &mut self.pending {
            pending.clear();
        }
    }
}
