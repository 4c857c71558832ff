//! Calls about the log: reading it, following it, taking a study out.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::{TryAcquireError, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;

use super::answer::{Answer, typed};
use super::auth::Caller;
use super::path::Path;
use super::{App, query};
use crate::app::service::{PAGE, head};
use crate::domain::error::ApiError;
use crate::domain::event::Record;
use crate::tokens::{Permission, Token};

/// One JSON value a line.
pub const LINES: &str = "application/x-ndjson";
/// Events are read so many at a time, and a page has about so many bytes.
const PART: usize = 100;
const MOST_PAGE: usize = 8 << 20;
/// How often a stream looks for new events.
const POLL: Duration = Duration::from_millis(250);

/// Which events.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// After this event; left out, from the first.
    #[param(value_type = Option<u64>, minimum = 0)]
    after: Option<query::Number>,
    /// At most so many, up to 10000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10000)]
    limit: Option<query::Number>,
}

/// The log
///
/// One event a line, each with its hash at its end. With `Accept: text/event-stream` the events are sent as they come, as
/// server-sent events; `Last-Event-ID` takes the place of `after`.
#[utoipa::path(get, operation_id = "readEvents", path = "/v1/studies/{study}/events", tag = "audit",
    params(("study" = String, Path, description = "The study's name"), Which),
    responses((status = 200, description = "Events", content(
        (String = "application/x-ndjson"), (String = "text/event-stream")))))]
pub async fn events(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    which: query::Query<Which>,
    headers: HeaderMap,
) -> Answer {
    caller.may_in(Permission::Log, &study)?;
    let most = i64::MAX as u64;
    let after = query::within("after", which.after, 0, most, 0)?;
    let limit = query::within("limit", which.limit, 1, 10_000, PAGE as u64)? as usize;
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("text/event-stream")) {
        let last = headers
            .get("last-event-id")
            .and_then(|value| value.to_str().ok());
        let last = last.and_then(|value| value.parse().ok());
        return follow(app, caller.token(), study, last.unwrap_or(after)).await;
    }
    let lines = app.service.read(move |store| {
        let head = head(store, &study)?;
        let (mut at, mut left, mut text) = (after, limit, String::new());
        // Events may be long: a page ends where it has grown large, and the next one begins there.
        while left > 0 && text.len() < MOST_PAGE {
            let events = store.events(head.key, at, left.min(PART))?;
            let Some(last) = events.last() else { break };
            (at, left) = (last.seq, left - events.len());
            text.push_str(&lines(&events));
        }
        Ok(text)
    });
    Ok(typed(StatusCode::OK, LINES, lines.await?))
}

fn lines(events: &[Record]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        text.push_str(&event.line());
        text.push('\n');
        text
    })
}

/// Events as they come, for as long as the token works.
async fn follow(app: App, token: Arc<Token>, study: String, after: u64) -> Answer {
    let key = app.service.head(&study).await?.key;
    let busy = |error| match error {
        TryAcquireError::NoPermits => ApiError::too_many("too many streams are open").retry(10),
        TryAcquireError::Closed => ApiError::unavailable("the service is stopping").retry(5),
    };
    let permit = app.streams.clone().try_acquire_owned().map_err(busy)?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(4);
    tokio::spawn(async move {
        let _permit = permit;
        let (mut at, mut quiet) = (after, 0_u32);
        loop {
            let from = at;
            let page = app
                .service
                .read(move |store| Ok(store.events(key, from, PART)?));
            // The store may come back; whoever listens hears that we are still here.
            let page = page.await.unwrap_or_default();
            let mut text = String::new();
            for event in &page {
                at = event.seq;
                text.push_str(&format!("id: {}\ndata: {}\n\n", event.seq, event.line()));
            }
            quiet = if page.is_empty() { quiet + 1 } else { 0 };
            if quiet % 40 == 1 {
                text.push_str(": nothing new\n\n");
            }
            if !text.is_empty() && sender.send(Ok(text.into())).await.is_err() {
                return;
            }
            let over = sender.is_closed() || app.streams.is_closed();
            if over || !app.tokens.is_still_good(&token) {
                return;
            }
            if page.len() < PART {
                tokio::time::sleep(POLL).await;
            }
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    Ok(typed(StatusCode::OK, "text/event-stream", body))
}

/// Take a study out
///
/// Its whole log, one event a line: all there is to know of it. The headers `emab-seq` and `emab-hash` are those of its
/// last event. `emab audit` verifies it, and `:import` of any service takes it in.
#[utoipa::path(get, operation_id = "exportStudy", path = "/v1/studies/{study}:export", tag = "audit",
    params(("study" = String, Path, description = "The study's name")),
    responses((status = 200, description = "Events", body = String, content_type = "application/x-ndjson")))]
pub async fn export(
    State(app): State<App>,
    caller: Caller,
    Path(study): Path<String>,
    _: query::NoQuery,
) -> Answer {
    caller.may_in(Permission::Log, &study)?;
    let head = app.service.head(&study).await?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(4);
    let (key, end) = (head.key, head.seq);
    let service = app.service.clone();
    tokio::spawn(async move {
        let mut at = 0;
        while at < end {
            let from = at;
            let limit = PART.min((end - at) as usize);
            let page = service.read(move |store| Ok(store.events(key, from, limit)?));
            let chunk = match page.await {
                Ok(page) if !page.is_empty() => {
                    at = page.last().map_or(end, |event| event.seq);
                    Ok(Bytes::from(lines(&page)))
                }
                // Breaking off is how a stream says that it failed.
                _ => Err(std::io::Error::other("the log could not be read")),
            };
            let failed = chunk.is_err();
            if sender.send(chunk).await.is_err() || failed {
                return;
            }
        }
    });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    let mut response = typed(StatusCode::OK, LINES, body);
    let headers = response.headers_mut();
    headers.insert("emab-seq", HeaderValue::from(head.seq));
    if let Ok(hash) = HeaderValue::from_str(&head.hash) {
        headers.insert("emab-hash", hash);
    }
    Ok(response)
}
