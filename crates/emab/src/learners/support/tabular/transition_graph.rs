//! The reachable part of a specification as a graph.

use std::ops::Range;

use crate::learners::LearnerError;
use crate::slots::Slots;
use crate::spec::Spec;

/// Every pair that feedback can lead to, in the order of steps, with its allowed actions (edges) and the pairs that can
/// follow each of them (transitions).
#[derive(Clone, Debug)]
pub(crate) struct TransitionGraph {
    pairs: Vec<PairNode>,
    edges: Vec<Edge>,
    /// By transition: the next pair. Feedbacks that lead to the same pair share a transition.
    transitions: Vec<u32>,
    /// By edge and feedback: the transition, or UNREACHABLE.
    by_feedback: Vec<u32>,
    feedbacks: usize,
    actions: usize,
    slots: Slots,
}

#[derive(Clone, Debug)]
struct PairNode {
    t: u32,
    x: u32,
    edges: Range<u32>,
}

#[derive(Clone, Debug)]
struct Edge {
    action: u32,
    transitions: Range<u32>,
}

const UNREACHABLE: u32 = u32::MAX;

impl TransitionGraph {
    /// The maximum number of pairs, and of outcomes (pair, action, feedback) divided by ten.
    pub(crate) const LIMIT: usize = 100_000;

    /// The graph of a specification; fails above the limit.
    pub(crate) fn new(learner: &'static str, spec: &Spec) -> Result<TransitionGraph, LearnerError> {
        let (actions, feedbacks) = (spec.actions().len(), spec.feedbacks().len());
        let mut graph = TransitionGraph {
            pairs: Vec::new(),
            edges: Vec::new(),
            transitions: Vec::new(),
            by_feedback: Vec::new(),
            feedbacks,
            actions,
            slots: Slots::new(spec.horizon(), spec.states().len()),
        };
        for &x in spec.starts() {
            graph.find_or_add(1, x);
        }
        let mut pair = 0;
        // Pairs are added step by step, so their numbers rise with the steps.
        while pair < graph.pairs.len() {
            let (t, x) = graph.step_state(pair);
            let outcomes = graph.by_feedback.len() + actions * feedbacks;
            if graph.pairs.len() > Self::LIMIT || outcomes > 10 * Self::LIMIT {
                let why = format!(
                    "it keeps a table of every step-state pair that may be reached, and there are more than {} of them or {} \
                     outcomes (pair, action, feedback); a coarser state, fewer actions or a shorter horizon helps",
                    Self::LIMIT,
                    10 * Self::LIMIT
                );
                return Err(LearnerError::DoesNotApply(learner, why));
            }
            let first = graph.edges.len() as u32;
            for a in (0..actions).filter(|&a| spec.is_allowed(t, x, a)) {
                graph.add_edge(spec, pair, a);
            }
            graph.pairs[pair].edges = first..graph.edges.len() as u32;
            pair += 1;
        }
        Ok(graph)
    }

    fn add_edge(&mut self, spec: &Spec, pair: usize, a: usize) {
        let (t, x) = self.step_state(pair);
        let first = self.transitions.len();
        for f in 0..self.feedbacks {
            // Feedback that never occurs needs no valid transition (contract of the problem file).
            let Ok(next) = spec.next(t, x, a, f) else {
                self.by_feedback.push(UNREACHABLE);
                continue;
            };
            let next = self.find_or_add(t + 1, next) as u32;
            let known = self.transitions[first..].iter().position(|&to| to == next);
            let transition = known.map_or(self.transitions.len(), |i| first + i);
            if known.is_none() {
                self.transitions.push(next);
            }
            self.by_feedback.push(transition as u32);
        }
        self.edges.push(Edge {
            action: a as u32,
            transitions: first as u32..self.transitions.len() as u32,
        });
    }

    fn find_or_add(&mut self, t: usize, x: usize) -> usize {
        let (pair, new) = self.slots.of(t, x);
        if new {
            self.pairs.push(PairNode {
                t: t as u32,
                x: x as u32,
                edges: 0..0,
            });
        }
        pair
    }

    /// The number of pairs.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// The number of edges.
    pub(crate) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The number of transitions.
    pub(crate) fn transition_count(&self) -> usize {
        self.transitions.len()
    }

    /// The number of continuation actions.
    pub(crate) fn actions(&self) -> usize {
        self.actions
    }

    /// The number of a pair; none if no feedback can lead there.
    pub(crate) fn find(&self, t: usize, x: usize) -> Option<usize> {
        self.slots.find(t, x)
    }

    /// Step and state of a pair.
    pub(crate) fn step_state(&self, pair: usize) -> (usize, usize) {
        let step_state = &self.pairs[pair];
        (step_state.t as usize, step_state.x as usize)
    }

    /// The edges of a pair, in the order of its actions.
    pub(crate) fn edges(&self, pair: usize) -> Range<usize> {
        let edges = &self.pairs[pair].edges;
        edges.start as usize..edges.end as usize
    }

    /// The edge of an action in a pair; none if it is not allowed.
    pub(crate) fn edge(&self, pair: usize, a: usize) -> Option<usize> {
        self.edges(pair).find(|&edge| self.action(edge) == a)
    }

    /// The continuation action of an edge.
    pub(crate) fn action(&self, edge: usize) -> usize {
        self.edges[edge].action as usize
    }

    /// The transitions of an edge.
    pub(crate) fn transitions(&self, edge: usize) -> Range<usize> {
        let transitions = &self.edges[edge].transitions;
        transitions.start as usize..transitions.end as usize
    }

    /// The next pair of a transition.
    pub(crate) fn next(&self, transition: usize) -> usize {
        self.transitions[transition] as usize
    }

    /// The transition of a feedback.
    pub(crate) fn transition(&self, edge: usize, feedback: usize) -> Option<usize> {
        let transition = *self.by_feedback.get(edge * self.feedbacks + feedback)?;
        (transition != UNREACHABLE).then_some(transition as usize)
    }
}
