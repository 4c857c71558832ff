//! A policy for a decision process, by backward induction.

use super::TransitionGraph;
use crate::spec::Action;

/// A value and an action for every pair.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plan {
    pub(crate) value: Vec<f64>,
    pub(crate) choice: Vec<Action>,
}

impl Plan {
    /// A plan that stops everywhere, with this value.
    pub(crate) fn new(graph: &TransitionGraph, value: f64) -> Plan {
        Plan {
            value: vec![value; graph.pairs()],
            choice: vec![Action::Stop; graph.pairs()],
        }
    }

    /// Solves the process: `stop` is the value of stopping in a pair, `go` that of an edge given the values of the next
    /// pairs. `stop` wins ties, then the lowest action, as in the paper.
    pub(crate) fn solve(
        &mut self,
        graph: &TransitionGraph,
        mut stop: impl FnMut(usize) -> f64,
        mut go: impl FnMut(usize, &[f64]) -> f64,
    ) {
        for pair in (0..graph.pairs()).rev() {
            let mut best = (Action::Stop, stop(pair));
            for edge in graph.edges(pair) {
                let value = go(edge, &self.value);
                if value > best.1 {
                    best = (Action::Continue(graph.action(edge)), value);
                }
            }
            (self.choice[pair], self.value[pair]) = best;
        }
    }

    /// The action at step `t` in state `x`; `stop` in an unreachable pair.
    pub(crate) fn at(&self, graph: &TransitionGraph, t: usize, x: usize) -> Action {
        graph
            .find(t, x)
            .map_or(Action::Stop, |pair| self.choice[pair])
    }
}
