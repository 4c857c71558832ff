//! Step sizes and exploration probabilities that decay with a count, for model-free learners.

use crate::learners::LearnerError;
use crate::learners::registry::parameter::Parameter;
use crate::learners::registry::settings::Settings;

pub(crate) const EPSILON: Parameter = Parameter::new("epsilon", "1")
    .about("probability of exploring at the first visit to a step-state pair, from 0 to 1");

pub(crate) const EPSILON_DECAY: Parameter = Parameter::new("epsilon_decay", "0.5")
    .about("the probability of exploring at the n-th visit is epsilon / n^epsilon_decay; from 0 (constant) to 1");

pub(crate) const ALPHA: Parameter = Parameter::new("alpha", "1")
    .about("initial step size of an action in a pair, more than 0 and at most 1");

pub(crate) const ALPHA_DECAY: Parameter = Parameter::new("alpha_decay", "0.8")
    .about("the n-th step size is alpha / n^alpha_decay; from 0 (constant) to 1, above 0.5 for convergence");

/// `first / n^power`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Decay {
    pub(crate) first: f64,
    pub(crate) power: f64,
}

impl Decay {
    /// The probability of exploring.
    pub(crate) fn epsilon(settings: &Settings<'_>) -> Result<Decay, LearnerError> {
        Ok(Decay {
            first: settings.within("epsilon", 0.0, 1.0)?,
            power: settings.within("epsilon_decay", 0.0, 1.0)?,
        })
    }

    /// The step size.
    pub(crate) fn alpha(settings: &Settings<'_>) -> Result<Decay, LearnerError> {
        settings.positive("alpha")?;
        Ok(Decay {
            first: settings.within("alpha", 0.0, 1.0)?,
            power: settings.within("alpha_decay", 0.0, 1.0)?,
        })
    }

    /// The value at count `n`, from 1.
    pub(crate) fn at(self, n: u64) -> f64 {
        self.first / libm::pow(n as f64, self.power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decays_with_the_power() {
        let decay = Decay {
            first: 0.6,
            power: 0.5,
        };
        assert_eq!(decay.at(1), 0.6);
        assert!((decay.at(9) - 0.2).abs() < 1e-15);
        let constant = Decay {
            power: 0.0,
            ..decay
        };
        assert_eq!(constant.at(7), 0.6);
    }
}
