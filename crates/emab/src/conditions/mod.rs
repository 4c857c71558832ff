//! Real life round a problem: outcomes that come late or never, people who leave or do something else, laws that drift.
//!
//! What each means, and how regret is measured under it, is told in `docs/conditions.md`; [`crate::ConditionedEnvironment`] plays them.

mod delay;
mod drift;
mod probability;
mod text;

pub use delay::{Delay, DelayMean};
pub use drift::{Drift, DriftTiming};
pub use probability::Probability;

use serde::{Deserialize, Serialize};

use crate::parameter::ParameterError;

/// The circumstances under which a problem is played; none by default.
///
/// ```
/// use emab::{Chance, Conditions};
/// use emab::conditions::Delay;
/// let mut conditions = Conditions::default();
/// assert!(conditions.is_none());
/// conditions.delay = Delay::Fixed(20);
/// conditions.dropout = Chance::new("dropout", 0.05).unwrap();
/// assert_eq!(conditions.to_string(), "delay=20 dropout=0.05");
/// assert_eq!(Chance::new("dropout", 1.2).unwrap_err().to_string(), "`dropout` must lie in [0, 1), got 1.2");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// How late the outcome of an episode reaches the learner.
    #[serde(default, skip_serializing_if = "Delay::is_none")]
    pub delay: Delay,
    /// The chance, after every continuation action, that the person leaves at the step it led to.
    #[serde(default, skip_serializing_if = "Probability::is_none")]
    pub dropout: Probability,
    /// The chance that the outcome of an episode never reaches the learner.
    #[serde(default, skip_serializing_if = "Probability::is_none")]
    pub lost: Probability,
    /// The chance, at every step, that something else is done than was recommended.
    #[serde(
        default,
        rename = "override",
        skip_serializing_if = "Probability::is_none"
    )]
    pub overrides: Probability,
    /// Parameters of the problem that change from episode to episode, in the order of their changes. Whoever knows the
    /// parameters makes [`crate::ModelPhase`]s of them; what is played is those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
}

impl Conditions {
    /// Whether everything is as the paper has it.
    pub fn is_none(&self) -> bool {
        self.delay.is_none()
            && self.dropout.is_none()
            && self.lost.is_none()
            && self.overrides.is_none()
            && self.drift.is_empty()
    }

    /// Whether the changes of each parameter follow one another; if not, which one does not, and why.
    pub fn check_drift(&self) -> Result<(), (usize, ParameterError)> {
        drift::check(&self.drift)
    }

    /// The values of the parameters that drift, by the first episode they hold in: one entry a law that follows the
    /// first. `at_first` is what a parameter is before it changes.
    ///
    /// ```
    /// use emab::Conditions;
    /// use emab::conditions::Drift;
    /// let drift = vec![Drift::at("p", 0.4, 5000).unwrap()];
    /// let conditions = Conditions { drift, ..Conditions::default() };
    /// assert_eq!(conditions.pieces(|_| 0.8), [(5000, vec![("p".to_owned(), 0.4)])]);
    /// ```
    pub fn drift_phases(&self, at_first: impl Fn(&str) -> f64) -> Vec<(u64, Vec<(String, f64)>)> {
        drift::drift_phases(&self.drift, at_first)
    }
}
