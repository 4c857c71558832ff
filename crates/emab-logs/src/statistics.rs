//! What a log says of a problem: how often each feedback, and which costs and terminal rewards, were observed where.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::log::{DecisionLog, LoggedEpisode};

/// Which observations are taken together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// Those of the same step and state: the model of the paper, in which nothing else matters.
    #[default]
    State,
    /// Those of the same start state, actions and feedbacks before: needs no assumption on the states, and more episodes.
    Path,
}

/// The number, mean and spread of observed values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// The number.
    pub count: u64,
    /// The mean; 0 without values.
    pub mean: f64,
    /// Their sum.
    pub sum: f64,
    /// The sum of squared deviations from the mean.
    pub squares: f64,
    /// The least and the largest value.
    pub range: Option<(f64, f64)>,
    /// The number of values that are neither 0 nor 1.
    pub not_binary: u64,
}

impl Sample {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        let (least, most) = self.range.unwrap_or((value, value));
        self.range = Some((least.min(value), most.max(value)));
        self.sum += value;
        // Without rounding where all values are equal, as costs often are.
        self.mean = match self.range {
            Some((least, most)) if least == most => value,
            _ => self.sum / self.count as f64,
        };
        self.squares += before * (value - self.mean);
        self.not_binary += u64::from(value != 0.0 && value != 1.0);
    }
}

/// What was observed of one action at a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ActionStatistics {
    /// How often it was taken.
    pub count: u64,
    /// How often each feedback was observed.
    pub feedbacks: BTreeMap<usize, u64>,
    /// The known costs.
    pub cost: Sample,
}

/// What was observed at a step-state pair, or at the end of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeStatistics {
    /// The step.
    pub t: usize,
    /// The state.
    pub x: usize,
    /// The known terminal rewards.
    pub reward: Sample,
    /// By action.
    pub actions: BTreeMap<usize, ActionStatistics>,
}

/// The index of a node.
pub type NodeId = u32;

/// The statistics of a log.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Which observations are taken together.
    pub pooling: Pooling,
    /// The nodes, in the order in which they were first visited.
    pub nodes: Vec<NodeStatistics>,
    /// The number of episodes.
    pub episodes: u64,
    /// The number of episodes by start state.
    pub starts: BTreeMap<usize, u64>,
    ids: HashMap<(u64, u32, u32), NodeId>,
}

impl Statistics {
    /// The statistics of the learned episodes of a log. Without overrides, an episode counts up to the first step at which
    /// something else was done than recommended.
    ///
    /// ```
    /// use emab::Episode;
    /// use emab_logs::{DecisionLog, LoggedEpisode, Pooling, Statistics};
    /// use emab_problem::{OutcomeRange, ProblemFile};
    /// let file = ProblemFile::find("resource").unwrap();
    /// let episode = Episode {
    ///     states: vec![0, 1], actions: vec![0], feedbacks: vec![1], costs: vec![0.25], rewards: vec![0.0, 1.5],
    /// };
    /// let episodes = vec![LoggedEpisode::past("p1".into(), episode, 0)];
    /// let log = DecisionLog::new(file, OutcomeRange::default(), episodes);
    /// let statistics = Statistics::of(&log, Pooling::State, true);
    /// let first = &statistics.nodes[0];
    /// assert_eq!((first.t, first.x, first.actions[&0].cost.mean), (1, 0, 0.25));
    /// assert_eq!(statistics.nodes[1].reward.mean, 1.5);
    /// ```
    pub fn of(log: &DecisionLog, pooling: Pooling, with_overrides: bool) -> Statistics {
        let mut statistics = Statistics {
            pooling,
            ..Statistics::default()
        };
        for it in log.learned() {
            statistics.add(it, with_overrides);
        }
        statistics
    }

    fn add(&mut self, it: &LoggedEpisode, with_overrides: bool) {
        let episode = &it.episode;
        let Some(&start) = episode.states.first() else {
            return;
        };
        self.episodes += 1;
        *self.starts.entry(start).or_default() += 1;
        let last = match with_overrides {
            true => None,
            false => it.first_override(),
        };
        let mut id = self.open(self.start_key(start), (1, start));
        for (i, &x) in episode.states.iter().enumerate() {
            let t = i + 1;
            if i > 0 {
                let step = (episode.actions[i - 1], episode.feedbacks[i - 1]);
                id = self.open(self.child_key(id, step, (t, x)), (t, x));
            }
            let node = &mut self.nodes[id as usize];
            if let Some(reward) = episode.known_reward(t) {
                node.reward.add(reward);
            }
            if last == Some(t) {
                return;
            }
            if let (Some(&a), Some(&f)) = (episode.actions.get(i), episode.feedbacks.get(i)) {
                let action = node.actions.entry(a).or_default();
                action.count += 1;
                *action.feedbacks.entry(f).or_default() += 1;
                if let Some(cost) = episode.known_cost(t) {
                    action.cost.add(cost);
                }
            }
        }
    }

    fn start_key(&self, x: usize) -> (u64, u32, u32) {
        match self.pooling {
            Pooling::State => (0, 1, x as u32),
            Pooling::Path => (0, 0, x as u32),
        }
    }

    fn child_key(
        &self,
        id: NodeId,
        (a, f): (usize, usize),
        (t, x): (usize, usize),
    ) -> (u64, u32, u32) {
        match self.pooling {
            Pooling::State => (0, t as u32, x as u32),
            Pooling::Path => (u64::from(id) + 1, a as u32, f as u32),
        }
    }

    fn open(&mut self, key: (u64, u32, u32), (t, x): (usize, usize)) -> NodeId {
        let next = self.nodes.len() as NodeId;
        let id = *self.ids.entry(key).or_insert(next);
        if id == next {
            self.nodes.push(NodeStatistics {
                t,
                x,
                ..NodeStatistics::default()
            });
        }
        id
    }

    /// The node of a start state, if the log has one.
    pub fn start(&self, x: usize) -> Option<NodeId> {
        self.ids.get(&self.start_key(x)).copied()
    }

    /// The node that an action and a feedback lead to from a node, at this step and in this state, if the log has one.
    pub fn child(
        &self,
        id: Option<NodeId>,
        step: (usize, usize),
        to: (usize, usize),
    ) -> Option<NodeId> {
        // A path that was never begun was not continued; a pair may have been reached otherwise.
        let id = match self.pooling {
            Pooling::Path => id?,
            Pooling::State => 0,
        };
        self.ids.get(&self.child_key(id, step, to)).copied()
    }

    /// A node.
    pub fn node(&self, id: NodeId) -> &NodeStatistics {
        &self.nodes[id as usize]
    }

    /// The nodes of all steps and states, in order.
    pub fn in_order(&self) -> Vec<&NodeStatistics> {
        let mut nodes: Vec<&NodeStatistics> = self.nodes.iter().collect();
        nodes.sort_by_key(|node| (node.t, node.x));
        nodes
    }

    /// All samples of terminal rewards.
    pub fn rewards(&self) -> impl Iterator<Item = &Sample> {
        self.nodes.iter().map(|node| &node.reward)
    }

    /// All samples of costs.
    pub fn costs(&self) -> impl Iterator<Item = &Sample> {
        let actions = self.nodes.iter().flat_map(|node| node.actions.values());
        actions.map(|action| &action.cost)
    }
}

/// The variance of values around the mean of their own sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledVariance {
    /// The variance.
    pub variance: f64,
    /// Its degrees of freedom: the number of values less that of samples.
    pub freedom: u64,
}

impl PooledVariance {
    /// That of these samples; none with fewer than two values in each.
    pub fn of<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<PooledVariance> {
        let (mut squares, mut freedom) = (0.0, 0);
        for sample in samples {
            squares += sample.squares;
            freedom += sample.count.saturating_sub(1);
        }
        (freedom > 0).then(|| PooledVariance {
            variance: squares / freedom as f64,
            freedom,
        })
    }
}

/// The least and the largest value of all samples.
pub fn observed_range<'a>(samples: impl Iterator<Item = &'a Sample>) -> Option<(f64, f64)> {
    let ranges = samples.filter_map(|sample| sample.range);
    ranges.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
}
