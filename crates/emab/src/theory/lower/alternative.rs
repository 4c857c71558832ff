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
    /// The best gain of the pair less that of the action: an alternative exceeds it.
    pub gap: f64,
    /// `V - Q` of the action: an alternative exceeds it, too.
    pub loss: f64,
}

/// A change of one triplet.
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
    /// The alternatives, the one of least divergence first; none if no distribution of the support suffices.
    ///
    /// Where two constraints bind, the smallest divergence is the largest over all mixtures of them (Lagrange duality), and
    /// it is quasi-concave in the mixture.
    pub fn alternatives(&self) -> Vec<Alternative> {
        let Some(least) = self.least() else {
            return Vec::new();
        };
        // Stronger alternatives, for the bound at a number of episodes.
        (0..=STRONGER)
            .map(|i| Multiplier {
                lambda: least.lambda * libm::exp2(f64::from(i) / 2.0),
                ..least
            })
            .map(|multiplier| {
                let tilted = self.tilt(multiplier);
                Alternative {
                    information: tilted.information,
                    surplus: (tilted.value - self.loss).max(0.0),
                }
            })
            .filter(|alternative| alternative.information.is_finite())
            .collect()
    }

    /// The multiplier of the alternative of least divergence.
    fn least(&self) -> Option<Multiplier> {
        let gain_alone = self.reach(0.0)?;
        let meets =
            |tilted: Tilted, gap: f64, of: f64| of >= gap - 1e-9 * gap.abs().max(tilted.gain);
        let tilted = self.tilt(gain_alone);
        if meets(tilted, self.loss, tilted.value) {
            return Some(gain_alone);
        }
        let value_alone = self.reach(1.0)?;
        let tilted = self.tilt(value_alone);
        if meets(tilted, self.gap, tilted.gain) {
            return Some(value_alone);
        }
        let information = |mix: f64| {
            let multiplier = self.reach(mix)?;
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

    /// The multiplier with which the mixture of both constraints holds with equality.
    fn reach(&self, mix: f64) -> Option<Multiplier> {
        let need = (1.0 - mix) * self.gap + mix * self.loss;
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

/// The number of stronger alternatives: multipliers up to `2^(STRONGER / 2)` times the least one.
const STRONGER: i32 = 32;

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
            gap: 0.0,
            loss: 0.0,
        }
    }

    #[test]
    fn one_coin_without_noise_has_the_divergence_of_bernoulli_distributions() {
        let fixed = CostFamily::new(Noise::None, 0.0, 0.0);
        let mut coin = observed(&[0.7, 0.3], &[0.0, 1.0], &[0.0, 1.0], fixed);
        (coin.gap, coin.loss) = (0.2, 0.2);
        let least = coin.alternatives()[0];
        let exact = 0.7 * (0.7_f64 / 0.5).ln() + 0.3 * (0.3_f64 / 0.5).ln();
        assert!((least.information - exact).abs() < 1e-12);
        assert!(least.surplus < 1e-9);
        (coin.gap, coin.loss) = (0.7, 0.7); // certainty has no support
        assert!(coin.alternatives().is_empty());
    }

    #[test]
    fn normal_costs_alone_have_the_divergence_of_normal_distributions() {
        let mut action = observed(&[1.0], &[0.0], &[0.0], CostFamily::normal(0.5));
        (action.gap, action.loss) = (0.3, 0.3);
        assert!((action.alternatives()[0].information - 0.09).abs() < 1e-13);
    }

    /// The least divergence over a grid of distributions of three feedbacks; the cost is best for each of them.
    fn brute_force(observed: &Observed, variance: f64) -> f64 {
        let steps = 1200;
        let (p, r, v) = (&observed.probability, &observed.reward, &observed.value);
        let mut least = f64::INFINITY;
        for i in 1..steps {
            for j in 1..steps - i {
                let q = [i, j, steps - i - j].map(|n| n as f64 / steps as f64);
                let rise = |z: &[f64]| (0..3).map(|k| (q[k] - p[k]) * z[k]).sum::<f64>();
                let missing = (observed.gap - rise(r))
                    .max(observed.loss - rise(v))
                    .max(0.0);
                let cost = if variance > 0.0 {
                    missing * missing / (2.0 * variance)
                } else if missing > 0.0 {
                    f64::INFINITY
                } else {
                    0.0
                };
                let feedback: f64 = p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum();
                least = least.min(feedback + cost);
            }
        }
        least
    }

    #[test]
    fn the_least_divergence_is_that_of_a_brute_force_search() {
        let mut stream = Stream::new(1, 0, Role::Learner);
        let mut both_bind = 0;
        for case in 0..60 {
            let mut draw = |low: f64, high: f64| low + (high - low) * stream.uniform();
            let weights = [draw(0.1, 1.0), draw(0.1, 1.0), draw(0.1, 1.0)];
            let p = weights.map(|w| w / weights.iter().sum::<f64>());
            let reward = [draw(0.0, 1.0), draw(0.0, 1.0), draw(0.0, 1.0)];
            let value = reward.map(|r| r + draw(0.0, 1.0));
            let variance = [0.0, 0.05, 0.5][case % 3];
            let cost = CostFamily::normal(variance);
            let mut triplet = observed(&p, &reward, &value, cost);
            (triplet.gap, triplet.loss) = (draw(0.0, 0.2), draw(0.0, 0.3));
            let exact = triplet.alternatives();
            let searched = brute_force(&triplet, variance);
            let Some(least) = exact.first() else {
                assert!(searched > 1.0, "case {case}: {searched}");
                continue;
            };
            // A grid misses the minimum by little and is never below it.
            assert!(
                least.information <= searched * (1.0 + 1e-9) + 1e-12,
                "case {case}"
            );
            assert!(
                searched <= least.information * 1.03 + 1e-4,
                "case {case}: {searched} {}",
                least.information
            );
            let multiplier = triplet.least().unwrap();
            let tilted = triplet.tilt(multiplier);
            assert!(tilted.gain >= triplet.gap - 1e-7 && tilted.value >= triplet.loss - 1e-7);
            both_bind += usize::from(multiplier.mix > 0.0 && multiplier.mix < 1.0);
            for pair in exact.windows(2) {
                assert!(pair[0].information <= pair[1].information);
            }
        }
        assert!(both_bind > 3, "{both_bind}");
    }
}
