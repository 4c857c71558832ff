//! Estimates of rewards and gains with simultaneous confidence widths, for the variants of FeedBAL.
//!
//! The estimator and its widths are those of `feedbal_model.rs`; unpooled, those of `feedbal:width=bernstein`.

use crate::episode::Episode;
use crate::learner::Estimate;
use crate::learners::LearnerError;
use crate::learners::registry::entry::Build;
use crate::learners::support::tabular::{Counts, Sums, TransitionGraph};
use crate::learners::support::trust::GainEstimate;
use crate::learners::support::unknown_costs::{ActionSums, UnknownCostRule, UnknownCosts};
use crate::mixture::{Mixture, kt_regret};
use crate::spec::Action;

/// How the width covers the randomness of the feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedbackBound {
    /// By its range, in one bound with costs and rewards.
    Joint,
    /// By its observed variance, in a separate bound.
    Bernstein,
}

impl FeedbackBound {
    /// The number of bounds per edge.
    pub(crate) fn bounds(self) -> usize {
        match self {
            // All together, and the cost alone.
            FeedbackBound::Joint => 2,
            // The feedback, the noise, and the cost alone.
            FeedbackBound::Bernstein => 3,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct GainEstimator {
    pub(crate) graph: TransitionGraph,
    pub(crate) counts: Counts,
    pub(crate) sigma2_cost: f64,
    pub(crate) sigma2_reward: f64,
    pub(crate) mixture: Mixture,
    /// The feedback spread of the parameters. Without it, feedback that the specification allows but that never occurs
    /// would keep the spread infinite.
    max_spread: f64,
    feedback_bound: FeedbackBound,
    /// By edge: observed `R_{t+1} - C_t`, where rewards are not pooled.
    direct: Option<Vec<Sums>>,
}

impl GainEstimator {
    /// Pooled estimates, or those of FeedBAL, with this number of bounds per edge.
    pub(crate) fn new(
        with: &Build<'_>,
        feedback_bound: FeedbackBound,
        pooled: bool,
        bounds: usize,
        max_spread: f64,
    ) -> Result<GainEstimator, LearnerError> {
        let graph = TransitionGraph::new(with.learner, with.spec)?;
        let (sigma2_cost, sigma2_reward) = with.sigma2_parts()?;
        let delta = with.delta()?;
        let rho = match with.value("rho") {
            Some(_) => with.within("rho", 1e-3, 1e6)?,
            None => 1.0,
        };
        // One bound for the reward of each pair, and those of its actions.
        let bounds = (graph.pairs() + bounds * graph.edge_count()) as f64;
        Ok(GainEstimator {
            // The mean of gains has one observation where both cost and reward are known.
            counts: match pooled {
                true => Counts::with_rule(&graph, true, with.unknown_costs()?),
                false => Counts::with_rule(&graph, true, UnknownCostRule::Drop),
            },
            direct: (!pooled).then(|| vec![Sums::default(); graph.edge_count()]),
            graph,
            sigma2_cost: sigma2_cost.get(),
            sigma2_reward: sigma2_reward.get(),
            max_spread,
            feedback_bound,
            mixture: Mixture::new(rho, libm::log(bounds) - libm::log(delta.get())),
        })
    }

    /// The upper limit on the feedback spread.
    pub(crate) fn max_spread(&self) -> f64 {
        self.max_spread
    }

    /// Learns from an episode.
    pub(crate) fn learn(&mut self, episode: &Episode) {
        let Some(direct) = &mut self.direct else {
            // The estimate combines feedback and rewards, so each uses all of its own observations.
            self.counts.learn(&self.graph, episode);
            return;
        };
        // The bound of a mean needs the feedback of exactly its observations, so feedback counts where the gain is known.
        // Rewards of pairs have separate bounds and count wherever they are known.
        self.counts.learn_edges(&self.graph, episode, |edge, t| {
            match episode.known_gain(t) {
                Some(gain) => {
                    direct[edge].add(gain);
                    true
                }
                None => false,
            }
        });
    }

    pub(crate) fn clear(&mut self) {
        self.counts.clear();
        if let Some(direct) = &mut self.direct {
            direct.fill(Sums::default());
        }
    }

    /// The estimate of the terminal reward of a pair.
    pub(crate) fn reward(&mut self, pair: usize) -> GainEstimate {
        let sums = self.counts.reward[pair];
        if sums.count == 0 {
            return GainEstimate::UNOBSERVED;
        }
        let (mean, width) = (
            sums.mean(),
            self.mixture.width(self.sigma2_reward, sums.count),
        );
        GainEstimate {
            mean,
            width,
            upper: mean + width,
            se: (self.sigma2_reward / sums.count as f64).sqrt(),
            count: sums.count,
        }
    }

    /// The estimate of the gain of an edge.
    pub(crate) fn gain(&mut self, edge: usize) -> GainEstimate {
        let n = match &self.direct {
            None => self.counts.cost[edge].count,
            Some(direct) => direct[edge].count,
        };
        if n == 0 {
            return GainEstimate::UNOBSERVED;
        }
        let Some(next_reward) = self.next_reward(edge) else {
            return GainEstimate::UNOBSERVED;
        };
        let mut proxy = self.sigma2_cost;
        let (mut spreads, mut logs) = (next_reward.spreads, next_reward.logs);
        if self.direct.is_some() {
            proxy += self.sigma2_reward;
            (spreads, logs) = (0.0, 0.0);
        }
        if self.feedback_bound == FeedbackBound::Joint {
            proxy += next_reward.spread * next_reward.spread / 4.0;
        }
        let sums = self.sums(edge, n, proxy);
        logs += self.mixture.log_of(n);
        let mut width = sums.bound(&mut self.mixture, spreads, logs);
        if self.feedback_bound == FeedbackBound::Bernstein {
            width += next_reward.feedback_bound;
        }
        let mean = match &self.direct {
            None => next_reward.mean - self.counts.cost[edge].mean(),
            Some(direct) => direct[edge].mean(),
        };
        // No feedback leads to more than the best next reward.
        let costs = self.counts.known_costs(edge);
        let at_best =
            next_reward.most - costs.mean() + self.mixture.width(self.sigma2_cost, costs.count);
        GainEstimate {
            mean,
            width,
            upper: (mean + width).min(at_best),
            se: (next_reward.errors + sums.variance(next_reward.variance)).sqrt(),
            count: n,
        }
    }

    /// The sums of an edge that was followed `n` times, with the proxy of feedback and cost together.
    pub(crate) fn sums(&self, edge: usize, n: u64, proxy: f64) -> ActionSums {
        let unknown = self.counts.unknown(edge);
        ActionSums {
            n,
            of_cost: self.sigma2_cost,
            proxy,
            unknown: unknown.map(UnknownCosts::numbers),
        }
    }

    /// The estimate of the expected reward after an edge; none if a pair that followed has no known reward yet.
    fn next_reward(&mut self, edge: usize) -> Option<NextReward> {
        let transitions = self.graph.transitions(edge);
        let n = self.counts.count(edge) as f64;
        let mut next_reward = NextReward::default();
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let (mut second, mut unsure) = (0.0, 0.0);
        let (mut weights, mut smooth, mut smooth_second) = (0.0, 0.0, 0.0);
        // Squares relative to one of the rewards, to avoid cancellation.
        let origin = transitions.clone().find_map(|transition| {
            let sums = self.counts.reward[self.graph.next(transition)];
            (sums.count > 0).then(|| sums.mean())
        });
        let origin = origin.unwrap_or(0.0);
        for transition in transitions.clone() {
            let next = self.graph.next(transition);
            let reward = self.reward(next);
            let followed = self.counts.followed[transition] as f64;
            least = least.min(reward.mean - reward.width);
            most = most.max(reward.mean + reward.width);
            next_reward.logs += self.mixture.log_of(reward.count);
            if reward.count == 0 {
                if followed > 0.0 {
                    return None;
                }
                continue;
            }
            let p = followed / n;
            next_reward.mean += p * reward.mean;
            let off = reward.mean - origin;
            second += p * off * off;
            next_reward.spreads += p * p * self.mixture.spread(self.sigma2_reward, reward.count);
            next_reward.errors += p * p * reward.se * reward.se;
            unsure += p * reward.width * reward.width;
            // Smoothing by half a count avoids a variance of exactly 0 after few observations.
            let q = followed + 0.5;
            weights += q;
            smooth += q * off;
            smooth_second += q * off * off;
        }
        next_reward.most = most;
        if transitions.len() > 1 {
            next_reward.spread = (most - least).min(self.max_spread);
            let center = smooth / weights;
            next_reward.variance = (smooth_second / weights - center * center).max(0.0);
            if self.feedback_bound == FeedbackBound::Bernstein {
                let counts = self.counts.followed[transitions].iter().copied();
                let b = (self.mixture.log() + kt_regret(counts)) / n;
                let center = next_reward.mean - origin;
                let sd = (second - center * center).max(0.0).sqrt() + unsure.sqrt();
                next_reward.feedback_bound =
                    (2.0 * b).sqrt() * sd + 7.0 / 3.0 * next_reward.spread * b;
            }
        }
        Some(next_reward)
    }

    /// The estimate of an action in a pair, for [`crate::Learner::estimate`].
    pub(crate) fn estimate(&mut self, t: usize, x: usize, action: Action) -> Option<Estimate> {
        let pair = self.graph.find(t, x)?;
        let known = match action {
            Action::Stop => self.reward(pair),
            Action::Continue(a) => {
                let edge = self.graph.edge(pair, a)?;
                self.gain(edge)
            }
        };
        Some(Estimate {
            count: known.count,
            mean: known.mean,
            width: known.width,
            upper: known.upper,
            index: known.upper,
        })
    }
}

/// The estimate of the expected reward after an edge.
#[derive(Default)]
struct NextReward {
    /// `sum_j p̂_j r̂_j`.
    mean: f64,
    /// The terms of the reward noise in the joint bound.
    spreads: f64,
    logs: f64,
    /// Upper bounds on the difference of the next expected rewards, and on the largest.
    spread: f64,
    most: f64,
    /// The variance of the next expected reward, and the squared standard error of its estimate.
    variance: f64,
    errors: f64,
    /// The width of the feedback alone, for `bernstein`.
    feedback_bound: f64,
}
