//! The estimate of a value and its two intervals, from the statistics of a log and the graph of a policy.

use emab::stats::Mixture;
use emab::theory::TripletAt;
use emab::{Action, Spec};

use crate::assumptions::Assumptions;
use crate::evaluate::{EvaluateError, PairSupport, Settings, Value};
use crate::graph::{Choice, Graph, GraphError, Node};
use crate::policy::Policy;
use crate::statistics::{Pooling, Sample, Statistics};

/// `rho` of the widths at single nodes.
const RHO: f64 = 10.0;
/// The values of `rho` of the joint bound, of which the best is used.
const GRID: [f64; 7] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
/// The most pairs whose policies are counted.
const COUNTED_PAIRS: usize = 100_000;

/// The bounds of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) value: f64,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// What the value is at least and at most, whatever was observed.
    pub(crate) range: (f64, f64),
}

impl Bounds {
    fn of_range(range: (f64, f64)) -> Bounds {
        Bounds {
            value: 0.5 * (range.0 + range.1),
            lower: range.0,
            upper: range.1,
            range,
        }
    }

    /// The bounds of an expectation in this range, from observations of this variance proxy.
    fn of_mean(sample: Option<&Sample>, log: f64, proxy: f64, range: (f64, f64)) -> Bounds {
        let Some(sample) = sample.filter(|sample| sample.count > 0) else {
            return Bounds::of_range(range);
        };
        let width = width(log, proxy, sample.count);
        Bounds {
            value: sample.mean,
            lower: sample.mean - width,
            upper: sample.mean + width,
            range,
        }
        .clipped()
    }

    pub(crate) fn clipped(mut self) -> Bounds {
        self.lower = self.lower.clamp(self.range.0, self.range.1);
        self.upper = self.upper.clamp(self.range.0, self.range.1);
        self
    }
}

/// The time-uniform width of a mean of `n` terms of this proxy that fails with probability `exp(-log)` at most.
pub(crate) fn width(log: f64, proxy: f64, n: u64) -> f64 {
    if proxy == 0.0 {
        return 0.0;
    }
    if n == 0 {
        return f64::INFINITY;
    }
    let mixture = Mixture::new(RHO, log);
    mixture.bound(mixture.spread(proxy, n), libm::log1p(n as f64 / RHO))
}

/// How far the values of two of these nodes can be apart at most; 0 for a single node.
fn spread(bounds: &[Bounds], followed: &[(usize, u64)]) -> f64 {
    // Upper bound of one node less lower bound of another: the largest and the smallest before the current node are enough.
    let (mut spread, mut lower, mut upper) = (0.0_f64, f64::INFINITY, f64::NEG_INFINITY);
    for &(i, _) in followed {
        let next = bounds[i];
        spread = spread.max(next.upper - lower).max(upper - next.lower);
        (lower, upper) = (lower.min(next.lower), upper.max(next.upper));
    }
    spread
}

/// `log` of the number of sums of errors of all policies at most.
pub(crate) fn log_sums(spec: &Spec, pooling: Pooling) -> f64 {
    let (actions, feedbacks) = (spec.actions().len() as f64, spec.feedbacks().len() as f64);
    let starts = spec.starts().len() as f64;
    match pooling {
        Pooling::State => libm::log(1.0 + 2.0 * spec.k()),
        // No more paths than this have a step.
        Pooling::Path => {
            libm::log(2.0 * starts * (actions + 1.0) + 1.0)
                + spec.horizon() as f64 * libm::log(1.0 + actions * feedbacks)
        }
    }
}

/// The evaluation of one policy on one set of statistics.
pub(crate) struct Evaluator<'a> {
    spec: &'a Spec,
    statistics: &'a Statistics,
    assumptions: &'a Assumptions,
    graph: Graph,
    from_log: bool,
    /// `log(1/error)` of each of the two intervals.
    log_error: f64,
}

/// One sum of errors: its weight in the estimate, its variance proxy and the number of its terms.
struct ErrorSum {
    weight: f64,
    proxy: f64,
    count: u64,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        spec: &'a Spec,
        statistics: &'a Statistics,
        assumptions: &'a Assumptions,
        policy: &mut Policy,
        settings: &Settings,
    ) -> Result<Evaluator<'a>, EvaluateError> {
        let graph = Graph::new(spec, statistics, policy)?;
        graph
            .check_choices(spec, policy)
            .map_err(GraphError::from)?;
        let stops = |node: &Node| matches!(node.choice, Choice::Stop);
        if !graph.nodes.iter().all(stops) {
            assumptions.require_costs()?;
        }
        Ok(Evaluator {
            spec,
            statistics,
            assumptions,
            graph,
            from_log: policy.from_log,
            log_error: -libm::log((1.0 - settings.confidence) / 2.0),
        })
    }

    pub(crate) fn estimate(&self) -> (Value, Vec<PairSupport>) {
        let bounds = self.bounds();
        let (root, weights) = (self.root(&bounds), self.graph.weights());
        let (lower, upper) = self.joint(&bounds, &weights).unwrap_or(root.range);
        let (lower, upper) = (root.lower.max(lower), root.upper.min(upper));
        // Both intervals contain the value, except with the error probability; if they do not meet, the first one stays.
        let (lower, upper) = match lower <= upper {
            true => (lower, upper),
            false => (root.lower, root.upper),
        };
        let value = Value {
            value: root.value.clamp(lower, upper),
            lower,
            upper,
            stderr: Some(self.variance(&bounds, &weights).sqrt()),
            episodes: self.statistics.episodes,
        };
        (value, self.pairs(&bounds, &weights))
    }

    /// `log` of the number of sums over which the error of the single widths is divided.
    fn log_sums(&self) -> f64 {
        let spec = self.spec;
        match (self.statistics.pooling, self.from_log) {
            (pooling, true) => log_sums(spec, pooling),
            (Pooling::State, false) => libm::log(1.0 + 2.0 * self.graph.nodes.len() as f64),
            // No more paths of one policy than this have a step.
            (Pooling::Path, false) => {
                let (starts, feedbacks) = (spec.starts().len(), spec.feedbacks().len());
                libm::log(2.0 * starts as f64 + 1.0)
                    + spec.horizon() as f64 * libm::log(1.0 + feedbacks as f64)
            }
        }
    }

    /// The width of an average of values of this spread, over the feedback of `count` times. A policy that was chosen from the log may
    /// make any function of the next node the worst one: all of its level sets are covered.
    fn feedback_width(&self, log: f64, spread: f64, count: u64, children: usize) -> f64 {
        let sets = match self.from_log {
            true => children as f64 * std::f64::consts::LN_2,
            false => 0.0,
        };
        width(log + sets, spread * spread / 4.0, count)
    }

    /// The bounds of all nodes, from the last step to the first.
    fn bounds(&self) -> Vec<Bounds> {
        let Assumptions {
            reward_noise,
            cost_noise,
            reward_range,
            cost_range,
            ..
        } = *self.assumptions;
        let log = self.log_error + self.log_sums();
        let mut bounds = vec![Bounds::default(); self.graph.nodes.len()];
        for (i, node) in self.graph.nodes.iter().enumerate().rev() {
            bounds[i] = match &node.choice {
                Choice::Unknown => {
                    Bounds::of_range(self.assumptions.value_range(self.spec.horizon() - node.t))
                }
                Choice::Stop => {
                    let reward = node.statistics(self.statistics).map(|it| &it.reward);
                    Bounds::of_mean(reward, log, reward_noise, reward_range)
                }
                Choice::Action(a, children) => {
                    let next = self.average(&bounds, children);
                    let action = node.action(self.statistics, *a);
                    let cost = action.map(|action| &action.cost);
                    let cost = Bounds::of_mean(cost, log, cost_noise, cost_range);
                    let count = action.map_or(0, |action| action.count);
                    let next = match count {
                        0 => Bounds::of_range(next.range),
                        _ => {
                            let spread = spread(&bounds, children);
                            let width = self.feedback_width(log, spread, count, children.len());
                            Bounds {
                                lower: next.lower - width,
                                upper: next.upper + width,
                                ..next
                            }
                            .clipped()
                        }
                    };
                    Bounds {
                        value: next.value - cost.value,
                        lower: next.lower - cost.upper,
                        upper: next.upper - cost.lower,
                        range: (next.range.0 - cost.upper, next.range.1 - cost.lower),
                    }
                }
            };
        }
        bounds
    }

    /// The average of nodes by how often each was followed; its range is that of the nodes.
    fn average(&self, bounds: &[Bounds], followed: &[(usize, u64)]) -> Bounds {
        let total: u64 = followed.iter().map(|(_, count)| count).sum();
        let mut average = Bounds {
            range: (f64::INFINITY, f64::NEG_INFINITY),
            ..Bounds::default()
        };
        for &(i, count) in followed {
            let next = bounds[i];
            if count > 0 {
                let share = count as f64 / total as f64;
                average.value += share * next.value;
                average.lower += share * next.lower;
                average.upper += share * next.upper;
            }
            average.range.0 = average.range.0.min(next.lower);
            average.range.1 = average.range.1.max(next.upper);
        }
        average
    }

    /// The bounds before the start state is known.
    fn root(&self, bounds: &[Bounds]) -> Bounds {
        let starts = &self.graph.starts;
        let next = self.average(bounds, starts);
        let log = self.log_error + self.log_sums();
        let (spread, episodes) = (spread(bounds, starts), self.statistics.episodes);
        let width = self.feedback_width(log, spread, episodes, starts.len());
        Bounds {
            lower: next.lower - width,
            upper: next.upper + width,
            ..next
        }
        .clipped()
    }

    /// The variance of the estimate with the observed variances, if counts and weights were fixed.
    fn variance(&self, bounds: &[Bounds], weights: &[f64]) -> f64 {
        let of_shares = |weight: f64, followed: &[(usize, u64)]| {
            let total: u64 = followed.iter().map(|(_, count)| count).sum();
            let mean = self.average(bounds, followed).value;
            let square =
                |&(i, count): &(usize, u64)| count as f64 * (bounds[i].value - mean).powi(2);
            let squares: f64 = followed.iter().map(square).sum();
            let total = total.max(1) as f64;
            weight * weight * squares / (total * total)
        };
        let of_sample = |weight: f64, sample: &Sample| match sample.count {
            0 | 1 => 0.0,
            count => weight * weight * sample.squares / ((count - 1) * count) as f64,
        };
        let mut variance = of_shares(1.0, &self.graph.starts);
        for (node, &weight) in self.graph.nodes.iter().zip(weights) {
            variance += match &node.choice {
                Choice::Unknown => 0.0,
                Choice::Stop => {
                    let seen = node.statistics(self.statistics);
                    seen.map_or(0.0, |it| of_sample(weight, &it.reward))
                }
                Choice::Action(a, children) => {
                    let seen = node.action(self.statistics, *a);
                    let cost = seen.map_or(0.0, |it| of_sample(weight, &it.cost));
                    cost + of_shares(weight, children)
                }
            };
        }
        variance
    }

    /// `log` of the number of policies that the policy was chosen from; infinite if they are too many to count.
    fn log_policies(&self) -> f64 {
        if !self.from_log {
            return 0.0;
        }
        match self.spec.reachable(COUNTED_PAIRS) {
            Ok(reachable) if reachable.complete => {
                let allowed = |&(t, x): &(usize, usize)| {
                    let actions = 0..self.spec.actions().len();
                    let allowed = actions.filter(|&a| self.spec.is_allowed(t, x, a)).count();
                    libm::log(1.0 + allowed as f64)
                };
                reachable.pairs.iter().map(allowed).sum()
            }
            _ => f64::INFINITY,
        }
    }

    /// An interval from the sum of all errors, weighted as the estimate weights them.
    fn joint(&self, bounds: &[Bounds], weights: &[f64]) -> Option<(f64, f64)> {
        let policies = self.log_policies();
        if !policies.is_finite() {
            return None;
        }
        let Assumptions {
            reward_noise,
            cost_noise,
            cost_range,
            ..
        } = *self.assumptions;
        let (mut lower, mut upper) = (0.0, 0.0);
        let mut add = |weight: f64, (least, most): (f64, f64)| {
            if weight > 0.0 {
                lower += weight * least;
                upper += weight * most;
            }
        };
        let mut sums = Vec::new();
        let mut sum = |weight: f64, proxy: f64, count: u64| {
            if proxy > 0.0 && count > 0 {
                sums.push(ErrorSum {
                    weight,
                    proxy,
                    count,
                });
            }
        };
        let proxy = |followed: &[(usize, u64)]| {
            let spread = spread(bounds, followed);
            spread * spread / 4.0
        };
        sum(1.0, proxy(&self.graph.starts), self.statistics.episodes);
        for (i, node) in self.graph.nodes.iter().enumerate() {
            let weight = weights[i];
            let unknown = (bounds[i].lower, bounds[i].upper);
            match &node.choice {
                Choice::Unknown => add(weight, unknown),
                Choice::Stop => {
                    let reward = node.statistics(self.statistics).map(|it| it.reward);
                    match reward.filter(|reward| reward.count > 0) {
                        None => add(weight, unknown),
                        Some(reward) => {
                            add(weight, (reward.mean, reward.mean));
                            sum(weight, reward_noise, reward.count);
                        }
                    }
                }
                Choice::Action(a, children) => match node.action(self.statistics, *a) {
                    None => add(weight, unknown),
                    Some(action) => {
                        sum(weight, proxy(children), action.count);
                        match action.cost.count {
                            0 => add(weight, (-cost_range.1, -cost_range.0)),
                            count => {
                                add(weight, (-action.cost.mean, -action.cost.mean));
                                sum(weight, cost_noise, count);
                            }
                        }
                    }
                },
            }
        }
        let log = self.log_error + libm::log(GRID.len() as f64) + policies;
        let bound = |rho: f64| {
            let mixture = Mixture::new(rho, log);
            let spread =
                |sum: &ErrorSum| sum.weight * sum.weight * mixture.spread(sum.proxy, sum.count);
            let spreads = sums.iter().map(spread).sum();
            let logs = sums.iter().map(|sum| libm::log1p(sum.count as f64 / rho));
            mixture.bound(spreads, logs.sum())
        };
        let width = GRID.map(bound).into_iter().fold(f64::INFINITY, f64::min);
        Some((lower - width, upper + width))
    }

    /// The pairs that the policy needs.
    fn pairs(&self, bounds: &[Bounds], weights: &[f64]) -> Vec<PairSupport> {
        let nodes = self.graph.nodes.iter().zip(bounds).zip(weights);
        let mut pairs: Vec<PairSupport> = nodes
            .filter(|((_, _), weight)| **weight > 0.0)
            .map(|((node, bounds), &weight)| {
                let statistics = node.statistics(self.statistics);
                let (action, count, costs) = match &node.choice {
                    Choice::Action(a, _) => {
                        let seen = node.action(self.statistics, *a);
                        let count = seen.map_or(0, |action| action.count);
                        let costs = seen.map_or(0, |action| action.cost.count);
                        (Action::Continue(*a), count, Some(costs))
                    }
                    _ => {
                        let count = statistics.map_or(0, |it| it.reward.count);
                        (Action::Stop, count, None)
                    }
                };
                PairSupport {
                    place: TripletAt {
                        t: node.t,
                        x: node.x,
                        state: self.spec.states().name(node.x).into_owned(),
                        a: self.spec.action_name(action).into_owned(),
                    },
                    count,
                    costs,
                    weight,
                    value: bounds.value.clamp(bounds.lower, bounds.upper),
                    lower: bounds.lower,
                    upper: bounds.upper,
                }
            })
            .collect();
        pairs.sort_by_key(|pair| (pair.place.t, pair.place.x));
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_spread_is_that_of_two_different_nodes(ends in prop::collection::vec((-9.0..9.0, 0.0..9.0), 1..6)) {
            let node = |&(lower, length): &(f64, f64)| Bounds { lower, upper: lower + length, ..Bounds::default() };
            let bounds: Vec<Bounds> = ends.iter().map(node).collect();
            let followed: Vec<(usize, u64)> = (0..bounds.len()).map(|i| (i, 1)).collect();
            let mut expected = 0.0_f64;
            for (i, one) in bounds.iter().enumerate() {
                for (j, other) in bounds.iter().enumerate() {
                    if i != j {
                        expected = expected.max(one.upper - other.lower);
                    }
                }
            }
            prop_assert_eq!(spread(&bounds, &followed), expected);
        }
    }
}
