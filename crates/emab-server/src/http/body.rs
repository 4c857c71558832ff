//! Request bodies: bounded in size, checked for their content type, and parsed with the pointer of any fault.

use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};

use super::error::ApiError;
use crate::domain::json::short;

/// The largest body of most calls, in bytes.
pub const MAX_BODY: usize = 1 << 20;
/// The largest specification of a study, in bytes.
pub const MAX_STUDY: usize = 16 << 20;

/// The body arrived too slowly. The transport ends the body with this error, and the response is 408.
#[derive(Debug, thiserror::Error)]
#[error("the body arrives too slowly: {received} bytes after {} s of waiting", waited.as_secs())]
pub struct SlowBody {
    /// The number of received bytes.
    pub received: u64,
    /// The time spent waiting for them.
    pub waited: Duration,
}

/// The bytes of a JSON body; empty if there is none.
pub async fn bytes(headers: &HeaderMap, body: Body, max: usize) -> Result<bytes::Bytes, ApiError> {
    let bytes = bytes_of_any_type(headers, body, max).await?;
    if !bytes.is_empty() {
        is_json(headers)?;
    }
    Ok(bytes)
}

/// The bytes of a body of any type; empty if there is none.
pub async fn bytes_of_any_type(
    headers: &HeaderMap,
    body: Body,
    max: usize,
) -> Result<bytes::Bytes, ApiError> {
    let too_large =
        || ApiError::too_large(format!("the body of this call has at most {max} bytes"));
    let announced = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max as u64) {
        return Err(too_large());
    }
    match Limited::new(body, max).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(error) => Err(incomplete(&*error)),
    }
}

/// The error for a body that did not arrive completely.
pub fn incomplete(error: &(dyn std::error::Error + 'static)) -> ApiError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(slow) = error.downcast_ref::<SlowBody>() {
            return ApiError::too_slow(slow.to_string());
        }
        cause = error.source();
    }
    ApiError::malformed("the body is incomplete")
}

fn is_json(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = media_type(headers)?;
    if kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json")) {
        return Ok(());
    }
    let kind = short(&kind);
    let what = format!("the content type is `{kind}`; this call takes `application/json`");
    Err(ApiError::media_type(what))
}

/// The content type without parameters; fails if the body is encoded, such as compressed.
pub fn media_type(headers: &HeaderMap) -> Result<String, ApiError> {
    for value in headers.get_all(header::CONTENT_ENCODING) {
        let text = String::from_utf8_lossy(value.as_bytes());
        let mut codings = text.split(',').map(str::trim);
        let is_encoded =
            |coding: &&str| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity");
        if let Some(coding) = codings.find(is_encoded) {
            let coding = short(coding);
            let what = format!("the content encoding is `{coding}`; send the body without one");
            return Err(ApiError::media_type(what));
        }
    }
    let value = headers.get(header::CONTENT_TYPE);
    let text = value.and_then(|value| value.to_str().ok()).unwrap_or("");
    let kind = text.split(';').next().unwrap_or("");
    Ok(kind.trim().to_ascii_lowercase())
}
