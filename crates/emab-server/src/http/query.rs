//! Query parameters.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};

use super::error::ApiError;
use crate::domain::json::{LenientU64, short};

/// The query parameters of a call.
pub struct Query<T>(pub T);

impl<T> std::ops::Deref for Query<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|query| Query(query.0))
            .map_err(|error| ApiError::malformed(error.body_text()))
    }
}

/// No parameters; any parameter is rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// For calls without parameters.
pub type NoQuery = Query<Nothing>;

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
