//! Tells open pages that something has changed, as server-sent events. They contain the number of an event and nothing else.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::layout::events_of;
use super::session;
use super::studies::visible;
use super::visit::{PageResult, Visit};
use crate::app::with_caller;
use crate::domain::is_name;
use crate::http::error::{ApiError, no_permit};
use crate::http::response::typed;
use crate::tokens::{Check, Permission};

/// How often a stream looks for changes.
const POLL: Duration = Duration::from_secs(1);

/// Streams a line for every change of a study, or of a page of studies that begins after `from`, until the session ends. `after` is the
/// number of events that the page shows.
pub async fn updates(visit: Visit) -> PageResult {
    visit.caller.may(Permission::ReadStudy)?;
    let study = Some(visit.query.get("study")).filter(|name| is_name(name));
    let study = study.map(str::to_owned);
    if let Some(study) = &study {
        visit.caller.may_in(Permission::ReadStudy, study)?;
    }
    let permit = visit.app.pages.acquire(visit.caller.id()).await;
    let permit = permit.map_err(|error| no_permit(error, "pages are open", 10))?;
    let mut last = match visit.query.get("after").parse() {
        Ok(after) => after,
        Err(_) => position(&visit, study.as_deref()).await?,
    };
    let (sender, receiver) = mpsc::channel::<Result<Bytes, Infallible>>(4);
    let caller = visit.caller.id().to_owned();
    let stream = async move {
        let _permit = permit;
        loop {
            // A failed read is retried.
            let now = position(&visit, study.as_deref()).await.unwrap_or(last);
            // The comment finds out whether the page is still open.
            let text = match now == last {
                true => ": no change\n\n".into(),
                false => format!("data: {now}\n\n"),
            };
            last = now;
            if sender.send(Ok(Bytes::from(text))).await.is_err() {
                return;
            }
            tokio::time::sleep(POLL).await;
            if sender.is_closed() || visit.app.pages.is_closed() || !is_signed_in(&visit).await {
                return;
            }
        }
    };
    tokio::spawn(async move { with_caller(&caller, stream).await });
    let body = Body::from_stream(ReceiverStream::new(receiver));
    Ok(typed(StatusCode::OK, "text/event-stream", body))
}

/// The number of the last event of a study, or of all events of a page of studies.
async fn position(visit: &Visit, study: Option<&str>) -> Result<u64, ApiError> {
    match study {
        Some(study) => Ok(visit.app.service.head(study).await?.seq),
        None => {
            let (heads, _) = visible(visit, visit.query.get("from")).await?;
            Ok(events_of(&heads))
        }
    }
}

/// Whether the session has not ended and its token is unchanged. It goes on while the store cannot be read.
async fn is_signed_in(visit: &Visit) -> bool {
    let Some(session) = &visit.session else {
        return visit.app.tokens.is_still_good(&visit.caller.token).await;
    };
    match session::token_of(session, &visit.app).await {
        Ok(None) => false,
        Ok(Some(token)) => match visit.app.tokens.check_session(&token).await {
            Check::Valid(token) => token.is_unchanged(&visit.caller.token),
            Check::Invalid => false,
            Check::NoFile | Check::Unavailable(_) => true,
        },
        Err(_) => true,
    }
}
