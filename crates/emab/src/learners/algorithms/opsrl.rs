//! Optimistic posterior sampling: Agrawal, Jia, *Optimistic posterior sampling for reinforcement learning: worst-case
//! regret bounds* (NIPS 2017), Algorithm 1. Not to be taken for the OPSRL of Tiapkin et al. (2022), which is later.
//!
//! At the start of an epoch, `psi` distributions `Q^1 … Q^psi` are drawn for each action in each state:
//!
//! - if it was taken `N >= eta` times, from `Dirichlet(M)` with `M(i) = (N(i) + omega) / kappa`;
//! - otherwise by *simple optimistic sampling*: `P^-(i) = P̂(i) - min(sqrt(3 P̂(i) ln(4S) / N) + 3 ln(4S) / N, P̂(i))`,
//!   and the missing mass goes to a state that is drawn uniformly for each sample.
//!
//! The *extended process* has an action for each pair of an action and a sample; its optimal policy is played until the
//! epoch ends, which it does when some action in some state has been taken twice as often as before it.
//! Published are `psi = O(S log(S A / rho))`, `omega` and `kappa` of `O(log(T / rho))`, and
//! `eta = sqrt(T S / A) + 12 omega S^4`, for which the conference paper states a regret of `Õ(D sqrt(S A T))` with probability
//! `1 - rho` if `T >= S^5 A`, `D` being the diameter; the later version on arXiv (1705.07041) claims `Õ(D S sqrt(A T))`.
//!
//! Adaptations:
//! - The published process is infinite and has a diameter; this one ends, so its optimal policy comes from backward
//!   induction and the theorem does not apply. A state is a step-state pair and `S` in the simple sampling is the
//!   number of pairs that can follow the action.
//! - The published constants are not practical: on 55 pairs `eta` is more than a billion, so no sample would come from a
//!   posterior. They are parameters: `samples` is `psi`; `eta`, `omega` and `kappa` keep their names. Their defaults
//!   (10, 5, 1, 1) are choices of this project without a proof.
//! - The publication assumes known rewards. Here a sample of an action has a cost, and a sample of `stop` has a reward, drawn
//!   from the normal posterior of `psrl`; the best sample is used there too.
//! - Costs and rewards are revealed after an episode, so epochs end there.

use super::prelude::*;
use crate::learners::support::tabular::{
    LEAST, MOST, PRIOR_SD, Plan, Priors, REVEAL, SIGMA2, Tabular, prior_sd,
};
use crate::rng::dirichlet;

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "opsrl",
    title: "optimistic PSRL",
    about: "best of several posterior samples per action, drawn again when a count has doubled",
    reference: "Agrawal, Jia 2017, Optimistic posterior sampling for reinforcement learning: worst-case regret bounds",
    choice_basis: ChoiceBasis::Draws,
    parameters: &[
        Parameter::new("samples", "10")
            .about("psi: posterior samples per action, of which the best is used; published: O(S log(S A / rho))"),
        Parameter::new("eta", "5")
            .about("number of visits from which samples come from the posterior, at least 0; published: sqrt(T S / A) + 12 omega S^4"),
        Parameter::new("omega", "1")
            .about("weight of each possible next pair in the Dirichlet prior, more than 0; published: O(log(T / rho))"),
        Parameter::new("kappa", "1")
            .about("divisor of the posterior weights, more than 0; published: O(log(T / rho))"),
        SIGMA2,
        PRIOR_SD,
        LEAST,
        MOST,
        REVEAL,
    ],
    build: |with| {
        let tabular = Tabular::build(with)?;
        // More draws are hardly better, and slow.
        let psi = with.number("samples")?;
        if !(1.0..=10_000.0).contains(&psi) || psi.fract() != 0.0 {
            return with.reject("samples", "be a whole number from 1 to 10000", psi);
        }
        let sampling = Sampling {
            psi: psi as usize,
            eta: with.within("eta", 0.0, 1e300)?,
            omega: with.positive("omega")?,
            kappa: with.positive("kappa")?,
        };
        BuiltLearner::other(Opsrl::new(tabular, sampling, prior_sd(with)?))
    },
    ..LearnerEntry::DEFAULT
};

/// The paper's parameters.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    psi: usize,
    eta: f64,
    omega: f64,
    kappa: f64,
}

#[derive(Clone, Debug)]
struct Opsrl {
    tabular: Tabular,
    sampling: Sampling,
    priors: Priors,
    plan: Plan,
    /// By edge, then by pair for `stop`: how often it had been taken when the epoch began.
    before: Vec<u64>,
    over: bool,
    stream: Stream,
}

impl Opsrl {
    fn new(tabular: Tabular, sampling: Sampling, prior_sd: f64) -> Opsrl {
        let (graph, parameters) = (&tabular.graph, &tabular.parameters);
        Opsrl {
            sampling,
            priors: Priors::new(parameters, prior_sd),
            plan: Plan::new(graph, parameters.most),
            before: vec![0; graph.edge_count() + graph.pairs()],
            over: true,
            stream: Stream::new(0, 0, Role::Learner),
            tabular,
        }
    }

    /// How often each action was taken, in the order of `before`.
    fn counts(tabular: &Tabular) -> impl Iterator<Item = u64> {
        let counts = &tabular.counts;
        let all = counts.cost.iter().chain(&counts.reward);
        all.map(|sums| sums.count)
    }

    fn begin_epoch(&mut self) {
        let Tabular { graph, counts, .. } = &self.tabular;
        let (sampling, priors, stream) = (self.sampling, self.priors, &mut self.stream);
        let best = |seen| {
            let reward = priors.reward(seen);
            sampling.best(|| reward.draw(stream))
        };
        let rewards: Vec<f64> = counts.reward.iter().map(best).collect();
        let mut distribution = Vec::new();
        self.plan.solve(
            graph,
            |pair| rewards[pair],
            |edge, value| {
                let cost = priors.cost(&counts.cost[edge]);
                let transitions = graph.transitions(edge);
                sampling.best(|| {
                    sampling.draw(
                        &counts.followed[transitions.clone()],
                        stream,
                        &mut distribution,
                    );
                    let next = distribution.iter().zip(transitions.clone());
                    let next = next.map(|(p, transition)| p * value[graph.next(transition)]);
                    next.sum::<f64>() - cost.draw(stream)
                })
            },
        );
        self.before = Self::counts(&self.tabular).collect();
    }
}

impl Sampling {
    /// The largest of `psi` draws.
    fn best(&self, mut draw: impl FnMut() -> f64) -> f64 {
        (0..self.psi).fold(f64::NEG_INFINITY, |best, _| best.max(draw()))
    }

    /// One distribution of an action whose transitions were followed this often.
    fn draw(&self, followed: &[u64], stream: &mut Stream, distribution: &mut Vec<f64>) {
        let n = followed.iter().sum::<u64>() as f64;
        if n >= self.eta {
            let weights = followed
                .iter()
                .map(|&n| (n as f64 + self.omega) / self.kappa);
            return dirichlet(stream, weights, distribution);
        }
        distribution.clear();
        let log = libm::log(4.0 * followed.len() as f64);
        let mut missing = 1.0;
        distribution.extend(followed.iter().map(|&followed| {
            let p = if n > 0.0 { followed as f64 / n } else { 0.0 };
            let less = match n > 0.0 {
                true => p - ((3.0 * p * log / n).sqrt() + 3.0 * log / n).min(p),
                false => 0.0,
            };
            missing -= less;
            less
        }));
        let z = stream.below(distribution.len());
        if let Some(p) = distribution.get_mut(z) {
            *p += missing;
        }
    }
}

impl Learner for Opsrl {
    fn choose(&mut self, t: usize, x: usize) -> Action {
        if std::mem::take(&mut self.over) {
            self.begin_epoch();
        }
        self.plan.at(&self.tabular.graph, t, x)
    }

    fn learn(&mut self, episode: &Episode) {
        self.tabular.learn(episode);
        self.over |= Self::counts(&self.tabular)
            .zip(&self.before)
            .any(|(now, &before)| now > before && now >= 2 * before);
    }

    fn reset(&mut self, stream: Stream) {
        self.tabular.counts.clear();
        self.before.fill(0);
        self.over = true;
        self.stream = stream;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{
        after, assert_moments, patience, play, tabular,
    };

    const SAMPLING: Sampling = Sampling {
        psi: 10,
        eta: 5.0,
        omega: 1.0,
        kappa: 1.0,
    };

    fn learner(sampling: Sampling, reveal: bool) -> Opsrl {
        Opsrl::new(tabular(1.0, reveal), sampling, 0.5)
    }

    #[test]
    fn simple_optimistic_sampling_by_hand() {
        let sampling = Sampling {
            eta: 1e9,
            ..SAMPLING
        };
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut distribution = Vec::new();
        // N = 50, P̂ = (0.8, 0.2), ln(4 * 2): P^- = (0.8 - 0.3160 - 0.1248, 0.2 - min(0.158 + 0.1248, 0.2)).
        let log = 8.0_f64.ln();
        let less = 0.8 - (3.0 * 0.8 * log / 50.0_f64).sqrt() - 3.0 * log / 50.0;
        assert!((less - 0.359).abs() < 1e-3);
        let mut first = 0;
        for _ in 0..2000 {
            sampling.draw(&[40, 10], &mut stream, &mut distribution);
            if distribution[0] > 0.9 {
                first += 1;
                assert!(
                    (distribution[0] - 1.0).abs() < 1e-12 && distribution[1] == 0.0,
                    "{distribution:?}"
                );
            } else {
                assert!(
                    (distribution[0] - less).abs() < 1e-12
                        && (distribution[1] - 1.0 + less).abs() < 1e-12
                );
            }
        }
        assert!((900..1100).contains(&first), "{first}");
        // Nothing is known: all on one.
        sampling.draw(&[0, 0], &mut stream, &mut distribution);
        assert_eq!(distribution.iter().copied().fold(0.0, f64::max), 1.0);
    }

    #[test]
    fn samples_come_from_the_posterior_from_eta_on() {
        let sampling = Sampling {
            eta: 8.0,
            omega: 2.0,
            kappa: 4.0,
            ..SAMPLING
        };
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut distribution = Vec::new();
        let draws = (0..40_000).map(|_| {
            sampling.draw(&[6, 2], &mut stream, &mut distribution);
            distribution[0]
        });
        // Beta(8/4, 4/4): mean 2/3, variance 2 / (9 * 4).
        assert_moments(&draws.collect::<Vec<_>>(), 2.0 / 3.0, 1.0 / 18.0);
    }

    #[test]
    fn the_extended_process_is_solved() {
        // Without noise an observation is the truth, and with such a kappa a distribution is what was seen: an epoch by hand.
        let sampling = Sampling {
            eta: 0.0,
            omega: 1e-9,
            kappa: 1e-9,
            ..SAMPLING
        };
        let mut learner = learner(sampling, true);
        learner.priors.sigma2 = 0.0;
        for (f, g) in [(0, 0), (0, 1), (1, 0), (1, 0)] {
            let pay = [0.4, 2.0][g];
            let costs = [0.1, [0.2, 0.3][f]];
            let rewards = [0.5, [0.0, 0.6][f], pay];
            learner.learn(&after(&[(0, f), (0, g)], &costs, &rewards));
        }
        learner.begin_epoch();
        // From (2, 0) half of 0.4 and 2 less 0.2; from (2, 1) nothing better than 0.6; from the start half of both less 0.1.
        for (value, by_hand) in learner.plan.value.iter().zip([0.7, 1.0, 0.6, 0.4, 2.0]) {
            assert!((value - by_hand).abs() < 1e-3, "{value} is not {by_hand}");
        }
    }

    #[test]
    fn an_epoch_ends_when_a_count_has_doubled() {
        let mut learner = learner(SAMPLING, false);
        learner.reset(Stream::new(1, 0, Role::Learner));
        let stopped = after(&[], &[], &[0.5]);
        let mut ended = Vec::new();
        for n in 1..=40 {
            learner.choose(1, 0);
            learner.learn(&stopped);
            if learner.over {
                ended.push(n);
            }
        }
        assert_eq!(ended, [1, 2, 4, 8, 16, 32]);
        // An unknown outcome ends no phase.
        learner.learn(&after(&[], &[], &[]));
        assert!(!learner.over);
    }

    #[test]
    fn the_best_of_many_draws_is_optimistic() {
        let optimistic = |psi| {
            let mut learner = learner(Sampling { psi, ..SAMPLING }, false);
            let played = play(&patience(), &mut learner, 600, |learner| {
                learner.begin_epoch();
                learner.plan.value[0]
            });
            let values = played.values.iter();
            values.filter(|v| **v >= played.optimal).count() as f64 / 600.0
        };
        assert!(optimistic(40) > 0.97);
        // A single draw is not.
        assert!(optimistic(1) < 0.8, "{}", optimistic(1));
    }

    #[test]
    fn finds_the_optimal_policy_where_the_benchmark_does_not() {
        for reveal in [false, true] {
            let played = play(&patience(), &mut learner(SAMPLING, reveal), 1000, |_| 0.0);
            played.assert_optimal(0.01);
        }
    }
}
