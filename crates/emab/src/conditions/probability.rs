//! A chance that is never certain.

use serde::{Deserialize, Serialize};

use crate::parameter::ParameterError;

/// A chance in [0, 1): what always happened would leave nothing to learn from.
///
/// ```
/// use emab::Chance;
/// assert_eq!(Chance::new("lost", 0.1).unwrap().get(), 0.1);
/// assert!(Chance::new("lost", 1.0).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// A chance, if it lies in [0, 1); `name` is what the error calls it.
    pub fn new(name: &str, chance: f64) -> Result<Probability, ParameterError> {
        if (0.0..1.0).contains(&chance) {
            // Minus zero is a chance of zero, and is written as such.
            Ok(Probability(chance + 0.0))
        } else {
            Err(ParameterError::new(name, "lie in [0, 1)", chance))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether it never happens.
    pub fn is_none(&self) -> bool {
        self.0 == 0.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = ParameterError;

    fn try_from(chance: f64) -> Result<Probability, ParameterError> {
        Probability::new("a chance", chance)
    }
}

impl From<Probability> for f64 {
    fn from(chance: Probability) -> f64 {
        chance.0
    }
}
