//! UCBVI: Azar, Osband, Munos, *Minimax Regret Bounds for Reinforcement Learning* (ICML 2017), Algorithms 1 to 4.
//!
//! Before each episode, backward induction on the estimated process with a bonus on every action:
//! `Q_h(x,a) = min(Q_h of the episode before, H, R(x,a) + sum_y P̂(y|x,a) V_{h+1}(y) + b_h(x,a))`, and `H` where `a` was
//! never taken. With `L = ln(5 S A T / delta)` the bonus is
//!
//! - Algorithm 3, Chernoff-Hoeffding: `b = 7 H L sqrt(1 / N(x,a))`;
//! - Algorithm 4, Bernstein-Freedman: `b = sqrt(8 L Var_{P̂}(V_{h+1}) / N) + 14 H L / (3 N)
//!   + sqrt(8/N sum_y P̂(y) min(100^2 H^3 S^2 A L^2 / N'_{h+1}(y), H^2))`, `N'` being visits to the next state.
//!
//! Adaptations:
//! - A state of the process is a step-state pair, so probabilities are estimated by step; `S` is the number of pairs, and
//!   `A` includes `stop`. A pair includes its step, so `N'_{h+1}(y)` is the number of visits to the pair `y`.
//! - In `H^3` beside `H^2`, one `H` is the number of steps; the others are returns.
//! - The returns lie in `[reward_least, reward_most]` and not in `[0, H]`: `H` is the length of that range and values are
//!   clipped at its upper end. This requires non-negative costs.
//! - The publication assumes known rewards. Here they are estimated: the mean plus `sqrt(2 sigma2 L / N)`. `stop` always leads
//!   to the end, so this is its only bonus.
//! - `T` is the maximum number of steps so far, `horizon * episodes`, because the number of episodes is unknown.

use super::prelude::*;
use crate::learners::support::tabular::{
    DELTA, LEAST, MOST, Plan, REVEAL, SCALE, SIGMA2, Tabular, TabularParameters,
};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "ucbvi",
    title: "UCBVI",
    about: "optimistic backward induction on the estimated decision process before every episode",
    reference: "Azar, Osband, Munos 2017, Minimax Regret Bounds for Reinforcement Learning",
    choice_basis: ChoiceBasis::Asked,
    parameters: &[
        Parameter::new("bonus", "bernstein")
            .about("the bonus: `hoeffding` (Algorithm 3) or `bernstein` (Algorithm 4)"),
        SIGMA2,
        DELTA,
        LEAST,
        MOST,
        SCALE,
        REVEAL,
    ],
    build: |with| {
        let tabular = Tabular::build(with)?;
        let bernstein = with.word("bonus", &[("hoeffding", false), ("bernstein", true)])?;
        BuiltLearner::other(Ucbvi::new(tabular, bernstein))
    },
    ..LearnerEntry::DEFAULT
};

#[derive(Clone, Debug)]
struct Ucbvi {
    tabular: Tabular,
    bernstein: bool,
    horizon: f64,
    plan: Plan,
    /// By edge: `Q` of the previous plan, an upper limit for the next one.
    q: Vec<f64>,
    /// By pair: the same for `stop`.
    q_stop: Vec<f64>,
    stale: bool,
}

impl Ucbvi {
    fn new(tabular: Tabular, bernstein: bool) -> Ucbvi {
        let (graph, most) = (&tabular.graph, tabular.parameters.most);
        Ucbvi {
            horizon: graph.step_state(graph.pairs() - 1).0 as f64,
            plan: Plan::new(graph, most),
            q: vec![most; graph.edge_count()],
            q_stop: vec![most; graph.pairs()],
            stale: true,
            tabular,
            bernstein,
        }
    }

    /// `L`.
    fn log(&self) -> f64 {
        let (s, a) = self.tabular.sizes();
        let t = self.horizon * self.tabular.counts.episodes.max(1) as f64;
        libm::log(5.0 * s * a * t / self.tabular.parameters.delta)
    }

    /// `b_h(x,a)` of an edge that was followed `n` times.
    fn bonus(&self, edge: usize, n: f64, log: f64, value: &[f64]) -> f64 {
        let Tabular { graph, counts, .. } = &self.tabular;
        let h = self.tabular.parameters.span();
        if !self.bernstein {
            return 7.0 * h * log * (1.0 / n).sqrt();
        }
        let (mut mean, mut square, mut unsure) = (0.0, 0.0, 0.0);
        let (s, a) = self.tabular.sizes();
        let large = 1e4 * self.horizon * h * h * s * s * a * log * log;
        for transition in graph.transitions(edge) {
            let followed = counts.followed[transition] as f64;
            if followed == 0.0 {
                continue;
            }
            let (p, next) = (followed / n, graph.next(transition));
            mean += p * value[next];
            square += p * value[next] * value[next];
            let visits = counts.visits(graph, next).max(1) as f64;
            unsure += p * (large / visits).min(h * h);
        }
        let variance = (square - mean * mean).max(0.0);
        (8.0 * log * variance / n).sqrt() + 14.0 * h * log / (3.0 * n) + (8.0 / n * unsure).sqrt()
    }

    fn replan(&mut self) {
        let log = self.log();
        let mut plan = std::mem::take(&mut self.plan);
        let mut q = std::mem::take(&mut self.q);
        let mut q_stop = std::mem::take(&mut self.q_stop);
        let Tabular { graph, counts, .. } = &self.tabular;
        let TabularParameters {
            most,
            scale,
            sigma2,
            ..
        } = self.tabular.parameters;
        let noise = |n: f64| scale * (2.0 * sigma2 * log / n).sqrt();
        plan.solve(
            graph,
            |pair| {
                let reward = &counts.reward[pair];
                let q = &mut q_stop[pair];
                if reward.count > 0 {
                    *q = q.min(reward.mean() + noise(reward.count as f64));
                }
                *q
            },
            |edge, value| {
                let n = counts.count(edge) as f64;
                if n > 0.0 {
                    let next = |transition| {
                        counts.followed[transition] as f64 / n * value[graph.next(transition)]
                    };
                    let ahead: f64 = graph.transitions(edge).map(next).sum();
                    let bonus = scale * self.bonus(edge, n, log, value);
                    let worth = ahead - counts.cost[edge].mean() + noise(n) + bonus;
                    q[edge] = q[edge].min(worth).min(most);
                }
                q[edge]
            },
        );
        (self.plan, self.q, self.q_stop) = (plan, q, q_stop);
    }
}

impl Learner for Ucbvi {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if std::mem::take(&mut self.stale) {
            self.replan();
        }
        self.plan.at(&self.tabular.graph, t, x)
    }

    fn learn(&mut self, episode: &Episode) {
        self.tabular.learn(episode);
        self.stale = true;
    }

    fn reset(&mut self, _stream: Stream) {
        let most = self.tabular.parameters.most;
        self.tabular.counts.clear();
        self.q.fill(most);
        self.q_stop.fill(most);
        self.plan = Plan::new(&self.tabular.graph, most);
        self.stale = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, patience, play, tabular};

    fn learner(bernstein: bool, scale: f64, reveal: bool) -> Ucbvi {
        Ucbvi::new(tabular(scale, reveal), bernstein)
    }

    #[test]
    fn both_bonuses_by_hand() {
        // Twice on from the start: to state 0 once, to state 1 once. S = 5 pairs, A = 2, T = 3 * 2.
        let log = (5.0 * 5.0 * 2.0 * 6.0 / 0.1_f64).ln();
        let mut value = vec![0.0; 5];
        (value[1], value[2]) = (0.2, 0.8);
        for bernstein in [false, true] {
            let mut learner = learner(bernstein, 1.0, false);
            learner.learn(&after(&[(0, 0)], &[0.1], &[0.5, 0.0]));
            learner.learn(&after(&[(0, 1)], &[0.1], &[0.5, 1.0]));
            assert!((learner.log() - log).abs() < 1e-12);
            let by_hand = if bernstein {
                // Var = 0.09 under the even distribution, each next state was visited once, and H = 1 is the smaller of the two.
                (8.0 * log * 0.09 / 2.0).sqrt() + 14.0 * log / 6.0 + (8.0_f64 / 2.0).sqrt()
            } else {
                7.0 * log / 2.0_f64.sqrt()
            };
            let bonus = learner.bonus(0, 2.0, log, &value);
            assert!((bonus - by_hand).abs() < 1e-12, "{bonus} is not {by_hand}");
        }
    }

    #[test]
    fn is_optimistic_in_every_episode() {
        for (bernstein, reveal) in [(false, false), (true, false), (true, true)] {
            let mut learner = learner(bernstein, 1.0, reveal);
            let best = play(&patience(), &mut learner, 400, |learner| {
                learner.replan();
                learner.plan.value[0]
            });
            let optimistic = |value: &f64| *value >= best.optimal - 1e-9;
            assert!(best.values.iter().all(optimistic));
        }
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for (bernstein, reveal) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut learner = learner(bernstein, 0.02, reveal);
            let played = play(&patience(), &mut learner, 4000, |_| 0.0);
            played.assert_optimal(0.03);
        }
    }
}
