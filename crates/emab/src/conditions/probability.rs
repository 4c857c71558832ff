//! A probability below 1.

use serde::{Deserialize, Serialize};

use crate::parameter::ParameterError;

/// A probability in [0, 1). With 1, no episode would leave anything to learn from.
///
/// ```
/// use emab::conditions::Probability;
/// assert_eq!(Probability::new("lost", 0.1).unwrap().get(), 0.1);
/// assert!(Probability::new("lost", 1.0).is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Probability(f64);

impl Probability {
    /// A probability, if it lies in [0, 1); `name` is the name in the error.
    pub fn new(name: &str, value: f64) -> Result<Probability, ParameterError> {
        if (0.0..1.0).contains(&value) {
            // Turns -0 into 0.
            Ok(Probability(value + 0.0))
        } else {
            Err(ParameterError::new(name, "lie in [0, 1)", value))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// Whether it is 0.
    pub fn is_none(&self) -> bool {
        self.0 == 0.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = ParameterError;

    fn try_from(value: f64) -> Result<Probability, ParameterError> {
        Probability::new("a probability", value)
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> f64 {
        probability.0
    }
}
