//! UCRL2: Auer, Jaksch, Ortner, *Near-optimal Regret Bounds for Reinforcement Learning* (NIPS 2008; with all constants,
//! JMLR 2010, Figures 1 and 2).
//!
//! Time is divided into epochs. Before epoch `k`, at step `t_k` of all steps so far, with counts `N(x,a)`, the plausible
//! processes are those with
//!
//! - `|r(x,a) - r̂(x,a)| <= sqrt(7 ln(2 S A t_k / delta) / (2 max(1, N(x,a))))`,
//! - `||p(.|x,a) - p̂(.|x,a)||_1 <= sqrt(14 S ln(2 A t_k / delta) / max(1, N(x,a)))`.
//!
//! Extended value iteration finds the optimal policy of the most optimistic of them: the upper end of every reward, and
//! the transition probabilities with the largest expected next value. That policy is played until a state `x` has
//! `v_k(x, pi_k(x)) = max(1, N(x, pi_k(x)))`, where `v_k` are the counts within the epoch: some count has doubled.
//!
//! Adaptations:
//! - A state of the process is a step-state pair, `A` includes `stop`, and the process ends: extended value iteration is
//!   one backward pass. A step at which `stop` is taken counts in `t_k`.
//! - `S` in the second bound counts possible next states. The publication uses all states; here the specification states
//!   which pairs can follow an action, so by default (`outcomes=arrows`) it is their number `m`. The proof still holds: it
//!   needs `2^m 20 S A t^7 / delta <= (2 A t / delta)^(7 m)`, which holds for `m >= 2` and at most a
//!   million pairs, and for `m = 1` there is nothing to estimate. `outcomes=pairs` is the published bound.
//! - Rewards need not be in `[0, 1]`: the first bound holds for a variance proxy of 1/4, so with proxy `sigma2` it is
//!   `sqrt(14 sigma2 ln(2 S A t_k / delta) / N)`, for costs and terminal rewards alike. Before the first observation
//!   a reward is `reward_most`, a cost 0, and any distribution is plausible. Values are clipped at `reward_most`.
//! - Costs and rewards are revealed after an episode, so counts change between episodes only. No pair occurs twice in an
//!   episode, so no doubling is missed. With `reveal=true` a revealed reward counts as if `stop` had been taken.

use super::prelude::*;
use crate::learners::support::tabular::{
    DELTA, LEAST, MOST, Plan, REVEAL, SCALE, SIGMA2, Tabular, TabularParameters, max_over_l1_ball,
};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "ucrl2",
    title: "UCRL2",
    about: "optimal policy of the most optimistic plausible process, recomputed when a count has doubled",
    reference: "Auer, Jaksch, Ortner 2008, Near-optimal Regret Bounds for Reinforcement Learning",
    choice_basis: ChoiceBasis::Asked,
    parameters: &[
        Parameter::new("outcomes", "arrows")
            .about("S in the bound on transition probabilities: `arrows` (pairs that can follow the action) or `pairs` (all, as published)"),
        SIGMA2,
        DELTA,
        LEAST,
        MOST,
        SCALE,
        REVEAL,
    ],
    build: |with| {
        let tabular = Tabular::build(with)?;
        let published = with.word("outcomes", &[("arrows", false), ("pairs", true)])?;
        BuiltLearner::other(Ucrl2::new(tabular, published))
    },
    ..LearnerEntry::DEFAULT
};

/// The observations and the plausible set that they define.
#[derive(Clone, Debug)]
struct Confidence {
    tabular: Tabular,
    published: bool,
}

/// The radii of the plausible set at some step, for a single observation.
#[derive(Clone, Copy, Debug)]
struct Radii {
    reward: f64,
    distribution: f64,
}

impl Confidence {
    /// The radii at step `t_k`.
    fn radii(&self, time: u64) -> Radii {
        let TabularParameters {
            sigma2,
            delta,
            scale,
            ..
        } = self.tabular.parameters;
        let ((s, a), time) = (self.tabular.sizes(), time as f64);
        Radii {
            reward: scale * (14.0 * sigma2 * libm::log(2.0 * s * a * time / delta)).sqrt(),
            distribution: scale * (14.0 * libm::log(2.0 * a * time / delta)).sqrt(),
        }
    }

    /// How often an action was taken in a pair, as far as it was seen what came of it.
    fn count(&self, pair: usize, action: Action) -> u64 {
        let Tabular { graph, counts, .. } = &self.tabular;
        match action {
            Action::Stop => counts.reward[pair].count,
            Action::Continue(a) => graph.edge(pair, a).map_or(0, |edge| counts.count(edge)),
        }
    }

    /// The most that stopping in a pair can plausibly be worth.
    fn stop(&self, pair: usize, radii: Radii) -> f64 {
        let reward = &self.tabular.counts.reward[pair];
        let most = self.tabular.parameters.most;
        if reward.count == 0 {
            return most;
        }
        let radius = radii.reward / (reward.count as f64).sqrt();
        (reward.mean() + radius).min(most)
    }

    /// The same of an edge, when what may follow it has these values.
    fn go(&self, edge: usize, radii: Radii, value: &[f64], outcomes: &mut Vec<(f64, f64)>) -> f64 {
        let Tabular { graph, counts, .. } = &self.tabular;
        let n = counts.count(edge) as f64;
        outcomes.clear();
        outcomes.extend(graph.transitions(edge).map(|transition| {
            let p = counts.followed[transition] as f64 / n.max(1.0);
            (value[graph.next(transition)], p)
        }));
        let s = match self.published {
            true => graph.pairs(),
            false => outcomes.len(),
        };
        let radius = match n {
            0.0 => f64::INFINITY,
            n => radii.distribution * (s as f64 / n).sqrt(),
        };
        let cost = &counts.cost[edge];
        let paid = match cost.count {
            0 => 0.0,
            seen => cost.mean() - radii.reward / (seen as f64).sqrt(),
        };
        (max_over_l1_ball(outcomes, radius) - paid).min(self.tabular.parameters.most)
    }
}

#[derive(Clone, Debug)]
struct Ucrl2 {
    confidence: Confidence,
    plan: Plan,
    /// Steps of the episodes taken in.
    steps: u64,
    /// By pair: `N` of what the plan does there at the start of the epoch; none before the first epoch.
    before: Vec<u64>,
    outcomes: Vec<(f64, f64)>,
}

impl Ucrl2 {
    fn new(tabular: Tabular, published: bool) -> Ucrl2 {
        Ucrl2 {
            plan: Plan::new(&tabular.graph, tabular.parameters.most),
            steps: 0,
            before: Vec::new(),
            outcomes: Vec::new(),
            confidence: Confidence { tabular, published },
        }
    }

    /// Whether what the plan wants in a pair has been done as often in this epoch as before it.
    fn doubled(&self, pair: usize) -> bool {
        let Some(&before) = self.before.get(pair) else {
            return true;
        };
        self.confidence.count(pair, self.plan.choice[pair]) >= before + before.max(1)
    }

    /// Begins an epoch at step `time`: extended value iteration.
    fn replan(&mut self, time: u64) {
        let radii = self.confidence.radii(time);
        let Ucrl2 {
            confidence,
            plan,
            before,
            outcomes,
            ..
        } = self;
        plan.solve(
            &confidence.tabular.graph,
            |pair| confidence.stop(pair, radii),
            |edge, value| confidence.go(edge, radii, value, outcomes),
        );
        let counts = plan.choice.iter().enumerate();
        *before = counts
            .map(|(pair, choice)| confidence.count(pair, *choice))
            .collect();
    }
}

impl Learner for Ucrl2 {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        let Some(pair) = self.confidence.tabular.graph.find(t, x) else {
            return Action::Stop;
        };
        if self.doubled(pair) {
            self.replan(self.steps + t as u64);
        }
        self.plan.choice[pair]
    }

    fn learn(&mut self, episode: &Episode) {
        self.confidence.tabular.learn(episode);
        self.steps += episode.steps() as u64;
    }

    fn reset(&mut self, _stream: Stream) {
        self.confidence.tabular.counts.clear();
        self.steps = 0;
        self.before.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, patience, play, tabular};

    fn learner(published: bool, scale: f64, reveal: bool) -> Ucrl2 {
        Ucrl2::new(tabular(scale, reveal), published)
    }

    #[test]
    fn the_plausible_set_by_hand() {
        // On from the start, three times to state 0 and once to state 1. S = 5 pairs, A = 2, delta = 0.1, sigma2 = 0.01.
        let value = [0.0, 0.2, 0.8, 0.0, 0.0];
        for (published, s) in [(false, 2.0), (true, 5.0)] {
            let mut learner = learner(published, 0.1, false);
            for feedback in [0, 1, 0, 0] {
                learner.learn(&after(&[(0, feedback)], &[0.1], &[0.5, 0.25]));
            }
            assert_eq!(learner.steps, 8);
            let confidence = &learner.confidence;
            let radii = confidence.radii(9);
            let reward = 0.1 * (14.0 * 0.01 * (2.0 * 5.0 * 2.0 * 9.0 / 0.1_f64).ln()).sqrt();
            let distribution = 0.1 * (14.0 * s * (2.0 * 2.0 * 9.0 / 0.1_f64).ln() / 4.0).sqrt();
            let p = 0.25 + distribution / 2.0;
            assert!(p < 1.0);
            let go = confidence.go(0, radii, &value, &mut Vec::new());
            let by_hand = p * 0.8 + (1.0 - p) * 0.2 - (0.1 - reward / 2.0);
            assert!((go - by_hand).abs() < 1e-12, "{go} is not {by_hand}");
            let stop = confidence.stop(1, radii);
            assert!((stop - (0.25 + reward / 3.0_f64.sqrt())).abs() < 1e-12);
            assert_eq!(confidence.stop(0, radii), 1.0, "no episode stopped there");
            let untried = confidence.tabular.graph.edges(1).start;
            let value = [0.0, 0.0, 0.0, 0.3, 0.6];
            assert_eq!(confidence.go(untried, radii, &value, &mut Vec::new()), 0.6);
        }
    }

    #[test]
    fn the_published_reward_bound_has_proxy_one_quarter() {
        let mut learner = learner(false, 1.0, false);
        learner.confidence.tabular.parameters.sigma2 = 0.25;
        let published = (7.0 * (2.0 * 5.0 * 2.0 * 50.0 / 0.1_f64).ln() / 2.0).sqrt();
        assert!((learner.confidence.radii(50).reward - published).abs() < 1e-12);
    }

    #[test]
    fn the_proof_holds_for_the_number_of_transitions() {
        // ln of 2^m 20 S A t^7 / delta <= (2 A t / delta)^(7 m), S at the chart's limit; from two outcomes on.
        for m in 2..10 {
            for a in [2.0, 3.0, 100.0] {
                for t in [1.0, 1e3, 1e9] {
                    for delta in [0.999_999, 0.1, 1e-9] {
                        let (m, s) = (f64::from(m), 1e6);
                        let log = |x: f64| libm::log(x);
                        let left = m * log(2.0) + log(20.0 * s * a / delta) + 7.0 * log(t);
                        assert!(left <= 7.0 * m * log(2.0 * a * t / delta));
                    }
                }
            }
        }
    }

    #[test]
    fn an_epoch_ends_when_a_count_has_doubled() {
        let mut learner = learner(false, 1.0, false);
        let stop = after(&[], &[], &[0.5]);
        learner.choose(1, 0);
        // Whatever it does at the start is done for it; N = 0, so one is enough, then one more, then two, then four.
        let mut lengths = Vec::new();
        let mut length = 0;
        learner.plan.choice[0] = Action::Stop;
        for _ in 0..16 {
            learner.learn(&stop);
            length += 1;
            if learner.doubled(0) {
                lengths.push(std::mem::take(&mut length));
                learner.replan(1);
                learner.plan.choice[0] = Action::Stop;
                learner.before[0] = learner.confidence.count(0, Action::Stop);
            }
        }
        assert_eq!(lengths, [1, 1, 2, 4, 8]);
    }

    #[test]
    fn is_optimistic_in_every_episode() {
        for (published, reveal) in [(false, false), (false, true), (true, false)] {
            let mut learner = learner(published, 1.0, reveal);
            let best = play(&patience(), &mut learner, 400, |learner| {
                learner.replan(learner.steps + 1);
                learner.plan.value[0]
            });
            let optimistic = |value: &f64| *value >= best.optimal - 1e-9;
            assert!(best.values.iter().all(optimistic));
        }
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for (published, reveal) in [(false, false), (false, true), (true, false)] {
            let mut learner = learner(published, 0.1, reveal);
            let played = play(&patience(), &mut learner, 4000, |_| 0.0);
            played.assert_optimal(0.03);
            let value = learner.plan.value[0];
            assert!((value - played.optimal).abs() < 0.1, "{value}");
        }
    }
}
