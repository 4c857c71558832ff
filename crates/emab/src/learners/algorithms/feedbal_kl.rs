//! FeedBAL-pooled with an index by Kullback-Leibler divergence from the observed feedback: KL-UCB with the rate of IMED.
//!
//! Estimates, values, bounds and choices in flight are those of `feedbal-pooled` (`feedbal_pooled.rs`). An action taken `n`
//! times has the index
//!
//! `max { E_{p'}[v] - c' : KL(p̂, p') + (ĉ - c')^2 / (2 s) <= explore log(m/n) / n }`,  `s = sigma_c^2 + n sum_j (c_j/n)^2 sigma_r^2 / N_j`,
//!
//! where `p'` is any distribution over all pairs that may follow, also those that never did, and `m` counts how often the
//! action with the largest mean was taken, or the pair visited if that is `stop`: the largest mean that what was observed does
//! not exclude. With `n >= m`, so for the action with the largest mean itself, the index is the mean.
//!
//! The index of `feedbal-pooled` is nearly this one where values are nearly normal; it explores less where a rare feedback would
//! be worth much. An action is taken besides the one with the largest mean if `n K + log n <= log m`, with `explore` 1 and `K` the
//! smallest divergence to a mean as large: the condition of IMED. `K` is what the lower bound on the regret asks for
//! (`theory::LowerBound`), with estimates in place of the model.
//!
//! KL-UCB: Garivier, Cappé, *The KL-UCB Algorithm for Bounded Stochastic Bandits and Beyond*, COLT 2011. IMED: Honda, Takemura,
//! *Non-Asymptotic Analysis of a New Bandit Algorithm for Semi-Bounded Rewards*, JMLR 2015.
//!
//! Adapted: values of pairs as outcomes, counts of the pair, costs as normal observations beside the feedback, and the errors of
//! estimated rewards as a part of their variance. Of several actions that satisfy the condition, the one with the largest index is
//! taken, as in KL-UCB.

use super::feedbal_model::{RHO, SIGMA2_COST, SIGMA2_REWARD, UNKNOWN_COSTS};
use super::feedbal_pooled::{Bonus, FeedBalPooled, PENDING, SPREAD, TARGET, UPDATES};
use super::prelude::*;
use crate::learners::support::tabular::{DELTA, LEAST, MOST, SIGMA2};

pub(crate) static ENTRY: LearnerEntry = LearnerEntry {
    name: "feedbal-kl",
    title: "FeedBAL-KL",
    about: "FeedBAL-pooled with an index by the Kullback-Leibler divergence from the observed feedback, for long studies",
    reference: "emab, docs/theory.md; after Garivier, Cappé (2011)",
    proved_bounds: ProvedBounds::Verified,
    choice_basis: ChoiceBasis::Tables,
    parameters: &[
        TARGET,
        SIGMA2,
        DELTA,
        SIGMA2_COST,
        SIGMA2_REWARD,
        SPREAD,
        LEAST,
        MOST,
        Parameter::new("explore", "1")
            .about("factor of the divergence that the index allows, at least 0; below 1 it explores less than a consistent learner must"),
        PENDING,
        RHO,
        UPDATES,
        UNKNOWN_COSTS,
    ],
    build: |with| BuiltLearner::other(FeedBalPooled::new(with, &ENTRY, Bonus::Divergence)?),
    ..LearnerEntry::DEFAULT
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learners::support::tabular::testing::{after, assert_close, patience, play};
    use crate::learners::{LearnerConfig, LearnerDefaults};

    fn build(text: &str) -> Box<dyn Learner + Send> {
        let config = LearnerConfig::parse(text, &LearnerDefaults::default()).unwrap();
        config.build(patience().spec(), None).unwrap()
    }

    /// The largest mean of two values within a divergence, by bisection; the cost is best for each probability.
    fn largest_mean(q: f64, values: [f64; 2], variance: f64, budget: f64) -> f64 {
        let steps = 2_000_000;
        let mut largest = f64::NEG_INFINITY;
        for i in 1..steps {
            let p = i as f64 / steps as f64;
            let divergence = q * (q / p).ln() + (1.0 - q) * ((1.0 - q) / (1.0 - p)).ln();
            if divergence <= budget {
                let reduction = (2.0 * variance * (budget - divergence)).sqrt();
                largest = largest.max(p * values[1] + (1.0 - p) * values[0] + reduction);
            }
        }
        largest
    }

    #[test]
    fn the_index_is_the_largest_mean_within_a_divergence() {
        let noise = "sigma2_cost=0.1,sigma2_reward=0.2,explore=0.5,target=benchmark";
        let mut learner = build(&format!("feedbal-kl:{noise}"));
        // Three episodes: twice on to state 1, once to state 0; stopping at once is better.
        learner.learn(&after(&[(0, 1)], &[0.1], &[9.5, 1.0]));
        learner.learn(&after(&[(0, 1)], &[0.3], &[9.7, 2.0]));
        learner.learn(&after(&[(0, 0)], &[0.2], &[9.6, 4.0]));
        // p̂ = (1/3, 2/3), r̂ = (4, 1.5), ĉ = 0.2; the rewards of the next pairs were seen once and twice.
        let of_rewards = 0.2 * (1.0 / 9.0 + 4.0 / 9.0 / 2.0);
        // Visited once more than taken.
        learner.learn(&after(&[], &[], &[9.6]));
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        let budget = 0.5 * (4.0_f64 / 3.0).ln() / 3.0;
        let largest = largest_mean(2.0 / 3.0, [4.0, 1.5], 0.1 + 3.0 * of_rewards, budget);
        assert_close(estimate.mean, 4.0 / 3.0 + 1.0 - 0.2);
        assert!(
            (estimate.index - (largest - 0.2)).abs() < 1e-5,
            "{}",
            estimate.index
        );
        assert_eq!(learner.choose(1, 0), Action::Stop);
    }

    #[test]
    fn the_best_mean_has_no_bonus() {
        let mut learner = build("feedbal-kl:target=benchmark");
        learner.learn(&after(&[(0, 1)], &[0.1], &[0.5, 3.0]));
        let estimate = learner.estimate(1, 0, Action::Continue(0)).unwrap();
        assert_close(estimate.index, 2.9);
        assert_eq!(learner.choose(1, 0), Action::Continue(0));
    }

    #[test]
    fn a_run_learns_its_target() {
        let mut learner = build("feedbal-kl:sigma2=0.01");
        play(&patience(), &mut learner, 2000, |_| 0.0).assert_optimal(0.02);
        let mut learner = build("feedbal-kl:target=benchmark,sigma2=0.01");
        play(&patience(), &mut learner, 2000, |_| 0.0).assert_benchmark();
    }
}
