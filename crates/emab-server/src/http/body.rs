//! Reading what a request brings: bounded, typed, and refused with the place of the fault.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;

use crate::domain::error::ApiError;
use crate::transport::BodyError;

/// The largest body of most calls.
pub const MOST: usize = 1 << 20;
/// The largest specification of a study.
pub const MOST_STUDY: usize = 16 << 20;

/// The bytes of a JSON body; empty if there is none.
pub async fn bytes(headers: &HeaderMap, body: Body, most: usize) -> Result<bytes::Bytes, ApiError> {
    let too_large = || ApiError::too_large(format!("a body of this call has at most {most} bytes"));
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let collected = Limited::new(body, most).collect().await;
    let bytes = match collected {
        Ok(collected) => collected.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => return Err(too_large()),
        Err(error) => return Err(broken_off(&*error)),
    };
    if !bytes.is_empty() {
        is_json(headers)?;
    }
    Ok(bytes)
}

/// The refusal of a body that did not come whole.
pub fn broken_off(error: &(dyn std::error::Error + 'static)) -> ApiError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(slow @ BodyError::TooSlow { .. }) = error.downcast_ref() {
            return ApiError::too_slow(slow.to_string());
        }
        cause = error.source();
    }
    ApiError::malformed("the body broke off")
}

/// A JSON body.
pub async fn json<T: DeserializeOwned>(
    headers: &HeaderMap,
    body: Body,
    most: usize,
) -> Result<T, ApiError> {
    let bytes = bytes(headers, body, most).await?;
    if bytes.is_empty() {
        return Err(ApiError::malformed("the body is empty; this call takes a JSON object").at(""));
    }
    crate::domain::json::object(&bytes)
}

/// No body, or one that says nothing: `null` or `{}`, as some clients send it.
pub async fn none(headers: &HeaderMap, body: Body) -> Result<(), ApiError> {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    let bytes = bytes(headers, body, MOST).await?;
    if !bytes.is_empty() {
        crate::domain::json::object_or_null::<Nothing>(&bytes)?;
    }
    Ok(())
}

fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = media_type(headers);
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    Err(ApiError::media_type(format!(
        "the body is said to be `{}`; this call takes `application/json`",
        crate::domain::json::short(&kind)
    )))
}

/// The media type without its parameters.
pub fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = text.split(';').next().unwrap_or("");
    kind.trim().to_ascii_lowercase()
}
