//! FeedBAL, Algorithm 2 of *Episodic Multi-armed Bandits* (Tekin, van der Schaar).
//!
//! For every step-state pair it keeps the sample mean of the gain of each action and plays the largest upper
//! confidence bound `u = mean + conf(N)`. The mean of `stop` is that of the terminal reward, which is revealed
//! whenever the pair was passed, so its count is `N_{t,x}`; that of a continuation action is the mean of
//! `R_{t+1} - C_t` over the `N_{t,x,a}` times it was taken.
//!
//! - Unknown values are not observed: `stop` needs `R_t`, an action `C_t` and `R_{t+1}`.
//! - At count 0 the bound is infinite. `stop` wins every tie it is part of, so FeedBAL stops at an unobserved pair.
//! - Ties among continuation actions go to the lowest index, or are drawn (`ties=random`).
//! - With `pending=true` choices in flight count in the widths, and not in the means. An action without observations that is in
//!   flight waits: the others come first, then `stop`.
//! - `stop_bias` is the small `epsilon` of Section 4 that is added to the index of `stop`, for problems in which
//!   `stop` and a continuation action are equally good.

use super::feedbal_model::{SIGMA2_COST, SIGMA2_REWARD};
use super::prelude::*;
use crate::learners::support::forgetting::Forgetting;
use crate::learners::support::pending::{PendingChange, PendingChoices};
use crate::learners::support::tabular::DELTA;
use crate::slots::Slots;
use crate::width::{Coefficients, IndexTable, Width, WidthKind};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal",
    title: "FeedBAL",
    about: "upper confidence bounds on the gain of each action, by step and state",
    reference: "Tekin, van der Schaar, Episodic Multi-armed Bandits, Algorithm 2",
    proved_bounds: ProvedBounds::Verified,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        Parameter::new("sigma2", "0.25")
            .about("variance proxy of the noise on costs and rewards, at least 0")
            .stated(|learning| learning.sigma2.map(Sigma2::get)),
        DELTA,
        Parameter::new("width", "paper")
            .about("confidence width: `paper` (Equations 3 and 4 as printed), `sound` (also covers the randomness of the feedback) or `bernstein` (adapts to its observed variance)"),
        SIGMA2_COST,
        SIGMA2_REWARD,
        Parameter::new("feedback_spread", "[learning]")
            .about("for width=sound and bernstein: how far one feedback can move the next expected reward")
            .stated(|learning| learning.spread().map(FeedbackSpread::get))
            .only_with("width", &["sound", "bernstein"]),
        Parameter::new("stop_bias", "0")
            .about("added to the index of `stop` (the epsilon of Section 4), a finite number"),
        Parameter::new("ties", "lowest")
            .about("which continuation action wins a tie: `lowest` or `random`")
            .draws_with("random"),
        Parameter::new("window", "all")
            .about("for drift: the number of most recent episodes used, at least 1")
            .optional(),
        Parameter::new("gamma", "1")
            .about("for drift: the discount of an episode for every later one, in (0, 1)")
            .optional(),
        Parameter::new("pending", "false")
            .about("`true`: choices in flight count in the widths, so that open episodes do not all repeat the same choice; `false`: they do not")
            .optional(),
    ],
    build: |with| {
        let pending = match with.value("pending") {
            Some(_) => with.word("pending", &[("true", true), ("false", false)])?,
            None => false,
        };
        if with.is_word("width", "bernstein") {
            let unused = ["stop_bias", "ties", "window", "gamma", "pending"];
            with.reject_unused(&ENTRY, &unused, "with width=bernstein")?;
            let learner = super::feedbal_model::unpooled(with)?;
            return Ok(BuiltLearner::FeedBalBernstein(Box::new(learner)));
        }
        let (spec, parameters) = (with.spec.clone(), with.feedbal_parameters()?);
        if let Some(memory) = with.memory()? {
            with.reject_unused(&ENTRY, &["pending"], "with `window` or `gamma`")?;
            return BuiltLearner::other(Forgetting::new(spec, parameters, memory));
        }
        let mut learner = FeedBal::new(spec, parameters);
        learner.pending = pending.then(Box::default);
        Ok(BuiltLearner::FeedBal(learner))
    },
    ..LearnerEntry::DEFAULT
};

/// Which continuation action wins a tie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// The lowest index.
    #[default]
    Lowest,
    /// One of them, uniformly at random.
    Random,
}

/// The parameters of FeedBAL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedBalParameters {
    /// Variance proxy of the noise on costs.
    pub sigma2_cost: Sigma2,
    /// Variance proxy of the noise on terminal rewards.
    pub sigma2_reward: Sigma2,
    /// The probability with which some confidence bound may fail.
    pub delta: Delta,
    /// The confidence width.
    pub width: WidthKind,
    /// Added to the index of `stop`.
    pub stop_bias: f64,
    /// Which continuation action wins a tie.
    pub ties: Ties,
}

impl FeedBalParameters {
    /// The paper's parameters, one `sigma2` for costs and rewards; the rest at their defaults.
    pub fn new(sigma2: f64, delta: f64) -> Result<FeedBalParameters, ParameterError> {
        Ok(FeedBalParameters {
            sigma2_cost: Sigma2::new(sigma2)?,
            sigma2_reward: Sigma2::new(sigma2)?,
            delta: Delta::new(delta)?,
            width: WidthKind::default(),
            stop_bias: 0.0,
            ties: Ties::default(),
        })
    }

    /// The coefficients of its widths.
    pub fn coefficients(&self) -> Coefficients {
        self.width
            .coefficients(self.sigma2_cost, self.sigma2_reward)
    }

    /// The index tables of continuation actions and of `stop`.
    pub fn index_tables(&self, spec: &Spec) -> (IndexTable, IndexTable) {
        let Coefficients { action, stop } = self.coefficients();
        let width = |w| Width::new(w, spec.k(), self.delta);
        (
            IndexTable::new(width(action), 0.0),
            IndexTable::new(width(stop), self.stop_bias),
        )
    }
}

/// The learner.
///
/// ```
/// use std::sync::Arc;
/// use emab::learners::{FeedBal, FeedBalParameters};
/// use emab::{Action, Episode, Learner, Spec};
///
/// let spec = Spec::numbered(10, 10, 1, 2).unwrap()
///     .transition(|_t, x, _a, f| (x + f) as f64);
/// let mut learner = FeedBal::new(Arc::new(spec), FeedBalParameters::new(0.2, 0.01).unwrap());
///
/// assert_eq!(learner.choose(1, 0), Action::Stop); // unobserved: both indices are infinite
/// learner.learn(&Episode { states: vec![0], rewards: vec![0.1], ..Episode::default() });
/// assert_eq!(learner.choose(1, 0), Action::Continue(0)); // continuing was never tried
/// ```
#[derive(Clone, Debug)]
pub struct FeedBal {
    spec: Arc<Spec>,
    actions: usize,
    parameters: FeedBalParameters,
    action_index: IndexTable,
    stop_index: IndexTable,
    slots: Slots,
    /// By slot: one entry per continuation action, then one for `stop`.
    arms: Vec<ArmStats>,
    stream: Stream,
    pending: Option<Box<PendingChoices>>,
}

/// The observations of one action in one pair.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ArmStats {
    count: u64,
    sum: f64,
    /// The upper confidence bound, stored so that a choice only compares.
    index: f64,
    /// Choices in flight.
    pending: u64,
}

impl ArmStats {
    #[inline]
    fn observe(&mut self, value: f64, table: &mut IndexTable) {
        self.count += 1;
        self.sum += value;
        let [reciprocal, width] = table.at(self.count);
        self.index = self.sum * reciprocal + width;
        if self.pending > 0 {
            self.allow_for_pending(table);
        }
    }

    /// The index with choices in flight in its width.
    #[cold]
    fn allow_for_pending(&mut self, table: &mut IndexTable) {
        self.index = match (self.count, self.pending) {
            (0, 0) => f64::INFINITY,
            (0, _) => f64::NEG_INFINITY,
            (count, pending) => {
                let ([reciprocal, _], [_, width]) = (table.at(count), table.at(count + pending));
                self.sum * reciprocal + width
            }
        };
    }
}

impl FeedBal {
    /// A learner without observations.
    pub fn new(spec: Arc<Spec>, parameters: FeedBalParameters) -> FeedBal {
        let (action_index, stop_index) = parameters.index_tables(&spec);
        FeedBal {
            action_index,
            stop_index,
            actions: spec.actions().len(),
            slots: Slots::new(spec.horizon(), spec.states().len()),
            spec,
            parameters,
            arms: Vec::new(),
            stream: Stream::new(0, 0, Role::Learner),
            pending: None,
        }
    }

    /// Its parameters.
    pub fn parameters(&self) -> &FeedBalParameters {
        &self.parameters
    }

    /// The first arm of a pair.
    #[inline]
    fn row(&mut self, t: usize, x: usize) -> usize {
        let (slot, new) = self.slots.of(t, x);
        if new {
            self.add_row(t, x);
        }
        slot * (self.actions + 1)
    }

    #[cold]
    fn add_row(&mut self, t: usize, x: usize) {
        let fresh = |index| ArmStats {
            count: 0,
            sum: 0.0,
            index,
            pending: 0,
        };
        for a in 0..self.actions {
            // An action that is not allowed is never chosen.
            self.arms.push(fresh(if self.spec.is_allowed(t, x, a) {
                f64::INFINITY
            } else {
                f64::NEG_INFINITY
            }));
        }
        self.arms.push(fresh(f64::INFINITY));
    }

    /// Counts choices in flight, or one less of them.
    fn count_pending(&mut self, changes: &[PendingChange]) {
        for change in changes {
            let first = self.row(change.t, change.x);
            let stop = (self.actions, &mut self.stop_index);
            let taken = match change.action {
                Action::Continue(a) if self.spec.is_allowed(change.t, change.x, a) => {
                    Some((a, &mut self.action_index))
                }
                _ => None,
            };
            // Whatever is played, the reward of the pair will be known.
            for (column, table) in [Some(stop), taken].into_iter().flatten() {
                let arm = &mut self.arms[first + column];
                arm.pending = match change.more {
                    true => arm.pending + 1,
                    false => arm.pending.saturating_sub(1),
                };
                arm.allow_for_pending(table);
            }
        }
    }

    /// One of the continuation actions that share the largest index.
    fn draw_tie(&mut self, first: usize, index: f64) -> usize {
        let row = &self.arms[first..first + self.actions];
        let mut tied = (0..self.actions).filter(|&a| row[a].index == index);
        let count = tied.clone().count();
        let chosen = if count > 1 {
            self.stream.below(count)
        } else {
            0
        };
        tied.nth(chosen).unwrap_or(0)
    }
}

impl Learner for FeedBal {
    #[inline]
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t >= self.spec.horizon() {
            return Action::Stop;
        }
        let first = self.row(t, x);
        let row = &self.arms[first..first + self.actions + 1];
        let mut best = 0;
        for a in 1..self.actions {
            if row[a].index > row[best].index {
                best = a;
            }
        }
        let index = row[best].index;
        if index > row[self.actions].index {
            if self.parameters.ties == Ties::Random {
                best = self.draw_tie(first, index);
            }
            Action::Continue(best)
        } else {
            Action::Stop
        }
    }

    #[inline]
    fn learn(&mut self, episode: &Episode) {
        for (i, &x) in episode.states.iter().enumerate() {
            let first = self.row(i + 1, x);
            // Two separate observations: a gain needs its cost and the next reward, not this one.
            if let Some(reward) = episode.known_reward(i + 1) {
                self.arms[first + self.actions].observe(reward, &mut self.stop_index);
            }
            if let (Some(&a), Some(gain)) = (episode.actions.get(i), episode.known_gain(i + 1)) {
                self.arms[first + a].observe(gain, &mut self.action_index);
            }
        }
    }

    fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let first = self.row(t, x);
        let (column, table, bias) = match action {
            Action::Continue(a) if a < self.actions => (a, &mut self.action_index, 0.0),
            Action::Continue(_) => return None,
            Action::Stop => {
                let bias = self.parameters.stop_bias;
                (self.actions, &mut self.stop_index, bias)
            }
        };
        let arm = self.arms[first + column];
        let [reciprocal, width] = table.at(arm.count);
        let mean = arm.sum * reciprocal;
        Some(Estimate {
            count: arm.count,
            mean,
            width: width - bias,
            upper: mean + width - bias,
            index: match arm.pending {
                0 => mean + width,
                _ => arm.index,
            },
        })
    }

    fn announce(&mut self, episode: u64, t: usize, x: usize, action: Action) {
        let mut changes = Vec::new();
        if let Some(pending) = &mut self.pending {
            pending.announce(episode, (t, x, action), |change| changes.push(change));
        }
        self.count_pending(&changes);
    }

    fn settle(&mut self, episode: u64) {
        let mut changes = Vec::new();
        if let Some(pending) = &mut self.pending {
            pending.settle(episode, |change| changes.push(change));
        }
        self.count_pending(&changes);
    }

    fn counts_pending(&self) -> bool {
        self.pending.is_some()
    }

    fn reset(&mut self, stream: Stream) {
        if let Some(pending) = &mut self.pending {
            pending.clear();
        }
        self.slots.clear();
        self.arms.clear();
        self.stream = stream;
    }
}
