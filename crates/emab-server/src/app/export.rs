//! Exports the log of a study as newline-delimited JSON, one event with its hash on each line.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::app::{Service, ServiceError, head};
use crate::domain::{Head, Record};

/// The number of events in one read.
pub const PART: usize = 100;
/// A page of events ends after about this many bytes.
const MAX_PAGE_BYTES: usize = 8 << 20;

fn lines(events: &[Record]) -> String {
    events.iter().fold(String::new(), |mut text, event| {
        text.push_str(&event.line());
        text.push('\n');
        text
    })
}

/// A page of the log: at most `limit` events after `after`, as lines.
pub async fn page(
    service: &Service,
    study: String,
    after: u64,
    limit: usize,
) -> Result<String, ServiceError> {
    service
        .read(move |store| {
            let head = head(store, &study)?;
            let (mut at, mut left, mut text) = (after, limit, String::new());
            while left > 0 && text.len() < MAX_PAGE_BYTES {
                let events = store.events(head.key, at, left.min(PART))?;
                let Some(last) = events.last() else { break };
                (at, left) = (last.seq, left - events.len());
                text.push_str(&lines(&events));
            }
            Ok(text)
        })
        .await
}

/// The whole log up to the current head, as a stream of lines. The stream ends with an error if the store fails.
pub async fn export(
    service: Arc<Service>,
    study: &str,
) -> Result<(Head, ReceiverStream<io::Result<Bytes>>), ServiceError> {
    let head = service.head(study).await?;
    let (sender, receiver) = mpsc::channel(4);
    let (key, end) = (head.key, head.seq);
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
                _ => Err(io::Error::other("the log could not be read")),
            };
            let failed = chunk.is_err();
            if sender.send(chunk).await.is_err() || failed {
                return;
            }
        }
    });
    Ok((head, ReceiverStream::new(receiver)))
}
