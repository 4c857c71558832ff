//! Alternatives that change one triplet: models in which its action is the benchmark's choice and not playing it costs
//! something, at the least divergence per observation.

use crate::divergence::{CostFamily, Outcome, least_multiplier, tilt};

/// What the alternatives of a triplet `(t, x, a)` depend on.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    /// The probability of each feedback that can come.
    pub probability: Vec<f64>,
    /// The expected reward of the pair that it leads to.
    pub reward: Vec<f64>,
    /// The value of the benchmark there.
    pub value: Vec<f64>,
    /// The costs.
    pub cost: CostFamily,
    /// The best gain of the pair less that of the action, which the gain in an alternative must exceed; none if it need not.
    pub gap: Option<f64>,
    /// `V - Q` of the action: an alternative exceeds it, too.
    pub loss: f64,
}

/// The alternatives with at least this surplus: the infimum of their divergences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Alternative {
    /// The divergence per observation, from the model to the alternative.
    pub information: f64,
    /// `Q` of the action in the alternative less `V` of the pair in the model; not negative.
    pub surplus: f64,
}

/// The constraint `(1 - mix) * gain + mix * Q`, and its multiplier.
#[derive(Clone, Copy, Debug)]
struct Multiplier {
    mix: f64,
    lambda: f64,
}

/// A tilted triplet.
#[derive(Clone, Copy, Debug)]
struct Tilted {
    /// How far the gain rises.
    gain: f64,
    /// How far `Q` rises.
    value: f64,
    information: f64,
}

impl Observed {
    /// The alternatives of any surplus; none if no distribution of the support suffices.
    pub fn least(&self) -> Option<Alternative> {
        let tilted = self.tilt(self.multiplier(0.0)?);
        Some(Alternative {
            information: tilted.information,
            surplus: (tilted.value - self.loss).max(0.0),
        })
    }

    /// The alternatives of larger and larger surplus, for the bound at a number of episodes.
    pub fn by_surplus(&self) -> Vec<Alternative> {
        let surpluses = (SURPLUSES).map(|i| self.loss * libm::exp2(f64::from(i)));
        let alternatives = surpluses.map_while(|surplus| {
            let tilted = self.tilt(self.multiplier(surplus)?);
            Some(Alternative {
                information: tilted.information,
                surplus,
            })
        });
        alternatives.collect()
    }

    /// The distribution of the feedback of the alternative of least divergence with this surplus, by how much its cost is less,
    /// and its surplus.
    #[cfg(test)]
    pub fn alternative(&self, surplus: f64) -> Option<(Vec<f64>, f64, f64)> {
        let multiplier = self.multiplier(surplus)?;
        let (outcomes, tilted) = (self.mixture(multiplier.mix), self.tilt(multiplier));
        let alternative = tilt(&outcomes, multiplier.lambda);
        let indicator = |i: usize| move |k: usize| f64::from(u8::from(i == k));
        let probability = (0..outcomes.len())
            .map(|i| outcomes[i].probability + alternative.rise(&outcomes, indicator(i)));
        let reduction = self.cost.reduce(multiplier.lambda).mean;
        Some((probability.collect(), reduction, tilted.value - self.loss))
    }

    /// The multiplier of the alternative of least divergence with this surplus or more.
    ///
    /// Where two constraints bind, the smallest divergence is the largest over all mixtures of them (Lagrange duality), and
    /// it is quasi-concave in the mixture.
    fn multiplier(&self, surplus: f64) -> Option<Multiplier> {
        let loss = self.loss + surplus;
        let meets = |rise: f64, need: f64| rise >= need - 1e-9 * need.abs();
        let by_value = self.reach(1.0, loss)?;
        let Some(gap) = self.gap else {
            return Some(by_value);
        };
        if meets(self.tilt(by_value).gain, gap) {
            return Some(by_value);
        }
        let by_gain = self.reach(0.0, gap)?;
        if meets(self.tilt(by_gain).value, loss) {
            return Some(by_gain);
        }
        let reach = |mix: f64| self.reach(mix, (1.0 - mix) * gap + mix * loss);
        let information = |mix: f64| {
            let multiplier = reach(mix)?;
            Some((self.tilt(multiplier).information, multiplier))
        };
        let (mut low, mut high) = (0.0, 1.0);
        let mut left = (1.0 - GOLDEN, information(1.0 - GOLDEN)?);
        let mut right = (GOLDEN, information(GOLDEN)?);
        for _ in 0..60 {
            if left.1.0 < right.1.0 {
                low = left.0;
                left = right;
                let mix = low + GOLDEN * (high - low);
                right = (mix, information(mix)?);
            } else {
                high = right.0;
                right = left;
                let mix = high - GOLDEN * (high - low);
                left = (mix, information(mix)?);
            }
        }
        Some(if left.1.0 < right.1.0 { right } else { left }.1.1)
    }

    /// The multiplier with which the mixture of gain and value rises by `need`.
    fn reach(&self, mix: f64, need: f64) -> Option<Multiplier> {
        let lambda = least_multiplier(&self.mixture(mix), &self.cost, need, |_| false)?;
        Some(Multiplier { mix, lambda })
    }

    fn mixture(&self, mix: f64) -> Vec<Outcome> {
        let both = self.reward.iter().zip(&self.value).zip(&self.probability);
        both.map(|((reward, value), &probability)| Outcome {
            probability,
            value: (1.0 - mix) * reward + mix * value,
        })
        .collect()
    }

    fn tilt(&self, multiplier: Multiplier) -> Tilted {
        let outcomes = self.mixture(multiplier.mix);
        let tilted = tilt(&outcomes, multiplier.lambda);
        let cost = self.cost.reduce(multiplier.lambda);
        Tilted {
            gain: tilted.rise(&outcomes, |i| self.reward[i]) + cost.mean,
            value: tilted.rise(&outcomes, |i| self.value[i]) + cost.mean,
            information: tilted.divergence(&outcomes) + cost.divergence,
        }
    }
}

/// Surpluses are the loss of the action times powers of 2 with these exponents.
const SURPLUSES: std::ops::RangeInclusive<i32> = -8..=12;

const GOLDEN: f64 = 0.618_033_988_749_894_8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Noise;
    use crate::rng::{Role, Stream};

    fn observed(probability: &[f64], reward: &[f64], value: &[f64], cost: CostFamily) -> Observed {
        Observed {
            probability: probability.to_vec(),
            reward: reward.to_vec(),
            value: value.to_vec(),
            cost,
            gap: Some(0.0),
            loss: 0.0,
        }
    }

    #[test]
    fn one_coin_without_noise_has_the_divergence_of_bernoulli_distributions() {
        let fixed = CostFamily::new(Noise::None, 0.0, 0.0);
        let mut coin = observed(&[0.7, 0.3], &[0.0, 1.0], &[0.0, 1.0], fixed);
        (coin.gap, coin.loss) = (Some(0.2), 0.2);
        let least = coin.least().unwrap();
        let exact = 0.7 * (0.7_f64 / 0.5).ln() + 0.3 * (0.3_f64 / 0.5).ln();
        assert!((least.information - exact).abs() < 1e-12);
        assert!(least.surplus < 1e-9);
        (coin.gap, coin.loss) = (Some(0.7), 0.7); // certainty has no support
        assert!(coin.least().is_none() && coin.by_surplus().is_empty());
    }

    #[test]
    fn normal_costs_alone_have_the_divergence_of_normal_distributions() {
        let mut action = observed(&[1.0], &[0.0], &[0.0], CostFamily::normal(0.5));
        (action.gap, action.loss) = (Some(0.3), 0.3);
        assert!((action.least().unwrap().information - 0.09).abs() < 1e-13);
    }

    /// The least divergence over a grid of distributions of three feedbacks; the cost is best for each of them.
    fn brute_force(observed: &Observed, surplus: f64, variance: f64) -> f64 {
        let steps = 1200;
        let (p, r, v) = (&observed.probability, &observed.reward, &observed.value);
        let mut least = f64::INFINITY;
        for i in 0..=steps {
            for j in 0..=steps - i {
                let q = [i, j, steps - i - j].map(|n| n as f64 / steps as f64);
                let rise = |z: &[f64]| (0..3).map(|k| (q[k] - p[k]) * z[k]).sum::<f64>();
                let missing = observed.gap.map_or(0.0, |gap| gap - rise(r));
                let missing = missing.max(observed.loss + surplus - rise(v)).max(0.0);
                let cost = if variance > 0.0 {
                    missing * missing / (2.0 * variance)
                } else if missing > 0.0 {
                    f64::INFINITY
                } else {
                    0.0
                };
                let terms = p.iter().zip(&q).filter(|(p, _)| **p > 0.0);
                let feedback: f64 = terms.map(|(p, q)| p * (p / q).ln()).sum();
                least = least.min(feedback + cost);
            }
        }
        least
    }

    #[test]
    fn the_least_divergence_is_that_of_a_brute_force_search() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let (mut both_bind, mut none) = (0, 0);
        for case in 0..135 {
            let mut draw = |low: f64, high: f64| low + (high - low) * stream.uniform();
            // Every third has a feedback that never comes, every ninth two.
            let possible =
                |k: usize| f64::from(u8::from(case % 3 > 0 || k == 0 || case % 9 > 0 && k == 1));
            let weights = [0, 1, 2].map(|k| possible(k) * draw(0.1, 1.0));
            let p = weights.map(|w| w / weights.iter().sum::<f64>());
            let reward = [draw(0.0, 1.0), draw(0.0, 1.0), draw(0.0, 1.0)];
            let value = reward.map(|r| r + draw(0.0, 1.0));
            let variance = [0.0, 0.05, 0.5][case / 3 % 3];
            let cost = CostFamily::normal(variance);
            let mut triplet = observed(&p, &reward, &value, cost);
            (triplet.gap, triplet.loss) = (Some(draw(0.0, 0.2)), draw(0.0, 0.3));
            if case % 5 == 0 {
                triplet.gap = None;
            }
            let surplus = [0.0, 0.5 * triplet.loss][case % 2];
            let searched = brute_force(&triplet, surplus, variance);
            let Some(multiplier) = triplet.multiplier(surplus) else {
                assert!(searched > 1.0, "case {case}: {searched}");
                none += 1;
                continue;
            };
            // A grid misses the minimum by little and is never below it.
            let least = triplet.tilt(multiplier).information;
            assert!(least <= searched * (1.0 + 1e-9) + 1e-12, "case {case}");
            assert!(
                searched <= least * 1.03 + 2e-4,
                "case {case}: {searched} {least}"
            );
            both_bind += usize::from(multiplier.mix > 0.0 && multiplier.mix < 1.0);
            let by_surplus = triplet.by_surplus();
            for pair in by_surplus.windows(2) {
                assert!(pair[0].information <= pair[1].information);
            }
        }
        assert!(both_bind >= 5 && none > 5, "{both_bind} {none}");
    }

    /// Two triplets of a review: a multiplier of the mixture says nothing about each of its constraints.
    #[test]
    fn a_large_surplus_needs_the_gain_too() {
        let fixed = CostFamily::normal(0.0);
        let mut triplet = observed(&[0.5, 0.4, 0.1], &[0.0, 1.0, 0.0], &[0.0, 1.0, 3.0], fixed);
        (triplet.gap, triplet.loss) = (Some(0.05), 1.39);
        assert!(triplet.by_surplus().iter().all(|one| one.surplus <= 0.01));
        assert!(triplet.multiplier(0.009).is_some() && triplet.multiplier(0.011).is_none());
        let mut triplet = observed(&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 1.0, 2.29], fixed);
        (triplet.gap, triplet.loss) = (Some(0.64), 1.4624);
        assert!(triplet.least().is_some() && triplet.multiplier(0.0025).is_none());
        assert!(triplet.by_surplus().is_empty());
    }
}
