//! Conditions of a deployment: delayed and lost outcomes, missing costs and rewards, several open episodes, dropout, overrides
//! and drift.
//!
//! `docs/conditions.md` defines each and the regret under it; [`crate::ConditionedEnvironment`] plays them.

mod delay;
mod drift;
mod dropout;
mod missing;
mod probability;
mod text;

pub use delay::{Delay, DelayMean};
pub use drift::{Drift, DriftTiming};
pub use dropout::{Dropout, DropoutText};
pub use missing::Missing;
pub use probability::Probability;

use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::input::parse_count;
use crate::parameter::ParameterError;

/// The conditions under which a problem is played; none by default.
///
/// ```
/// use emab::Conditions;
/// use emab::conditions::{Delay, Probability};
/// let mut conditions = Conditions::default();
/// assert!(conditions.is_none());
/// conditions.delay = Delay::Fixed(20);
/// conditions.dropout = Probability::new("dropout", 0.05).unwrap().into();
/// assert_eq!(conditions.to_string(), "delay=20 dropout=0.05");
/// assert_eq!(Probability::new("dropout", 1.2).unwrap_err().to_string(), "`dropout` must lie in [0, 1), got 1.2");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conditions {
    /// The delay with which the outcome of an episode reaches the learner.
    #[serde(default, skip_serializing_if = "Delay::is_none")]
    pub delay: Delay,
    /// The number of episodes that are open at once. Each takes one step in its turn; where one ends, the next begins.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub open: NonZeroU64,
    /// The probability, after every continuation action, that the episode ends at the next step without a stop.
    #[serde(default, skip_serializing_if = "Dropout::is_none")]
    pub dropout: Dropout,
    /// The probability that the outcome of an episode never reaches the learner.
    #[serde(default, skip_serializing_if = "Probability::is_none")]
    pub lost: Probability,
    /// The probability, by the feedback of a step, that its cost stays unknown to the learner.
    #[serde(default, skip_serializing_if = "Missing::is_none")]
    pub missing_costs: Missing,
    /// The probability, by the feedback of a step, that the terminal reward after it stays unknown to the learner.
    #[serde(default, skip_serializing_if = "Missing::is_none")]
    pub missing_rewards: Missing,
    /// The probability, at every step, that another action than the recommended one is taken.
    #[serde(
        default,
        rename = "override",
        skip_serializing_if = "Probability::is_none"
    )]
    pub overrides: Probability,
    /// Parameters of the problem that change over the episodes, in the order of their changes. The problem file turns them
    /// into [`crate::environment::ModelPhase`]s.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<Drift>,
}

fn one() -> NonZeroU64 {
    NonZeroU64::MIN
}

fn is_one(open: &NonZeroU64) -> bool {
    *open == one()
}

impl Default for Conditions {
    fn default() -> Conditions {
        Conditions {
            delay: Delay::None,
            open: one(),
            dropout: Dropout::default(),
            lost: Probability::default(),
            missing_costs: Missing::default(),
            missing_rewards: Missing::default(),
            overrides: Probability::default(),
            drift: Vec::new(),
        }
    }
}

impl Conditions {
    /// The largest number of open episodes.
    pub const MAX_OPEN: u64 = 1_000_000;

    /// Whether there are no conditions, as in the paper.
    pub fn is_none(&self) -> bool {
        self.delay.is_none()
            && is_one(&self.open)
            && self.dropout.is_none()
            && self.lost.is_none()
            && self.missing_costs.is_none()
            && self.missing_rewards.is_none()
            && self.overrides.is_none()
            && self.drift.is_empty()
    }

    /// A number of open episodes, checked.
    ///
    /// ```
    /// use emab::Conditions;
    /// assert_eq!(Conditions::open(20).unwrap().get(), 20);
    /// assert_eq!(Conditions::open(0).unwrap_err().to_string(), "`open` must be a whole number from 1 to 1000000, got 0");
    /// ```
    pub fn open(count: u64) -> Result<NonZeroU64, ParameterError> {
        let open = NonZeroU64::new(count).filter(|_| count <= Self::MAX_OPEN);
        let rule = format!("be a whole number from 1 to {}", Self::MAX_OPEN);
        open.ok_or_else(|| ParameterError::new("open", rule, count.to_string()))
    }

    /// The same from a text.
    fn read_open(text: &str) -> Result<NonZeroU64, ParameterError> {
        match parse_count(text) {
            Ok(count) => Conditions::open(count),
            Err(_) => {
                let rule = format!("be a whole number from 1 to {}", Self::MAX_OPEN);
                Err(ParameterError::new("open", rule, format!("`{text}`")))
            }
        }
    }

    /// These conditions without missing costs and rewards.
    pub fn without_missing(&self) -> Conditions {
        Conditions {
            missing_costs: Missing::default(),
            missing_rewards: Missing::default(),
            ..self.clone()
        }
    }

    /// Whether it depends on the feedback of a step if its gain `R_{t+1} - C_t` is known.
    ///
    /// ```
    /// use emab::Conditions;
    /// let depends = |texts: &[&str]| Conditions::default().with(texts.iter().copied()).unwrap().hide_gains_by_feedback();
    /// assert!(depends(&["missing_costs=0:0.5"]) && depends(&["missing_rewards=0:0.5"]));
    /// assert!(!depends(&["missing_costs=0.5"]) && !depends(&["missing_costs=0:0.5", "missing_rewards=0.5:0"]));
    /// ```
    pub fn hide_gains_by_feedback(&self) -> bool {
        let (costs, rewards) = (&self.missing_costs, &self.missing_rewards);
        let known = |f: usize| (1.0 - costs.after(f)) * (1.0 - rewards.after(f));
        (1..costs.len().max(rewards.len())).any(|f| known(f) != known(0))
    }

    /// Checks that missing costs and rewards have one probability, or as many as feedbacks; the error has the name.
    pub fn check_missing(&self, feedbacks: usize) -> Result<(), (&'static str, ParameterError)> {
        for (name, missing) in [
            ("missing_costs", &self.missing_costs),
            ("missing_rewards", &self.missing_rewards),
        ] {
            let checked = missing.check(name, feedbacks);
            checked.map_err(|error| (name, error))?;
        }
        Ok(())
    }

    /// Checks that the changes of each parameter do not overlap; the error has the index of the change.
    pub fn check_drift(&self) -> Result<(), (usize, ParameterError)> {
        drift::check(&self.drift)
    }

    /// The values of the drifting parameters, one entry per phase after the first, with its first episode. `at_first` is
    /// the initial value of a parameter.
    ///
    /// ```
    /// use emab::Conditions;
    /// use emab::conditions::Drift;
    /// let drift = vec![Drift::at("p", 0.4, 5000).unwrap()];
    /// let conditions = Conditions { drift, ..Conditions::default() };
    /// assert_eq!(conditions.drift_phases(|_| 0.8), [(5000, vec![("p".to_owned(), 0.4)])]);
    /// ```
    pub fn drift_phases(&self, at_first: impl Fn(&str) -> f64) -> Vec<(u64, Vec<(String, f64)>)> {
        drift::drift_phases(&self.drift, at_first)
    }
}
