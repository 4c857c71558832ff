//! Parameters that cannot be wrong once built.

use thiserror::Error;

/// A parameter outside of its range.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("`{name}` must {rule}, got {got}")]
pub struct ParameterError {
    /// The parameter.
    pub name: String,
    /// What it must be.
    pub rule: String,
    /// What it was, as given.
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

/// The chance that the confidence bounds may fail with, in (0, 1).
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
        if sigma2.is_finite() && sigma2 >= 0.0 {
            Ok(Sigma2(sigma2))
        } else {
            Err(ParameterError::new(
                "sigma2",
                "be a finite number of at least 0",
                sigma2,
            ))
        }
    }

    /// Its value.
    pub fn get(self) -> f64 {
        self.0
    }
}
