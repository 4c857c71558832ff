//! Why a request is refused: problem details of RFC 9457, each with a stable `type` and, where the body is wrong, the
//! JSON pointer of what is wrong in it.

use serde::Serialize;
use utoipa::ToSchema;

/// A refusal, as it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApiError {
    /// What kind of problem it is; stable, made for programs.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The same for people.
    pub title: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What was found, what was expected, and what to do.
    pub detail: String,
    /// Where in the body the fault is, as a JSON pointer (RFC 6901).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// The step where the episode is, where a request names another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_step: Option<usize>,
    /// Seconds after which the same request may succeed; also the header `Retry-After`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $status:literal $kind:literal $title:literal;)*) => {
        impl ApiError {
            $($(#[$doc])* pub fn $name(detail: impl Into<String>) -> ApiError {
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
        /// Every kind of refusal: its type, its status and its title.
        pub const KINDS: &[(&str, u16, &str)] = &[$((concat!("urn:emab:", $kind), $status, $title)),*];
    };
}

kinds! {
    /// Not JSON, or not of the form that the call takes.
    malformed = 400 "malformed" "The request cannot be read";
    /// No token, or one that is not valid.
    unauthorized = 401 "unauthorized" "A valid token is needed";
    /// A token that may not do this.
    forbidden = 403 "forbidden" "This token may not do that";
    /// No such study, episode, decision or page.
    not_found = 404 "not-found" "There is no such thing";
    /// Not a method of this resource.
    method = 405 "method-not-allowed" "There is no such call";
    /// The body came too slowly.
    too_slow = 408 "too-slow" "The request came too slowly";
    /// It contradicts what is there.
    conflict = 409 "conflict" "It contradicts what is recorded";
    /// A step other than the one where the episode is.
    wrong_step = 409 "wrong-step" "The episode is at another step";
    /// Longer than allowed.
    too_large = 413 "too-large" "The request is too large";
    /// Not JSON by its content type.
    media_type = 415 "unsupported-media-type" "The body must be JSON";
    /// Well formed, and not possible in this study.
    impossible = 422 "not-possible" "Not possible in this study";
    /// Too many requests.
    too_many = 429 "too-many-requests" "Too many requests";
    /// A fault of the service itself.
    internal = 500 "internal" "The service failed";
    /// The store is gone or full, or the service is about to stop.
    unavailable = 503 "unavailable" "The service cannot write now";
}

impl ApiError {
    /// With the place of the fault in the body.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> ApiError {
        self.pointer = Some(pointer.into());
        self
    }

    /// With the step where the episode is.
    #[must_use]
    pub fn current(mut self, step: usize) -> ApiError {
        self.current_step = Some(step);
        self
    }

    /// With the seconds to wait before trying again.
    #[must_use]
    pub fn retry(mut self, seconds: u64) -> ApiError {
        self.retry_after = Some(seconds);
        self
    }
}
