//! The step-state pairs, or paths, that a policy can lead to, with what a log says of each.

use std::collections::HashMap;

use emab::spec::PointError;
use emab::{Action, Spec};
use thiserror::Error;

use crate::policy::{Policy, PolicyError};
use crate::statistics::{ActionStatistics, NodeId, NodeStatistics, Pooling, Statistics};

/// The most nodes of a graph.
pub const MOST_NODES: usize = 1_000_000;

/// Why there is no graph.
#[derive(Debug, Error)]
pub enum GraphError {
    /// The policy has no valid action somewhere.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The specification is invalid somewhere.
    #[error(transparent)]
    Point(#[from] PointError),
    /// It would have too many nodes.
    #[error("the policy can lead to more than {MOST_NODES} step-state pairs, too many to evaluate")]
    TooLarge,
}

/// What a policy does at a node.
#[derive(Clone, Debug)]
pub enum Choice {
    /// It stops.
    Stop,
    /// It takes an action, which leads to these nodes; each was followed this often in the log.
    Action(usize, Vec<(usize, u64)>),
    /// Not known: a path that the log does not have and that is not followed further, or a pair for which the policy has no action.
    Unknown,
}

/// A step-state pair or a path that a policy can lead to.
#[derive(Clone, Debug)]
pub struct Node {
    /// The step.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// What the log has of it.
    pub observed: Option<NodeId>,
    /// What the policy does there.
    pub choice: Choice,
}

impl Node {
    /// What the log has of it.
    pub fn statistics<'a>(&self, statistics: &'a Statistics) -> Option<&'a NodeStatistics> {
        self.observed.map(|id| statistics.node(id))
    }

    /// What the log has of an action there.
    pub fn action<'a>(&self, statistics: &'a Statistics, a: usize) -> Option<&'a ActionStatistics> {
        self.statistics(statistics)?.actions.get(&a)
    }
}

/// All nodes that a policy can lead to. The nodes of a step come after those of the steps before it.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The nodes of the start states, with the number of episodes that began there.
    pub starts: Vec<(usize, u64)>,
}

/// A step and a state; for a path also its parent and the feedback after it.
type NodeKey = (Option<(usize, usize)>, usize, usize);

impl Graph {
    /// The graph of a policy.
    pub fn new(
        spec: &Spec,
        statistics: &Statistics,
        policy: &mut Policy,
    ) -> Result<Graph, GraphError> {
        let mut graph = Graph {
            nodes: Vec::new(),
            starts: Vec::new(),
        };
        let mut opened = HashMap::new();
        for &x in spec.starts() {
            let i = graph.open(&mut opened, None, (1, x), statistics.start(x))?;
            let count = statistics.starts.get(&x).copied().unwrap_or(0);
            graph.starts.push((i, count));
        }
        let mut i = 0;
        while i < graph.nodes.len() {
            let Node { t, x, observed, .. } = graph.nodes[i];
            if statistics.pooling == Pooling::Path && observed.is_none() && t > 1 {
                i += 1;
                continue;
            }
            let chosen = match policy.choose(spec, t, x) {
                // It needs none where it does not lead; [`Graph::weights`] shows whether it does.
                Err(PolicyError::Missing { .. }) => {
                    i += 1;
                    continue;
                }
                chosen => chosen?,
            };
            graph.nodes[i].choice = match chosen {
                Action::Stop => Choice::Stop,
                Action::Continue(a) => {
                    let counts = graph.nodes[i]
                        .action(statistics, a)
                        .map(|action| action.feedbacks.clone())
                        .unwrap_or_default();
                    let mut children: Vec<(usize, u64)> = Vec::new();
                    for f in 0..spec.feedbacks().len() {
                        let to = (t + 1, spec.next(t, x, a, f)?);
                        let found = statistics.child(observed, (a, f), to);
                        let parent = (statistics.pooling == Pooling::Path).then_some((i, f));
                        let child = graph.open(&mut opened, parent, to, found)?;
                        let count = counts.get(&f).copied().unwrap_or(0);
                        children.push((child, count));
                    }
                    // Feedbacks that lead to the same node are one child.
                    children.sort_unstable();
                    children.dedup_by(|next, kept| {
                        let same = next.0 == kept.0;
                        kept.1 += if same { next.1 } else { 0 };
                        same
                    });
                    Choice::Action(a, children)
                }
            };
            i += 1;
        }
        Ok(graph)
    }

    /// The probability of each node when the policy is played in the estimated model. What follows an action that was never taken
    /// has none.
    pub fn weights(&self) -> Vec<f64> {
        let mut weights = vec![0.0; self.nodes.len()];
        let pass = |weights: &mut [f64], weight: f64, followed: &[(usize, u64)]| {
            let total: u64 = followed.iter().map(|(_, count)| count).sum();
            for &(i, count) in followed.iter().filter(|(_, count)| *count > 0) {
                weights[i] += weight * count as f64 / total as f64;
            }
        };
        pass(&mut weights, 1.0, &self.starts);
        for (i, node) in self.nodes.iter().enumerate() {
            if let Choice::Action(_, children) = &node.choice {
                let weight = weights[i];
                pass(&mut weights, weight, children);
            }
        }
        weights
    }

    /// Fails if the policy has no action where it leads in the estimated model.
    pub fn check_choices(&self, spec: &Spec, policy: &mut Policy) -> Result<(), PolicyError> {
        for (node, weight) in self.nodes.iter().zip(self.weights()) {
            if weight > 0.0 && matches!(node.choice, Choice::Unknown) {
                policy.choose(spec, node.t, node.x)?;
            }
        }
        Ok(())
    }

    /// The node of a pair, or of a path after a parent and a feedback.
    fn open(
        &mut self,
        opened: &mut HashMap<NodeKey, usize>,
        parent: Option<(usize, usize)>,
        (t, x): (usize, usize),
        observed: Option<NodeId>,
    ) -> Result<usize, GraphError> {
        let next = self.nodes.len();
        let i = *opened.entry((parent, t, x)).or_insert(next);
        if i == next {
            if next == MOST_NODES {
                return Err(GraphError::TooLarge);
            }
            self.nodes.push(Node {
                t,
                x,
                observed,
                choice: Choice::Unknown,
            });
        }
        Ok(i)
    }
}
