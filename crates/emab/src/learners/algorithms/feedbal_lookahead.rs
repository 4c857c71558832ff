//! FeedBAL with several steps of lookahead: a variant of this project.
//!
//! The benchmark compares the reward of stopping now with that of stopping one step later. With
//! `V_0 = r`, `G_k(t,x,a) = sum_j p_j V_{k-1}(t+1,j) - c_{t,x,a}` and `V_k = max(r, max_a G_k)`, the gain of the paper is
//! `G_1`, and from `k = l_max` on `V_k` is the value of the optimal policy. This learner chooses by estimates of `G_k`, for
//! `k = depth`: the plug-in `Ĝ_k` over the tables of `feedbal_model.rs`, and bounds on both sides,
//!
//! `upper_k(a) = sum_j p̂_j upper(V_{k-1})(j) - ĉ + w(N)`, `lower_k(a) = sum_j p̂_j lower(V_{k-1})(j) - ĉ - w(N)`,
//!
//! where `w` is the width of one sum of proxy `sigma_c^2 + D^2/4`, `D` being how far the values that may follow can be apart
//! according to their bounds, and `upper(V) = max(upper(r), max_a upper(a))`, at most `reward_most`. By induction they hold
//! wherever the widths of rewards and of each `w` do: `sum_j p̂_j upper(j) >= sum_j p̂_j V_{k-1}(j)`, and
//! that plus `w` is at least `sum_j p_j V_{k-1}(j)` less the error of the cost. The choice is by `trust.rs`, with the longer
//! side as the width. The value of an untried action is bounded by `reward_most` in earlier pairs; in its own pair it
//! is tried.

use super::feedbal_model::{
    EXPLORE, RHO, RULE, SIGMA2_COST, SIGMA2_REWARD, TRUST, UNKNOWN_COSTS, rule,
};
use super::prelude::*;
use crate::learners::support::estimator::{FeedbackBound, GainEstimator};
use crate::learners::support::tabular::{DELTA, LEAST, MOST, SIGMA2, TabularParameters};
use crate::learners::support::trust::{GainEstimate, Rule};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal-lookahead",
    title: "FeedBAL-lookahead",
    about: "FeedBAL with several steps of lookahead; with depth = horizon it targets the optimal policy",
    reference: "emab, docs/theory.md; after Tekin, van der Schaar",
    proved_bounds: ProvedBounds::Unverified,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        Parameter::new("depth", "horizon")
            .about("steps of lookahead: a whole number of at least 1 (1 targets the benchmark), or `horizon`"),
        SIGMA2,
        DELTA,
        SIGMA2_COST,
        SIGMA2_REWARD,
        LEAST,
        MOST,
        RULE,
        TRUST,
        EXPLORE,
        RHO,
        UNKNOWN_COSTS,
    ],
    build: |with| BuiltLearner::other(new(with)?),
    ..LearnerEntry::DEFAULT
};

fn new(with: &Build<'_>) -> Result<FeedBalLookahead, LearnerError> {
    let horizon = with.spec.horizon();
    let depth = if with.is_word("depth", "horizon") {
        horizon
    } else {
        (with.count("depth", 1)? as usize).min(horizon)
    };
    // The value after an edge is averaged over one function to the end, or over one per depth.
    let functions = if depth >= horizon { 1 } else { depth };
    let estimator = GainEstimator::new(with, FeedbackBound::Joint, true, functions, f64::INFINITY)?;
    let pairs = estimator.graph.pairs();
    let parameters = TabularParameters::new(with)?;
    Ok(FeedBalLookahead {
        rule: rule(with)?,
        whole: depth >= horizon,
        depth,
        most: parameters.most,
        span: parameters.span(),
        value: vec![Value::default(); pairs],
        shallower: vec![Value::default(); pairs],
        estimator,
        estimates: Vec::new(),
        stale: true,
    })
}

/// The estimate of a value with its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Value {
    mean: f64,
    lower: f64,
    upper: f64,
    se: f64,
}

#[derive(Clone, Debug)]
struct FeedBalLookahead {
    estimator: GainEstimator,
    rule: Rule,
    depth: usize,
    /// Whether it looks ahead to the end.
    whole: bool,
    most: f64,
    span: f64,
    /// By pair: `V_{depth-1}`, or `V` with lookahead to the end.
    value: Vec<Value>,
    /// Buffer for the same with one step less.
    shallower: Vec<Value>,
    estimates: Vec<(usize, GainEstimate)>,
    stale: bool,
}

impl FeedBalLookahead {
    /// Computes the values of all pairs.
    fn look_ahead(&mut self) {
        let pairs = self.estimator.graph.pairs();
        if self.whole {
            // Later steps first, in place.
            for pair in (0..pairs).rev() {
                self.value[pair] = self.worth(pair, true);
            }
            return;
        }
        for pair in 0..pairs {
            self.value[pair] = self.worth(pair, false);
        }
        for _ in 1..self.depth {
            for pair in 0..pairs {
                self.shallower[pair] = self.worth(pair, true);
            }
            std::mem::swap(&mut self.value, &mut self.shallower);
        }
    }

    /// The value of a pair: that of stopping there, or of the best of all actions.
    fn worth(&mut self, pair: usize, goes_on: bool) -> Value {
        let stop = self.estimator.reward(pair);
        let mut best = Value {
            mean: stop.mean,
            lower: stop.mean - stop.width,
            upper: stop.upper.min(self.most),
            se: stop.se,
        };
        if !goes_on {
            return best;
        }
        for edge in self.estimator.graph.edges(pair) {
            let Some((value, _)) = self.edge(edge) else {
                best.upper = self.most;
                continue;
            };
            if value.mean > best.mean {
                (best.mean, best.se) = (value.mean, value.se);
            }
            best.lower = best.lower.max(value.lower);
            best.upper = best.upper.max(value.upper.min(self.most));
        }
        best
    }

    /// What an edge is worth by the values of the pairs that may follow, and how often it was followed; none if it
    /// never was, or if nothing is known of where it led.
    fn edge(&mut self, edge: usize) -> Option<(Value, u64)> {
        let GainEstimator {
            graph,
            counts,
            sigma2_cost,
            ..
        } = &self.estimator;
        let costs = counts.cost[edge];
        if costs.count == 0 {
            return None;
        }
        let n = costs.count as f64;
        let mut sum = Value::default();
        let (mut second, mut errors) = (0.0, 0.0);
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        let transitions = graph.transitions(edge);
        for transition in transitions.clone() {
            let next = graph.next(transition);
            let value = self.value[next];
            least = least.min(value.lower);
            most = most.max(value.upper);
            let p = counts.followed[transition] as f64 / n;
            if p == 0.0 {
                continue;
            }
            if counts.reward[next].count == 0 {
                return None;
            }
            sum.mean += p * value.mean;
            sum.lower += p * value.lower;
            sum.upper += p * value.upper;
            second += p * value.mean * value.mean;
            errors += p * p * value.se * value.se;
        }
        let spread = if transitions.len() > 1 {
            (most - least).min(self.span)
        } else {
            0.0
        };
        let variance = (second - sum.mean * sum.mean).max(0.0) + spread * spread / (4.0 * n);
        let proxy = sigma2_cost + spread * spread / 4.0;
        let sums = self.estimator.sums(edge, costs.count, proxy);
        let width = sums.width(&mut self.estimator.mixture);
        let cost = costs.mean();
        let value = Value {
            mean: sum.mean - cost,
            lower: sum.lower - cost - width,
            upper: sum.upper - cost + width,
            se: (errors + sums.variance(variance)).sqrt(),
        };
        Some((value, costs.count))
    }
}

impl Learner for FeedBalLookahead {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if std::mem::take(&mut self.stale) {
            self.look_ahead();
        }
        let Some(pair) = self.estimator.graph.find(t, x) else {
            return Action::Stop;
        };
        let stop = self.estimator.reward(pair);
        self.estimates.clear();
        for edge in self.estimator.graph.edges(pair) {
            let estimates = match self.edge(edge) {
                None => GainEstimate::UNOBSERVED,
                Some((value, count)) => GainEstimate {
                    mean: value.mean,
                    upper: value.upper,
                    width: (value.upper - value.mean).max(value.mean - value.lower),
                    se: value.se,
                    count,
                },
            };
            let action = self.estimator.graph.action(edge);
            self.estimates.push((action, estimates.against(stop)));
        }
        self.rule.choose(stop, &self.estimates)
    }

    fn learn(&mut self, episode: &Episode) {
        self.estimator.learn(episode);
        self.stale = true;
    }

    fn reset(&mut self, _stream: Stream) {
        self.estimator.clear();
        self.stale = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, assert_close, patience, play};
    use crate::learners::{LearnerConfig, LearnerDefaults};

    const TOLD: &str = "sigma2=0.01,reward_most=1,delta=0.1";

    #[test]
    fn depth_1_targets_the_benchmark_and_more_the_optimum() {
        for depth in ["1", "2", "horizon"] {
            let mut learner = lookahead(depth);
            let played = play(&patience(), &mut learner, 4000, |_| 0.0);
            let goal = if depth == "1" {
                played.benchmark
            } else {
                played.optimal
            };
            let late = played.late_gain;
            assert!((late - goal).abs() < 0.02, "{depth}: {late}");
        }
    }

    #[test]
    fn two_steps_ahead_by_hand() {
        let mut learner = lookahead("2");
        // Costs 0.1 and 0.2; at step 2, state 1 there is nothing, at step 3, state 0 there is 0.8.
        learner.learn(&after(&[(0, 1), (0, 0)], &[0.1, 0.2], &[0.5, 0.0, 0.8]));
        learner.look_ahead();
        let pair = learner.estimator.graph.find(2, 1).unwrap();
        let (value, count) = learner.edge(0).unwrap();
        assert_eq!(count, 1);
        assert!((learner.value[pair].mean - 0.6).abs() < 1e-12);
        assert!((value.mean - 0.5).abs() < 1e-12);
        // Its bounds: those of the cost and the distribution after it, and the most that anything is worth.
        let logs = 2.0 * ((5.0 + 2.0 * 3.0) / 0.1_f64).ln() + (4.0_f64 / 3.0).ln();
        let width = ((0.01 + 0.25) * 4.0 * logs).sqrt();
        assert_close(value.upper, 1.0 - 0.1 + width);
    }

    #[test]
    fn the_bounds_hold() {
        // Going on at step 1 is worth -0.01 and what step 2 is: -0.01 and the mean of 0.6 and 1.
        for depth in ["2", "horizon"] {
            let mut learner = lookahead(depth);
            let truth = 0.8 - 0.02;
            let mut broken = 0;
            play(&patience(), &mut learner, 3000, |learner| {
                learner.look_ahead();
                if let Some((value, _)) = learner.edge(0) {
                    broken += u32::from(truth > value.upper || truth < value.lower);
                }
                0.0
            });
            assert_eq!(broken, 0);
            let (value, count) = learner.edge(0).unwrap();
            assert!(count > 2000 && value.upper - value.lower < 0.4, "{value:?}");
        }
    }

    fn lookahead(depth: &str) -> FeedBalLookahead {
        let text = format!("feedbal-lookahead:depth={depth},{TOLD}");
        let config = LearnerConfig::parse(&text, &LearnerDefaults::default()).unwrap();
        let spec = patience().spec().clone();
        new(&config.build_from(&spec, None)).unwrap()
    }
}
