//! Query parameters.

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::error::ApiError;
use crate::domain::json::{LenientU64, short};

/// A non-negative integer in a query; `2.0` is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Number, D::Error> {
        let text = String::deserialize(from)?;
        let whole = text.parse().ok().and_then(LenientU64::from_f64);
        whole.map(|LenientU64(value)| Number(value)).ok_or_else(|| {
            D::Error::custom(format!(
                "expected a whole number from 0 on, got `{}`",
                short(&text)
            ))
        })
    }
}

/// A number in a range, or the default; fails outside the range.
pub fn within(
    name: &str,
    given: Option<Number>,
    least: u64,
    most: u64,
    default: u64,
) -> Result<u64, ApiError> {
    match given {
        None => Ok(default),
        Some(Number(value)) if (least..=most).contains(&value) => Ok(value),
        Some(Number(value)) => Err(ApiError::malformed(format!(
            "`{name}` must be from {least} to {most}, got {value}"
        ))),
    }
}
