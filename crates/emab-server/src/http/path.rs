//! The part of an address before `?`.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::json::short;
use crate::refusal::Refusal;
use crate::study::{NAME_RULE, is_name};

/// Names in an address. What cannot be a name is nowhere, and is not looked for: stores differ in what they can look for.
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Path<T>, Refusal> {
        for (what, name) in &raw(parts, state).await? {
            if !is_name(name) {
                return Err(Refusal::not_found(format!(
                    "there is no {what} `{}`: a name has {NAME_RULE}",
                    short(name)
                )));
            }
        }
        let path = axum::extract::Path::from_request_parts(parts, state).await;
        path.map(|path| Path(path.0))
            .map_err(|error| Refusal::not_found(error.body_text()))
    }
}

/// A name that is about to be given: whether it can be one is for the study to say.
pub struct NewName(pub String);

impl<S: Send + Sync> FromRequestParts<S> for NewName {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<NewName, Refusal> {
        let params = raw(parts, state).await?;
        let (_, name) = params.iter().next().unwrap_or_default();
        Ok(NewName(name.into()))
    }
}

async fn raw<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<RawPathParams, Refusal> {
    let params = RawPathParams::from_request_parts(parts, state).await;
    params.map_err(|_| Refusal::malformed("the address is not UTF-8 behind its percent signs"))
}
