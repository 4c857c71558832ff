//! Occupancy measures of a process with known transition probabilities, and projection by relative entropy.

use std::ops::Range;

use super::TransitionGraph;
use crate::model::Problem;
use crate::oracle::OracleError;

/// The reachable pairs (nodes), the choices in each (its edges, then `stop`), and their transition probabilities.
///
/// An occupancy measure `q` is the probability of each choice in an episode. The outflow of a node equals its inflow, and
/// the inflow of a start is its probability.
#[derive(Clone, Debug)]
pub(crate) struct OccupancyGraph {
    /// The nodes of the starts and their probabilities.
    starts: Vec<(usize, f64)>,
    /// By pair.
    nodes: Vec<Option<usize>>,
    /// By node: its choices; the last of them is `stop`.
    choices: Vec<Range<usize>>,
    /// By choice: the action; none for `stop`.
    action: Vec<Option<usize>>,
    /// By choice: its range in `next`.
    spans: Vec<Range<usize>>,
    /// Next nodes and their probabilities.
    next: Vec<(usize, f64)>,
}

/// Maximum number of Newton steps on the dual.
const STEPS: usize = 50;
/// The squared Newton decrement, about twice the remaining divergence, after which one more step is the last.
const CLOSE: f64 = 1e-12;
/// Lower limit of log weights, so that all sums stay finite.
const LEAST_LOG: f64 = -650.0;

impl OccupancyGraph {
    /// The graph of a problem; its rewards and costs are not read.
    pub(crate) fn new(
        graph: &TransitionGraph,
        problem: &Problem,
    ) -> Result<OccupancyGraph, OracleError> {
        let spec = problem.spec();
        let mut reached = vec![false; graph.pairs()];
        let mut starts = Vec::new();
        for (&x, &p) in spec.starts().iter().zip(problem.start_distribution()?) {
            if let Some(pair) = graph.find(1, x).filter(|_| p > 0.0) {
                reached[pair] = true;
                starts.push((pair, p));
            }
        }
        let mut occupancy = OccupancyGraph {
            starts,
            nodes: Vec::with_capacity(graph.pairs()),
            choices: Vec::new(),
            action: Vec::new(),
            spans: Vec::new(),
            next: Vec::new(),
        };
        let mut probabilities = vec![0.0; spec.feedbacks().len()];
        // During construction `starts` and `next` hold pairs.
        for pair in 0..graph.pairs() {
            let node = occupancy.choices.len();
            occupancy.nodes.push(reached[pair].then_some(node));
            if !reached[pair] {
                continue;
            }
            let (t, x) = graph.step_state(pair);
            let first = occupancy.action.len();
            for edge in graph.edges(pair) {
                let (a, start) = (graph.action(edge), occupancy.next.len());
                problem.feedback_distribution(t, x, a, &mut probabilities)?;
                for (f, &p) in probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
                    let Some(transition) = graph.transition(edge, f) else {
                        // Feedback with positive probability and without a valid transition: an error.
                        spec.next(t, x, a, f)?;
                        continue;
                    };
                    let to = graph.next(transition);
                    reached[to] = true;
                    let mut known = occupancy.next[start..].iter_mut();
                    match known.find(|(pair, _)| *pair == to) {
                        Some((_, sum)) => *sum += p,
                        None => occupancy.next.push((to, p)),
                    }
                }
                occupancy.action.push(Some(a));
                occupancy.spans.push(start..occupancy.next.len());
            }
            let end = occupancy.next.len();
            occupancy.action.push(None);
            occupancy.spans.push(end..end);
            occupancy.choices.push(first..occupancy.action.len());
        }
        for (to, _) in occupancy.starts.iter_mut().chain(&mut occupancy.next) {
            *to = occupancy.nodes[*to].unwrap_or(0);
        }
        Ok(occupancy)
    }

    /// The number of choices.
    pub(crate) fn choice_count(&self) -> usize {
        self.action.len()
    }

    /// The node of a pair; none if it cannot be reached.
    pub(crate) fn node(&self, pair: usize) -> Option<usize> {
        *self.nodes.get(pair)?
    }

    /// The choices of a node; the last of them is `stop`.
    pub(crate) fn choices(&self, node: usize) -> Range<usize> {
        self.choices[node].clone()
    }

    /// The continuation action of a choice; none for `stop`.
    pub(crate) fn action(&self, choice: usize) -> Option<usize> {
        self.action[choice]
    }

    /// Visits every node with each of its choices, in order.
    #[inline]
    fn each(&self, mut visit: impl FnMut(usize, usize)) {
        for (node, choices) in self.choices.iter().enumerate() {
            choices.clone().for_each(|choice| visit(node, choice));
        }
    }

    fn next(&self, choice: usize) -> &[(usize, f64)] {
        &self.next[self.spans[choice].clone()]
    }

    /// The occupancy measure of a policy, by choice.
    pub(crate) fn occupancy(&self, policy: &[f64]) -> Vec<f64> {
        let mut mass = vec![0.0; self.choices.len()];
        self.starts.iter().for_each(|&(node, p)| mass[node] = p);
        let mut q = vec![0.0; policy.len()];
        self.each(|node, choice| {
            q[choice] = mass[node] * policy[choice];
            for &(to, p) in self.next(choice) {
                mass[to] += p * q[choice];
            }
        });
        q
    }

    /// The policy whose occupancy measure `q` minimises `sum q ln(q / w) - q`, for weights `w` given by their logarithms.
    ///
    /// By the optimality conditions `q = w exp(v(x) - sum_y P(y) v(y))` on a choice in node `x`, where `v` minimises the
    /// convex `sum_ways w exp(v(x) - sum_y P(y) v(y)) - sum_y P(start y) v(y)`; its gradient is the outflow of a node less its
    /// inflow. Newton's method with conjugate gradients, starting from the `v` for which each node has its outflow in `near`,
    /// a measure close to the solution.
    pub(crate) fn project(&self, log_weight: &[f64], near: &[f64]) -> Vec<f64> {
        let log_weight: Vec<f64> = log_weight.iter().map(|log| log.max(LEAST_LOG)).collect();
        let mut v = self.soft_values(&log_weight, near);
        let mut q = vec![0.0; log_weight.len()];
        let mut objective = self.dual(&log_weight, &v, &mut q);
        for _ in 0..STEPS {
            let gradient = self.gradient(&q);
            let step = self.newton_step(&q, &gradient);
            let slope: f64 = gradient.iter().zip(&step).map(|(g, d)| g * d).sum();
            if slope >= 0.0 || !slope.is_finite() {
                break;
            }
            let close = -slope < CLOSE;
            let mut length = 1.0;
            // Backtracking line search (Armijo).
            while length > 1e-9 {
                let moved: Vec<f64> = v.iter().zip(&step).map(|(v, d)| v + length * d).collect();
                let next = self.dual(&log_weight, &moved, &mut q);
                if close || next <= objective + 1e-4 * length * slope {
                    (v, objective) = (moved, next);
                    break;
                }
                length *= 0.5;
            }
            if close || length <= 1e-9 {
                break;
            }
        }
        self.policy(&log_weight, &v)
    }

    /// `ln w - sum_y P(y) v(y)` of a choice: the logarithm of `q` without `v(x)`.
    fn log_term(&self, log_weight: &[f64], v: &[f64], choice: usize) -> f64 {
        let next = self.next(choice).iter().map(|&(to, p)| p * v[to]);
        log_weight[choice] - next.sum::<f64>()
    }

    /// The `v` for which the outflow of each node is that in `near`, node by node from the end.
    fn soft_values(&self, log_weight: &[f64], near: &[f64]) -> Vec<f64> {
        let mut v = vec![0.0; self.choices.len()];
        for (node, choices) in self.choices.iter().enumerate().rev() {
            let mass: f64 = near[choices.clone()].iter().sum();
            let log_term = choices
                .clone()
                .map(|choice| self.log_term(log_weight, &v, choice));
            let most = log_term.clone().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = log_term.map(|log| libm::exp(log - most)).sum();
            v[node] = libm::log(mass).max(LEAST_LOG) - most - libm::log(sum);
        }
        v
    }

    /// The dual at `v`; writes the corresponding measure to `q`.
    fn dual(&self, log_weight: &[f64], v: &[f64], q: &mut [f64]) -> f64 {
        let mut sum = 0.0;
        self.each(|node, choice| {
            q[choice] = libm::exp(v[node] + self.log_term(log_weight, v, choice));
            sum += q[choice];
        });
        let starts = self.starts.iter().map(|&(node, p)| p * v[node]);
        sum - starts.sum::<f64>()
    }

    /// The outflow of each node less its inflow.
    fn gradient(&self, q: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; self.choices.len()];
        self.starts
            .iter()
            .for_each(|&(node, p)| gradient[node] = -p);
        self.each(|node, choice| {
            gradient[node] += q[choice];
            for &(to, p) in self.next(choice) {
                gradient[to] -= p * q[choice];
            }
        });
        gradient
    }

    /// The Hessian, `sum_ways q a a'` with `a = e_x - sum_y P(y) e_y`, times `d`.
    fn hessian(&self, q: &[f64], d: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        self.each(|node, choice| {
            let next = self.next(choice);
            let along = d[node] - next.iter().map(|&(to, p)| p * d[to]).sum::<f64>();
            let part = q[choice] * along;
            out[node] += part;
            for &(to, p) in next {
                out[to] -= p * part;
            }
        });
    }

    /// Minus the gradient over the Hessian: conjugate gradients, scaled by the Hessian's diagonal.
    fn newton_step(&self, q: &[f64], gradient: &[f64]) -> Vec<f64> {
        let n = gradient.len();
        let mut diagonal = vec![0.0; n];
        self.each(|node, choice| {
            diagonal[node] += q[choice];
            for &(to, p) in self.next(choice) {
                diagonal[to] += p * p * q[choice];
            }
        });
        let scaled = |residual: &[f64]| -> Vec<f64> {
            let each = residual.iter().zip(&diagonal);
            // A node without mass has no equation.
            each.map(|(r, d)| if *d > 0.0 { r / d } else { 0.0 })
                .collect()
        };
        let dot =
            |one: &[f64], other: &[f64]| -> f64 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
        let mut step = vec![0.0; n];
        let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut z = scaled(&residual);
        let mut direction = z.clone();
        let mut size = dot(&residual, &z);
        // Inexact Newton: far from the solution a rough step suffices.
        let enough = size * size.clamp(1e-12, 1e-4);
        let mut product = vec![0.0; n];
        for _ in 0..(2 * n + 10).min(400) {
            self.hessian(q, &direction, &mut product);
            let curvature = dot(&direction, &product);
            if size <= enough || curvature <= 0.0 || !curvature.is_finite() {
                break;
            }
            let length = size / curvature;
            for i in 0..n {
                step[i] += length * direction[i];
                residual[i] -= length * product[i];
            }
            z = scaled(&residual);
            let next = dot(&residual, &z);
            for (d, z) in direction.iter_mut().zip(&z) {
                *d = z + next / size * *d;
            }
            size = next;
        }
        step
    }

    /// By choice: its probability in its node, under the measure of `v`.
    fn policy(&self, log_weight: &[f64], v: &[f64]) -> Vec<f64> {
        let mut policy = vec![0.0; log_weight.len()];
        for choices in &self.choices {
            let log_term = choices
                .clone()
                .map(|choice| self.log_term(log_weight, v, choice));
            let most = log_term.clone().fold(f64::NEG_INFINITY, f64::max);
            let mut sum = 0.0;
            for (choice, log) in choices.clone().zip(log_term) {
                policy[choice] = libm::exp(log - most);
                sum += policy[choice];
            }
            policy[choices.clone()].iter_mut().for_each(|p| *p /= sum);
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::patience;
    use crate::model::Model;
    use crate::rng::{Role, Stream};
    use crate::spec::Spec;

    /// `sum q ln(q / w) - q`.
    fn divergence(q: &[f64], log_weight: &[f64]) -> f64 {
        let each = q.iter().zip(log_weight).filter(|(q, _)| **q > 0.0);
        each.map(|(q, log)| q * (q.ln() - log) - q).sum()
    }

    fn uniform(occupancy: &OccupancyGraph) -> Vec<f64> {
        let each = |choices: &Range<usize>| vec![1.0 / choices.len() as f64; choices.len()];
        occupancy.choices.iter().flat_map(each).collect()
    }

    /// Five steps, four states, three actions, three feedbacks, irregular probabilities, some of them 0.
    fn tangled() -> OccupancyGraph {
        graph(&tangled_problem())
    }

    /// The same with four start states, of which one has probability 0.
    fn tangled_with_starts() -> OccupancyGraph {
        let problem = tangled_problem();
        let spec = problem.spec().as_ref().clone().start_in([2, 0, 3, 1]);
        let model = problem.model().clone().start([0.5, 0.2, 0.0, 0.3]);
        graph(&Problem::new("starts", spec.unwrap(), model))
    }

    fn tangled_problem() -> Problem {
        let spec = Spec::numbered(5, 4, 3, 3)
            .unwrap()
            .transition(|t, x, a, f| ((t * 5 + x * 3 + a * 2 + f * (x + 1)) % 4) as f64)
            .allowed(|t, x, a, _f| f64::from(u8::from((t + x + a) % 4 != 0)));
        let probabilities = |t: usize, x: usize, a: usize, f: usize| {
            [[0.7, 0.3, 0.0], [0.1, 0.2, 0.7], [0.0, 0.01, 0.99]][(t + x + 2 * a) % 3][f]
        };
        let model = Model::new(probabilities, |_t, _x, _a, _f| 0.0);
        Problem::new("tangled", spec, model)
    }

    fn graph(problem: &Problem) -> OccupancyGraph {
        let graph = TransitionGraph::new("test", problem.spec()).unwrap();
        OccupancyGraph::new(&graph, problem).unwrap()
    }

    #[test]
    fn one_choice_by_hand() {
        // Stop at once, or go on and stop then. With all weights 1 the chance s of stopping at once minimises
        // s ln s + 2 (1 - s) ln(1 - s) - s - 2 (1 - s), so s = (1 - s)^2: the golden section, and not a half.
        let spec = Spec::numbered(2, 1, 1, 1).unwrap();
        let model = Model::new(|_t, _x, _a, _f| 1.0, |_t, _x, _a, _f| 0.0);
        let problem = Problem::new("choice", spec, model);
        let occupancy = graph(&problem);
        let policy = occupancy.project(&[0.0; 3], &occupancy.occupancy(&uniform(&occupancy)));
        let golden = (3.0 - 5.0_f64.sqrt()) / 2.0;
        assert!((policy[1] - golden).abs() < 1e-12, "{policy:?}");
        assert_eq!(policy[2], 1.0);
    }

    #[test]
    fn outflow_equals_inflow() {
        for occupancy in [tangled(), graph(&patience()), tangled_with_starts()] {
            let q = occupancy.occupancy(&uniform(&occupancy));
            assert!(occupancy.gradient(&q).iter().all(|g| g.abs() < 1e-15));
        }
    }

    #[test]
    fn the_projection_is_optimal() {
        projects_optimally(&tangled());
        projects_optimally(&tangled_with_starts());
    }

    fn projects_optimally(occupancy: &OccupancyGraph) {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let near = occupancy.occupancy(&uniform(occupancy));
        for spread in [0.01, 1.0, 5.0, 30.0] {
            // Random weights; a flow of which some ways have almost died out.
            let log_weight: Vec<f64> = near
                .iter()
                .map(|q| q.max(1e-200).ln() - spread * stream.uniform() * stream.uniform())
                .collect();
            let policy = occupancy.project(&log_weight, &near);
            let q = occupancy.occupancy(&policy);
            let found = divergence(&q, &log_weight);
            // The conditions of optimality: along every policy the derivative is at least 0. With q feasible and the
            // problem convex, that is enough: sum over ways of (u - q) ln(q / w) >= 0 for every feasible u.
            let slope: Vec<f64> = q
                .iter()
                .zip(&log_weight)
                .map(|(q, log)| q.max(1e-300).ln() - log)
                .collect();
            for _ in 0..300 {
                let mut other = uniform(occupancy);
                for choices in &occupancy.choices {
                    let draws: Vec<f64> =
                        choices.clone().map(|_| stream.uniform().powi(4)).collect();
                    let sum: f64 = draws.iter().sum();
                    for (choice, draw) in choices.clone().zip(draws) {
                        other[choice] = draw / sum;
                    }
                }
                let u = occupancy.occupancy(&other);
                let along: f64 = (0..u.len()).map(|i| (u[i] - q[i]) * slope[i]).sum();
                assert!(along > -1e-7, "spread {spread}: {along}");
                assert!(divergence(&u, &log_weight) >= found - 1e-12);
            }
        }
    }

    /// How far the conditions of optimality are from being met: with `r = ln(q / w)` as cost, everything that is done
    /// in a node must cost the same, what follows under the policy included. What is almost never done does not count.
    fn uneven(occupancy: &OccupancyGraph, policy: &[f64], log_weight: &[f64]) -> f64 {
        let q = occupancy.occupancy(policy);
        let mut value = vec![0.0; occupancy.choices.len()];
        let mut worst = 0.0_f64;
        for (node, choices) in occupancy.choices.iter().enumerate().rev() {
            let cost = |choice: usize| {
                let next = occupancy.next(choice).iter().map(|&(to, p)| p * value[to]);
                q[choice].ln() - log_weight[choice] + next.sum::<f64>()
            };
            let done = choices.clone().filter(|&choice| policy[choice] > 0.0);
            let mean: f64 = done
                .clone()
                .map(|choice| policy[choice] * cost(choice))
                .sum();
            let often = done.filter(|&choice| q[choice] > 1e-9);
            worst = often.fold(worst, |worst, choice| {
                worst.max((cost(choice) - mean).abs())
            });
            value[node] = mean;
        }
        worst
    }

    #[test]
    fn repeated_projections_stay_optimal() {
        // Mirror descent as O-REPS does it, with losses that favour some ways and the wild estimates of rare ones.
        let occupancy = tangled();
        for eta in [0.01, 0.1, 0.5] {
            let mut stream = Stream::new(1, 0, Role::Learner);
            let mut policy = uniform(&occupancy);
            for episode in 0..1000 {
                let q = occupancy.occupancy(&policy);
                let mut log_weight: Vec<f64> = q.iter().map(|q| q.max(1e-300).ln()).collect();
                let mut node = Some(0);
                while let Some(here) = node {
                    let mut draw = stream.uniform();
                    let chosen = occupancy.choices(here).find(|&choice| {
                        draw -= policy[choice];
                        draw < 0.0
                    });
                    let choice = chosen.unwrap_or(occupancy.choices(here).end - 1);
                    let loss = stream.uniform() * (choice % 3) as f64;
                    log_weight[choice] -= eta * loss / q[choice];
                    let mut draw = stream.uniform();
                    node = occupancy.next(choice).iter().find_map(|&(to, p)| {
                        draw -= p;
                        (draw < 0.0).then_some(to)
                    });
                }
                policy = occupancy.project(&log_weight, &q);
                let uneven = uneven(&occupancy, &policy, &log_weight);
                assert!(uneven < 1e-6, "eta {eta}, episode {episode}: {uneven}");
            }
        }
    }

    #[test]
    fn a_measure_is_its_own_projection() {
        let occupancy = tangled();
        let q = occupancy.occupancy(&uniform(&occupancy));
        let log: Vec<f64> = q.iter().map(|q| q.max(1e-300).ln()).collect();
        let again = occupancy.occupancy(&occupancy.project(&log, &q));
        assert!(q.iter().zip(&again).all(|(q, a)| (q - a).abs() < 1e-12));
    }
}
