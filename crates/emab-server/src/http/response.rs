//! Responses.

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use serde::Serialize;

use super::error::ApiError;
use crate::domain::{Decision, Rejection};

/// The type of a file. Generators of clients know it, and not newline-delimited JSON.
pub const FILE: &str = "application/octet-stream";

/// Whether `Accept` names a type.
pub fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let mut values = headers.get_all(header::ACCEPT).iter();
    values.any(|value| value.to_str().is_ok_and(|value| value.contains(kind)))
}

/// The result of every handler.
pub type ApiResult = Result<axum::response::Response, ApiError>;

/// A response with a content type. It must not be cached.
pub fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

pub fn json(status: StatusCode, value: &impl Serialize) -> ApiResult {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(typed(status, "application/json", text))
}

/// A recorded decision, byte for byte; without estimates for a blinded caller.
pub fn decision(status: StatusCode, text: String, blinded: bool) -> ApiResult {
    if !blinded {
        return Ok(typed(status, "application/json", text));
    }
    json(status, &read_decision(&text)?.advice)
}

pub fn read_decision(text: &str) -> Result<Decision, Rejection> {
    serde_json::from_str(text)
        .map_err(|error| Rejection::internal(format!("a recorded decision: {error}")))
}
