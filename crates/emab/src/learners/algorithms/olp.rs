//! OLP: Tewari, Bartlett, *Optimistic Linear Programming gives Logarithmic Regret for Irreducible MDPs* (NIPS 2007),
//! Algorithm 1.
//!
//! At every time `t`, in state `i`, with `N(i,a,j)` transitions seen, `N(i,a)` and `N(i)` their sums:
//!
//! 1. the estimated distribution is `p̂(j|i,a) = (1 + N(i,a,j)) / (number of j + N(i,a))`;
//! 2. the actions tried enough are `D(i) = { a : N(i,a) >= ln^2 N(i) }`;
//! 3. `h` solves the optimality equations of the estimated process with the actions of `D` alone, and `O(i)` are the
//!    actions of `D(i)` that attain the maximum there;
//! 4. every action has the index `U(a) = sup { r(i,a) + sum_j q(j) h(j) : ||q - p̂(.|i,a)||_1 <= sqrt(2 ln t / N(i,a)) }`,
//!    a linear program, solved in closed form by [`max_over_l1_ball`];
//! 5. if every `a` in `O(i)` has `N(i,a) < ln^2(N(i) + 1)`, and so is about to leave `D`, such an `a` is played; else one
//!    with the largest index.
//!
//! Adaptations:
//! - The publication maximises the average reward of an infinite process, with `h` its bias. Here a state is a step-state
//!   pair and the process ends, so `h` is the value, by one backward pass. `stop` is an action.
//! - The publication adds 1 for every state `j` (and prints the denominator `|A(i)| + N(i,a)`, with which probabilities
//!   sum to 1 only for as many states as actions). Here only pairs that can follow the action count.
//! - The publication assumes known rewards. Here the mean of `n` observations is used in `h`, and in the index it gets
//!   `sqrt(2 sigma2 ln t / n)`, which holds with the same confidence, `1 - 1/t`, as the ball. Before the first
//!   observation a reward counts as `reward_most` and a cost as 0, in `h` too: the published process visits every
//!   state under every policy; this one does not. Indices are clipped at `reward_most`.
//! - For the same reason the guarantee of logarithmic regret does not apply: `h` is not an upper bound, and exploration
//!   happens only in pairs that are visited anyway.
//! - `ln^2 0` is 0. If no action is in `D(i)`, which small counts can cause, all are used.
//! - `t` counts steps, `stop` included, but nothing is learned within an episode. `N(i, stop)` counts the observed rewards
//!   in `i`; with `reveal=true` it equals the visits, and `stop` is always in `D`.

use super::prelude::*;
use crate::learners::support::tabular::{
    LEAST, MOST, Plan, REVEAL, SCALE, SIGMA2, Sums, Tabular, max_over_l1_ball,
};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "olp",
    title: "OLP",
    about: "values of the estimated process; at each step the action with the largest optimistic value",
    reference: "Tewari, Bartlett 2007, Optimistic Linear Programming gives Logarithmic Regret for Irreducible MDPs",
    choice_basis: ChoiceBasis::Tables,
    parameters: &[SIGMA2, LEAST, MOST, SCALE, REVEAL],
    build: |with| {
        let tabular = Tabular::build(with)?;
        BuiltLearner::other(Olp::new(tabular))
    },
    ..LearnerEntry::DEFAULT
};

/// `ln^2 n`, and 0 of 0.
fn log_squared(n: u64) -> f64 {
    let log = libm::log(n.max(1) as f64);
    log * log
}

impl Tabular {
    /// `p̂` of the transitions of an edge.
    fn distribution(&self, edge: usize) -> impl Fn(usize) -> f64 {
        let transitions = self.graph.transitions(edge).len() as u64;
        let all = (transitions + self.counts.count(edge)) as f64;
        move |transition| (1 + self.counts.followed[transition]) as f64 / all
    }

    /// The width of a mean at this `ln t`.
    fn noise(&self, seen: &Sums, log: f64) -> f64 {
        self.parameters.scale * (2.0 * self.parameters.sigma2 * log / seen.count as f64).sqrt()
    }

    /// The estimated value of stopping.
    fn stop(&self, pair: usize) -> f64 {
        let reward = &self.counts.reward[pair];
        match reward.count {
            0 => self.parameters.most,
            _ => reward.mean(),
        }
    }

    /// The estimated value of an edge, given the values of the next pairs.
    fn go(&self, edge: usize, value: &[f64]) -> f64 {
        let transitions = self.graph.transitions(edge);
        if transitions.is_empty() {
            return f64::NEG_INFINITY;
        }
        let distribution = self.distribution(edge);
        let next = |transition| distribution(transition) * value[self.graph.next(transition)];
        transitions.map(next).sum::<f64>() - self.counts.cost[edge].mean()
    }

    /// Visits every action of `D` in a pair with its count and estimated value, `stop` first.
    fn tried(&self, pair: usize, value: &[f64], mut show: impl FnMut(Action, u64, f64)) {
        let (graph, counts) = (&self.graph, &self.counts);
        let enough = log_squared(counts.visits(graph, pair));
        let stopped = counts.reward[pair].count;
        let continued = graph.edges(pair).map(|edge| counts.count(edge));
        let none = continued
            .chain([stopped])
            .all(|count| (count as f64) < enough);
        let shown = |count: u64| none || count as f64 >= enough;
        if shown(stopped) {
            show(Action::Stop, stopped, self.stop(pair));
        }
        for edge in graph.edges(pair) {
            let count = counts.count(edge);
            if shown(count) {
                let action = Action::Continue(graph.action(edge));
                show(action, count, self.go(edge, value));
            }
        }
    }

    /// `U` of `stop`.
    fn index_stop(&self, pair: usize, log: f64) -> f64 {
        let reward = &self.counts.reward[pair];
        match reward.count {
            0 => self.parameters.most,
            _ => (reward.mean() + self.noise(reward, log)).min(self.parameters.most),
        }
    }

    /// `U` of an edge.
    fn index(&self, edge: usize, log: f64, value: &[f64], outcomes: &mut Vec<(f64, f64)>) -> f64 {
        let n = self.counts.count(edge);
        let radius = match n {
            0 => f64::INFINITY,
            _ => self.parameters.scale * (2.0 * log / n as f64).sqrt(),
        };
        let cost = &self.counts.cost[edge];
        let paid = match cost.count {
            0 => 0.0,
            _ => cost.mean() - self.noise(cost, log),
        };
        outcomes.clear();
        let transitions = self.graph.transitions(edge);
        let distribution = self.distribution(edge);
        outcomes.extend(
            transitions
                .map(|transition| (value[self.graph.next(transition)], distribution(transition))),
        );
        (max_over_l1_ball(outcomes, radius) - paid).min(self.parameters.most)
    }
}

#[derive(Clone, Debug)]
struct Olp {
    process: Tabular,
    /// `h`, and of each pair one action of `O`: the first.
    plan: Plan,
    /// Steps of the episodes taken in.
    steps: u64,
    stale: bool,
    outcomes: Vec<(f64, f64)>,
}

impl Olp {
    fn new(process: Tabular) -> Olp {
        Olp {
            plan: Plan::new(&process.graph, process.parameters.most),
            steps: 0,
            stale: true,
            outcomes: Vec::new(),
            process,
        }
    }

    /// The optimality equations of the estimated process with `D` alone.
    fn replan(&mut self) {
        let Olp { process, plan, .. } = self;
        for pair in (0..process.graph.pairs()).rev() {
            let mut best = (Action::Stop, f64::NEG_INFINITY);
            process.tried(pair, &plan.value, |action, _, worth| {
                if worth > best.1 {
                    best = (action, worth);
                }
            });
            (plan.choice[pair], plan.value[pair]) = best;
        }
    }

    /// Whether all of `O` is about to leave `D`.
    fn leaves(&self, pair: usize) -> bool {
        let process = &self.process;
        let soon = log_squared(process.counts.visits(&process.graph, pair) + 1);
        let mut all = true;
        process.tried(pair, &self.plan.value, |_, n, worth| {
            if worth == self.plan.value[pair] {
                all &= (n as f64) < soon;
            }
        });
        all
    }

    /// The action of the largest index at a time with this logarithm; `stop` wins ties, then the lowest.
    fn optimistic(&mut self, pair: usize, log: f64) -> Action {
        let Olp {
            process,
            plan,
            outcomes,
            ..
        } = self;
        let mut best = (Action::Stop, process.index_stop(pair, log));
        for edge in process.graph.edges(pair) {
            let index = process.index(edge, log, &plan.value, outcomes);
            if index > best.1 {
                best = (Action::Continue(process.graph.action(edge)), index);
            }
        }
        best.0
    }
}

impl Learner for Olp {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if std::mem::take(&mut self.stale) {
            self.replan();
        }
        let Some(pair) = self.process.graph.find(t, x) else {
            return Action::Stop;
        };
        if self.leaves(pair) {
            return self.plan.choice[pair];
        }
        self.optimistic(pair, libm::log((self.steps + t as u64) as f64))
    }

    fn learn(&mut self, episode: &Episode) {
        self.process.learn(episode);
        self.steps += episode.steps() as u64;
        self.stale = true;
    }

    fn reset(&mut self, _stream: Stream) {
        self.process.counts.clear();
        self.steps = 0;
        self.stale = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, patience, play, tabular};

    fn learner(scale: f64, reveal: bool) -> Olp {
        Olp::new(tabular(scale, reveal))
    }

    #[test]
    fn the_index_by_hand() {
        // On from the start three times to state 0 and once to state 1: p̂ = (4/6, 2/6).
        let mut learner = learner(1.0, false);
        for feedback in [0, 1, 0, 0] {
            learner.learn(&after(&[(0, feedback)], &[0.1], &[0.5, 0.25]));
        }
        let process = &learner.process;
        let (value, log) = ([0.0, 0.2, 0.8, 0.0, 0.0], 1.5_f64.ln());
        assert!((process.distribution(0)(0) - 4.0 / 6.0).abs() < 1e-15);
        let estimate = 0.2 * 4.0 / 6.0 + 0.8 * 2.0 / 6.0 - 0.1;
        assert!((process.go(0, &value) - estimate).abs() < 1e-15);
        let (ball, noise) = ((2.0 * log / 4.0).sqrt(), (0.02 * log / 4.0).sqrt());
        let by_hand = estimate + 0.6 * ball / 2.0 + noise;
        let index = process.index(0, log, &value, &mut Vec::new());
        assert!((index - by_hand).abs() < 1e-12, "{index} is not {by_hand}");
        let stop = process.index_stop(1, log);
        assert!((stop - (0.25 + (0.02 * log / 3.0).sqrt())).abs() < 1e-12);
        assert_eq!(process.stop(0), 1.0, "no episode stopped there");
        assert_eq!(process.index_stop(0, log), 1.0);
        let untried = process.graph.edges(1).start;
        let value = [0.0, 0.0, 0.0, 0.3, 0.6];
        assert_eq!(process.index(untried, log, &value, &mut Vec::new()), 0.6);
    }

    #[test]
    fn rarely_tried_actions_do_not_enter_the_values() {
        // Of n visits to the start, one stops there for 0.9 and the others go on to end in state 0 at step 2 with 0.1.
        // ln^2 2 < 1 <= ln^2 3: with three visits, one stop is too little.
        let mut learner = learner(1.0, false);
        learner.learn(&after(&[], &[], &[0.9]));
        for (visits, kept) in [(2, true), (3, false)] {
            learner.learn(&after(&[(0, 0)], &[0.0], &[0.9, 0.1]));
            assert_eq!(
                learner.process.counts.visits(&learner.process.graph, 0),
                visits
            );
            let mut actions = Vec::new();
            let value = [0.0, 0.1, 0.1, 0.0, 0.0];
            learner
                .process
                .tried(0, &value, |action, _, _| actions.push(action));
            assert_eq!(actions.contains(&Action::Stop), kept);
            assert!(actions.contains(&Action::Continue(0)));
        }
    }

    #[test]
    fn the_best_action_is_played_before_it_leaves_d() {
        // Stopping is best and was done once in two visits; ln^2 3 > 1, so another visit would drop it.
        let mut learner = learner(1.0, false);
        learner.learn(&after(&[], &[], &[0.9]));
        learner.learn(&after(&[(0, 0)], &[0.5], &[0.9, 0.1]));
        learner.replan();
        assert_eq!(learner.plan.choice[0], Action::Stop);
        assert!(learner.leaves(0));
        assert_eq!(learner.choose(1, 0), Action::Stop);
        learner.learn(&after(&[], &[], &[0.9]));
        learner.replan();
        assert!(!learner.leaves(0), "ln^2 4 < 2");
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for reveal in [false, true] {
            let mut learner = learner(1.0, reveal);
            let played = play(&patience(), &mut learner, 4000, |_| 0.0);
            played.assert_optimal(0.03);
            learner.replan();
            let value = learner.plan.value[0];
            assert!((value - played.optimal).abs() < 0.03, "{value}");
        }
    }
}
