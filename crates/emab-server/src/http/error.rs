//! Error responses: problem details of RFC 9457, with a stable `type` and the JSON pointer of the fault.

use axum::http::StatusCode;
use axum::http::header::{self, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::response::typed;
use crate::app::ServiceError;
use crate::app::permits::NoPermit;
use crate::domain::{Rejection, RejectionKind};

/// An error response.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApiError {
    /// The stable identifier of the kind of error, for programs.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The kind of error, for people.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What was found, what was expected, and what to do.
    pub detail: String,
    /// The JSON pointer (RFC 6901) of the fault in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The current step of the episode, if the request names another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step: Option<usize>,
    /// Seconds after which the same request may succeed; also in the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

macro_rules! kinds {
    ($($name:ident = $status:literal $kind:literal $title:literal;)*) => {
        impl ApiError {
            $(#[doc = $title] pub fn $name(detail: impl Into<String>) -> ApiError {
                ApiError {
                    kind: concat!("urn:emab:", $kind),
                    title: $title,
                    status: $status,
                    detail: detail.into(),
                    pointer: None,
                    current_step: None,
                    retry_after: None,
                }
            })*
        }
        /// Every kind of error: type, status and title.
        pub const KINDS: &[(&str, u16, &str)] = &[$((concat!("urn:emab:", $kind), $status, $title)),*];
    };
}

kinds! {
    malformed = 400 "malformed" "Malformed request";
    unauthorized = 401 "unauthorized" "A valid token is required";
    forbidden = 403 "forbidden" "Not permitted for this token";
    not_found = 404 "not-found" "Not found";
    method = 405 "method-not-allowed" "Method not allowed";
    not_acceptable = 406 "not-acceptable" "No such representation";
    too_slow = 408 "too-slow" "The request arrived too slowly";
    conflict = 409 "conflict" "Conflict with what is recorded";
    wrong_step = 409 "wrong-step" "The episode is at another step";
    too_large = 413 "too-large" "Request too large";
    media_type = 415 "unsupported-media-type" "The body must be JSON";
    not_possible = 422 "not-possible" "Not possible in this study";
    head_too_large = 431 "head-too-large" "Request head too large";
    too_many = 429 "too-many-requests" "Too many requests";
    internal = 500 "internal" "Internal error";
    unavailable = 503 "unavailable" "Service unavailable";
}

impl ApiError {
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> ApiError {
        self.pointer = Some(pointer.into());
        self
    }

    #[must_use]
    pub fn retry(mut self, seconds: u64) -> ApiError {
        self.retry_after = Some(seconds);
        self
    }
}

impl From<Rejection> for ApiError {
    fn from(rejection: Rejection) -> ApiError {
        let new = match rejection.kind {
            RejectionKind::Malformed => ApiError::malformed,
            RejectionKind::NotFound => ApiError::not_found,
            RejectionKind::Conflict => ApiError::conflict,
            RejectionKind::WrongStep => ApiError::wrong_step,
            RejectionKind::NotPossible => ApiError::not_possible,
            RejectionKind::Internal => ApiError::internal,
        };
        let detail = rejection.to_string();
        ApiError {
            pointer: rejection.pointer,
            current_step: rejection.current_step,
            ..new(detail)
        }
    }
}

impl From<ServiceError> for ApiError {
    fn from(error: ServiceError) -> ApiError {
        match error {
            ServiceError::Rejected(rejection) => rejection.into(),
            ServiceError::Unavailable(detail, after) => ApiError::unavailable(detail).retry(after),
            ServiceError::Busy(detail, after) => ApiError::too_many(detail).retry(after),
        }
    }
}

/// The error for a request that gets no permit: 429, or 503 while the service stops.
pub fn no_permit(error: NoPermit, what: &str, retry_after: u64) -> ApiError {
    let detail = match error {
        NoPermit::Closed => return ServiceError::stopping().into(),
        NoPermit::Token(most) => format!("{most} {what}, and a token may have no more"),
        NoPermit::All(most) => format!("{most} {what}, and the service allows no more"),
    };
    ApiError::too_many(detail).retry(retry_after)
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
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
            // RFC 9110, section 15.5.16.
            StatusCode::UNSUPPORTED_MEDIA_TYPE => {
                let codings = HeaderValue::from_static("identity");
                headers.insert(header::ACCEPT_ENCODING, codings);
            }
            // The rest of the body is not read.
            StatusCode::PAYLOAD_TOO_LARGE => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}
