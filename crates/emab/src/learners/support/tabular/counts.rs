//! Observations of a decision process.

use std::collections::HashMap;

use super::{TabularParameters, TransitionGraph};
use crate::episode::Episode;
use crate::learners::LearnerError;
use crate::learners::registry::entry::Build;
use crate::learners::support::unknown_costs::{UnknownCostRule, UnknownCosts};

/// Observations of one quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Their number.
    pub(crate) count: u64,
    pub(crate) sum: f64,
}

impl Sums {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
    }

    /// The sample mean; 0 without observations.
    #[inline]
    pub(crate) fn mean(&self) -> f64 {
        match self.count {
            0 => 0.0,
            n => self.sum / n as f64,
        }
    }
}

/// A process, the parameters of a learner, and what it has observed.
#[derive(Clone, Debug)]
pub(crate) struct Tabular {
    pub(crate) graph: TransitionGraph,
    pub(crate) parameters: TabularParameters,
    pub(crate) counts: Counts,
}

impl Tabular {
    /// The process and the parameters of a learner; fails where there are too many pairs or a parameter is out of range.
    pub(crate) fn build(with: &Build<'_>) -> Result<Tabular, LearnerError> {
        let graph = TransitionGraph::new(with.learner, with.spec)?;
        Ok(Tabular::new(graph, TabularParameters::new(with)?))
    }

    /// Without observations.
    pub(crate) fn new(graph: TransitionGraph, parameters: TabularParameters) -> Tabular {
        Tabular {
            counts: Counts::new(&graph, parameters.reveal),
            graph,
            parameters,
        }
    }

    /// Learns the known values of an episode.
    pub(crate) fn learn(&mut self, episode: &Episode) {
        self.counts.learn(&self.graph, episode);
    }

    /// `S`, the number of pairs, and `A`, the number of actions with `stop`.
    pub(crate) fn sizes(&self) -> (f64, f64) {
        (self.graph.pairs() as f64, (self.graph.actions() + 1) as f64)
    }
}

/// Costs by edge, feedback by transition, terminal rewards by pair. Costs and feedback of an edge have the same count.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    /// Whether the terminal reward of every passed pair is used, as eMAB reveals it, or only the earned one of the last.
    reveal: bool,
    rule: UnknownCostRule,
    /// By edge.
    pub(crate) cost: Vec<Sums>,
    /// By transition: its count.
    pub(crate) followed: Vec<u64>,
    /// By edge: the observations where a cost is unknown, unless they are dropped. `cost` and `followed` have what estimates
    /// use of them.
    unknown: HashMap<usize, UnknownCosts>,
    /// By pair.
    pub(crate) reward: Vec<Sums>,
    /// Learned episodes.
    pub(crate) episodes: u64,
}

impl Counts {
    /// Without observations; feedback without its cost is dropped.
    pub(crate) fn new(graph: &TransitionGraph, reveal: bool) -> Counts {
        Counts::with_rule(graph, reveal, UnknownCostRule::Drop)
    }

    /// Without observations.
    pub(crate) fn with_rule(
        graph: &TransitionGraph,
        reveal: bool,
        rule: UnknownCostRule,
    ) -> Counts {
        Counts {
            reveal,
            rule,
            unknown: HashMap::new(),
            cost: vec![Sums::default(); graph.edge_count()],
            followed: vec![0; graph.transition_count()],
            reward: vec![Sums::default(); graph.pairs()],
            episodes: 0,
        }
    }

    /// Learns the known values of an episode.
    pub(crate) fn learn(&mut self, graph: &TransitionGraph, episode: &Episode) {
        self.learn_edges(graph, episode, |_, _| true);
    }

    /// The same, with a filter on edges by edge and step.
    pub(crate) fn learn_edges(
        &mut self,
        graph: &TransitionGraph,
        episode: &Episode,
        mut counts: impl FnMut(usize, usize) -> bool,
    ) {
        self.episodes += 1;
        let steps = episode.states.len();
        for (i, &x) in episode.states.iter().enumerate() {
            let Some(pair) = graph.find(i + 1, x) else {
                return;
            };
            if let Some(reward) = episode.known_reward(i + 1)
                && (self.reveal || i + 1 == steps)
            {
                self.reward[pair].add(reward);
            }
            if let (Some(&a), Some(&f)) = (episode.actions.get(i), episode.feedbacks.get(i))
                && let Some(edge) = graph.edge(pair, a)
            {
                // A reward needs neither cost nor feedback: it is that of its pair, whatever led there.
                if let Some(transition) = graph.transition(edge, f)
                    && counts(edge, i + 1)
                {
                    self.add(graph, (edge, transition), episode.known_cost(i + 1));
                }
            }
        }
    }

    /// Adds the feedback of an edge, and its cost.
    fn add(
        &mut self,
        graph: &TransitionGraph,
        (edge, transition): (usize, usize),
        cost: Option<f64>,
    ) {
        match (cost, self.rule) {
            (Some(cost), _) if !self.unknown.contains_key(&edge) => {
                self.cost[edge].add(cost);
                self.followed[transition] += 1;
            }
            (_, UnknownCostRule::Drop) => {}
            (cost, UnknownCostRule::Impute) => {
                let transitions = graph.transitions(edge);
                let followed = &mut self.followed[transitions.clone()];
                let unknown = self.unknown.entry(edge).or_insert_with(|| {
                    UnknownCosts::after(followed.iter().copied(), self.cost[edge].sum)
                });
                unknown.add(transition - transitions.start, cost);
                let (count, sum) = unknown.cost();
                self.cost[edge] = Sums { count, sum };
                for (followed, used) in followed.iter_mut().zip(unknown.feedback()) {
                    *followed = used;
                }
            }
        }
    }

    /// The observations of an edge with unknown costs.
    pub(crate) fn unknown(&self, edge: usize) -> Option<&UnknownCosts> {
        self.unknown.get(&edge)
    }

    /// The known costs of an edge.
    pub(crate) fn known_costs(&self, edge: usize) -> Sums {
        self.unknown.get(&edge).map_or(self.cost[edge], |unknown| {
            let (count, sum) = unknown.known();
            Sums { count, sum }
        })
    }

    /// How often an edge was followed.
    pub(crate) fn count(&self, edge: usize) -> u64 {
        self.cost[edge].count
    }

    /// How often a pair was visited.
    pub(crate) fn visits(&self, graph: &TransitionGraph, pair: usize) -> u64 {
        let left: u64 = graph.edges(pair).map(|edge| self.count(edge)).sum();
        // Without `reveal` the rewards are those of the visits that stopped; with it, those of all.
        let stopped = self.reward[pair].count;
        match self.reveal {
            true => stopped.max(left),
            false => stopped + left,
        }
    }

    /// Removes all observations.
    pub(crate) fn clear(&mut self) {
        self.cost.fill(Sums::default());
        self.followed.fill(0);
        self.unknown.clear();
        self.reward.fill(Sums::default());
        self.episodes = 0;
    }
}
