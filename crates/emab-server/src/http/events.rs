//! Calls on the log: pages of events, a live stream, the export of a study.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use utoipa::IntoParams;

use super::App;
use super::call::{Call, Number, within};
use super::error::no_permit;
use super::response::{ApiResult, FILE, accepts, typed};
use super::tables::set_head;
use crate::app::export::{self, PART};
use crate::app::{PAGE, Service, with_caller};
use crate::domain::json::LenientU64;
use crate::tokens::{Permission, Token};

/// Newline-delimited JSON.
pub const LINES: &str = "application/x-ndjson";
/// How often a stream polls for new events.
const POLL: Duration = Duration::from_millis(250);

/// Which events to read.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct EventRange {
    /// Start after this event; from the first event if left out.
    #[param(value_type = Option<u64>, minimum = 0)]
    after: Option<Number>,
    /// The largest number of events, up to 10000.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 10000)]
    limit: Option<Number>,
}

/// Read the log
///
/// One event per line, each with its hash. With `Accept: text/event-stream` the events are streamed as server-sent events, also
/// those that are recorded later; `Last-Event-ID` replaces `after`.
#[utoipa::path(get, operation_id = "readEvents", path = "/v1/studies/{study}/events", tag = "audit",
    params(("study" = String, Path), EventRange),
    responses((status = 200, description = "Events", content(
        (String = "application/x-ndjson"), (String = "text/event-stream")))))]
pub async fn events(call: Call<String, EventRange>) -> ApiResult {
    call.may(Permission::Log)?;
    let range = &call.query;
    let after = within("after", range.after.as_ref(), 0..=LenientU64::LARGEST, 0)?;
    let limit = within("limit", range.limit.as_ref(), 1..=10_000, PAGE as u64)? as usize;
    if accepts(&call.headers, "text/event-stream") {
        let text = |name: &str| call.headers.get(name)?.to_str().ok();
        let last = text("last-event-id").and_then(|value| value.parse().ok());
        return follow(
            call.app,
            call.caller.token,
            call.path,
            last.unwrap_or(after),
        )
        .await;
    }
    let page = export::page(&call.app.service, call.path, after, limit).await?;
    Ok(typed(StatusCode::OK, LINES, page))
}

/// Streams events until the client disconnects, the token is revoked, the study is discarded or the service stops.
async fn follow(app: App, token: Arc<Token>, study: String, after: u64) -> ApiResult {
    let key = app.service.head(&study).await?.key;
    let permit = app.streams.acquire(&token.id).await;
    let permit = permit.map_err(|error| no_permit(error, "event streams are open", 10))?;
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(4);
    let caller = token.id.clone();
    let stream = async move {
        let _permit = permit;
        let (mut at, mut quiet) = (after, 0_u32);
        loop {
            let (from, name) = (at, study.clone());
            let page = app.service.read(move |store| {
                let page = store.events(key, from, PART)?;
                let there = !page.is_empty() || store.key(&name)? == Some(key);
                Ok(there.then_some(page))
            });
            // A failed read is retried; the client gets comments meanwhile.
            let Some(page) = page.await.unwrap_or_else(|_| Some(Vec::new())) else {
                return;
            };
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
            if over || !app.tokens.is_still_good(&token).await {
                return;
            }
            if page.len() < PART {
                tokio::time::sleep(POLL).await;
            }
        }
    };
    tokio::spawn(async move { with_caller(&caller, stream).await });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    Ok(typed(StatusCode::OK, "text/event-stream", body))
}

/// Export a study
///
/// A first line with the version of the format (`{"emab_export": 2, "study", "seq", "hash"}`, the number and hash of the last
/// event), then the whole log, one event per line. The headers `emab-seq` and `emab-hash` are those of its last event. `emab audit` verifies
/// an export, and `:import` of any service restores the study from it. With `Accept: application/octet-stream` the same bytes are a
/// file.
#[utoipa::path(get, operation_id = "exportStudy", path = "/v1/studies/{study}:export", tag = "audit",
    params(("study" = String, Path)),
    responses((status = 200, description = "Events", content(
        (String = "application/x-ndjson"), (Vec<u8> = "application/octet-stream")))))]
pub async fn export(call: Call) -> ApiResult {
    call.may(Permission::Log)?;
    let kind = match accepts(&call.headers, FILE) {
        true => FILE,
        false => LINES,
    };
    export_response(&call.app.service, &call.path, kind).await
}

/// Streams the log of a study.
pub async fn export_response(service: &Arc<Service>, study: &str, kind: &'static str) -> ApiResult {
    let (head, lines) = export::export(service.clone(), study).await?;
    let mut response = typed(StatusCode::OK, kind, Body::from_stream(lines));
    set_head(response.headers_mut(), head.seq, &head.hash);
    Ok(response)
}
