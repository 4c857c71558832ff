//! Validated parameters.

use thiserror::Error;

use crate::spec::LARGEST;

/// A parameter outside its range.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("`{name}` must {rule}, got {got}")]
pub struct ParameterError {
    /// The name of the parameter.
    pub name: String,
    /// The rule, as in "must {rule}".
    pub rule: String,
    /// The given value.
    pub got: String,
}

impl ParameterError {
    /// The error that `name` must `rule` but was `got`.
    pub fn new(name: &str, rule: impl Into<String>, got: impl ToString) -> ParameterError {
        ParameterError {
            name: name.into(),
            rule: rule.into(),
            got: got.to_string(),
        }
    }
}

/// The probability with which some confidence bound may fail, in (0, 1).
///
/// ```
/// use emab::Delta;
/// assert!(Delta::new(0.05).is_ok());
/// assert_eq!(Delta::new(1.2).unwrap_err().to_string(), "`delta` must lie in (0, 1), got 1.2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta(f64);

impl Delta {
    /// A delta, if it lies in (0, 1).
    pub fn new(delta: f64) -> Result<Delta, ParameterError> {
        if delta > 0.0 && delta < 1.0 {
            Ok(Delta(delta))
        } else {
            Err(ParameterError::new("delta", "lie in (0, 1)", delta))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// A variance proxy `sigma^2`: finite and at least 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sigma2(f64);

impl Sigma2 {
    /// A variance proxy, if it is finite and at least 0.
    pub fn new(sigma2: f64) -> Result<Sigma2, ParameterError> {
        Sigma2::named("sigma2", sigma2)
    }

    /// The same for a parameter with another name, such as `sigma2_cost`.
    pub fn named(name: &str, sigma2: f64) -> Result<Sigma2, ParameterError> {
        if sigma2.is_finite() && sigma2 >= 0.0 {
            Ok(Sigma2(sigma2))
        } else {
            let rule = "be a finite number of at least 0";
            Err(ParameterError::new(name, rule, sigma2))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// How far one feedback can move the next expected reward: `D` of the sound width, from 0 to 1e100.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FeedbackSpread(f64);

impl FeedbackSpread {
    /// A spread, if it is a number from 0 to 1e100.
    pub fn new(spread: f64) -> Result<FeedbackSpread, ParameterError> {
        if (0.0..=LARGEST).contains(&spread) {
            Ok(FeedbackSpread(spread))
        } else {
            let rule = "be a number from 0 to 1e100";
            Err(ParameterError::new("feedback_spread", rule, spread))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }

    /// `D^2 / 4`: the variance proxy of a variable in an interval of this length (Hoeffding's lemma).
    pub fn proxy(self) -> f64 {
        self.0 * self.0 / 4.0
    }
}
