//! Answers.

use axum::body::Body;
use axum::http::header::{self, HeaderValue};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use serde::Serialize;

use crate::domain::decision::Decision;
use crate::domain::error::ApiError;

/// What every call answers with.
pub type Answer = Result<axum::response::Response, ApiError>;

impl IntoResponse for ApiError {
    fn into_response(self) -> axum::response::Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let text = serde_json::to_string(&self).unwrap_or_default();
        let mut response = typed(status, "application/problem+json", text);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        match status {
            StatusCode::UNAUTHORIZED => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            // What is still to come of the body is not read.
            StatusCode::PAYLOAD_TOO_LARGE => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// A response of a type.
pub fn typed(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    // Nobody between us and whoever asked shall keep it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// JSON.
pub fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let text = serde_json::to_string(value);
    let text = text.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(typed(status, "application/json", text))
}

/// A decision as it was recorded, byte for byte; for a blinded caller, without what could be compared.
pub fn decision(status: StatusCode, text: String, blinded: bool) -> Answer {
    if !blinded {
        return Ok(typed(status, "application/json", text));
    }
    json(status, &read_decision(&text)?.advice)
}

/// A recorded decision, read.
pub fn read_decision(text: &str) -> Result<Decision, ApiError> {
    serde_json::from_str(text).map_err(|error| ApiError::internal(format!("a decision: {error}")))
}
