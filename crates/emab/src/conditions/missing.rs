//! Values that stay unknown with a probability that depends on the feedback of their step.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Probability;
use crate::parameter::ParameterError;

/// The probability that a value is missing: one for every feedback, or one for each of them in their order.
///
/// ```
/// use emab::conditions::Missing;
/// let missing = Missing::new("missing_costs", &[0.0, 0.8]).unwrap();
/// assert_eq!((missing.after(0), missing.after(1)), (0.0, 0.8));
/// assert_eq!(Missing::new("missing_costs", &[0.2]).unwrap().after(7), 0.2);
/// assert!(Missing::new("missing_costs", &[0.0, 0.0]).unwrap().is_none());
/// assert!(Missing::new("missing_costs", &[1.0]).is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "OneOrEach", into = "OneOrEach")]
pub struct Missing(Vec<Probability>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrEach {
    One(Probability),
    Each(Vec<Probability>),
}

impl Missing {
    /// One probability, or one for each feedback; `name` is the name in the error.
    pub fn new(name: &str, probabilities: &[f64]) -> Result<Missing, ParameterError> {
        let each = probabilities.iter().map(|p| Probability::new(name, *p));
        Ok(Missing::of(each.collect::<Result<_, _>>()?))
    }

    fn of(mut probabilities: Vec<Probability>) -> Missing {
        if probabilities.iter().all(Probability::is_none) {
            probabilities.clear();
        }
        Missing(probabilities)
    }

    /// Whether nothing is missing.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of probabilities; 0 if nothing is missing.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the probability depends on the feedback.
    pub fn depends_on_feedback(&self) -> bool {
        self.0.windows(2).any(|two| two[0] != two[1])
    }

    /// The probability after a feedback.
    pub fn after(&self, feedback: usize) -> f64 {
        let place = match self.0.len() {
            1 => 0,
            _ => feedback,
        };
        self.0
            .get(place)
            .map_or(0.0, |probability| probability.get())
    }

    /// Checks that there is one probability, or as many as feedbacks.
    pub fn check(&self, name: &str, feedbacks: usize) -> Result<(), ParameterError> {
        let given = self.0.len();
        if given <= 1 || given == feedbacks {
            return Ok(());
        }
        let rule = format!("have one probability, or one for each of the {feedbacks} feedbacks");
        Err(ParameterError::new(name, rule, given))
    }
}

impl From<OneOrEach> for Missing {
    fn from(form: OneOrEach) -> Missing {
        Missing::of(match form {
            OneOrEach::One(probability) => vec![probability],
            OneOrEach::Each(probabilities) => probabilities,
        })
    }
}

impl From<Missing> for OneOrEach {
    fn from(missing: Missing) -> OneOrEach {
        match missing.0[..] {
            [one] => OneOrEach::One(one),
            _ => OneOrEach::Each(missing.0),
        }
    }
}

/// As on the command line: `0.2`, or `0:0.8`.
impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each = self
            .0
            .iter()
            .map(|probability| probability.get().to_string());
        out.write_str(&each.collect::<Vec<_>>().join(":"))
    }
}
