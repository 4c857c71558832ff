//! Normal posteriors of means, and samples from them.

use super::{Sums, TabularParameters};
use crate::learners::LearnerError;
use crate::learners::registry::parameter::Parameter;
use crate::learners::registry::settings::Settings;
use crate::rng::Stream;

pub(crate) const PRIOR_SD: Parameter = Parameter::new("prior_sd", "0.5")
    .about("standard deviation of the normal prior of every mean, as a multiple of the length of [reward_least, reward_most]; more than 0");

/// The value of [`PRIOR_SD`].
pub(crate) fn prior_sd(settings: &Settings<'_>) -> Result<f64, LearnerError> {
    // A range of length 0 would make the prior certain.
    let (least, most) = (
        settings.number("reward_least")?,
        settings.number("reward_most")?,
    );
    if most <= least {
        let rule = format!("be more than `reward_least`, which is {least}");
        return settings.reject("reward_most", rule, most);
    }
    settings.positive("prior_sd")
}

/// A normal distribution of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Normal {
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Normal {
    /// The prior of a value in the range of the rewards, centred on it.
    pub(crate) fn of_rewards(parameters: &TabularParameters, prior_sd: f64) -> Normal {
        let sd = prior_sd * parameters.span();
        Normal {
            mean: parameters.least + 0.5 * parameters.span(),
            variance: sd * sd,
        }
    }

    /// The posterior after observations with noise of this variance: precisions add up and weight the means.
    pub(crate) fn after(&self, count: u64, sum: f64, noise: f64) -> Normal {
        let weight = noise + count as f64 * self.variance;
        // A certain prior does not change.
        if count == 0 || weight == 0.0 {
            return *self;
        }
        Normal {
            mean: (noise * self.mean + self.variance * sum) / weight,
            variance: noise * self.variance / weight,
        }
    }

    pub(crate) fn draw(&self, stream: &mut Stream) -> f64 {
        self.mean + self.variance.sqrt() * stream.normal()
    }
}

/// The priors of rewards, centred on their range, and of costs, centred on 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Priors {
    reward: Normal,
    cost: Normal,
    pub(crate) sigma2: f64,
}

impl Priors {
    pub(crate) fn new(parameters: &TabularParameters, prior_sd: f64) -> Priors {
        let reward = Normal::of_rewards(parameters, prior_sd);
        Priors {
            reward,
            cost: Normal {
                mean: 0.0,
                ..reward
            },
            sigma2: parameters.sigma2,
        }
    }

    /// The posterior of a reward.
    pub(crate) fn reward(&self, seen: &Sums) -> Normal {
        self.reward.after(seen.count, seen.sum, self.sigma2)
    }

    /// The posterior of a cost.
    pub(crate) fn cost(&self, seen: &Sums) -> Normal {
        self.cost.after(seen.count, seen.sum, self.sigma2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_posterior_by_hand() {
        let normal = |mean, variance| Normal { mean, variance };
        let prior = normal(2.0, 4.0);
        // Precisions 1/4 and 3/0.5: the mean is (2/4 + 3/0.5 * 1) / (1/4 + 6).
        let after = prior.after(3, 3.0, 0.5);
        assert!((after.mean - 6.5 / 6.25).abs() < 1e-12);
        assert!((after.variance - 1.0 / 6.25).abs() < 1e-12);
        assert_eq!(prior.after(0, 0.0, 0.0), prior);
        assert_eq!(prior.after(2, 3.0, 0.0), normal(1.5, 0.0));
        let certain = normal(2.0, 0.0);
        assert_eq!(certain.after(5, 1.0, 0.1), certain);
    }
}
