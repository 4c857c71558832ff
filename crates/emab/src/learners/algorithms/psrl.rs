//! PSRL: Osband, Russo, Van Roy, *(More) Efficient Reinforcement Learning via Posterior Sampling* (NIPS 2013).
//!
//! There is a prior over processes. Before each episode a process is drawn from the posterior and solved; its optimal policy
//! is played to the end of the episode. There is no bonus and no bound. The published regret is an expectation over the prior, `O(tau S sqrt(A T log(S A T)))` with `tau` the episode's length.
//!
//! The publication does not fix the prior, and its experiments have another one than this learner: here distributions have
//! independent Dirichlet priors, and means independent normal ones with a known variance of the noise:
//!
//! - the transitions of an action: Dirichlet with weight `prior` plus the count of each;
//! - a mean with prior `N(m, s^2)` after `n` observations of sum `y`: `N((sigma2 m + s^2 y) / w, sigma2 s^2 / w)`,
//!   `w = sigma2 + n s^2`. For a reward `m` is the middle of `[reward_least, reward_most]`, for a cost it is 0; for both
//!   `s` is `prior_sd` times the length of that range.
//!
//! Adaptations:
//! - A state of the process is a step-state pair; distributions are over the pairs that can follow an action, not over all
//!   states. Sampled rewards are not clipped to their range, nor sampled costs at 0.
//! - The draw is made at step 1. An outcome that arrives during an episode changes the posterior, but not the process of
//!   that episode.

use super::prelude::*;
use crate::learners::support::tabular::{
    LEAST, MOST, PRIOR_SD, Plan, Priors, REVEAL, SIGMA2, Tabular, prior_sd,
};
use crate::rng::dirichlet;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "psrl",
    title: "PSRL",
    about: "samples a decision process from the posterior before every episode and plays its optimal policy",
    reference: "Osband, Russo, Van Roy 2013, (More) Efficient Reinforcement Learning via Posterior Sampling",
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        SIGMA2,
        Parameter::new("prior", "1")
            .about("weight of each possible next pair in the Dirichlet prior of the transition probabilities, more than 0"),
        PRIOR_SD,
        LEAST,
        MOST,
        REVEAL,
    ],
    build: |with| {
        let tabular = Tabular::build(with)?;
        let (weight, sd) = (with.positive("prior")?, prior_sd(with)?);
        BuiltLearner::other(Psrl::new(tabular, weight, sd))
    },
    ..LearnerEntry::DEFAULT
};

#[derive(Clone, Debug)]
struct Psrl {
    tabular: Tabular,
    /// The prior weight of a transition.
    weight: f64,
    priors: Priors,
    process: Process,
    plan: Plan,
    /// Whether a process was drawn since the reset.
    drawn: bool,
    stream: Stream,
}

/// A sampled process.
#[derive(Clone, Debug)]
struct Process {
    /// By transition.
    probabilities: Vec<f64>,
    /// By edge.
    cost: Vec<f64>,
    /// By pair.
    reward: Vec<f64>,
}

impl Psrl {
    fn new(tabular: Tabular, weight: f64, prior_sd: f64) -> Psrl {
        let (graph, parameters) = (&tabular.graph, &tabular.parameters);
        Psrl {
            weight,
            priors: Priors::new(parameters, prior_sd),
            process: Process {
                probabilities: vec![0.0; graph.transition_count()],
                cost: vec![0.0; graph.edge_count()],
                reward: vec![0.0; graph.pairs()],
            },
            plan: Plan::new(graph, parameters.most),
            drawn: false,
            stream: Stream::new(0, 0, Role::Learner),
            tabular,
        }
    }

    fn draw(&mut self) {
        let Tabular { graph, counts, .. } = &self.tabular;
        let (process, stream) = (&mut self.process, &mut self.stream);
        for (reward, sums) in process.reward.iter_mut().zip(&counts.reward) {
            *reward = self.priors.reward(sums).draw(stream);
        }
        let mut probabilities = Vec::new();
        for edge in 0..graph.edge_count() {
            process.cost[edge] = self.priors.cost(&counts.cost[edge]).draw(stream);
            let transitions = graph.transitions(edge);
            let followed = counts.followed[transitions.clone()].iter();
            let weights = followed.map(|&n| self.weight + n as f64);
            dirichlet(stream, weights, &mut probabilities);
            process.probabilities[transitions].copy_from_slice(&probabilities);
        }
    }

    fn solve(&mut self) {
        let (graph, process) = (&self.tabular.graph, &self.process);
        self.plan.solve(
            graph,
            |pair| process.reward[pair],
            |edge, value| {
                let next = |transition: usize| {
                    process.probabilities[transition] * value[graph.next(transition)]
                };
                graph.transitions(edge).map(next).sum::<f64>() - process.cost[edge]
            },
        );
    }
}

impl Learner for Psrl {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if t == 1 || !self.drawn {
            self.draw();
            self.solve();
            self.drawn = true;
        }
        self.plan.at(&self.tabular.graph, t, x)
    }

    fn learn(&mut self, episode: &Episode) {
        self.tabular.learn(episode);
    }

    fn reset(&mut self, stream: Stream) {
        self.tabular.counts.clear();
        self.drawn = false;
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{
        after, assert_close, assert_moments, patience, play, tabular,
    };

    fn learner(reveal: bool) -> Psrl {
        Psrl::new(tabular(1.0, reveal), 1.0, 0.5)
    }

    #[test]
    fn draws_follow_the_posterior() {
        let mut learner = learner(false);
        learner.reset(Stream::new(1, 0, Role::Learner));
        for (f, cost) in [(1, 0.1), (1, 0.2), (0, 0.3)] {
            learner.learn(&after(&[(0, f)], &[cost], &[0.5, 0.25]));
        }
        let mut drawn = [(); 4].map(|()| Vec::new());
        for _ in 0..40_000 {
            learner.draw();
            let process = &learner.process;
            drawn[0].push(process.probabilities[1]);
            drawn[1].push(process.cost[0]);
            drawn[2].push(process.reward[2]);
            drawn[3].push(process.reward[0]);
        }
        // Beta(1 + 2, 1 + 1); cost N(0, 1/4) seen thrice, sum 0.6; state 1 at step 2 earned 0.25 twice; the start, which
        // never was stopped at, has its prior.
        let normal = |prior: f64, n: f64, sum: f64| {
            let precision = 4.0 + n / 0.01;
            ((4.0 * prior + sum / 0.01) / precision, 1.0 / precision)
        };
        let expected = [
            (0.6, 3.0 * 2.0 / (25.0 * 6.0)),
            normal(0.0, 3.0, 0.6),
            normal(0.5, 2.0, 0.5),
            normal(0.5, 0.0, 0.0),
        ];
        for (drawn, (mean, variance)) in drawn.iter().zip(expected) {
            assert_moments(drawn, mean, variance);
        }
    }

    #[test]
    fn the_process_drawn_is_solved() {
        // Pairs: the start, then (2, 0), (2, 1), (3, 0), (3, 1); an edge from each of the first three.
        let mut learner = learner(false);
        learner.process = Process {
            probabilities: vec![0.25, 0.75, 0.5, 0.5, 1.0, 0.0],
            cost: vec![0.1, 0.2, 0.3],
            reward: vec![0.5, 0.0, 0.6, 0.4, 2.0],
        };
        learner.solve();
        // (2, 0) goes on for 1.2 - 0.2, (2, 1) stops for 0.6 over 0.4 - 0.3; the start 0.25 * 1 + 0.75 * 0.6 - 0.1.
        let by_hand = [0.6, 1.0, 0.6, 0.4, 2.0];
        for (value, by_hand) in learner.plan.value.iter().zip(by_hand) {
            assert_close(*value, by_hand);
        }
        let choice = |t, x| learner.plan.at(&learner.tabular.graph, t, x);
        assert_eq!(
            (choice(1, 0), choice(2, 1)),
            (Action::Continue(0), Action::Stop)
        );
    }

    #[test]
    fn reveal_uses_every_revealed_reward() {
        let mut learner = learner(true);
        learner.learn(&after(&[(0, 1)], &[0.1], &[0.5, 0.25]));
        assert_eq!(learner.tabular.counts.reward[0].count, 1);
    }

    #[test]
    fn one_sampled_process_per_episode() {
        let mut learner = learner(false);
        learner.reset(Stream::new(2, 0, Role::Learner));
        learner.choose(1, 0);
        let process = learner.process.reward.clone();
        learner.choose(2, 1);
        learner.learn(&after(&[], &[], &[]));
        learner.choose(3, 1);
        assert_eq!(process, learner.process.reward);
        learner.choose(1, 0);
        assert_ne!(process, learner.process.reward);
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for reveal in [false, true] {
            let played = play(&patience(), &mut learner(reveal), 1000, |_| 0.0);
            played.assert_optimal(0.01);
        }
    }
}
