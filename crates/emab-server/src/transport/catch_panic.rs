//! A handler that panics has a bug; its client still gets an answer, and the log a line.

use std::any::Any;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};

const PROBLEM: &str = "{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500,\
    \"detail\":\"The service made a mistake, and its log has a line about it. What was asked may have been done: ask again.\"}";

/// The handler's answer, or 500 if it panics.
pub async fn catch_panic(
    handler: impl Future<Output = Result<Response, Infallible>>,
) -> Result<Response, Infallible> {
    let mut handler = pin!(handler);
    poll_fn(|cx| {
        // What a panic leaves half done is dropped with the handler and never polled again.
        match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(cx))) {
            Ok(poll) => poll,
            Err(panic) => {
                tracing::error!(panic = words(&*panic), "a handler panicked");
                let head = [(CONTENT_TYPE, "application/problem+json")];
                let answer = (StatusCode::INTERNAL_SERVER_ERROR, head, PROBLEM);
                Poll::Ready(Ok(answer.into_response()))
            }
        }
    })
    .await
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = || panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(owned).unwrap_or("without words")
}
