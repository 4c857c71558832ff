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
//! - In a pair visited before, and once two costs are known, an untried action whose successors all have known rewards has the
//!   index of `n = 1` with uniform `w`, and of costs as they are on average, with their variance. Every other untried action
//!   comes first, also in a pair never visited: going on reveals the reward of the pair as well as stopping does. Ties go to
//!   `stop`, then to the lowest index. `stop` without a known reward has the mean of all rewards.
//! - A successor without a known reward has the mean of all rewards, `N_j = 1`, and in `var_w` a value `feedback_spread` above
//!   that mean.
//! - Unknown rewards are not observed. Feedback counts also where its cost is unknown; the mean of later costs stands for that
//!   cost (`support/unknown_costs.rs`), and in the index it counts as a known one.
//! - Choices in flight count in `n` of the first term of `V`, in `n` and `N` of the logarithm, and not in the means
//!   (`pending=true`). An untried action without an index that is in flight waits; if all do, the one with the fewest in
//!   flight is chosen.
//! - Values are updated along each learned episode, from its last step to its first; with `updates`, then also those of other
//!   pairs that lead to what has changed, the largest changes first (`support/priorities.rs`).
//!
//! `feedbal-kl` is this learner with another index: see `feedbal_kl.rs`.
//!
//! The index is not a confidence bound. [`Learner::estimate`] has proved bounds: with `target=benchmark` those of
//! `feedbal_model.rs`, with `target=optimal` those of `feedbal_lookahead.rs`, both with the paper's `K`. docs/theory.md has the
//! proofs.

use std::sync::LazyLock;

use super::feedbal_model::{RHO, SIGMA2_COST, SIGMA2_REWARD, UNKNOWN_COSTS};
use super::prelude::*;
use crate::divergence::{Outcome, can_rise, largest_rise};
use crate::learners::support::pending::PendingChoices;
use crate::learners::support::priorities::Priorities;
use crate::learners::support::tabular::{DELTA, LEAST, MOST, SIGMA2, TabularParameters};
use crate::learners::support::unknown_costs::ActionSums;
use crate::learners::support::visited::{Edge, Row, VisitedPairs};
use crate::mixture::Mixture;
use crate::width::log_ratio;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal-pooled",
    title: "FeedBAL-pooled",
    about: "FeedBAL with values estimated through the feedback distribution and an index by their variance; allows for choices in flight",
    reference: "emab, docs/theory.md; after Tekin, van der Schaar",
    proved_bounds: ProvedBounds::Verified,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        TARGET,
        SIGMA2,
        DELTA,
        SIGMA2_COST,
        SIGMA2_REWARD,
        SPREAD,
        LEAST,
        MOST,
        Parameter::new("explore", "0.7")
            .about("factor of the variance in the index, at least 0; below 0.5 some runs recover very late from an unfavourable start"),
        PENDING,
        RHO,
        UPDATES,
        UNKNOWN_COSTS,
    ],
    build: |with| BuiltLearner::other(FeedBalPooled::new(with, &ENTRY, Bonus::Variance)?),
    ..LearnerEntry::DEFAULT
};

pub(super) const TARGET: Parameter = Parameter::new("target", "optimal")
    .about("what is learned: the `optimal` policy, or the `benchmark` of the paper, which looks one step ahead");

pub(super) const SPREAD: Parameter = Parameter::new("feedback_spread", "1")
    .about("how far one feedback can move the next expected reward: the prior of a pair never seen, and a limit in the confidence bounds")
    .stated(|learning| learning.spread().map(FeedbackSpread::get));

pub(super) const PENDING: Parameter = Parameter::new("pending", "true")
    .about("`true`: choices in flight count in the index, so that open episodes do not all repeat the same choice; `false`: they do not");

pub(super) const UPDATES: Parameter = Parameter::new("updates", "0")
    .about("with `target=optimal`, how many values of pairs outside of an episode are updated after it, those that may change most first")
    .optional();

/// What an index adds to an estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bonus {
    /// A multiple of its standard deviation.
    Variance,
    /// How far it rises within a divergence from what was observed.
    Divergence,
}

#[derive(Clone, Debug)]
pub(super) struct FeedBalPooled {
    tables: VisitedPairs,
    horizon: usize,
    looks_ahead: bool,
    sigma2_cost: f64,
    sigma2_reward: f64,
    spread: f64,
    /// The range of terminal rewards and values.
    least: f64,
    most: f64,
    bonus: Bonus,
    /// `2 explore`.
    factor: f64,
    mixture: Mixture,
    logs: &'static [f64],
    learned: usize,
    /// By slot; computed when an estimate is asked for.
    bounds: Vec<ValueBounds>,
    pending: Option<PendingChoices>,
    priorities: Option<Priorities>,
    /// Room for those of one action.
    outcomes: Vec<Outcome>,
}

/// Bounds on the value of a pair.
#[derive(Clone, Copy, Debug, Default)]
struct ValueBounds {
    lower: f64,
    upper: f64,
    /// The number of episodes learned when they were computed.
    learned: Option<usize>,
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

/// The largest mean of a pair.
#[derive(Clone, Copy, Debug)]
struct Leader {
    mean: f64,
    /// The number of times that its action was taken or is in flight.
    count: f64,
}

/// Logarithms of small whole numbers (512 KiB), which keep a call out of every choice.
static LOGS: LazyLock<Vec<f64>> =
    LazyLock::new(|| (0..1 << 16).map(|n| libm::log(f64::from(n))).collect());

/// The logarithm of a whole number.
#[inline]
fn log(logs: &[f64], n: f64) -> f64 {
    match logs.get(n as usize) {
        Some(log) => *log,
        None => libm::log(n),
    }
}

impl FeedBalPooled {
    pub(super) fn new(
        with: &Build<'_>,
        entry: &LearnerEntry,
        bonus: Bonus,
    ) -> Result<FeedBalPooled, LearnerError> {
        let (sigma2_cost, sigma2_reward) = with.sigma2_parts()?;
        let range = TabularParameters::new(with)?;
        let log = log_ratio(with.spec.k(), with.delta()?.get());
        let pending = with.flag("pending")?;
        let looks_ahead = with.word("target", &[("optimal", true), ("benchmark", false)])?;
        let updates = match with.value("updates") {
            Some(_) => with.count("updates", 0)?,
            None => 0,
        };
        if !looks_ahead {
            with.reject_unused(entry, &["updates"], "with target=benchmark")?;
        }
        let spread = with.spread()?.get();
        // A thousandth of what one feedback may change is far below the noise of estimates.
        let priorities = (updates > 0).then(|| Priorities::new(updates as usize, 1e-3 * spread));
        Ok(FeedBalPooled {
            tables: VisitedPairs::new(with.learner, with.spec, with.unknown_costs()?)?,
            horizon: with.spec.horizon(),
            looks_ahead,
            sigma2_cost: sigma2_cost.get(),
            sigma2_reward: sigma2_reward.get(),
            spread,
            least: range.least,
            most: range.most,
            bonus,
            factor: 2.0 * with.within("explore", 0.0, 1e6)?,
            mixture: Mixture::new(with.within("rho", 1e-3, 1e6)?, log),
            logs: &LOGS,
            learned: 0,
            bounds: Vec::new(),
            pending: pending.then(PendingChoices::default),
            priorities,
            outcomes: Vec::new(),
        })
    }

    /// The estimate of an action that was taken, in a pair with this mean reward.
    #[inline(always)]
    fn assess(&self, edge: &Edge, reward: f64) -> Assessment {
        let (mut value, mut of_rewards) = (0.0, 0.0);
        // Squares relative to the reward of the pair, to avoid cancellation.
        let (mut smooth, mut second) = (0.0, 0.0);
        for transition in self.tables.transitions(edge) {
            let row = &self.tables.rows[transition.next as usize];
            let share = transition.count * edge.inverse;
            let (mean, assumed, inverse) = if row.inverse > 0.0 {
                (row.value, row.value, row.inverse)
            } else {
                (self.unseen(0.0), self.unseen(self.spread), 1.0)
            };
            value += share * mean;
            of_rewards += share * share * inverse;
            let away = assumed - reward;
            let weighted = (transition.count + edge.uniform) * away;
            smooth += weighted;
            second += weighted * away;
        }
        smooth *= edge.inverse_of_next;
        let variance = (second * edge.inverse_of_next - smooth * smooth).max(0.0);
        Assessment {
            mean: value - edge.cost.sum * edge.inverse,
            variance: self.sigma2_cost + variance,
            of_rewards: self.sigma2_reward * of_rewards,
        }
    }

    /// The index of `stop`: the mean reward, or that of all pairs where it is unknown.
    #[inline]
    fn stop_index(&self, row: &Row) -> f64 {
        match row.inverse > 0.0 {
            true => row.reward.sum * row.inverse,
            false => self.unseen(0.0),
        }
    }

    /// The assumed value of a pair without a known reward: so much above the mean of all rewards.
    #[cold]
    fn unseen(&self, above: f64) -> f64 {
        self.tables.rewards.mean() + above
    }

    /// The mean of an action that was taken.
    #[inline]
    fn mean(&self, edge: &Edge) -> f64 {
        let mut value = 0.0;
        for transition in self.tables.transitions(edge) {
            let row = &self.tables.rows[transition.next as usize];
            let seen = row.inverse > 0.0;
            value += transition.count * if seen { row.value } else { self.unseen(0.0) };
        }
        (value - edge.cost.sum) * edge.inverse
    }

    /// What is assumed of an action that was never taken; none if a pair that may follow has no known reward.
    #[cold]
    fn assume(&self, edge: &Edge) -> Option<Assessment> {
        let tables = &self.tables;
        if tables.costs.count < 2.0 {
            return None;
        }
        let transitions = tables.transitions(edge);
        let uniform = edge.uniform;
        let (mut value, mut of_rewards) = (0.0, 0.0);
        for transition in transitions {
            let row = &tables.rows[transition.next as usize];
            if row.reward.count == 0.0 {
                return None;
            }
            value += uniform * row.value;
            of_rewards += uniform * uniform * self.sigma2_reward * row.inverse;
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

    /// The index of an action in a pair; none where it comes first.
    #[inline(always)]
    fn index(&self, edge: &Edge, row: &Row) -> Option<f64> {
        let visits = row.visits + row.pending;
        let (assessment, count) = self.assessed(edge, row)?;
        let inverse = match edge.pending == 0.0 && edge.cost.count > 0.0 {
            true => edge.inverse,
            false => 1.0 / count,
        };
        let variance = assessment.variance * inverse + assessment.of_rewards;
        let log = log(self.logs, visits + count) - log(self.logs, count);
        Some(assessment.mean + (self.factor * variance * log).sqrt())
    }

    /// The estimate of an action and the number of times that it was taken or is in flight; none where it comes first.
    #[inline(always)]
    fn assessed(&self, edge: &Edge, row: &Row) -> Option<(Assessment, f64)> {
        if edge.cost.count > 0.0 {
            let reward = row.reward.sum * row.inverse;
            return Some((self.assess(edge, reward), edge.cost.count + edge.pending));
        }
        let assumed = self.assume(edge).filter(|_| row.visits > 0.0)?;
        Some((assumed, 1.0 + edge.pending))
    }

    /// The action with the largest index in an expanded pair at step `t`.
    #[inline(always)]
    fn best(&self, slot: usize, t: usize) -> Action {
        let row = self.tables.rows[slot];
        let stop = self.stop_index(&row);
        let edges = self.tables.edges(slot, t);
        // A single action that looks better than `stop` needs no bonus.
        if let [edge] = edges
            && edge.cost.count > 0.0
            && self.mean(edge) > stop
        {
            return Action::Continue(0);
        }
        self.largest(edges, stop, |edge, _| self.index(edge, &row))
    }

    /// The same with indices by divergence.
    fn best_by_divergence(&mut self, slot: usize, t: usize) -> Action {
        let mut outcomes = std::mem::take(&mut self.outcomes);
        let row = self.tables.rows[slot];
        let edges = self.tables.edges(slot, t);
        let leader = self.leader(edges, &row);
        let index = |edge: &Edge, least: f64| {
            self.divergence_index(edge, &row, leader, least.max(leader.mean), &mut outcomes)
        };
        let action = self.largest(edges, self.stop_index(&row), index);
        self.outcomes = outcomes;
        action
    }

    /// The action with the largest index. `index` is given the largest so far: it may give less than an index that is less.
    #[inline(always)]
    fn largest(
        &self,
        edges: &[Edge],
        stop: f64,
        mut index: impl FnMut(&Edge, f64) -> Option<f64>,
    ) -> Action {
        let (mut best, mut largest) = (Action::Stop, f64::NEG_INFINITY);
        let (mut waiting, mut in_flight) = (Action::Stop, f64::INFINITY);
        for (a, edge) in edges.iter().enumerate() {
            if edge.successors == 0 {
                continue;
            }
            match index(edge, largest) {
                Some(larger) if larger > largest => (best, largest) = (Action::Continue(a), larger),
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
        if largest > stop { best } else { Action::Stop }
    }

    /// The largest mean of a pair, that of `stop` included, and how often its action was taken.
    fn leader(&self, edges: &[Edge], row: &Row) -> Leader {
        let mut leader = Leader {
            mean: self.stop_index(row),
            count: row.visits + row.pending,
        };
        for edge in edges.iter().filter(|edge| edge.cost.count > 0.0) {
            let mean = self.mean(edge);
            if mean > leader.mean {
                let count = edge.cost.count + edge.pending;
                leader = Leader { mean, count };
            }
        }
        leader
    }

    /// The index of an action by divergence; none where it comes first. An index that is at most `least` may be replaced by the
    /// mean.
    #[inline]
    fn divergence_index(
        &self,
        edge: &Edge,
        row: &Row,
        leader: Leader,
        least: f64,
        outcomes: &mut Vec<Outcome>,
    ) -> Option<f64> {
        let (assessment, count) = self.assessed(edge, row)?;
        let mean = assessment.mean;
        let log = log(self.logs, leader.count) - log(self.logs, count);
        let budget = 0.5 * self.factor * log / count;
        if budget.is_nan() || budget <= 0.0 {
            return Some(mean);
        }
        outcomes.clear();
        let tried = edge.cost.count > 0.0;
        for transition in self.tables.transitions(edge) {
            let row = &self.tables.rows[transition.next as usize];
            outcomes.push(Outcome {
                probability: match tried {
                    true => transition.count * edge.inverse,
                    false => edge.uniform,
                },
                value: match row.inverse > 0.0 {
                    true => row.value,
                    false => self.unseen(self.spread),
                },
            });
        }
        // The rewards of the next pairs are estimates: their variance adds to that of the costs.
        let variance = self.sigma2_cost + count * assessment.of_rewards;
        if mean <= least && !can_rise(outcomes, variance, least - mean, budget) {
            return Some(mean);
        }
        Some(mean + largest_rise(outcomes, variance, budget))
    }

    /// Updates the value of a pair at step `t`.
    #[inline]
    fn back_up(&mut self, slot: usize, t: usize) {
        let row = self.tables.rows[slot];
        let mut value = match row.inverse > 0.0 {
            true => row.reward.sum * row.inverse,
            false => f64::NEG_INFINITY,
        };
        for edge in self.tables.edges(slot, t) {
            if edge.cost.count > 0.0 {
                value = value.max(self.mean(edge));
            }
        }
        if value > f64::NEG_INFINITY {
            self.tables.rows[slot].value = value;
        }
    }

    /// Updates pairs that lead to those of the last episode, the largest changes first.
    fn sweep(&mut self, mut priorities: Priorities) -> Priorities {
        for i in (0..self.tables.path.len()).rev() {
            let slot = self.tables.path[i] as usize;
            priorities.list(&self.tables, slot, i + 1);
            priorities.updated(&self.tables, slot);
        }
        for _ in 0..priorities.updates() {
            let Some(slot) = priorities.pop() else {
                break;
            };
            // It leads to another pair, so it is not at the horizon.
            self.back_up(slot, 1);
            priorities.updated(&self.tables, slot);
        }
        priorities
    }

    /// Bounds on the value of an action that was taken in a pair at step `t`, and of everything that it may lead to.
    fn value_bounds(&mut self, edge: &Edge, t: usize) -> (f64, f64) {
        self.bounds
            .resize(self.tables.rows.len(), ValueBounds::default());
        // The pairs that may follow, step by step; then their bounds, from the last step to the first.
        let mut steps: Vec<Vec<u32>> = Vec::new();
        let mut next: Vec<u32> = self.new_successors(edge);
        while !next.is_empty() {
            let step = t + 1 + steps.len();
            let mut after = Vec::new();
            for &slot in &next {
                if self.tables.is_expanded(slot as usize) {
                    for action in 0..self.tables.edges(slot as usize, step).len() {
                        let edge = self.tables.edges(slot as usize, step)[action];
                        after.extend(self.new_successors(&edge));
                    }
                }
            }
            steps.push(std::mem::replace(&mut next, after));
        }
        for (i, slots) in steps.iter().enumerate().rev() {
            for &slot in slots {
                self.bound_value(slot as usize, t + 1 + i);
            }
        }
        self.bounds_after(edge)
    }

    /// The successors of an edge whose bounds are older than the last episode; they are marked as new.
    fn new_successors(&mut self, edge: &Edge) -> Vec<u32> {
        let mut new = Vec::new();
        for transition in self.tables.transitions(edge) {
            let bounds = &mut self.bounds[transition.next as usize];
            if bounds.learned != Some(self.learned) {
                bounds.learned = Some(self.learned);
                new.push(transition.next);
            }
        }
        new
    }

    /// Computes the bounds on the value of a pair from those of its successors.
    fn bound_value(&mut self, slot: usize, t: usize) {
        let row = self.tables.rows[slot];
        let (mut lower, mut upper) = (self.least, self.most);
        if row.inverse > 0.0 {
            let (mean, count) = (row.reward.sum * row.inverse, row.reward.count as u64);
            let width = self.mixture.width(self.sigma2_reward, count);
            (lower, upper) = (
                (mean - width).max(self.least),
                (mean + width).min(self.most),
            );
        }
        if !self.tables.is_expanded(slot) {
            // An action may be allowed there.
            upper = self.most;
        } else {
            for action in 0..self.tables.edges(slot, t).len() {
                let edge = self.tables.edges(slot, t)[action];
                if edge.cost.count > 0.0 {
                    let (low, high) = self.bounds_after(&edge);
                    (lower, upper) = (lower.max(low), upper.max(high.min(self.most)));
                } else if edge.successors > 0 {
                    upper = self.most;
                }
            }
        }
        let bounds = &mut self.bounds[slot];
        (bounds.lower, bounds.upper) = (lower, upper);
    }

    /// Bounds on the value of an action that was taken, from those of its successors.
    fn bounds_after(&mut self, edge: &Edge) -> (f64, f64) {
        let n = edge.cost.count;
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut lower, mut upper) = (0.0, 0.0);
        for transition in self.tables.transitions(edge) {
            let bounds = &self.bounds[transition.next as usize];
            let share = transition.count / n;
            lower += share * bounds.lower;
            upper += share * bounds.upper;
            (low, high) = (low.min(bounds.lower), high.max(bounds.upper));
        }
        let spread = if edge.successors > 1 { high - low } else { 0.0 };
        let width = self.sums(edge, spread).width(&mut self.mixture);
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
        let sums = self.sums(edge, spread);
        sums.bound(&mut self.mixture, spreads, logs)
    }

    /// The sums of an action that was taken, where the values that may follow are this far apart.
    fn sums(&self, edge: &Edge, spread: f64) -> ActionSums {
        ActionSums {
            n: edge.cost.count as u64,
            of_cost: self.sigma2_cost,
            proxy: self.sigma2_cost + spread * spread / 4.0,
            unknown: self.tables.unknown(edge),
        }
    }
}

impl Learner for FeedBalPooled {
    #[inline]
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t >= self.horizon {
            return Action::Stop;
        }
        let slot = self.tables.expanded_after_choice(t, x);
        let action = match self.bonus {
            Bonus::Variance => self.best(slot, t),
            Bonus::Divergence => self.best_by_divergence(slot, t),
        };
        if let Action::Continue(a) = action {
            self.tables.choose(t, slot, a);
        }
        action
    }

    #[inline]
    fn learn(&mut self, episode: &Episode) {
        self.learned += 1;
        self.tables.learn(episode);
        if self.looks_ahead {
            for i in (0..self.tables.path.len()).rev() {
                self.back_up(self.tables.path[i] as usize, i + 1);
            }
            if let Some(priorities) = self.priorities.take() {
                self.priorities = Some(self.sweep(priorities));
            }
        }
    }

    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let slot = self.tables.expanded(t, x);
        let row = self.tables.rows[slot];
        let a = match action {
            Action::Continue(a) => a,
            Action::Stop => {
                let mean = row.reward.sum * row.inverse;
                let count = row.reward.count as u64;
                let width = self.mixture.width(self.sigma2_reward, count);
                return Some(Estimate {
                    count,
                    mean,
                    width,
                    upper: mean + width,
                    index: self.stop_index(&row),
                });
            }
        };
        let edges = self.tables.edges(slot, t);
        let edge = *edges.get(a).filter(|edge| edge.successors > 0)?;
        let index = match self.bonus {
            Bonus::Variance => self.index(&edge, &row),
            Bonus::Divergence => {
                let (leader, least) = (self.leader(edges, &row), f64::NEG_INFINITY);
                self.divergence_index(&edge, &row, leader, least, &mut Vec::new())
            }
        };
        // Without an index it comes first, or waits if it is in flight.
        let index = index.unwrap_or(match edge.pending > 0.0 {
            true => f64::NEG_INFINITY,
            false => f64::INFINITY,
        });
        if edge.cost.count == 0.0 {
            return Some(Estimate {
                count: 0,
                mean: 0.0,
                width: f64::INFINITY,
                upper: f64::INFINITY,
                index,
            });
        }
        let mean = self.mean(&edge);
        let (width, upper) = if self.looks_ahead {
            let (lower, upper) = self.value_bounds(&edge, t);
            ((upper - mean).max(mean - lower).max(0.0), upper)
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
            pending.announce(episode, (t, x, action), |change| {
                tables.count_pending(&change)
            });
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
        self.bounds.clear();
        self.learned = 0;
        if let Some(pending) = &mut self.pending {
            pending.clear();
        }
        if let Some(priorities) = &mut self.priorities {
            priorities.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, assert_close, patience, play};
    use crate::learners::{LearnerConfig, LearnerDefaults};

    fn build(text: &str) -> Box<dyn Learner + Send> {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        config.build(patience().spec(), None).unwrap()
    }

    const NOISE: &str =
        "sigma2_cost=0.1,sigma2_reward=0.2,feedback_spread=2,rho=3,delta=0.1,explore=0.5";

    /// Three episodes: twice on to state 1, once to state 0, where one of them goes on.
    fn taught(text: &str) -> Box<dyn Learner + Send> {
        let mut learner = build(&format!("feedbal-pooled:{text},{NOISE}"));
        learner.learn(&after(&[(0, 1)], &[0.1], &[0.5, 1.0]));
        learner.learn(&after(&[(0, 1)], &[0.3], &[0.7, 2.0]));
        learner.learn(&after(&[(0, 0), (0, 1)], &[0.2, 0.0], &[0.6, 4.0, 7.0]));
        learner
    }

    /// The index after three plays of three visits, with these values of states 0 and 1 and their number of rewards.
    fn index(values: [f64; 2], visits: f64, plays: f64) -> f64 {
        let w = [(1.0 + 0.5) / 4.0, (2.0 + 0.5) / 4.0];
        let mean = w[0] * values[0] + w[1] * values[1];
        let variance = w[0] * (values[0] - mean).powi(2) + w[1] * (values[1] - mean).powi(2);
        let of_rewards = 0.2 / 9.0 + 4.0 / 9.0 * 0.2 / 2.0;
        let variance = (variance + 0.1) / plays + of_rewards;
        (variance * (1.0 + visits / plays).ln()).sqrt()
    }

    #[test]
    fn estimate_and_index_by_hand() {
        let mut learner = taught("target=benchmark");
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        // p̂ = (1/3, 2/3), r̂ = (4, 1.5), ĉ = 0.2.
        let mean = 4.0 / 3.0 + 1.0 - 0.2;
        assert_eq!(estimate.count, 3);
        assert_close(estimate.mean, mean);
        assert_close(estimate.index, mean + index([4.0, 1.5], 3.0, 3.0));
        // The width of `feedbal-model`, with K = 12.
        let (p, q) = (1.0 / 3.0, 2.0 / 3.0);
        let spreads: f64 =
            (0.1 + 1.0) * 6.0 / 9.0 + p * p * 0.2 * 4.0 / 1.0 + q * q * 0.2 * 5.0 / 4.0;
        let logs = 2.0 * (12.0_f64 / 0.1).ln()
            + 2.0_f64.ln()
            + (4.0_f64 / 3.0).ln()
            + (5.0_f64 / 3.0).ln();
        assert_close(estimate.width, (spreads * logs).sqrt());
        assert_close(estimate.upper, mean + estimate.width);
        let stop = learner.estimate(1, 0, Action::Stop).unwrap();
        assert_close(stop.index, 0.6);
    }

    #[test]
    fn values_are_those_of_the_best_action() {
        // Going on from state 0 at step 2 leads to 7, which is more than 4.
        let mut learner = taught("target=optimal,reward_most=10");
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        let mean = 7.0 / 3.0 + 1.0 - 0.2;
        assert_close(estimate.mean, mean);
        assert_close(estimate.index, mean + index([7.0, 1.5], 3.0, 3.0));
        // No value exceeds the largest reward, and every upper bound of the next pairs does.
        assert!(estimate.upper > 10.0 - 0.2);
        assert!(estimate.mean - estimate.width < 0.0);
    }

    #[test]
    fn a_run_learns_its_target() {
        let text = "sigma2=0.01";
        let mut learner = build(&format!("feedbal-pooled:{text}"));
        play(&patience(), &mut learner, 2000, |_| 0.0).assert_optimal(0.02);
        let mut learner = build(&format!("feedbal-pooled:target=benchmark,{text}"));
        play(&patience(), &mut learner, 2000, |_| 0.0).assert_benchmark();
    }

    #[test]
    fn updates_reach_pairs_outside_of_an_episode() {
        let text = "feedbal-pooled:target=optimal,sigma2=0.01";
        let mut learners = [build(text), build(&format!("{text},updates=5"))];
        for learner in &mut learners {
            // Both states of step 2 lead to state 0 of step 3, whose reward turns out to be larger.
            learner.learn(&after(&[(0, 0), (0, 0)], &[0.0; 2], &[0.0, 0.0, 1.0]));
            learner.learn(&after(&[(0, 1), (0, 0)], &[0.0; 2], &[0.0, 0.0, 5.0]));
        }
        let value = |learner: &mut Box<dyn Learner + Send>| {
            learner.estimate(1, 0, Action::Continue(0)).unwrap().mean
        };
        // The first learner keeps the value 1 of state 0 at step 2.
        assert_close(value(&mut learners[0]), (1.0 + 3.0) / 2.0);
        assert_close(value(&mut learners[1]), 3.0);
        let error = LearnerConfig::parse(
            "feedbal-pooled:target=benchmark,updates=5",
            &LearnerDefaults::default(),
        );
        let error = error.unwrap().build(patience().spec(), None).err().unwrap();
        assert!(
            error.to_string().contains("with target=benchmark"),
            "{error}"
        );
    }

    /// Three pairs lead to one: which of equal changes is passed on first must not depend on what was asked before.
    #[test]
    fn updates_do_not_depend_on_earlier_requests() {
        let spec = Spec::numbered(4, 3, 1, 3).unwrap();
        let spec = Arc::new(spec.transition(|t, x, _a, f| [f, x, 0][t - 1] as f64));
        let text = "feedbal-pooled:updates=1,sigma2=0.01";
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        let estimates = |asked: &[usize]| {
            let mut learner = config.build(&spec, None).unwrap();
            for &x in asked {
                learner.choose(2, x);
            }
            for (f, reward) in [(0, 0.5), (1, 0.5), (2, 2.0)] {
                let mut episode = Episode::default();
                episode.begin(0);
                episode.advance(0, f, f);
                episode.advance(0, 0, f);
                episode.advance(0, 0, 0);
                episode.costs.extend([0.0; 3]);
                episode.rewards.extend([0.0, 0.0, 0.0, reward]);
                learner.learn(&episode);
            }
            let mean = |x| learner.estimate(2, x, Action::Continue(0)).unwrap().mean;
            [0, 1, 2].map(mean)
        };
        assert_eq!(estimates(&[]), estimates(&[1]));
        assert_eq!(estimates(&[]), estimates(&[2, 1, 0]));
    }

    #[test]
    fn untried_actions_come_first_also_in_a_new_pair() {
        let mut learner = build("feedbal-pooled");
        assert_eq!(learner.choose(1, 0), Action::Continue(0));
        assert_eq!(learner.choose(3, 0), Action::Stop);
        // The rewards of both states at step 2 are known; costs are not.
        learner.learn(&after(&[(0, 0)], &[f64::NAN], &[1.0, 0.0]));
        learner.learn(&after(&[(0, 1)], &[f64::NAN], &[1.0, 0.0]));
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!((estimate.count, estimate.index), (0, f64::INFINITY));
    }

    #[test]
    fn choices_in_flight_count_in_the_index_alone() {
        let mut learner = taught("target=benchmark");
        let before = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        for episode in 0..5 {
            learner.announce(episode, 1, 0, Action::Continue(0));
        }
        learner.announce(5, 1, 0, Action::Stop);
        let pending = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_eq!((pending.mean, pending.width), (before.mean, before.width));
        // Five plays and six visits more.
        assert_close(pending.index, pending.mean + index([4.0, 1.5], 9.0, 8.0));
        for episode in 0..6 {
            learner.settle(episode);
        }
        assert_eq!(learner.estimate(1, 0, Action::Continue(0)).unwrap(), before);
    }

    #[test]
    fn of_untried_actions_in_flight_the_one_with_the_fewest_is_chosen() {
        let spec = Arc::new(Spec::numbered(2, 1, 3, 1).unwrap());
        let config = LearnerConfig::parse("feedbal-pooled", &LearnerDefaults::default()).unwrap();
        let mut learner = config.build(&spec, None).unwrap();
        let mut chosen = Vec::new();
        for episode in 0..7 {
            let action = learner.choose(1, 0);
            learner.announce(episode, 1, 0, action);
            chosen.push(action);
        }
        assert_eq!(chosen, [0, 1, 2, 0, 1, 2, 0].map(Action::Continue));
    }
}
