//! Path parameters.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use super::error::ApiError;
use crate::domain::json::short;
use crate::domain::study::{NAME_RULE, is_name};

/// Names in a path. An invalid name is answered with 404 without asking the store: stores differ in what they can look up.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, ApiError> {
        for (what, name) in &raw(parts, state).await? {
            if !is_name(name) {
                return Err(ApiError::not_found(format!(
                    "there is no {what} `{}`: a name has {NAME_RULE}",
                    short(name)
                )));
            }
        }
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|path| Path(path.0))
            .map_err(|error| ApiError::not_found(error.body_text()))
    }
}

/// The name of a new study, which the study itself checks.
pub struct NewName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for NewName {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<NewName, ApiError> {
        let params = raw(parts, state).await?;
        let (_, name) = params.iter().next().unwrap_or_default();
        Ok(NewName(name.into()))
    }
}

async fn raw<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, ApiError> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    params.map_err(|_| ApiError::malformed("the percent-decoded path is not UTF-8"))
}
