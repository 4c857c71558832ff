//! The extractor of the calls on studies: authenticates the caller, and reads path, query and body.
//! Handlers check the permission: [`Call::may`] for a study, `caller.may_in` for its episodes.

use std::ops::RangeInclusive;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use emab_problem::value_error;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::App;
use super::auth::Caller;
use super::body;
use super::error::ApiError;
use crate::domain::json::{LenientU64, object, object_or_null, short};
use crate::domain::{Command, NAME_RULE, Reply, is_name};
use crate::tokens::Permission;

/// A call by an authenticated caller. The path is the name of a study, and of an episode in [`EpisodeCall`].
///
/// An invalid name is answered with 404 without asking the store: stores differ in what they can look up. With `NEW` it is the
/// name of a new study, which the study itself checks.
pub struct Call<P = String, Q = NoQuery, const NEW: bool = false> {
    pub app: App,
    pub caller: Caller,
    pub path: P,
    pub query: Q,
    pub headers: HeaderMap,
    pub body: Body,
}

/// A call on an episode of a study.
pub type EpisodeCall = Call<(String, String)>;

/// For calls without parameters: any parameter is rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoQuery {}

impl<P, Q, const NEW: bool> FromRequest<App> for Call<P, Q, NEW>
where
    P: DeserializeOwned + Send,
    Q: DeserializeOwned,
{
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, app).await?;
        check_names(&mut parts, app, NEW).await?;
        let path = Path::from_request_parts(&mut parts, app).await;
        let Path(path) =
            path.map_err(|_| ApiError::not_found("no such path; GET /docs lists the calls"))?;
        let query = Query::try_from_uri(&parts.uri);
        let Query(query) = query.map_err(|error| query_error(&error))?;
        Ok(Call {
            app: app.clone(),
            caller,
            path,
            query,
            headers: parts.headers,
            body,
        })
    }
}

/// Fails if the path contains an invalid name, unless it is the name of a new study.
pub async fn check_names(parts: &mut Parts, app: &App, new: bool) -> Result<(), ApiError> {
    let names = RawPathParams::from_request_parts(parts, app).await;
    let names = names.map_err(|_| ApiError::malformed("the percent-decoded path is not UTF-8"))?;
    // A step is a number, which the call reads.
    let is_wrong = |(what, name): &(&str, &str)| !new && *what != "step" && !is_name(name);
    let Some((what, name)) = names.iter().find(is_wrong) else {
        return Ok(());
    };
    let name = short(name);
    let text = format!("there is no {what} `{name}`: a name has {NAME_RULE}");
    Err(ApiError::not_found(text))
}

impl<P, Q, const NEW: bool> Call<P, Q, NEW> {
    /// The same call with another part of its path.
    pub fn map_path<T>(self, part: impl FnOnce(P) -> T) -> Call<T, Q, NEW> {
        Call {
            app: self.app,
            caller: self.caller,
            path: part(self.path),
            query: self.query,
            headers: self.headers,
            body: self.body,
        }
    }

    /// The bytes of the JSON body; empty if there is none.
    pub async fn bytes(&mut self, max: usize) -> Result<bytes::Bytes, ApiError> {
        body::bytes(&self.headers, std::mem::take(&mut self.body), max).await
    }

    pub async fn json<T: DeserializeOwned>(&mut self) -> Result<T, ApiError> {
        let bytes = self.bytes(body::MAX_BODY).await?;
        if bytes.is_empty() {
            let what = "the body is empty; this call takes a JSON object";
            return Err(ApiError::malformed(what).at(""));
        }
        Ok(object(&bytes)?)
    }

    /// The parsed JSON body; none for no body and for `null`.
    pub async fn optional<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ApiError> {
        let bytes = self.bytes(body::MAX_BODY).await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        Ok(object_or_null(&bytes)?)
    }
}

impl<Q, const NEW: bool> Call<String, Q, NEW> {
    /// Fails if the token lacks a permission in the study.
    pub fn may(&self, permission: Permission) -> Result<(), ApiError> {
        self.caller.may_in(permission, &self.path)
    }

    pub async fn submit(&mut self, command: Command) -> Result<Reply, ApiError> {
        let service = &self.app.service;
        Ok(service
            .submit(&self.path, command, self.caller.author())
            .await?)
    }
}

/// An error in the query of a URL: what is wrong with which parameter.
fn query_error(error: &QueryRejection) -> ApiError {
    let text = error.body_text();
    let message = text.strip_prefix("Failed to deserialize query string: ");
    let message = message.unwrap_or(&text);
    // The message names the parameter first, if one is wrong.
    let (subject, message) = match message.split_once(": ") {
        Some((name, rest)) if is_name(name) => (format!("`{name}`"), rest),
        _ => ("the query".to_owned(), message),
    };
    let message = match message {
        "provided string was not `true` or `false`" => "must be true or false",
        message => message,
    };
    let what = value_error(message, &subject).replace("field", "parameter");
    ApiError::malformed(what)
}

/// A number in a query, as it is written; [`within`] reads it.
#[derive(Clone, Debug, Deserialize)]
pub struct Number(String);

/// A whole number in a range, or the default; fails outside the range. `2.0` is accepted.
pub fn within(
    name: &str,
    given: Option<&Number>,
    range: RangeInclusive<u64>,
    default: u64,
) -> Result<u64, ApiError> {
    let Some(Number(text)) = given else {
        return Ok(default);
    };
    let whole = text.parse().ok().and_then(LenientU64::from_f64);
    let whole = whole.filter(|LenientU64(value)| range.contains(value));
    whole.map(|LenientU64(value)| value).ok_or_else(|| {
        let (least, most) = (range.start(), range.end());
        let text = short(text);
        let what = format!("`{name}` must be a whole number from {least} to {most}, got `{text}`");
        ApiError::malformed(what)
    })
}
